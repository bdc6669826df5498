"""The page on heads: one width cut into more or fewer heads, and heads that share keys and values."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.foundations.heads import experiments
from pages.foundations.heads.reading import Choice
from pages.ui import cache, controls, fragments, page, text
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.foundations import head_splits
from tfcore.figures.foundations import head_splits as figures

TOKENS = 48  # of the text that are drawn
SHARING = "Who shares keys and values: MHA, GQA, MQA"

split_of = cache.of_model(max_entries=24)(experiments.resplit_text)
shared_of = cache.of_model(max_entries=8)(experiments.share_on_text)


def cuts(choice: Choice) -> None:
    """The section about head sizes and sharing."""
    model_name, queries = choice.model_name, choice.reading.queries[:TOKENS]
    config = cache.model(model_name)[0].config
    if config.architecture != "decoder":
        st.info("This section takes apart a decoder; choose one of the decoders above, such as stories.")
        fragments.stop()
    width = config.n_heads * config.head_size
    with choice.tries:
        page.try_this(
            {
                "one head": {"n_heads": 1},
                **({"many small heads": {"n_heads": config.n_heads * 4}} if config.head_size % 4 == 0 else {}),
                "as it was trained": {"n_heads": config.n_heads},
            }
        )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        options = head_splits.divisors(width)
        n_heads = controls.select("Heads", "n_heads", options, config.n_heads)
        layer = controls.place("Layer", "layer", config.n_layers, 3)
        sizes = head_splits.split_sizes(config, n_heads, len(queries))
        st.metric("Dimensions of a head", str(sizes.d_head), help=f"{width} / {n_heads}")
        st.metric(
            "Parameters in W_Q, W_K, W_V",
            sizes.parameter_count,
            "the same for any cut",
            delta_color="off",
            delta_arrow="off",
        )
        st.metric("Attention weights per layer", sizes.weight_count, help=f"{n_heads} x {len(queries)}²")
    split = split_of(model_name, choice.pasted, TOKENS, layer, n_heads)
    shown, found = experiments.cuts(split), head_splits.split_maps(split)
    with right:
        figure(
            figures.product_figure(split, n_heads, text.tick_labels(queries), height=260),
            key="product",
            alt=f"The product x W_QKV of layer {layer}, {split.product.shape[0]} tokens by {split.product.shape[1]} "
            f"columns: queries, keys and values side by side; the queries are cut into {n_heads} heads.",
            height=260,
            min_width=560,
            caption=f"One product, shape {split.product.shape}; cutting its queries into {n_heads} heads is a reshape "
            f"to ({n_heads}, {len(queries)}, {split.d_head}): no number changes.",
            table=lambda: pd.DataFrame(split.product),
        )
        wide = max(560, 94 * -(-found.drawn // -(-found.drawn // 8)))
        figure(
            shown.figure,
            key="cuts",
            alt=f"Attention maps of layer {layer} with its {width} dimensions cut into {n_heads} heads; "
            f"{found.trained}.",
            height=shown.figure.layout.height,
            min_width=wide,
            caption=shown.caption,
            table=lambda: pd.DataFrame(np.concatenate(split.patterns)),
        )
    st.subheader(SHARING, anchor=False)
    if (refusal := head_splits.sharing_refusal(config)) is not None:
        st.info(refusal)
        merged = head_splits.trained_sharing(config)
    else:
        sharing(shared_of(model_name, choice.pasted, TOKENS), layer)
        merged = "Here the heads were merged without further training, and the table says what that does to the loss; "
        merged += "real models are trained with shared KV heads from the start, or further after merging."
    page.what_to_see(
        "With one head there is one map: the softmax of one score, the sum of the products of all heads. With many, "
        "each map comes from few dimensions; the caption says how large the weights are. Where g query heads share a "
        f"KV head, the KV cache is g times smaller. {merged}"
    )
    page.question(
        "Why does cutting one width into more heads cost no more parameters, but more memory for attention weights?",
        "W_Q, W_K and W_V are as wide as all heads together, however many those are. But each head has a map of its "
        "own, of tokens x tokens weights: twice the heads, twice the maps.",
    )
    page.how_it_is_computed(
        page.experiment(
            experiments.cuts, made(experiments.resplit_text, model_name, choice.pasted, TOKENS, layer, n_heads)
        ),
        code=(head_splits.split_heads, head_splits.resplit, head_splits.with_kv_heads),
        papers="Heads: arXiv:1706.03762, section 3.2.2. MQA: arXiv:1911.02150. GQA: arXiv:2305.13245, section 2.1",
    )


def sharing(shared: list[head_splits.SharedKV], layer: int) -> None:
    """MHA, GQA and MQA side by side."""
    table = pd.DataFrame(
        {
            "variant": [v.kind for v in shared],
            "KV heads": [v.kv_heads for v in shared],
            "loss on this text (nats per token)": [round(v.loss, 3) for v in shared],
            "KV cache (bytes per token, 16 bits)": [v.cache_bytes for v in shared],
            "parameters of the model": [v.parameters for v in shared],
        }
    )
    figure(
        figures.sharing_figure(shared, height=170),
        key="sharing",
        height=170,
        min_width=640,
        alt=str(head_splits.sharing_variants(shared)),
        caption="Orange: query heads. Blue: the KV heads they read.",
        table=lambda: table,
    )
    numbers = {name: st.column_config.NumberColumn(format="localized") for name in table.columns[3:]}
    numbers[table.columns[2]] = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(table, hide_index=True, column_config=numbers)
    loss = head_splits.sharing_loss(shared)
    own, height = shared[0].patterns[layer], 170 * len(shared) + 20
    figure(
        figures.shared_maps_figure(shared, layer, height),
        key="shared maps",
        height=height,
        min_width=560,
        alt=f"Attention maps of layer {layer} for every variant. {loss}",
        caption=f"Layer {layer}, one row per variant. {loss}",
        table=lambda: pd.DataFrame(np.concatenate(own)),
    )
