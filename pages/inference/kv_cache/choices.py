"""The choices of the page on the KV cache: its models, one's own among them, their lengths, data types and units."""

from typing import Any

from pages.ui import cache, controls
from pages.ui.loading import models
from pages.ui.loading.presets import known
from tfcore import available, shipped
from tfcore.measures import kv_bytes
from tfcore.measures.kv_bytes import CacheShape, Sharing
from tfcore.measures.parameter_count import kv_head_parameters, parameters
from tfcore.measures.precision import Precision
from tfcore.measures.quantities import Unit
from tfcore.presets import NAMES
from tfcore.views.inference.kv_cache.measure.serving import Model

TEXT = "Once upon a time there was a little dog named Max."
MOST = 232  # new tokens
STEPS = 160
LATENT, OWN = "deepseek_v2", "own"
PRECISIONS: dict[Precision, str] = {"float32": "fp32", "float16": "fp16, bf16", "int8": "int8, fp8", "int4": "int4"}
UNITS: dict[Unit, str] = {"decimal": "GB = 10⁹", "binary": "GiB = 2³⁰"}
WAYS: dict[Sharing, str] = {"built": "as built", "mha": "MHA", "gqa": "GQA", "mqa": "MQA", "mla": "MLA"}


@cache.data(max_entries=1)
def all_known() -> dict[str, Model]:
    """Every published decoder, those that ship, and DeepSeek-V2, by key."""
    names = NAMES | {key: f"{key} (ours)" if key in shipped() else key for key in available("decoder")}
    shapes = {key: described(key, name) for key, name in names.items() if known(key).architecture == "decoder"}
    shapes[LATENT] = Model("DeepSeek-V2", kv_bytes.DEEPSEEK_V2_PARAMETERS, kv_bytes.DEEPSEEK_V2, 131_072)
    return shapes


def described(key: str, name: str) -> Model:
    """A decoder whose config is at hand."""
    config = known(key)
    shape = kv_bytes.cache_shape(config)
    return Model(name, parameters(config).total, shape, config.max_seq_len, kv_head_parameters(config))


def choose_model(more: Any) -> Model:
    """A model from the list, one that this visitor brought, or one's own by sliders in `more`."""
    listed = all_known()
    names = {key: model.name for key, model in listed.items()} | {OWN: "your own, by sliders"}
    chosen = models.choose("decoder", key="of", default="llama3_70b", options=names, reads="a head")
    if chosen == OWN:
        with more:
            return by_sliders()
    return listed[chosen] if chosen in listed else described(chosen, chosen)


def by_sliders() -> Model:
    """The few numbers that decide."""
    layers = controls.slider("Layers", "layers", 1, 160, 80)
    heads = controls.slider("Query heads", "heads", 1, 160, 64)
    kv_heads = controls.select("KV heads", "kv_heads", kv_bytes.even_parts(heads), heads)
    d_head = controls.slider("Head width d_head", "d_head", 16, 256, 128, 16)
    billions = controls.slider("Parameters (10⁹)", "billions", 1, 1_000, 70)
    shape = CacheShape(layers=layers, heads=heads, kv_heads=kv_heads, d_head=d_head)
    return Model("your own", billions * 10**9, shape)


def choose_tokens() -> int:
    return controls.slider("Tokens per sequence", "tokens", 1_024, 131_072, 32_768, 1_024, format="localized")


def choose_precision(label: str, key: str) -> Precision:
    return controls.select(label, key, list(PRECISIONS), "float16", PRECISIONS)


def choose_unit() -> Unit:
    return controls.segmented("Units", "unit", list(UNITS), "decimal", UNITS)
