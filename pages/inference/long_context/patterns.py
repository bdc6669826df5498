"""A panel of the page on long context: sparse patterns, their cost, and how far information travels through them."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.long_context import experiments as experiments
from pages.inference.long_context import text as source
from pages.ui import cache, controls, fragments, page
from pages.ui.components.figure import figure
from pages.ui.components.player import player
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.inference import length_cost
from tfcore.analysis.inference.length_cost import NAMES
from tfcore.masks import FUNCTIONS, Kind, MaskConfig
from tfcore.measures import one_text

N = 64  # tokens in the picture
MOST = 12  # layers
LENGTHS = [2**power for power in range(6, 18)]
# kind: (who uses it, its own sliders)
PATTERNS: dict[Kind, tuple[str, list[str]]] = {
    "causal": ("Every earlier token: n(n + 1)/2 pairs.", []),
    "window": ("Mistral 7B: the last 4,096 tokens in each layer (arXiv:2310.06825).", ["window"]),
    "window_global": (
        "The first tokens stay visible to every query (after Longformer, arXiv:2004.05150).",
        ["window", "n_global"],
    ),
    "dilated": ("Gaps between the keys: reaches further for the same cost (arXiv:2004.05150).", ["window", "dilation"]),
    "blocks": ("The own block and earlier ones at a stride (after arXiv:1904.10509).", ["block", "stride"]),
}
# parameter: (label, lowest, highest, default)
SLIDERS = {
    "window": ("Window: keys per query, itself included", 1, 32, 6),
    "n_global": ("Global tokens at the start", 0, 8, 2),
    "dilation": ("Dilation: distance between keys", 1, 8, 3),
    "block": ("Block size (tokens)", 1, 16, 8),
    "stride": ("Stride: one of how many earlier blocks", 1, 8, 3),
}


reach = cache.data(max_entries=128)(length_cost.reach)
pairs = cache.data(max_entries=128)(length_cost.pairs_kept)
changed_token = cache.of_model(max_entries=64)(experiments.changed_token)


def choose(more: Any) -> tuple[MaskConfig, dict[str, Any]]:
    """The pattern, and the values of all sliders, those not shown at their defaults."""
    kind = controls.select("Pattern", "kind", list(PATTERNS), "window", NAMES)
    st.caption(PATTERNS[kind][0])
    values: dict[str, Any] = {key: default for key, (_, _, _, default) in SLIDERS.items()}
    for i, key in enumerate(PATTERNS[kind][1]):
        label, low, high, default = SLIDERS[key]
        with more if i else st.container():
            values[key] = controls.slider(label, key, low, high, default)
    return MaskConfig(kind=kind, **values), values


def panel() -> None:
    """The picture of a pattern with its reach, cost against length, and the check on a real model."""
    st.markdown("**Sparse attention: fewer pairs.** What one layer masks can still arrive through several layers.")
    page.try_this(
        {
            "one layer of a window": {"kind": "window", "window": 6, "layers": 1},
            "ten layers of it": {"kind": "window", "window": 6, "layers": 10},
            "one global token": {"kind": "window_global", "window": 4, "n_global": 1, "layers": 2},
            "dilation: gaps remain": {"kind": "dilated", "window": 4, "dilation": 4, "layers": 6},
            "block-sparse: quadratic": {"kind": "blocks", "block": 8, "stride": 2, "layers": 2},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        box, more = st.container(), page.more_settings()
    with box:
        config, values = choose(more)
        layers = controls.slider("Layers", "layers", 1, MOST, 4)
        player("layers", 1, MOST, layers, label="Layer after layer", period=0.6)
    with more:
        at = controls.slider("Length: 2 to the power of", "power", 6, 17, 15) - 6
    found = reach(config, N, layers)
    with right:
        picture, lines = st.columns(2, gap="medium")
        with picture:
            shown = experiments.pattern(found)
            figure(
                shown.figure,
                key="reach",
                height=420,
                min_width=320,
                cursor=True,
                alt=shown.alt,
                caption=f"{shown.caption} Strongest: in one layer. Fainter: through more layers. Hatched: never.",
                table=lambda: pd.DataFrame(found.needed),
            )
        with lines:
            counts = {kind: pairs(MaskConfig(kind=kind, **values), LENGTHS) for kind in PATTERNS}
            shown = experiments.pairs(LENGTHS, counts, config.kind, at)
            figure(
                shown.figure,
                key="pairs",
                height=420,
                alt=shown.alt,
                caption=f"{shown.caption} Each pair costs 4 d operations in each head.",
                table=lambda: pd.DataFrame({"n": LENGTHS} | {NAMES[kind]: kept for kind, kept in counts.items()}),
            )
    page.what_to_see(
        "A window keeps about n · w pairs: a line of slope 1 beside the slope 2 of full attention. Block-sparse "
        "attention with a fixed stride saves a constant factor, so its line stays parallel to the full one (the paper "
        "lets the stride grow with √n). What a layer masks can arrive through later ones: play the layers, and the "
        "receptive field of a window grows by w − 1 in each. Dilated attention reaches further, but only tokens at a "
        "multiple of the dilation, at any depth; Longformer uses different dilations in different heads. A global "
        "token at the start is attended to by all, but in a causal model it attends to none of them, so it carries "
        "nothing forward from the middle."
    )
    latest = page.Latest()
    _check(config, latest)
    page.question(
        "Mistral 7B has a window of 4,096 and 32 layers. From how far back can information reach a token?",
        "From up to 32 · 4,095 = 131,040 tokens; the paper says about 131 K. It bounds what can arrive, not what does: "
        "each layer averages over up to 4,096 values.",
    )
    page.how_it_is_computed(
        page.experiment_of("The pattern", experiments.pattern, made(length_cost.reach, config, N, layers)),
        latest,
        formula=(
            r"\begin{gathered} \text{pairs: } n^2 \to n \cdot w \\"
            r"\text{reach of } L \text{ layers of a window } w: \ L\,(w - 1) \end{gathered}"
        ),
        code=(FUNCTIONS[config.kind], length_cost.keys_seen, length_cost.layers_needed, length_cost.measured_reach),
    )


@fragments.fragment
def _check(config: MaskConfig, latest: page.Latest) -> None:
    """A token changed in a real model under this mask: where do the outputs change?"""
    st.subheader("And in a real model?", anchor=False)
    models.only(source.MODEL, "the check is on the mask, which lets the same tokens through in any decoder.")
    pasted = controls.text_area("Text", "text", source.TEXT, source.CHARACTERS, height=80)
    read = source.read(pasted)
    ids, tokens, _ = read
    if len(ids) < 2:
        st.info("The check needs a text of at least two tokens.")
        return
    position = controls.slider("Token to change", "position", 1, len(ids) - 1, min(5, len(ids) - 1))
    given = source.MODEL, pasted, source.TOKENS
    found = changed_token(*given, config, position)
    shown = experiments.measured(found, read)
    figure(
        shown.figure,
        key="measured",
        height=200,
        min_width=620,
        alt=shown.alt,
        caption=f"{shown.caption} Outputs compared to the last bit.",
        table=lambda: pd.DataFrame({"token": tokens, "pattern": found.expected, "measured": found.changed}),
    )
    change = made(experiments.changed_token, *given, config, position)
    latest.offer(experiments.measured, change, made(one_text.first_tokens, *given))
