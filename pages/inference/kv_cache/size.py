"""Panel of the page on the KV cache: its size for real models, and what sharing keys and values would make of it."""

import pandas as pd
import streamlit as st

from pages.inference.kv_cache import experiments as experiments
from pages.inference.kv_cache import models as models
from pages.ui import controls, page
from pages.ui.components.figure import figure
from tfcore.analysis.inference import kv_cache
from tfcore.analysis.inference.kv_cache import CacheShape, cache_bytes
from tfcore.analysis.precision import Precision
from tfcore.figures.byte_words import Unit, amount, both
from tfcore.figures.inference.cache_sizes import Size, models_figure, ways_figure


def panel() -> None:
    """The section: one model shared in every way, and all models side by side."""
    left, right = st.columns([1, 3], gap="medium")
    with left:
        chosen = models.choose_model()
        shape = chosen.shape
        tokens = models.choose_tokens()
        batch = controls.slider("Batch size (sequences)", "batch", 1, 256, 1)
        precision = models.choose_precision("Data type", "precision")
        unit = models.choose_unit()
    one, all_texts = (cache_bytes(shape, tokens, n, precision) for n in (1, batch))
    with right:
        ways(chosen, tokens, batch, precision, unit)
        st.latex(
            f"{models.formula(shape, tokens, batch, precision)} = {all_texts:,}".replace(",", "{,}") + r"\ \text{bytes}"
        )
        facts(shape, one, precision, unit)
        every(chosen, tokens, batch, precision, unit)
    words()
    page.experiment(experiments.sizes, shape, tokens, batch, precision, unit)


def facts(shape: CacheShape, one: int, precision: Precision, unit: Unit) -> None:
    """The cache per token and per sequence, in both units."""
    token = cache_bytes(shape, 1, 1, precision)
    other: Unit = "binary" if unit == "decimal" else "decimal"
    plain = kv_cache.shared(shape, "mha").numbers
    for place, (label, value, note) in zip(
        st.columns(3),
        (
            ("KV cache per token", amount(token, unit), f"{amount(token, other)}; {shape.numbers:,} values per layer"),
            ("KV cache per sequence", amount(one, unit), amount(one, other)),
            ("Relative to MHA", f"{shape.numbers / plain:.1%}", models.in_words(shape)),
        ),
        strict=True,
    ):
        place.metric(label, value, note, delta_color="off", delta_arrow="off")


def ways(chosen: models.Known, tokens: int, batch: int, precision: Precision, unit: Unit) -> None:
    """The chosen model as it is, and had it been built otherwise."""
    built = chosen.shape
    shapes = [kv_cache.shared(built, way) for way in ("mha", "gqa", "mqa", "mla")]
    if built not in shapes:
        shapes.append(built)
    unique = sorted(set(shapes), key=lambda shape: -shape.numbers)
    sizes = [
        Size(
            models.in_words(s) + (", as built" if s == built else ""),
            models.kind(s),
            cache_bytes(s, tokens, batch, precision),
            s == built,
        )
        for s in unique
    ]
    found = "; ".join(f"{size.name} {both(size.value)}" for size in sizes)
    beyond = ""
    if chosen.longest is not None and tokens > chosen.longest:
        beyond = f" Its own context is {chosen.longest:,} tokens."
    ring = f" Its sliding window keeps {built.window - 1:,} tokens per layer." if built.window else ""
    figure(
        ways_figure(sizes, unit, 270),
        key="ways",
        height=270,
        min_width=330,
        alt=f"Cache of {chosen.name} for {batch} x {tokens:,} tokens: {found}.",
        caption=f"{chosen.name}, {batch} x {tokens:,} tokens: {found}.{ring}{beyond}",
        table=lambda: pd.DataFrame([(s.name, s.value) for s in sizes], columns=["sharing", "bytes"]),
    )


def every(chosen: models.Known, tokens: int, batch: int, precision: Precision, unit: Unit) -> None:
    """All models at the same length."""
    some = list(models.all_known().values())
    if chosen not in some:
        some.append(chosen)
    sizes = [
        Size(model.name, models.kind(model.shape), cache_bytes(model.shape, tokens, batch, precision), model == chosen)
        for model in some
    ]
    ordered = sorted(sizes, key=lambda size: size.value)
    ends = f"from {ordered[0].name} with {both(ordered[0].value)} to {ordered[-1].name} with {both(ordered[-1].value)}"
    st.markdown("**The same sequences in every model**")
    figure(
        models_figure(sizes, unit, 560),
        key="models",
        height=560,
        min_width=360,
        alt=f"Caches of {len(sizes)} models for {batch} x {tokens:,} tokens, {ends}.",
        caption=f"{len(sizes)} models, each with {batch} x {tokens:,} tokens: {ends}. Published sizes; sequences "
        "longer than a model's context are counted all the same.",
        table=lambda: pd.DataFrame([tuple(s[:3]) for s in ordered], columns=["model", "attention", "bytes"]),
    )


def words() -> None:
    """What to try, to see and to ask."""
    page.try_this(
        {
            "64 KV heads: 85.9 GB": {
                "of": models.OWN,
                "layers": 80,
                "heads": 64,
                "kv_heads": 64,
                "d_head": 128,
                "tokens": 32_768,
                "precision": "float16",
                "batch": 1,
            },
            "8 KV heads: 10.7 GB": {"of": "llama3_70b", "tokens": 32_768, "precision": "float16", "batch": 1},
            "latent attention": {"of": models.LATENT, "tokens": 131_072},
            "a sliding window": {"of": "mistral_7b", "tokens": 131_072},
            "int4": {"precision": "int4"},
            "in GiB": {"unit": "binary"},
        }
    )
    page.what_to_see(
        "The number of query heads is not in the formula: only KV heads are cached, so with one KV head for eight "
        "query heads the cache is an eighth. LLaMA 2 7B (MHA) caches more per token than LLaMA 3 70B (GQA), which has "
        "ten times its parameters. Latent attention caches one vector for all heads together: with the 128 heads of "
        "DeepSeek-V2, below 2 % of MHA. A sliding window bounds the cache. 85.9 GB and 80.0 GiB are the same bytes: a "
        "GB is 10⁹, a GiB 2³⁰."
    )
    page.source(kv_cache.cache_bytes, kv_cache.shared, kv_cache.CacheShape)
    st.caption(
        "Grouped-query attention: arXiv:2305.13245. Multi-query attention: arXiv:1911.02150. Multi-head latent "
        "attention: arXiv:2405.04434, section 2.1 and table 1; a model that was not built so is given 4 d_head + "
        "d_head / 2 values, as there. int8 and int4 also keep a scale per group of values, some per cent more that are "
        "not counted here."
    )
    page.question(
        "A model has 80 layers and 64 heads of 128, fp16. How many tokens fit into 10 GiB? And with 8 KV heads?",
        "A token takes 2 x 80 x 64 x 128 x 2 bytes = 2.5 MiB, so 10 GiB hold 4,096 tokens. With 8 KV heads it takes an "
        "eighth, and 32,768 tokens fit.",
    )
