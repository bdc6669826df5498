"""Multi-head attention by reshape."""

from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.attention import Attention, AttentionContext
from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.exercises.shown import recorded, shipped_model
from tfcore.inspection.capture import ActivationRecorder
from tfcore.part_configs import AttentionConfig, PositionsConfig
from tfcore.views.finding import state
from tfcore.views.foundations.heads.draw.head_splits import split_figure

LAYER = 1  # of stories


def multi_head(
    x: Float[Tensor, "seq d_model"],
    w_q: Float[Tensor, "d_model d_model"],
    w_k: Float[Tensor, "d_model d_model"],
    w_v: Float[Tensor, "d_model d_model"],
    w_o: Float[Tensor, "d_model d_model"],
    n_heads: int,
) -> tuple[Float[Tensor, "head query key"], Float[Tensor, "seq d_model"]]:
    """Multi-head attention without a mask, of one text; torch.softmax is allowed, a loop over heads is not needed.

    Head h has the columns h * d_head to (h + 1) * d_head of x W_Q, x W_K and x W_V, with d_head = d_model / n_heads.
    The outputs of the heads, side by side in the same order, are multiplied by W_O.

    Args:
        x: one row a token.
        w_q, w_k, w_v, w_o: to be multiplied from the right, as in x @ w_q.

    Returns:
        weights: of each head; and output: one row a token.
    """
    seq, d_model = x.shape
    q, k, v = ((x @ w).view(seq, n_heads, -1).transpose(0, 1) for w in (w_q, w_k, w_v))  # each (head, seq, d_head)
    weights = (q @ k.mT / (d_model // n_heads) ** 0.5).softmax(-1)
    z = (weights @ v).transpose(0, 1).reshape(seq, d_model)  # heads side by side again
    return weights, z @ w_o


def by_tfcore(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int) -> tuple[Tensor, Tensor]:
    config = ModelConfig(
        vocab_size=2,
        d_model=x.shape[1],
        n_layers=1,
        attention=AttentionConfig(n_heads=n_heads),
        positions=PositionsConfig(kind="none"),
        max_seq_len=64,
    )
    layer = Attention(config).requires_grad_(False)
    layer.qkv.weight.copy_(torch.cat((w_q.T, w_k.T, w_v.T)))
    layer.out.weight.copy_(w_o.T)
    context = AttentionContext(mask=None, is_causal=False, bias=None, rotation=None, n_query=len(x), device=x.device)
    recorder = ActivationRecorder.of("blocks.0.attn.pattern", (), config).under("blocks.0.attn.")
    (output,) = layer(x[None], context, recorder)
    return recorder.record["blocks.0.attn.pattern"][0], output


def _attended(q: Tensor, k: Tensor, v: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    weights = (q @ k.mT * scale).softmax(-1)
    return weights, weights @ v


def without_transpose(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int
) -> tuple[Tensor, Tensor]:
    q, k, v = ((x @ w).view(n_heads, len(x), -1) for w in (w_q, w_k, w_v))
    weights, z = _attended(q, k, v, q.shape[-1] ** -0.5)
    return weights, z.transpose(0, 1).reshape(x.shape) @ w_o


def not_transposed_back(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int
) -> tuple[Tensor, Tensor]:
    q, k, v = ((x @ w).view(len(x), n_heads, -1).transpose(0, 1) for w in (w_q, w_k, w_v))
    weights, z = _attended(q, k, v, q.shape[-1] ** -0.5)
    return weights, z.reshape(x.shape) @ w_o


def scaled_by_model(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int
) -> tuple[Tensor, Tensor]:
    q, k, v = ((x @ w).view(len(x), n_heads, -1).transpose(0, 1) for w in (w_q, w_k, w_v))
    weights, z = _attended(q, k, v, x.shape[-1] ** -0.5)
    return weights, z.transpose(0, 1).reshape(x.shape) @ w_o


def every_nth_column(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int
) -> tuple[Tensor, Tensor]:
    q, k, v = ((x @ w).view(len(x), -1, n_heads).permute(2, 0, 1) for w in (w_q, w_k, w_v))
    weights, z = _attended(q, k, v, q.shape[-1] ** -0.5)
    return weights, z.permute(1, 2, 0).reshape(x.shape) @ w_o


def without_output(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int
) -> tuple[Tensor, Tensor]:
    q, k, v = ((x @ w).view(len(x), n_heads, -1).transpose(0, 1) for w in (w_q, w_k, w_v))
    weights, z = _attended(q, k, v, q.shape[-1] ** -0.5)
    return weights, z.transpose(0, 1).reshape(x.shape)


def transposed_weights(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, n_heads: int
) -> tuple[Tensor, Tensor]:
    return multi_head(x, w_q.T, w_k.T, w_v.T, w_o.T, n_heads)


def cases(generator: torch.Generator) -> list[Inputs]:
    sizes = ((5, 12, 3), (4, 8, 2), (6, 6, 1), (3, 8, 8))
    return [
        (normal(generator, seq, d), *(normal(generator, d, d) / d**0.5 for _ in range(4)), n_heads)
        for seq, d, n_heads in sizes
    ]


def rows_sum_to_one(call: Function, *inputs: object) -> bool:
    sums = call(*inputs)[0].sum(-1)
    return torch.allclose(sums, torch.ones_like(sums), atol=1e-5)


def order_of_tokens_is_free(call: Function, x: Tensor, *rest: object) -> bool:
    return torch.allclose(call(x.flip(0), *rest)[1], call(x, *rest)[1].flip(0), atol=1e-4)


def first_head_has_first_columns(call: Function, x: Tensor, w_q: Tensor, *rest: object) -> bool:
    n_heads = rest[-1]
    assert isinstance(n_heads, int)
    changed = w_q.clone()
    changed[:, x.shape[1] // n_heads :] += 1  # what the other heads read
    return torch.allclose(call(x, changed, *rest)[0][0], call(x, w_q, *rest)[0][0], atol=1e-4)


def draw(call: Function) -> Picture:
    layer = cast("Block", shipped_model("stories")[0].decoder.blocks[LAYER])
    x = recorded("stories", f"blocks.{LAYER}.ln1.normalized")[0]
    w_q, w_k, w_v = (part.T for part in layer.attn.qkv.weight.chunk(3))
    n_heads = layer.attn.n_heads
    weights = call(x, w_q, w_k, w_v, layer.attn.out.weight.T, n_heads)[0].detach().numpy()
    words = (
        "Maps of the function for {heads} heads of {width} dimensions, with the weights of layer "
        "{layer} of stories and neither "
        "mask nor positions: the most of a query's weight that one key gets is {most:.2f}."
    )
    found = state("heads", words, heads=n_heads, width=x.shape[1] // n_heads, layer=LAYER, most=float(np.max(weights)))
    return Picture(split_figure(weights, x.shape[1] // n_heads, 230), found, 640)


MULTI_HEAD = Exercise(
    solution=multi_head,
    title="Multi-head attention by reshape",
    asks="Several heads at once: one product, cut into heads and joined again.",
    papers="Attention Is All You Need, section 3.2.2, arXiv:1706.03762",
    formula=r"\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_n)\, W_O, \qquad "
    r"\mathrm{head}_h = \mathrm{Attention}(x W_Q^h, x W_K^h, x W_V^h)",
    returns=("weights", "output"),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty("Each query's weights sum to 1, in each head.", "rows do not sum to 1", rows_sum_to_one),
        ExerciseProperty(
            "Tokens in another order give the same outputs in that order.",
            "outputs change when the tokens come in another order",
            order_of_tokens_is_free,
        ),
        ExerciseProperty(
            "Head 0 reads the first d_head columns of the queries alone.",
            "head 0 changes when the columns of other heads do",
            first_head_has_first_columns,
        ),
    ),
    mistakes=(
        UsualMistake(without_transpose, "is (seq, d_model) viewed as (head, seq, d_head) at once, so that tokens mix?"),
        UsualMistake(not_transposed_back, "are heads and tokens exchanged again before heads are joined?"),
        UsualMistake(scaled_by_model, "is the scale the square root of d_model in place of d_head?"),
        UsualMistake(every_nth_column, "does head h take every n_heads-th column? Its columns are neighbours"),
        UsualMistake(without_output, "is the last product, with W_O, missing?"),
        UsualMistake(transposed_weights, "are the matrices transposed? They are multiplied as x @ w_q"),
    ),
    hints=(
        "Multiply first, cut afterwards: `(x @ w_q)` has the queries of all heads side by side.",
        "`view(seq, n_heads, d_head)` cuts each row; `transpose(0, 1)` then puts the heads first.",
        "On the way back the heads of a token have to be neighbours again: `transpose(0, 1)`, then `reshape`.",
    ),
    page="heads?show=cuts",
    draw=draw,
)
