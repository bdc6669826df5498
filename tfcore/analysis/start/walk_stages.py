"""The stages a text goes through in a model of one stack, in order: what follows from the config, nothing is run."""

from dataclasses import dataclass
from typing import Literal

from tfcore.config import ModelConfig

Part = Literal["read", "attention", "feed-forward", "predict"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the computation.

    Args:
        name: as links name it; the same in every model that has it.
        part: the group it belongs to; attention and feed-forward make up a block.
        beside: computed beside the residual stream, and added to it later.
    """

    name: str
    part: Part
    beside: bool = False


def stages(config: ModelConfig, layer: int) -> tuple[Stage, ...]:
    """Every stage from the characters to the prediction, through one block.

    Args:
        config: of a model of one stack.
        layer: of the block.

    Raises:
        ValueError: an encoder-decoder, or a layer that is not there.
    """
    if config.architecture == "encoder-decoder":
        raise ValueError("a walk goes through one stack; an encoder-decoder has two: take a decoder or an encoder")
    if not 0 <= layer < config.n_layers:
        raise ValueError(f"layer={layer} must be between 0 and {config.n_layers - 1}")
    return (*_read(config), *_attention(config, layer), *_feed_forward(config, layer), *_predict(config))


def _kept(part: Part, beside: bool, wanted: dict[str, bool]) -> list[Stage]:
    return [Stage(name, part, beside) for name, there in wanted.items() if there]


def _read(config: ModelConfig) -> list[Stage]:
    always = dict.fromkeys(("characters", "tokens", "ids", "embedding"), True)
    sometimes = {
        "scaling": config.scale_embeddings,
        "segments": config.n_segments > 0,
        "positions": config.positions in ("learned", "sinusoidal"),
        "embedding-norm": config.embed_norm,
    }
    return _kept("read", False, always | sometimes)


def _attention(config: ModelConfig, layer: int) -> list[Stage]:
    post = config.norm_placement == "post"
    beside = {
        "norm-1": not post,
        "qkv": True,
        "heads": True,
        "qk-norm": config.qk_norm,
        "rotation": config.positions == "rope",
        "scores": True,
        "scaled": True,
        "bias": config.positions in ("alibi", "relative"),
        "mask": config.architecture == "decoder" or config.window_of(layer) is not None,
        "softmax": True,
        "values": True,
        "concat": True,
        "output": True,
        "norm-1-after": config.norm_placement == "sandwich",
    }
    return _kept("attention", True, beside) + _kept("attention", False, {"add-1": True, "norm-1": post})


def _feed_forward(config: ModelConfig, layer: int) -> list[Stage]:
    routed = config.is_routed(layer)
    if not routed and config.ff_size == 0:
        return []
    post = config.norm_placement == "post"
    beside = {
        "norm-2": not post and not config.parallel,
        **({"router": True, "experts": True} if routed else {"up": True, "activation": True, "down": True}),
        "norm-2-after": config.norm_placement == "sandwich",
    }
    return _kept("feed-forward", True, beside) + _kept("feed-forward", False, {"add-2": True, "norm-2": post})


def _predict(config: ModelConfig) -> list[Stage]:
    words = config.head != "none"
    wanted = {
        "final-norm": config.norm_placement != "post",
        "mlm-head": config.head == "mlm",
        "logits": words,
        "probabilities": words,
        "top-5": words,
    }
    return _kept("predict", False, wanted)
