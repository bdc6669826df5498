"""The choices of the page that compares: two models, versions of a model among them."""

from pages.ui import cache
from pages.ui.loading import models
from tfcore.loading import checkpoints
from tfcore.loading.special_tokens import special_tokens
from tfcore.views.sources import title_of
from tfcore.views.versions import CHAT, HISTORIES, roundings, version_of, versions

FIRST_CHANGE = {"stories": "play", "induction": "300"}  # what a model is compared with at first
USUAL_CHANGE = "int4/32"


def choose() -> tuple[str, str]:
    """Names of the two models, which `tfcore.views` take."""
    first = models.choose(
        "decoder", label="First model (A)", default=models.first(), why_not=models.silent, options=first_models()
    )
    seconds = second_models(first)
    named = {name: title_of(name) for name in seconds}
    begin = next(iter(seconds)) if models.base_of(first) in seconds else usual(first, seconds)
    second = models.choose(
        "decoder", key="other", label="Second model (B)", default=begin, why_not=models.silent, options=named
    )
    return first, second


def base_of(name: str) -> str:
    """The model of which this is a version, or the model itself."""
    version = version_of(name)
    return name if version is None else version.base


def first_models() -> dict[str, str]:
    """Models that this server has, and the checkpoints of a training: name -> label."""
    names = models.fitting("decoder", why_not=models.silent)
    steps = [one for name in names if name in HISTORIES for one in versions(name) if one.partition("@")[2].isdecimal()]
    return {name: title_of(name) for name in (*names, *steps)}


def second_models(first: str) -> list[str]:
    """What the first model is compared with: its base where it is an adapter, its versions, then other models."""
    base, there = base_of(first), models.fitting("decoder", why_not=models.silent)
    adapted = models.base_of(first)
    own = versions(base) if base in there else [f"{base}@{one}" for one in roundings(models.config(base))]
    if base in there and has_template(base):
        own.append(f"{base}@{CHAT}")
    names = [*([adapted] if adapted else []), *own, base, *there]
    return [name for name in dict.fromkeys(names) if name != first] or [first]


@cache.data(max_entries=16)
def has_template(base: str) -> bool:
    """Whether a model that this server has comes with a chat template."""
    tokenizer = checkpoints.described(base)[1]
    return tokenizer is not None and bool(special_tokens(base, tokenizer).template)


def usual(first: str, seconds: list[str]) -> str:
    """What a model is compared with at first."""
    wanted = f"{base_of(first)}@{FIRST_CHANGE.get(base_of(first), USUAL_CHANGE)}"
    return wanted if wanted in seconds else seconds[0]
