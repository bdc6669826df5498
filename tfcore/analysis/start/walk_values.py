"""What the explanations of a walk say of a model: sizes, equations and kinds of parts, from its config."""

from tfcore.analysis.block.normalisation import NORM_NAMES
from tfcore.analysis.start.walk_costs import feed_forward_share
from tfcore.config import GATED, ModelConfig

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


def _expert_words(config: ModelConfig) -> str:
    """How many experts a token goes through."""
    if config.experts is None:
        return "its experts"
    best = "the expert" if config.experts.top_k == 1 else f"the {config.experts.top_k} experts"
    shared = config.experts.n_shared
    always = "" if not shared else " and the shared expert" if shared == 1 else f" and the {shared} shared experts"
    return f"{best} with the highest probability{always}"
