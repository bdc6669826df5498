"""The page on heads: one width cut into more or fewer heads, and heads that share keys and values."""

import pandas as pd
import streamlit as st

from pages.foundations.heads import experiments as experiments
from pages.foundations.heads.maps import Reading
from pages.ui import cache, controls, fragments, page, text
from pages.ui.components.figure import figure
from tfcore.analysis.foundations import head_cuts
from tfcore.analysis.foundations.attention_maps import pool
from tfcore.analysis.model.parameter_count import parameters
from tfcore.figures.foundations import head_cuts as figures

TOKENS, LARGEST = 48, 30_000_000  # of the text that are drawn; parameters of a model that is copied for sharing
SHARING = "Who shares keys and values: MHA, GQA, MQA"


@cache.data(max_entries=24)
def cut_of(model_name: str, ids: tuple[int, ...], layer: int, n_heads: int) -> head_cuts.Cut:
    return head_cuts.cut_anew(cache.model(model_name)[0], ids, layer, n_heads)


@cache.data(max_entries=8)
def shared_of(model_name: str, ids: tuple[int, ...]) -> list[head_cuts.Shared]:
    return head_cuts.sharing(cache.model(model_name)[0], ids)


def cuts(reading: Reading, model_name: str) -> None:
    """The section about head sizes and sharing."""
    config = cache.model(model_name)[0].config
    if config.architecture != "decoder":
        st.info("This section takes apart a decoder; choose one of the decoders above, such as stories.")
        fragments.stop()
    width = config.n_heads * config.head_size
    ids = tuple(int(i) for i in reading.found.ids[:TOKENS])
    labels = text.tick_labels(reading.queries[:TOKENS])
    left, right = st.columns([1, 3], gap="medium")
    with left:
        options = head_cuts.divisors(width)
        n_heads = controls.select("Heads", "n_heads", options, config.n_heads)
        layer = controls.slider("Layer", "layer", 0, config.n_layers - 1, min(3, config.n_layers - 1))
        st.metric("Dimensions of a head", f"{width // n_heads}", help=f"{width} / {n_heads}")
        weights = config.d_model * (config.n_heads + 2 * config.kv_heads) * config.head_size
        st.metric(
            "Parameters in W_Q, W_K, W_V", f"{weights:,}", "the same for any cut", delta_color="off", delta_arrow="off"
        )
        st.metric("Attention weights per layer", f"{n_heads * len(ids) ** 2:,}", help=f"{n_heads} x {len(ids)}²")
    cut = cut_of(model_name, ids, layer, n_heads)
    own = "as it was trained" if n_heads == config.n_heads else f"it was trained with {config.n_heads}"
    with right:
        figure(
            figures.product_figure(cut, n_heads, labels, 260),
            key="product",
            alt=f"The product x W_QKV of layer {layer}, {cut.product.shape[0]} tokens by {cut.product.shape[1]} "
            f"columns: queries, keys and values side by side, each cut into {n_heads} heads.",
            height=260,
            min_width=560,
            caption=f"One product, shape {cut.product.shape}; cutting it into {n_heads} heads is a reshape to "
            f"({n_heads}, {len(ids)}, {width // n_heads}): no number changes.",
            table=lambda: pd.DataFrame(cut.product),
        )
        rows = -(-n_heads // 8)
        figure(
            figures.cut_figure(pool(cut.patterns, TOKENS), width // n_heads, 190 * rows + 40),
            key="cuts",
            alt=f"Attention maps of layer {layer} with its {width} dimensions cut into {n_heads} heads; {own}.",
            height=190 * rows + 40,
            min_width=560,
            caption=f"softmax(q kᵀ / √{width // n_heads}) of layer {layer}, cut into {n_heads}: {own}. The same "
            f"queries and keys every time; the largest weight of a query token is {cut.largest:.2f} on average.",
            table=lambda: pd.DataFrame(cut.patterns.reshape(n_heads * len(ids), -1)),
        )
    st.subheader(SHARING, anchor=False)
    if config.head == "none":
        st.info(
            "This model predicts no tokens, so there is no loss that sharing could change: shown for stories alone."
        )
    elif (count := parameters(config).total) > LARGEST:
        st.info(f"Sharing is shown on copies of the model; for {count:,} parameters that would take too long here.")
    else:
        sharing(shared_of(model_name, ids), config.n_heads, layer)
    page.try_this(
        {
            "one head": {"n_heads": 1},
            "many small heads": {"n_heads": config.n_heads * 4 if config.head_size % 4 == 0 else config.n_heads},
            "as it was trained": {"n_heads": config.n_heads},
        }
    )
    page.what_to_see(
        "With one head there is one map: the softmax of one score, the sum of the products of all heads. With many, "
        "each map comes from few dimensions; the caption says how large the weights are. Sharing KV heads makes the "
        "KV cache smaller by the same factor. Here the heads were merged without further training, and the table says "
        "what that does to the loss; real models are trained with shared KV heads from the start, or further after "
        "merging."
    )
    page.source(head_cuts.cut, head_cuts.cut_anew, head_cuts.with_kv_heads)
    page.experiment(experiments.cuts, model_name, reading.pasted, TOKENS, layer, n_heads)
    st.caption("Heads: arXiv:1706.03762, section 3.2.2. MQA: arXiv:1911.02150. GQA: arXiv:2305.13245, section 2.1")
    page.question(
        "Why does cutting one width into more heads cost no more parameters, but more memory for the weights?",
        "W_Q, W_K and W_V are as wide as all heads together, however many those are. But each head has a map of its "
        "own, of tokens x tokens weights: twice the heads, twice the maps.",
    )


def sharing(shared: list[head_cuts.Shared], n_heads: int, layer: int) -> None:
    """MHA, GQA and MQA side by side."""
    table = pd.DataFrame(
        {
            "variant": [figures.kind(v.kv_heads, n_heads) for v in shared],
            "KV heads": [v.kv_heads for v in shared],
            "loss on this text (nats per token)": [round(v.loss, 3) for v in shared],
            "KV cache (bytes per token, 16 bits)": [v.cache_bytes for v in shared],
            "parameters of the model": [v.parameters for v in shared],
        }
    )
    figure(
        figures.sharing_figure(shared, n_heads, 170),
        key="sharing",
        height=170,
        min_width=640,
        alt="Which query heads share KV heads: "
        + "; ".join(f"{figures.kind(v.kv_heads, n_heads)}: {v.kv_heads} for {n_heads}" for v in shared),
        caption="Orange: query heads. Blue: the KV heads they read.",
        table=lambda: table,
    )
    numbers = {name: st.column_config.NumberColumn(format="localized") for name in table.columns[3:]}
    numbers[table.columns[2]] = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(table, hide_index=True, column_config=numbers)
    own, height = shared[0].patterns[layer], 170 * len(shared) + 20
    figure(
        figures.shared_maps_figure(shared, layer, height),
        key="shared maps",
        height=height,
        min_width=560,
        alt=f"Attention maps of layer {layer} for every variant; the loss on the text goes from {shared[0].loss:.2f} "
        f"to {shared[-1].loss:.2f} nats per token.",
        caption=f"Layer {layer}, one row per variant. The loss goes from {shared[0].loss:.2f} to {shared[-1].loss:.2f} "
        "nats per token when KV heads are merged without further training.",
        table=lambda: pd.DataFrame(own.reshape(len(own) * own.shape[1], -1)),
    )
