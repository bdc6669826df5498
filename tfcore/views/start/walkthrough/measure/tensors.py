"""The tensors before and after one stage of a walk, of one head where heads are computed apart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Shaped
from numpy import ndarray

from tfcore.checks import check_place
from tfcore.measures.quantities import counted
from tfcore.views.start.walkthrough.measure.walk import Walk, walk_stages

Columns = Literal["feature", "key", "candidate", "expert", "id"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTensor:
    """A tensor, or the slice of it that is shown, a row for each token.

    Args:
        title: what it is.
        role: colour role of its title.
        values: the numbers shown.
        axes, shape: of the whole tensor, without the batch axis.
        columns: what a column is.
        weights: numbers from 0 to 1 that are shares; otherwise signed numbers.
        blocked: True where there is no number to show.
        first: number of the first column, where a slice is shown.
        framed: columns of the chosen head, from and up to.
    """

    title: str
    role: str
    values: Shaped[ndarray, "row column"]
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    columns: Columns = "feature"
    weights: bool = False
    blocked: Bool[ndarray, "row column"] | None = None
    first: int = 0
    framed: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTensors:
    """The tensors before and after one stage.

    Args:
        sign: drawn between the pieces of `before`: "+" where they are added.
        compared: before and after have one range of colours, because the change of size matters.
    """

    before: tuple[ShownTensor, ...]
    after: tuple[ShownTensor, ...]
    sign: str = ""
    compared: bool = True

    @property
    def read(self) -> ShownTensor:
        """The tensor that the stage begins with; of several the first."""
        return self.before[0]

    @property
    def made(self) -> ShownTensor:
        """The tensor that the stage makes; of several the first."""
        return self.after[0]


def stage_tensors(walk: Walk, stage: str, head: int) -> StageTensors:
    """The tensors of a stage of `walk_stages(walk.config, walk.layer)` that computes with numbers.

    Args:
        head: which head's slice is shown, where heads are computed apart.

    Raises:
        ValueError: a stage that this model does not have, or one of text alone, or a head that is not there.
    """
    check_place(head=(head, walk.config.attention.n_heads))
    known = [one.name for one in walk_stages(walk.config, walk.layer) if one.name in _PLAIN or one.name in OF_A_HEAD]
    if stage not in known:
        raise ValueError(f"stage={stage!r} has no tensors in this model; those with tensors are {', '.join(known)}")
    return OF_A_HEAD[stage](walk, head) if stage in OF_A_HEAD else _PLAIN[stage](walk)


def _whole(walk: Walk, name: str, title: str, role: str = "residual", axis: str = "d_model") -> ShownTensor:
    """A whole tensor, a row for each token."""
    values = walk.tensors[name]
    if axis == "d_model" and values.shape[-1] != walk.config.d_model:
        axis = "d_embed"
    return ShownTensor(title=title, role=role, values=values, axes=("seq", axis), shape=values.shape)


def _of_head(walk: Walk, name: str, title: str, role: str, head: int) -> ShownTensor:
    """One head's slice; `head` counts query heads, of which several may share a key/value head."""
    whole = walk.tensors[name]
    own = head * len(whole) // walk.config.attention.n_heads
    axis = "head" if len(whole) == walk.config.attention.n_heads else "kv_head"
    return ShownTensor(title=title, role=role, values=whole[own], axes=(axis, "seq", "d_head"), shape=whole.shape)


def _pairs(walk: Walk, name: str, title: str, head: int, *, masked: bool = False, weights: bool = False) -> ShownTensor:
    """One head's (query, key) matrix."""
    whole = walk.tensors[name]
    return ShownTensor(
        title=title,
        role="attention",
        values=whole[head],
        axes=("head", "query", "key"),
        shape=whole.shape,
        columns="key",
        weights=weights,
        blocked=~walk.tensors["allowed"] if masked else None,
    )


def _one(
    before: str, after: str, titles: tuple[str, str], role: str = "norm", compared: bool = True
) -> Callable[[Walk], StageTensors]:
    """A stage with one (seq, d_model) tensor before and one after."""

    def made(walk: Walk) -> StageTensors:
        pieces = (_whole(walk, before, titles[0]),), (_whole(walk, after, titles[1], role),)
        return StageTensors(before=pieces[0], after=pieces[1], compared=compared)

    return made


def _sum(stream: str, added: str, total: str, role: str, title: str) -> Callable[[Walk], StageTensors]:
    """A stage that adds to the stream."""

    def made(walk: Walk) -> StageTensors:
        before = _whole(walk, stream, "stream x"), _whole(walk, added, title, role)
        return StageTensors(before=before, after=(_whole(walk, total, "stream x, after"),), sign="+")

    return made


def _ids(walk: Walk) -> ShownTensor:
    ids = np.array(walk.ids)
    return ShownTensor(title="ids", role="muted", values=ids[:, None], axes=("seq",), shape=ids.shape, columns="id")


def _looked_up(walk: Walk) -> StageTensors:
    return StageTensors(
        before=(_ids(walk),), after=(_whole(walk, "looked_up", "embeddings", "embedding"),), compared=False
    )


def _before_norm(name: str, walk: Walk) -> str:
    """The tensor that a norm reads: the stream, or the sum where it comes after (post-norm)."""
    if walk.config.norm.placement == "post":
        return {"ln1": "sum_1", "ln2": "sum_2", "ln_conv": "sum_3"}[name]
    return "resid_pre" if name == "ln1" or walk.config.parallel else "stream_2"


def _normed(name: str) -> Callable[[Walk], StageTensors]:
    def made(walk: Walk) -> StageTensors:
        between = name == "ln1" and walk.layer and walk.config.norm.placement != "post"
        title = f"stream x, after {counted(walk.layer, 'block')}" if between else "stream x"
        return _one(_before_norm(name, walk), f"{name}.normalized", (title, "normalised x"))(walk)

    return made


def _embedding_norm(walk: Walk) -> StageTensors:
    before = next(name for name in ("positioned", "segmented", "embed") if name in walk.tensors)
    return _one(before, "embed_norm.normalized", ("stream x", "normalised x"))(walk)


def _embedding_projection(walk: Walk) -> StageTensors:
    stages = ("embed_norm.normalized", "positioned", "segmented", "embed")
    before = next(name for name in stages if name in walk.tensors)
    return _one(before, "projected", ("embeddings", "stream x"), "residual", compared=False)(walk)


def _positions(walk: Walk) -> StageTensors:
    stream = "segmented" if "segmented" in walk.tensors else "embed"
    return _sum(stream, "pos_embed", "positioned", "position", "positions")(walk)


def _final(walk: Walk) -> StageTensors:
    last = "resid_post" if walk.layer == walk.config.n_layers - 1 else f"blocks.{walk.config.n_layers - 1}.resid_post"
    return _one(last, "ln_final.normalized", ("stream x, after all blocks", "normalised x"))(walk)


def _masked_head(walk: Walk) -> StageTensors:
    return _one("hidden", "mlm", ("stream x", "made ready for the table"), "embedding", compared=False)(walk)


def _all_heads(walk: Walk, name: str) -> tuple[ShownTensor, ...]:
    """Queries, keys and values of all heads, which one tensor holds side by side."""
    c, product = walk.config, walk.tensors[name]
    ends = np.cumsum([c.attention.n_heads, c.attention.kv_heads, c.attention.kv_heads]) * c.head_size
    cuts = np.split(product, ends[:-1], axis=1)
    names = (("Q, all heads", "query"), ("K", "key"), ("V", "value"))
    return tuple(
        ShownTensor(
            title=title,
            role=role,
            values=cut,
            axes=("seq", "d_out"),
            shape=product.shape,
            first=int(end) - cut.shape[1],
        )
        for (title, role), cut, end in zip(names, cuts, ends, strict=True)
    )


def _qkv(walk: Walk) -> StageTensors:
    before = (_whole(walk, "read_1", "what attention reads", "norm"),)
    return StageTensors(before=before, after=_all_heads(walk, "qkv"), compared=False)


def _clip(walk: Walk) -> StageTensors:
    return StageTensors(before=_all_heads(walk, "qkv"), after=_all_heads(walk, "clipped"))


def _three(walk: Walk, head: int, names: tuple[str, str, str]) -> tuple[ShownTensor, ...]:
    titles = (("Q", "query"), ("K", "key"), ("V", "value"))
    return tuple(_of_head(walk, name, *title, head) for name, title in zip(names, titles, strict=True))


def _heads(walk: Walk, head: int) -> StageTensors:
    size, shared = walk.config.head_size, walk.config.attention.n_heads // walk.config.attention.kv_heads
    own = (head * size, head // shared * size, head // shared * size)
    before = tuple(
        ShownTensor(
            title=p.title,
            role=p.role,
            values=p.values,
            axes=p.axes,
            shape=p.shape,
            first=p.first,
            framed=(p.first + start, p.first + start + size),
        )
        for p, start in zip(_all_heads(walk, "clipped"), own, strict=True)
    )
    return StageTensors(before=before, after=_three(walk, head, ("split_q", "split_k", "split_v")))


def _qk_norm(walk: Walk, head: int) -> StageTensors:
    before = _three(walk, head, ("split_q", "split_k", "split_v"))[:2]
    return StageTensors(before=before, after=_three(walk, head, ("attn.q", "attn.k", "attn.v"))[:2])


def _rotation(walk: Walk, head: int) -> StageTensors:
    before = _three(walk, head, ("attn.q", "attn.k", "attn.v"))[:2]
    return StageTensors(before=before, after=_three(walk, head, ("attn.rot_q", "attn.rot_k", "attn.v"))[:2])


def _scores(walk: Walk, head: int) -> StageTensors:
    turned = "attn.rot_" if "attn.rot_q" in walk.tensors else "attn."
    before = _three(walk, head, (f"{turned}q", f"{turned}k", "attn.v"))[:2]
    return StageTensors(before=before, after=(_pairs(walk, "products", "Q Kᵀ", head),), compared=False)


def _scaled(walk: Walk, head: int) -> StageTensors:
    before, after = _pairs(walk, "products", "Q Kᵀ", head), _pairs(walk, "scaled", "scores", head)
    return StageTensors(before=(before,), after=(after,))


def _softcap(walk: Walk, head: int) -> StageTensors:
    before, after = _pairs(walk, "scaled", "scores", head), _pairs(walk, "capped", "scores, capped", head)
    return StageTensors(before=(before,), after=(after,))


def _bias(walk: Walk, head: int) -> StageTensors:
    before, after = _pairs(walk, "capped", "scores", head), _pairs(walk, "attn.scores", "scores, with bias", head)
    return StageTensors(before=(before,), after=(after,))


def _mask(walk: Walk, head: int) -> StageTensors:
    before = _pairs(walk, "attn.scores", "scores", head)
    return StageTensors(before=(before,), after=(_pairs(walk, "attn.scores", "scores, masked", head, masked=True),))


def _softmax(walk: Walk, head: int) -> StageTensors:
    before = _pairs(walk, "attn.scores", "scores, masked", head, masked=True)
    after = _pairs(walk, "attn.pattern", "weights A", head, masked=True, weights=True)
    return StageTensors(before=(before,), after=(after,), compared=False)


def _values(walk: Walk, head: int) -> StageTensors:
    weights = _pairs(walk, "attn.pattern", "weights A", head, masked=True, weights=True)
    values = _of_head(walk, "attn.v", "values V", "value", head)
    return StageTensors(
        before=(weights, values), after=(_of_head(walk, "attn.z", "A V", "value", head),), sign="·", compared=False
    )


def _side_by_side(walk: Walk, head: int) -> ShownTensor:
    size = walk.config.head_size
    whole = _whole(walk, "concat", "all heads side by side", "value", "d_out")
    return ShownTensor(
        title=whole.title,
        role=whole.role,
        values=whole.values,
        axes=whole.axes,
        shape=whole.shape,
        framed=(head * size, (head + 1) * size),
    )


def _concat(walk: Walk, head: int) -> StageTensors:
    return StageTensors(
        before=(_of_head(walk, "attn.z", f"A V of head {head}", "value", head),), after=(_side_by_side(walk, head),)
    )


def _output(walk: Walk, head: int) -> StageTensors:
    after = _whole(walk, "written_1", "what attention adds", "attention")
    return StageTensors(before=(_side_by_side(walk, head),), after=(after,), compared=False)


def _up(walk: Walk) -> StageTensors:
    return StageTensors(
        before=(_whole(walk, "read_2", "what the layer reads", "norm"),), after=_hidden(walk), compared=False
    )


def _hidden(walk: Walk) -> tuple[ShownTensor, ...]:
    if "mlp.pre_linear" not in walk.tensors:
        return (_whole(walk, "mlp.pre", "hidden", "feedforward", "d_ff"),)
    return (
        _whole(walk, "mlp.pre", "gate", "feedforward", "d_ff"),
        _whole(walk, "mlp.pre_linear", "up", "feedforward", "d_ff"),
    )


def _activation(walk: Walk) -> StageTensors:
    return StageTensors(before=_hidden(walk), after=(_whole(walk, "mlp.post", "hidden, after", "feedforward", "d_ff"),))


def _down(walk: Walk) -> StageTensors:
    before = _whole(walk, "mlp.post", "hidden", "feedforward", "d_ff")
    after = _whole(walk, "written_2", "what the layer adds", "feedforward")
    return StageTensors(before=(before,), after=(after,), compared=False)


def _router(walk: Walk) -> StageTensors:
    probs = walk.tensors["mlp.router.probs"]
    after = ShownTensor(
        title="share of each expert",
        role="feedforward",
        values=probs,
        axes=("seq", "expert"),
        shape=probs.shape,
        columns="expert",
        weights=True,
    )
    return StageTensors(
        before=(_whole(walk, "read_2", "what the router reads", "norm"),), after=(after,), compared=False
    )


def _experts(walk: Walk) -> StageTensors:
    after = _whole(walk, "written_2", "what the experts add", "feedforward")
    return StageTensors(before=_router(walk).after, after=(after,), compared=False)


def _over_candidates(walk: Walk, values: ndarray, title: str, weights: bool = False) -> ShownTensor:
    shape = (len(walk.ids), walk.config.vocab_size)
    return ShownTensor(
        title=title,
        role="embedding",
        values=values,
        axes=("seq", "vocab"),
        shape=shape,
        columns="candidate",
        weights=weights,
    )


def _logits(walk: Walk) -> StageTensors:
    before = _whole(walk, "mlm" if "mlm" in walk.tensors else "hidden", "normalised x", "norm")
    return StageTensors(before=(before,), after=(_over_candidates(walk, walk.logits, "logits"),), compared=False)


def _probabilities(walk: Walk) -> StageTensors:
    before = _over_candidates(walk, walk.logits, "logits")
    after = _over_candidates(walk, walk.probabilities, "probabilities", weights=True)
    return StageTensors(before=(before,), after=(after,), compared=False)


_PLAIN: dict[str, Callable[[Walk], StageTensors]] = {
    "embedding": _looked_up,
    "scaling": _one("looked_up", "embed", ("embeddings", "embeddings, scaled"), "embedding"),
    "segments": _sum("embed", "segment_embed", "segmented", "position", "segments"),
    "positions": _positions,
    "embedding-norm": _embedding_norm,
    "embedding-projection": _embedding_projection,
    "norm-1": _normed("ln1"),
    "qkv": _qkv,
    "clip": _clip,
    "norm-1-after": _one("written_1", "attn_out", ("what attention adds", "the same, normalised")),
    "add-1": _sum("resid_pre", "attn_out", "sum_1", "attention", "from attention"),
    "norm-2": _normed("ln2"),
    "up": _up,
    "activation": _activation,
    "down": _down,
    "router": _router,
    "experts": _experts,
    "norm-2-after": _one("written_2", "mlp_out", ("what the layer adds", "the same, normalised")),
    "add-2": _sum("stream_2", "mlp_out", "sum_2", "feedforward", "from the layer"),
    "convolution": _one("resid_pre", "conv_out", ("what the block reads", "convolved"), "feedforward", compared=False),
    "add-3": _sum("resid_mid_conv", "conv_out", "sum_3", "feedforward", "from the convolution"),
    "norm-3": _normed("ln_conv"),
    "final-norm": _final,
    "mlm-head": _masked_head,
    "logits": _logits,
    "probabilities": _probabilities,
}
OF_A_HEAD: dict[str, Callable[[Walk, int], StageTensors]] = {
    "heads": _heads,
    "qk-norm": _qk_norm,
    "rotation": _rotation,
    "scores": _scores,
    "scaled": _scaled,
    "softcap": _softcap,
    "bias": _bias,
    "mask": _mask,
    "softmax": _softmax,
    "values": _values,
    "concat": _concat,
    "output": _output,
}
