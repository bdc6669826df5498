"""Checks of what a forward pass is given: each refuses in one sentence that says what would do."""

from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.kv_cache import KVCache

# Token ids, pictures, or spectrograms of sounds.
ModelInput: TypeAlias = (
    Int[Tensor, "batch seq"] | Float[Tensor, "batch channel height width"] | Float[Tensor, "batch mel frame"]
)


def check_inputs(
    config: ModelConfig,
    ids: ModelInput,
    decoder_ids: Int[Tensor, "batch dec_seq"] | None = None,
    padding_mask: Bool[Tensor, "batch seq"] | None = None,
    segment_ids: Int[Tensor, "batch seq"] | None = None,
    mask: Bool[Tensor, "*layer query key"] | None = None,
    cache: KVCache | None = None,
) -> None:
    """Refuse ids outside the vocabulary or too many, and options that do not go together; arguments as of
    `Transformer.forward`.

    Raises:
        ValueError: the sentence that says so.
    """
    if config.patches is not None:
        _check_signals("pictures", config, ids)
        others = {"padding_mask": padding_mask, "segment_ids": segment_ids, "mask": mask, "cache": cache}
        if given := [name for name, value in others.items() if value is not None]:
            raise ValueError(f"{given[0]} goes with texts, and this model reads pictures; leave it out")
        return
    start = cache.length if cache is not None else 0
    both = config.architecture == "encoder-decoder"
    if both and decoder_ids is None:
        raise ValueError("an encoder-decoder reads ids and writes decoder_ids; give decoder_ids, too")
    if not both and decoder_ids is not None:
        raise ValueError(
            f"decoder_ids go with an encoder-decoder; this model's architecture is {config.architecture!r}"
        )
    if config.sound is None:
        _check_ids("ids", ids, config, 0 if both else start)
    else:
        _check_signals("sounds", config, ids)
        if padding_mask is not None or segment_ids is not None or mask is not None:
            raise ValueError("masks and segments go with texts, and this model reads sound; leave them out")
    if decoder_ids is not None:
        _check_ids("decoder_ids", decoder_ids, config, start)
        if len(decoder_ids) != len(ids):
            raise ValueError(f"ids have {len(ids)} rows and decoder_ids {len(decoder_ids)}; give equally many")
    if segment_ids is not None:
        _check_segments(segment_ids, ids, config)
    if cache is not None:
        _check_cache(cache, ids if decoder_ids is None else decoder_ids, config, padding_mask, mask)
    if config.sound is None:
        _check_masks(ids, padding_mask, mask, config)


def _check_signals(name: str, config: ModelConfig, given: ModelInput) -> None:
    """Refuse what are no pictures, or no spectrograms of sounds, of the shape that a model reads."""
    asked, shape = config.input_shape or (), tuple(given.shape)
    if not given.is_floating_point() or shape[1:] != asked:
        how = "tfcore.pictures.prepared" if name == "pictures" else "tfcore.sounds.log_mel"
        raise ValueError(
            f"{name} {shape} of {given.dtype} must be numbers of shape (batch, {', '.join(map(str, asked))}), as {how} "
            "gives them"
        )
    if not len(given):
        raise ValueError(f"there are no {name} to compute on; give at least one")


def _check_ids(name: str, ids: Int[Tensor, "batch seq"], config: ModelConfig, start: int) -> None:
    if ids.ndim != 2 or ids.is_floating_point():
        raise ValueError(f"{name} {tuple(ids.shape)} of {ids.dtype} must be whole numbers of shape (batch, seq)")
    if ids.numel() == 0:
        raise ValueError("there is no token to compute on; give at least one id")
    if (total := start + ids.shape[1]) > config.max_seq_len:
        raise ValueError(f"{total} tokens are more than max_seq_len={config.max_seq_len}; give fewer")
    if ids.device.type != "cpu" or torch.compiler.is_compiling():
        return  # reading them would wait for the device; an id too large is an error of the embedding there
    low, high = (int(bound) for bound in torch.aminmax(ids))
    check_vocabulary(name, low, high, config)


def other_mixer(config: ModelConfig, of: str = "it") -> str | None:
    """Which layer of a model has something else in the place of attention or beside it, in words; None where none has.

    Args:
        of: what the model is called.
    """
    kinds = [config.mixer_of(layer) for layer in range(config.n_layers)]
    other = next((layer for layer, kind in enumerate(kinds) if kind != "attention"), None)
    if other is None:
        return None
    what = {"conv": "a short convolution", "none": "nothing"}.get(kinds[other], "a state")
    return f"layer {other} of {of} has {what} {'beside' if config.attends(other) else 'in the place of'} attention"


def check_every_head(config: ModelConfig) -> None:
    """Refuses a model whose layers do not all have the same heads of attention, and nothing beside them.

    Raises:
        ValueError: the sentence that says which layer has something else.
    """
    if said := other_mixer(config, "this model"):
        raise ValueError(
            f"{said}, and what is measured here reads the heads of every layer; take a model of attention alone"
        )


def check_vocabulary(name: str, low: int, high: int, config: ModelConfig) -> None:
    """Refuses ids of which the smallest or the largest is none of the model's.

    On a GPU an id outside the table ends the work of the whole process, so that ids are checked before they go there.

    Raises:
        ValueError: the sentence that says so.
    """
    if low < 0 or high >= config.vocab_size:
        raise ValueError(f"{name} from {low} to {high} do not fit a vocabulary of {config.vocab_size}")


def _check_segments(segment_ids: Int[Tensor, "batch seq"], ids: Int[Tensor, "batch seq"], config: ModelConfig) -> None:
    if not config.n_segments:
        raise ValueError("this model knows no segments (n_segments=0); leave segment_ids out")
    if segment_ids.shape != ids.shape:
        raise ValueError(f"segment_ids {tuple(segment_ids.shape)} must have the shape of ids {tuple(ids.shape)}")
    if segment_ids.device.type != "cpu":
        return
    low, high = (int(bound) for bound in torch.aminmax(segment_ids))
    if low < 0 or high >= config.n_segments:
        raise ValueError(f"segment_ids from {low} to {high} do not fit n_segments={config.n_segments}")


def _check_cache(
    cache: KVCache,
    ids: Int[Tensor, "batch new"],
    config: ModelConfig,
    padding_mask: Bool[Tensor, "batch seq"] | None,
    mask: Bool[Tensor, "*layer query key"] | None,
) -> None:
    if config.architecture == "encoder":
        raise ValueError("an encoder sees all tokens at once, a cache is of no use to it; leave it out")
    if mask is not None or (padding_mask is not None and config.architecture == "decoder"):
        raise ValueError("a cache goes with the model's own causal mask alone; leave padding_mask and mask out")
    if cache.batch != len(ids):
        raise ValueError(f"a cache made for batch={cache.batch} does not fit ids of batch={len(ids)}")
    if cache.length and cache.length + ids.shape[1] > (end := config.longest(cache.length)):
        raise ValueError(
            f"this model rotates texts of more than {end:,} tokens by other angles (longrope); read the whole text anew"
        )
    if ids.shape[1] > cache.remaining:
        raise ValueError(
            f"{ids.shape[1]} tokens are more than the {cache.remaining} that the cache has room for; "
            "make it with a larger capacity"
        )


def _check_masks(
    ids: Int[Tensor, "batch seq"],
    padding_mask: Bool[Tensor, "batch seq"] | None,
    mask: Bool[Tensor, "*layer query key"] | None,
    config: ModelConfig,
) -> None:
    n, both = ids.shape[1], config.architecture == "encoder-decoder"
    for name, given in (("padding_mask", padding_mask), ("mask", mask)):
        if given is not None and given.dtype != torch.bool:
            raise ValueError(f"{name} is {given.dtype}, it must be bool: True where there is something to see")
    if padding_mask is not None and padding_mask.shape != ids.shape:
        raise ValueError(f"padding_mask {tuple(padding_mask.shape)} must have the shape of ids {tuple(ids.shape)}")
    if both and padding_mask is not None and not bool(padding_mask.any(-1).all()):
        raise ValueError("a row of padding_mask has no real token, so the decoder would have nothing to look at")
    if mask is None:
        return
    if both:
        raise ValueError("mask goes with a model of one stack; leave it out for an encoder-decoder")
    if not config.attention_layers:
        raise ValueError("mask says which keys attention may see; no layer of this model has attention")
    if mask.shape not in ((n, n), (config.n_layers, n, n)):
        raise ValueError(
            f"mask {tuple(mask.shape)} must be (query, key) = ({n}, {n}), or one of these for each of "
            f"{config.n_layers} layers"
        )
    if not bool(mask.any(dim=-1).all()):
        raise ValueError("a row of the mask is empty: each token must see at least one, for example itself")
