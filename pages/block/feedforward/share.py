"""Panel of the page on the feed-forward layer: its share of a block's parameters."""

import pandas as pd
import streamlit as st

from pages.block.feedforward import experiments
from pages.ui import controls, page
from pages.ui.components.figure import figure
from pages.ui.loading import models, own_models
from pages.ui.program import made
from tfcore.analysis.block.feedforward import (
    PUBLISHED,
    FormulaShare,
    block_share,
    block_shares,
    chosen_share,
    feed_forward_total,
    published_configs,
    published_shares,
    share_formula,
)
from tfcore.config import ModelConfig

MODEL = "stories"
OURS = "stories (ours)"
OWN = "your own"


def share() -> None:
    """The panel of the feed-forward share of a block."""
    st.markdown(
        "**Two thirds of a block are feed-forward where d_ff = 4 d**: 8 d² weights beside attention's 4 d². Shared KV "
        "heads make attention smaller, experts make the other part larger."
    )
    page.try_this(
        {
            "the classic": {"model": OWN, "ratio": 4.0, "kv": 32, "gated": False},
            "GQA": {"model": "LLaMA-3 8B"},
            "one KV head (MQA)": {"model": OWN, "kv": 1},
            "experts": {"model": "Mixtral 8x7B"},
            "with cross-attention": {"model": "Transformer base (decoder)"},
        }
    )
    left, right = st.columns([1, 3], gap="large")
    with left:
        listed = {name: name for name in (*PUBLISHED, OURS, OWN)}
        chosen = models.choose(label="Block of", default=OWN, options=listed)
        st.caption("Your own block:")
        d_model = controls.slider("Width d_model", "d", 64, 8192, 4096, 64)
        ratio = controls.slider("d_ff / d_model", "ratio", 0.5, 8.0, 4.0, 0.1)
        with page.more_settings():
            kv = controls.select("KV heads, of 32", "kv", [1, 2, 4, 8, 16, 32], 32)
            gated = controls.toggle("Gated (three matrices)", "gated")
    own = ModelConfig(
        vocab_size=1,
        d_model=d_model,
        n_layers=1,
        n_heads=32,
        n_kv_heads=kv,
        d_ff=round(ratio * d_model),
        activation="swiglu" if gated else "relu",
    )
    configs = published_configs() | {OURS: models.config(MODEL), OWN: own}
    configs |= {name: models.config(name) for name in models.names() if own_models.is_own(name)}
    blocks = block_shares(configs)
    shown = experiments.share(blocks, chosen)
    with left:
        st.metric(f"Feed-forward share, {chosen}", chosen_share(blocks, chosen).share)
        if chosen == OWN:
            st.caption(str(FormulaShare(share_formula(3 if gated else 2, ratio, kv / 32))))
    with right:
        figure(
            shown.figure,
            key="shares",
            height=470,
            min_width=350,
            table=lambda: pd.DataFrame(
                [(name, b.feed_forward, b.attention, b.norms, b.share) for name, b in blocks.items()],
                columns=["model", "feed-forward", "attention", "norms", "share"],
            ),
            alt=shown.alt,
            caption=str(shown.findings[1]),
        )
    page.what_to_see(str(published_shares(blocks)))
    given = made(block_shares, made(experiments.configs, {OURS: MODEL}, own, OWN))
    page.question(
        "Which has more parameters in GPT-3's 96 blocks: attention or the feed-forward layers?",
        str(feed_forward_total(configs["GPT-3 175B"])),
    )
    page.how_it_is_computed(
        page.experiment(experiments.share, given, chosen),
        formula=(
            r"\text{share} = \frac{m\,r}{m\,r + 2 + 2g}, \quad m \text{ matrices}, \; r = d_{ff}/d, \; "
            r"g = n_{kv}/n_{heads}"
        ),
        code=(block_share, share_formula),
        papers="4 d² and 8 d² of a block: arXiv:2001.08361, table 1. Grouped queries: arXiv:2305.13245.",
    )
