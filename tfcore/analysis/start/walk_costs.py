"""What a walk costs and consists of: parameters and operations of each stage, sizes and equations, from the config."""

from dataclasses import dataclass

from tfcore.analysis.finding import Finding
from tfcore.config import GATED, ModelConfig
from tfcore.measures.flop_count import flops
from tfcore.measures.parameter_count import feed_forward_weights, parameters
from tfcore.views.block.normalisation.measure.norms import NORM_NAMES

_NORMS = {
    "rmsnorm": r"y = \frac{x}{\sqrt{\mathrm{mean}(x^2) + \epsilon}} \cdot g",
    "layernorm": r"y = \frac{x - \mathrm{mean}(x)}{\sqrt{\mathrm{var}(x) + \epsilon}} \cdot g$shift",
}
_NORM_KEEPS = {
    "rmsnorm": "The pattern inside a row stays, apart from a learned factor for each column.",
    "layernorm": "The mean of each row is subtracted; otherwise its pattern stays, apart from what is learned for each "
    "column.",
}
_ACTIVATIONS = {"gelu_tanh": "gelu", "swiglu": "silu", "geglu": "gelu", "geglu_tanh": "gelu", "reglu": "relu"}


def values_for_words(config: ModelConfig, stage: str, layer: int, answer: str) -> dict[str, str | int]:
    """Name -> what stands for it in the texts of a stage.

    Args:
        config, layer: the model, and the block that the walk goes through.
        stage: of the walk.
        answer: the most likely token, quoted.
    """
    gated = config.activation in GATED
    name = r"\mathrm{" + _ACTIVATIONS.get(config.activation, config.activation) + "}"
    scale = config.scale_of(layer)
    by_root = scale == config.head_size**-0.5
    norm = _NORMS[config.norm].replace("$shift", " + b" if config.bias else "")
    tied = (
        "The table is the one of the embeddings, turned round (tied)."
        if config.tie_embeddings
        else ("The table is another one than that of the embeddings (untied).")
    )
    return {
        "d_model": config.d_model,
        "root_d_model": f"{config.d_model**0.5:.1f}",
        "vocab": f"{config.vocab_size}",
        "last_id": config.vocab_size - 1,
        "n_heads": config.n_heads,
        "d_head": config.head_size,
        "d_q": config.n_heads * config.head_size,
        "d_ff": config.ff_size,
        "norm": norm,
        "blocks": config.n_layers,
        "tied": tied,
        "answer": answer,
        "act_name": name,
        "norm_name": NORM_NAMES[config.norm],
        "norm_keeps": _NORM_KEEPS[config.norm],
        "before": f"After {layer} other {'block' if layer == 1 else 'blocks'}, each" if layer else "Each",
        "added": "attention" if stage == "add-1" else "feed-forward",
        "scale_label": "÷ √d" if by_root else "scale",
        "scale_words": rf"\tfrac{{1}}{{\sqrt{{d_k}}}} = \tfrac{{1}}{{\sqrt{{{config.head_size}}}}}"
        if by_root
        else f"{scale:.4g}",
        "scale_sign": rf"\div\sqrt{{{config.head_size}}}" if by_root else rf"\times {scale:.4g}",
        "up": r"g = x\,W_{gate}, \quad u = x\,W_{up}" if gated else r"h = x\,W_{up}",
        "up_arrow": r"W_{gate},\,W_{up}" if gated else r"W_{up}",
        "act": rf"h = {name}(g) \odot u" if gated else rf"h \leftarrow {name}(h)",
        "table": r"E^\top" if config.tie_embeddings else r"W_U^\top",
        "up_words": _up_words(config),
        "act_words": _act_words(config),
        "mask_words": _mask_words(config, layer),
        "first_token": "" if config.architecture == "encoder" else "The first token can only attend to itself.",
        "row_words": "Each row rates the tokens for its own position."
        if config.architecture == "encoder"
        else "Each row rates what may follow its own token, the last row what follows the text.",
        "ff_share": f"{feed_forward_share(config, layer):.0%}",
        "chosen_words": _chosen_words(config),
        "expert_words": _expert_words(config),
        "n_experts": config.experts.n_experts if config.experts else 0,
        "top_k": config.experts.top_k if config.experts else 0,
    }


def _act_words(config: ModelConfig) -> str:
    """What the activation function does, and what the layer would be without it."""
    if config.activation in GATED:
        return (
            "A non-linear function of the gate multiplies the other half, number by number. With the identity in its "
            "place the layer would be bilinear: a product of two linear maps of its input."
        )
    return (
        "A non-linear function of each number by itself. With the identity in its place, the layer's two matrices "
        "would be no more than one, their product."
    )


def _up_words(config: ModelConfig) -> str:
    """What the up-projection does to each token."""
    each = f"{config.d_model} numbers become {config.ff_size}, {config.ff_size / config.d_model:.3g} times as many"
    if config.activation in GATED:
        return f"Two learned matrices, one for the gate and one for what it multiplies: in each, a token's {each}."
    return f"A learned matrix: a token's {each}."


def _mask_words(config: ModelConfig, layer: int) -> str:
    """What the mask of a layer allows."""
    causal = "A causal mask: a token attends to itself and to what came before it"
    kind = "A mask: a token attends to those near it" if config.architecture == "encoder" else causal
    window = config.window_of(layer)
    return f"{kind}." if window is None else f"{kind}, within a sliding window of {window} tokens."


def _chosen_words(config: ModelConfig) -> str:
    """The experts that a router chooses for a token."""
    if config.experts is None:
        return "its experts"
    best = "the expert" if config.experts.top_k == 1 else f"the {config.experts.top_k} experts"
    own = "its" if config.experts.top_k == 1 else "their"
    biased = f", after a bias of {own} own is added that counts for the choice alone"
    return f"{best} with the highest probability{biased if config.experts.bias_rate else ''}"


def _expert_words(config: ModelConfig) -> str:
    """How many experts a token goes through."""
    if config.experts is None:
        return "its experts"
    best = "the chosen expert" if config.experts.top_k == 1 else f"the {config.experts.top_k} chosen experts"
    shared = config.experts.n_shared
    always = "" if not shared else " and the shared expert" if shared == 1 else f" and the {shared} shared experts"
    return f"{best}{always}"


_FEED_FORWARD = ("feed-forward", "router", "experts", "shared experts")  # what parameters() calls its parts


@dataclass(frozen=True, slots=True)
class StageCost:
    """The cost of one stage.

    Args:
        parameters: that the stage uses, all heads and experts included.
        flops: floating-point operations on the whole text, all heads together.
        product: they are those of matrix products, counted exactly (2 for a multiplication and its addition);
            otherwise additions, divisions, exponentials and so on, which are left out in arXiv:2001.08361.
    """

    parameters: int = 0
    flops: int = 0
    product: bool = False


def stage_cost(config: ModelConfig, stage: str, n: int) -> StageCost:
    """The cost of one stage on a text of n tokens; nothing for a stage that only moves or names numbers."""
    parts = {**_read(config, n), **_attention(config, n), **_feed_forward(config, n), **_predict(config, n)}
    return parts.get(stage, StageCost())


def feed_forward_share(config: ModelConfig, layer: int) -> float:
    """The parameters of a block's feed-forward layer, or of its router and experts, over those of the block."""
    counts = list(parameters(config).by_layer.values())[layer]
    return sum(counts.get(part, 0) for part in _FEED_FORWARD) / sum(counts.values())


def _matrix(n: int, rows: int, columns: int, bias: bool) -> StageCost:
    return StageCost(rows * columns + columns * bias, 2 * n * rows * columns, True)


def _norm(config: ModelConfig, n: int) -> StageCost:
    """RMSNorm: square, sum, divide, scale. LayerNorm: sum and subtract besides, and the shift where there is one."""
    layer = config.norm == "layernorm"
    shift = layer and config.bias
    return StageCost(config.d_model * (1 + shift), n * config.d_model * (4 + 2 * layer + shift))


def _read(config: ModelConfig, n: int) -> dict[str, StageCost]:
    d = config.d_model
    table = config.max_seq_len * d if config.positions == "learned" else 0
    return {
        "embedding": StageCost(config.vocab_size * d),
        "scaling": StageCost(0, n * d),
        "segments": StageCost(config.n_segments * d, n * d),
        "positions": StageCost(table, n * d),
        "embedding-norm": _norm(config, n),
    }


def _attention(config: ModelConfig, n: int) -> dict[str, StageCost]:
    d, heads, kv_heads, d_head = config.d_model, config.n_heads, config.kv_heads, config.head_size
    turned, pairs = n * (heads + kv_heads) * d_head, n * n * heads
    buckets = config.relative_buckets * heads if config.positions == "relative" else 0
    norms = _norm(config, n)
    return {
        "norm-1": norms,
        "qkv": _matrix(n, d, (heads + 2 * kv_heads) * d_head, config.has_qkv_bias),
        "qk-norm": StageCost(2 * d_head, 4 * turned),
        "rotation": StageCost(0, 3 * turned),  # two products and a sum for each number
        "scores": StageCost(0, 2 * pairs * d_head, True),
        "scaled": StageCost(0, pairs),
        "bias": StageCost(buckets, pairs),
        "softmax": StageCost(0, 4 * pairs),  # subtract the largest, exponential, sum, divide
        "values": StageCost(0, 2 * pairs * d_head, True),
        "output": _matrix(n, heads * d_head, d, config.has_out_bias),
        "norm-1-after": norms,
        "add-1": StageCost(0, n * d),
    }


def _feed_forward(config: ModelConfig, n: int) -> dict[str, StageCost]:
    d, width, gates = config.d_model, config.ff_size, 1 + (config.activation in GATED)
    parts = {
        "norm-2": _norm(config, n),
        "up": _matrix(n, d, width * gates, config.bias),
        "activation": StageCost(0, n * width * gates),  # the function, and the product with the other half
        "down": _matrix(n, width, d, config.bias),
        "norm-2-after": _norm(config, n),
        "add-2": StageCost(0, n * d),
    }
    if config.experts is not None:
        one = feed_forward_weights(config, config.expert_size)
        shared = feed_forward_weights(config, config.experts.n_shared * config.expert_size)
        parts["router"] = _matrix(n, d, config.experts.n_experts, False)
        parts["experts"] = StageCost(
            config.experts.n_experts * one + shared, 2 * n * (config.experts.top_k * one + shared), True
        )
    return parts


def _predict(config: ModelConfig, n: int) -> dict[str, StageCost]:
    d, vocab = config.d_model, config.vocab_size
    norm = _norm(config, n)
    return {
        "final-norm": norm,
        "mlm-head": StageCost(d * d + d + norm.parameters + vocab, 2 * n * d * d, True),
        "logits": StageCost(vocab * d, 2 * n * vocab * d, True),
        "probabilities": StageCost(0, 4 * n * vocab),
    }


@dataclass(frozen=True, slots=True)
class StageShare(Finding):
    """The cost of a stage beside that of the whole model.

    Args:
        cost: of the stage.
        parameters, flops: of the whole model, and of one forward pass of the text.
        tied: its table is that of the embeddings, and not counted again.
    """

    cost: StageCost
    parameters: int
    flops: int
    tied: bool

    @property
    def sentence(self) -> str:
        return (
            f"Parameters used: {self.parameter_count}, {self.parameter_share}. Operations (FLOPs): "
            f"{self.cost.flops:,}, {self.flop_share}."
        )

    @property
    def parameter_count(self) -> str:
        """With commas."""
        return f"{self.cost.parameters:,}"

    @property
    def parameter_share(self) -> str:
        """Of the model, in words."""
        if not self.cost.parameters:
            return "nothing learned here"
        if self.tied:
            return "the embedding table again"
        return f"{_percent(self.cost.parameters, self.parameters)} of all parameters"

    @property
    def flop_share(self) -> str:
        """Of one pass, in words."""
        if not self.cost.flops:
            return "no arithmetic"
        return f"{_percent(self.cost.flops, self.flops)} of one pass" if self.cost.product else "no matrix product"


def _percent(count: int, whole: int) -> str:
    share = count / whole
    return f"{share:.1%}" if share >= 0.001 else "below 0.1%"


def stage_share(config: ModelConfig, stage: str, n: int) -> StageShare:
    """The cost of one stage on a text of n tokens, beside that of the whole model."""
    tied = stage == "logits" and config.tie_embeddings
    return StageShare(stage_cost(config, stage, n), parameters(config).total, flops(config, n).sequence, tied)


@dataclass(frozen=True, slots=True)
class ModelSize(Finding):
    """The size of a model.

    Args:
        name, architecture: of the model.
        parameters: how many it has.
        d_model, context: its width, and the tokens it can read.
    """

    name: str
    architecture: str
    parameters: int
    d_model: int
    context: int

    @property
    def sentence(self) -> str:
        return (
            f"{self.name}: {self.architecture}, {self.parameters:,} parameters, width {self.d_model}, context "
            f"{self.context:,} tokens."
        )


def model_size(config: ModelConfig, name: str) -> ModelSize:
    """The size of a model, from its config."""
    return ModelSize(name, config.architecture, parameters(config).total, config.d_model, config.max_seq_len)
