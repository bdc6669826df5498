"""Marian (OPUS-MT): BART's table without norms of the embeddings; positions are sines, then cosines. And M2M100 (NLLB),
which is to mBART what Marian is to BART. PEGASUS is M2M100 with Marian's positions."""

from dataclasses import replace

import torch

from tfcore.config import ModelConfig
from tfcore.loading.families.bart import BART, MBART, bart_config
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.part_configs import PositionsConfig
from tfcore.positions import sinusoidal

_ROUNDED = 1e-3  # how far stored sines may be from exact ones: half precision
# Settings of Marian's first files, and what its code does, whatever they say now.
_FIXED = {
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
    "share_encoder_decoder_embeddings": True,
}
_SINES = PositionsConfig(kind="sinusoidal", halves=True)
_FIXED_M2M = _FIXED | {"normalize_before": True, "add_final_layer_norm": True}


def _marian(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("decoder_vocab_size", s.whole("vocab_size"))
    return _with_sines(bart_config(s, tensors, _FIXED, positions=_SINES), tensors)


def _pegasus(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _with_sines(bart_config(s, tensors, _FIXED_M2M, positions=_SINES, norm_placement="pre"), tensors)


def _with_sines(config: ModelConfig, tensors: Tensors) -> ModelConfig:
    """The config, where the stored positions are the sines and cosines that it says."""
    table = sinusoidal(torch.arange(config.max_seq_len), config.d_model, halves=True)
    for stored in (f"{stack}.embed_positions.weight" for stack in ("encoder", "decoder")):
        if stored in tensors:
            theirs = tensors.read(stored).float()
            if theirs.shape != table.shape or not bool((theirs - table).abs().max() < _ROUNDED):
                raise ValueError(f"{stored} differs from the sines and cosines of its family; it is not supported")
    return config


def _m2m(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    """Settings of M2M100, which numbers places from behind the padding token's id, and whose last pair has the longest
    wavelength of all, so that the base is another."""
    positions = sines_from(s.whole("pad_token_id", low=0) + 1, s.whole("d_model", low=4))
    return bart_config(s, tensors, _FIXED_M2M, positions=positions, norm_placement="pre")


def sines_from(first: int, width: int) -> PositionsConfig:
    """Sines and cosines from the place of this number on, whose last pair has the longest wavelength of all."""
    half = width // 2
    return PositionsConfig(kind="sinusoidal", halves=True, first=first, base=10_000 ** (half / (half - 1)))


MARIAN = replace(
    BART,
    title="Marian",
    architectures=("MarianMTModel", "MarianModel"),
    config=_marian,
    rows={row: names for row, names in BART.rows.items() if not row.endswith(("pos_embed", "embed_norm"))},
    checked=r"(encoder|decoder)\.embed_positions\.weight",
    defaults={
        **BART.defaults,
        "vocab_size": 58_101,
        "bos_token_id": None,
        "eos_token_id": 0,
        "decoder_start_token_id": 58_100,
        "forced_eos_token_id": 0,
    },
)
M2M100 = replace(
    MBART,
    title="M2M100",
    architectures=("M2M100ForConditionalGeneration", "M2M100Model"),
    config=_m2m,
    rows={row: names for row, names in MBART.rows.items() if not row.endswith(("pos_embed", "embed_norm"))},
    # made anew by transformers, which stored them once
    ignored=r"(encoder|decoder)\.(version|embed_positions\.weights)",
    defaults={
        **{name: value for name, value in MBART.defaults.items() if name != "forced_eos_token_id"},
        "vocab_size": 128_112,
        "activation_function": "relu",
        "scale_embedding": True,
        "decoder_start_token_id": 2,
        "pad_token_id": 1,
    },
)
PEGASUS = replace(
    M2M100,
    title="PEGASUS",
    architectures=("PegasusForConditionalGeneration", "PegasusModel"),
    config=_pegasus,
    ignored=BART.ignored,
    checked=MARIAN.checked,
    defaults={
        **BART.defaults,
        "bos_token_id": None,
        "eos_token_id": 1,
        "decoder_start_token_id": 0,
        "forced_eos_token_id": 1,
    },
)
