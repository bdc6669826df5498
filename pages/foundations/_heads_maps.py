"""The page on heads: what all its sections compute and share."""

from dataclasses import dataclass
from typing import Any

from pages.ui import cache
from tfcore.analysis.attention_maps import AttentionMaps, Part, attention_maps, parts
from tfcore.analysis.heads import repeated_tokens
from tfcore.analysis.translation import source_ids, written

DEFAULT_MODEL, CHARACTERS = "stories", 2_000
TEXT = (
    "Once upon a time there was a little dog named Max. Max had a red ball. "
    "One day the little dog lost the red ball. Max was sad because he loved it."
)
PARTS: dict[Part, str] = {
    "encoder": "encoder: the text at itself",
    "decoder": "decoder: the translation at itself",
    "cross": "cross: the translation at the text",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """A model's attention on a text.

    Args:
        found: the maps.
        queries, keys: the tokens that look, and those looked at.
        dropped: how many tokens of the text did not fit.
    """

    found: AttentionMaps
    queries: list[str]
    keys: list[str]
    dropped: int

    @property
    def within(self) -> bool:
        """Whether a text looks at itself."""
        return self.queries == self.keys


@cache.data(max_entries=4)
def inducing(model_name: str) -> Any:
    """How much each head of a decoder does induction, on random tokens said twice; None of other models."""
    model = cache.model(model_name)[0]
    return repeated_tokens(model).induction if model.config.architecture == "decoder" else None


@cache.data(max_entries=12)
def read(model_name: str, pasted: str, part: Part | None = None) -> Reading:
    """Attention of one part of a model on a text; an encoder-decoder also writes its translation, and reads that."""
    model, tokenizer = cache.model(model_name)
    if model.config.architecture != "encoder-decoder":
        ids = tokenizer.encode(pasted)
        kept = ids[: model.config.max_seq_len]
        tokens = tokenizer.tokens(kept)
        return Reading(attention_maps(model, kept, inducing(model_name)), tokens, tokens, len(ids) - len(kept))
    ids = source_ids(tokenizer, pasted)
    dropped = max(0, len(ids) - model.config.max_seq_len)
    ids = [*ids[: len(ids) - 1 - dropped], ids[-1]]
    translation = written(model, tokenizer, ids)
    decoder_ids = [model.config.start_id, *translation[:-1]][: model.config.max_seq_len]
    source = [*tokenizer.tokens(ids[:-1]), "<end>"]
    target = ["<start>", *tokenizer.tokens(decoder_ids[1:])]
    found = attention_maps(model, ids, part=part, decoder_ids=decoder_ids)
    keys = target if part == "decoder" else source
    return Reading(found, source if part == "encoder" else target, keys, dropped)


def model_parts(model_name: str) -> tuple[Part, ...]:
    """Where this model has attention."""
    return parts(cache.model(model_name)[0].config)
