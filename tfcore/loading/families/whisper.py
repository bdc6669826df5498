"""Whisper (arXiv:2212.04356): BART's pre-norm relative whose encoder reads a log-mel spectrogram."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.bart import BART, MBART, bart_config
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.mapping import WeightSource, of
from tfcore.part_configs import SoundConfig, WritingConfig


def _whisper(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("scale_embedding", False)
    sound = SoundConfig(mels=s.whole("num_mel_bins"), frames=2 * s.whole("max_source_positions"))
    writing = WritingConfig(never=_ids(s, "suppress_tokens"), not_first=_ids(s, "begin_suppress_tokens"))
    return bart_config(s, tensors, {}, positions="learned", norm_placement="pre", sound=sound, writing=writing)


def _ids(s: ConfigValues, name: str) -> tuple[int, ...]:
    """A list of token ids; of none where the field is null."""
    value = s.get(name)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(type(one) is int and one >= 0 for one in value):
        raise ValueError(f"{name}={short(value)} is not supported; supported: a list of token ids")
    return tuple(value)


def _without_key_bias(stack: str, attention: str, ours: str, parts: str) -> dict[str, tuple[WeightSource, ...]]:
    """The biases of queries, keys and values that lie in one of our tensors: keys have none, so 0."""
    theirs = (f"{stack}.layers.*.{attention}.{one}_proj.bias" if one != "k" else "" for one in parts)
    return {f"{stack}.blocks.*.{ours}.bias": of(*theirs)}


WHISPER = replace(
    MBART,
    title="Whisper",
    architectures=("WhisperForConditionalGeneration", "WhisperModel"),
    config=_whisper,
    rows={
        **MBART.rows,
        **{f"{stack}.pos_embed": of(f"{stack}.embed_positions") for stack in ("encoder", "decoder")},
        **{f"sound_embed.conv{i}": of(f"encoder.conv{i}") for i in (1, 2)},
        **_without_key_bias("encoder", "self_attn", "attn.qkv", "qkv"),
        **_without_key_bias("decoder", "self_attn", "attn.qkv", "qkv"),
        **_without_key_bias("decoder", "encoder_attn", "cross_attn.kv", "kv"),
    },
    renamed={"proj_out.": "lm_head."},
    ignored=r"(?!)",
    defaults={
        "vocab_size": 51_865,
        "num_mel_bins": 80,
        "max_source_positions": 1500,
        "max_position_embeddings": 448,
        "encoder_layers": 4,
        "encoder_ffn_dim": 1536,
        "encoder_attention_heads": 6,
        "decoder_layers": 4,
        "decoder_ffn_dim": 1536,
        "decoder_attention_heads": 6,
        "activation_function": "gelu",
        "d_model": 384,
        "scale_embedding": False,
        "bos_token_id": 50_256,
        "eos_token_id": 50_256,
        "decoder_start_token_id": 50_257,
        "begin_suppress_tokens": (220, 50_256),
        "tie_word_embeddings": True,
    },
    aliases={**BART.aliases, "max_target_positions": "max_position_embeddings"},
)
