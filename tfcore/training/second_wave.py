"""Switches of blocks after 2023, each alone against one base: the configs."""

from typing import Literal

from tfcore.config import ModelConfig
from tfcore.model import Transformer
from tfcore.part_configs import LayerConfig, PositionsConfig
from tfcore.training.hyper_connections import HyperTransformer
from tfcore.training.modernisation import SWITCHES
from tfcore.training.multi_token import MultiTokenTransformer

BASE = "base"
CAP = 10.0  # of scores: the base's come to 15 or more, far below the 50 of Gemma 2 (arXiv:2408.00118, section 2)
REGISTERS = 4  # learned tokens before each text, as before the patches of a picture (arXiv:2309.16588, section 2.2)
OPTIMISED: dict[str, Literal["adamw", "muon"]] = {"Muon": "muon"}  # the same model with another optimiser
MULTI_TOKEN, HYPER = "multi-token", "hyper-connections"
WIDENED: dict[str, type[Transformer]] = {MULTI_TOKEN: MultiTokenTransformer, HYPER: HyperTransformer}  # more around it


def base_of(first: ModelConfig) -> ModelConfig:
    """The model that the first wave comes to without its last two switches: pre-norm, RMSNorm, RoPE, GQA, SwiGLU, no
    biases; embeddings not tied, queries and keys not normalised.

    Args:
        first: the decoder of 2017.
    """
    for name, changes in SWITCHES.items():
        if name not in ("tied", "QK-norm"):
            first = first.changed(**changes)
    return first


def switched(base: ModelConfig) -> dict[str, ModelConfig]:
    """The base and what each switch alone makes of it.

    MLA caches half as many numbers a token as the base: a latent and one key of half a head's width that is rotated.
    Registers are the last ids of the vocabulary, which stand before each text.

    Args:
        base: from `base_of`, with RoPE.
    """
    d_head, attention = base.head_size, base.attention
    no_positions = LayerConfig(positions=PositionsConfig(kind="none"))
    rotated = d_head // 2
    return {
        BASE: base,
        "QK-norm": base.changed(qk_norm="head"),
        "soft cap": base.changed(attn_softcap=CAP),
        "sink": base.changed(attn_sinks=True),
        "norm after": base.changed(norm_placement="after", qk_norm="width"),
        "MLA": base.changed(n_kv_heads=None, kv_latent=attention.kv_heads * d_head - rotated, rotated=rotated),
        **dict.fromkeys(OPTIMISED, base),
        "NoPE layers": base.changed(
            layers=tuple(no_positions if i % 2 else LayerConfig() for i in range(base.n_layers))
        ),
        "registers": base.changed(vocab_size=base.vocab_size + REGISTERS, max_seq_len=base.max_seq_len + REGISTERS),
        "gate": base.changed(attn_gate=True),
        **dict.fromkeys(WIDENED, base),
    }
