"""Panel of the page on the KV cache: its size for real models, and what sharing keys and values would make of it."""

import pandas as pd
import streamlit as st

from pages.inference.kv_cache import experiments as experiments
from pages.inference.kv_cache import models as models
from pages.ui import controls, page
from pages.ui.components.figure import figure
from tfcore.analysis.inference import kv_cache
from tfcore.analysis.inference.kv_cache import CacheSizes
from tfcore.analysis.inference.serving import Model
from tfcore.analysis.precision import Precision
from tfcore.analysis.quantities import Unit, amount


def panel() -> None:
    """The section: one model shared in every way, and all models side by side."""
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
    left, right = st.columns([1, 3], gap="medium")
    with left:
        given, more = st.container(), page.more_settings()
    with given:
        chosen = models.choose_model(more)
        tokens = models.choose_tokens()
        batch = controls.slider("Batch size (sequences)", "batch", 1, 256, 1)
        with more:
            precision = models.choose_precision("Data type", "precision")
            unit = models.choose_unit()
    with right:
        found = ways(chosen, tokens, batch, precision, unit)
        facts(found, unit)
        every(chosen, tokens, batch, precision, unit)
    experiment = page.experiment(experiments.sizes, chosen, tokens, batch, precision, unit)
    words(experiment, kv_cache.product_latex(chosen.shape, tokens, batch, precision))


def facts(found: CacheSizes, unit: Unit) -> None:
    """The cache per token and per sequence, in both units."""
    other: Unit = "binary" if unit == "decimal" else "decimal"
    for place, (label, value, note) in zip(
        st.columns(3),
        (
            ("KV cache per token", amount(found.token, unit), f"{amount(found.token, other)}; {found.values}"),
            ("KV cache per sequence", amount(found.sequence, unit), amount(found.sequence, other)),
            ("Relative to MHA", found.share_of_mha, str(found.shape)),
        ),
        strict=True,
    ):
        place.metric(label, value, note, delta_color="off", delta_arrow="off")


def ways(chosen: Model, tokens: int, batch: int, precision: Precision, unit: Unit) -> CacheSizes:
    """The chosen model as it is, and had it been built otherwise."""
    found = kv_cache.cache_sizes(chosen.name, chosen.shape, chosen.context, tokens, batch, precision)
    shown = experiments.sizes(chosen, tokens, batch, precision, unit)
    figure(
        shown.figure,
        key="ways",
        height=270,
        min_width=330,
        alt=shown.alt,
        caption=shown.caption,
        table=lambda: pd.DataFrame(found.sizes.items(), columns=["sharing", "bytes"]),
    )
    return found


def every(chosen: Model, tokens: int, batch: int, precision: Precision, unit: Unit) -> None:
    """All models at the same length."""
    some = list(models.all_known().values())
    if chosen not in some:
        some.append(chosen)
    shown = experiments.every_model(some, chosen, tokens, batch, precision, unit)

    def table() -> pd.DataFrame:
        rows = [(m.name, m.shape.kind, kv_cache.cache_bytes(m.shape, tokens, batch, precision)) for m in some]
        return pd.DataFrame(rows, columns=["model", "attention", "bytes"]).sort_values("bytes", kind="stable")

    st.markdown("**The same sequences in every model**")
    figure(
        shown.figure,
        key="models",
        height=560,
        min_width=350,
        alt=shown.alt,
        caption=f"{shown.caption} Published sizes; sequences longer than a model's context are counted all the same.",
        table=table,
    )


def words(experiment: page.Experiment, formula: str) -> None:
    """What to see and to ask, and how it is computed."""
    page.what_to_see(
        "The number of query heads is not in the formula: only KV heads are cached, so with one KV head for eight "
        "query heads the cache is an eighth. LLaMA 2 7B (MHA) caches more per token than LLaMA 3 70B (GQA), which has "
        "ten times its parameters. Latent attention caches one vector for all heads together: with the 128 heads of "
        "DeepSeek-V2, below 2 % of MHA. A sliding window bounds the cache. 85.9 GB and 80.0 GiB are the same bytes: a "
        "GB is 10⁹, a GiB 2³⁰."
    )
    page.question(
        "A model has 80 layers and 64 heads of 128, fp16. How many tokens fit into 10 GiB? And with 8 KV heads?",
        "A token takes 2 x 80 x 64 x 128 x 2 bytes = 2.5 MiB, so 10 GiB hold 4,096 tokens. With 8 KV heads it takes an "
        "eighth, and 32,768 tokens fit.",
    )
    page.how_it_is_computed(
        experiment,
        formula=formula,
        code=(kv_cache.cache_bytes, kv_cache.shared, kv_cache.CacheShape),
        papers=(
            "Grouped-query attention: arXiv:2305.13245. Multi-query attention: arXiv:1911.02150. Multi-head latent "
            "attention: arXiv:2405.04434, section 2.1 and table 1; a model that was not built so is given 4 d_head + "
            "d_head / 2 values, as there. int8 and int4 also keep a scale per group of values, some per cent more that "
            "are not counted here."
        ),
    )
