"""Views of one width cut into more or fewer heads, and of heads that share keys and values."""

import numpy as np
import pandas as pd

from tfcore.measures.token_text import tick_labels
from tfcore.views.finding import state
from tfcore.views.foundations.heads import say
from tfcore.views.foundations.heads.draw.head_splits import (
    product_figure,
    shared_maps_figure,
    sharing_figure,
    split_figure,
)
from tfcore.views.foundations.heads.measure.head_splits import (
    MOST_DRAWN,
    resplit,
    shared_on_text,
    split_heads,
    split_of_text,
    tokens_of_text,
    with_kv_heads,
)
from tfcore.views.sources import Source
from tfcore.views.view import View, view

ROW = 8  # maps side by side
PAPERS = "Heads: arXiv:1706.03762, section 3.2.2. MQA: arXiv:1911.02150. GQA: arXiv:2305.13245, section 2.1"


@view
def product(model: Source, text: str, layer: int, n_heads: int) -> View:
    """One product x W_QKV of a decoder's layer, and where it is cut into heads (arXiv:1706.03762, section 3.2.2).

    Args:
        n_heads: that the queries are cut into.
    """
    split, tokens = split_of_text(model, text, layer, n_heads), tokens_of_text(model, text)
    shape = split.product.shape
    return View(
        key="product",
        title="One product, cut into heads",
        result=split,
        chart=product_figure(split, n_heads, tick_labels(tokens), height=260),
        min_width=560,
        described=state(
            "product",
            "The product x W_QKV of layer {layer}, {shape[0]} tokens by {shape[1]} columns: queries, keys and values "
            "side by side; the queries are cut into {n_heads} heads.",
            layer=layer,
            shape=shape,
            n_heads=n_heads,
        ),
        findings=(
            state(
                "reshape",
                "One product, shape {shape}; cutting its queries into {n_heads} heads is a reshape to ({n_heads}, "
                "{tokens}, {d_head}): no number changes.",
                shape=shape,
                n_heads=n_heads,
                tokens=len(tokens),
                d_head=split.d_head,
            ),
        ),
        table=lambda: pd.DataFrame(split.product),
        papers=PAPERS,
        code=(split_heads, resplit, with_kv_heads),
    )


@view
def cuts(model: Source, text: str, layer: int, n_heads: int) -> View:
    """One width cut into more or fewer heads: the same queries and keys, reshaped (arXiv:1706.03762, section 3.2.2).

    Args:
        n_heads: that the queries and keys of a decoder's layer are cut into.
    """
    split = split_of_text(model, text, layer, n_heads)
    finding, drawn = say.split_maps(split), split.patterns[:MOST_DRAWN]
    rows = -(-len(drawn) // ROW)
    return View(
        key="cuts",
        title="Attention maps of the cut",
        result=split,
        chart=split_figure(drawn, split.d_head, height=190 * rows + 40),
        min_width=max(560, 94 * -(-len(drawn) // rows)),
        described=state(
            "cut",
            "Attention maps of layer {layer} with its {width} dimensions cut into {n_heads} heads; {trained}.",
            layer=layer,
            width=split.widths[0],
            n_heads=n_heads,
            trained=finding.trained,
        ),
        findings=(finding,),
        table=lambda: pd.DataFrame(np.concatenate(split.patterns)),
    )


@view
def sharing(model: Source, text: str) -> View:
    """A decoder with fewer and fewer KV heads, merged without further training (arXiv:2305.13245, section 2.1)."""
    shared = shared_on_text(model, text)
    return View(
        key="sharing",
        title="Who shares keys and values",
        result=shared,
        chart=sharing_figure(shared, height=170),
        min_width=640,
        described=say.sharing_variants(shared),
        note="Orange: query heads. Blue: the KV heads they read.",
        table=lambda: pd.DataFrame(
            {
                "variant": [one.kind for one in shared],
                "KV heads": [one.kv_heads for one in shared],
                "loss on this text (nats per token)": [round(one.loss, 3) for one in shared],
                "KV cache (bytes per token, 16 bits)": [one.cache_bytes for one in shared],
                "parameters of the model": [one.parameters for one in shared],
            }
        ),
    )


@view
def shared_maps(model: Source, text: str, layer: int) -> View:
    """The attention maps of a layer, a row for each number of KV heads. See sharing."""
    shared = shared_on_text(model, text)
    loss = say.sharing_loss(shared)
    return View(
        key="shared maps",
        title="Attention maps with shared keys and values",
        result=shared,
        chart=shared_maps_figure(shared, layer, height=170 * len(shared) + 20),
        min_width=560,
        described=state(
            "shared maps", "Attention maps of layer {layer} for every variant. {loss}", layer=layer, loss=loss
        ),
        findings=(state("rows", "Layer {layer}, one row per variant. {loss}", layer=layer, loss=loss),),
        table=lambda: pd.DataFrame(np.concatenate(shared[0].patterns[layer])),
    )
