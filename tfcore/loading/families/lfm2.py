"""LFM2 (arXiv:2511.23404): short convolutions in most layers, grouped-query attention with QK-norm in the others."""

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.llama import LAYER, llama_config
from tfcore.loading.families.mapping import Family, of
from tfcore.part_configs import LayerConfig, MixerConfig

CONVOLUTION = "conv"


def _lfm2(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    kinds = _kinds(s)
    layers = tuple(LayerConfig(mixer="conv" if kind == CONVOLUTION else "attention") for kind in kinds)
    biased = s.flag("conv_bias")
    mixer = MixerConfig(n_heads=1, width=s.whole("conv_L_cache"), bias=biased, conv_bias=biased)
    return llama_config(
        s,
        tensors,
        norm_eps=s.number("norm_eps"),
        activation="swiglu",
        d_ff=_width(s),
        qk_norm="head",
        layers=layers if CONVOLUTION in kinds else (),
        mixer=mixer if CONVOLUTION in kinds else None,
    )


def _kinds(s: ConfigValues) -> list[str]:
    """For each layer whether it is a convolution or attention."""
    attending = s.get("full_attn_idxs")
    if attending is not None and not isinstance(attending, list):
        raise ValueError(f"full_attn_idxs={short(attending)} must be a list of the layers with attention")
    return s.layer_types(lambda layer: attending is not None and layer not in attending, CONVOLUTION)


def _width(s: ConfigValues) -> int:
    """d_ff: two thirds of what is said, times a factor, rounded up to whole blocks, where the settings ask for that."""
    d_ff = s.whole("intermediate_size")
    if not s.flag("block_auto_adjust_ff_dim"):
        return d_ff
    d_ff = int(2 * d_ff / 3)
    if s.get("block_ffn_dim_multiplier") is None:
        return d_ff
    block = s.whole("block_multiple_of")
    return -(-int(s.number("block_ffn_dim_multiplier") * d_ff) // block) * block


ATTENTION = f"{LAYER}self_attn."
SHORT = f"{LAYER}conv."
LFM2 = Family(
    title="LFM2",
    architectures=("Lfm2ForCausalLM", "Lfm2Model"),
    config=_lfm2,
    rows={
        "embed": of("embed_tokens") + of("lm_head"),
        "unembed": of("lm_head"),
        "decoder.ln_final": of("embedding_norm"),
        "decoder.blocks.*.ln1": of(f"{LAYER}operator_norm"),
        "decoder.blocks.*.ln2": of(f"{LAYER}ffn_norm"),
        "decoder.blocks.*.attn.qkv": of(f"{ATTENTION}q_proj", f"{ATTENTION}k_proj", f"{ATTENTION}v_proj"),
        "decoder.blocks.*.attn.q_norm": of(f"{ATTENTION}q_layernorm"),
        "decoder.blocks.*.attn.k_norm": of(f"{ATTENTION}k_layernorm"),
        "decoder.blocks.*.attn.project": of(f"{SHORT}in_proj"),
        "decoder.blocks.*.attn.conv_weight": of(f"{SHORT}conv.weight", squeezed=True),
        "decoder.blocks.*.attn.conv_bias": of(f"{SHORT}conv.bias"),
        "decoder.blocks.*.attn.out": of(f"{ATTENTION}out_proj") + of(f"{SHORT}out_proj"),
        "decoder.blocks.*.mlp.up": of(f"{LAYER}feed_forward.w1", f"{LAYER}feed_forward.w3"),
        "decoder.blocks.*.mlp.down": of(f"{LAYER}feed_forward.w2"),
    },
    head="lm_head.weight",
    prefix="model.",
    defaults={
        "vocab_size": 65_536,
        "hidden_size": 2560,
        "intermediate_size": 12_288,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "max_position_embeddings": 128_000,
        "norm_eps": 1e-5,
        "tie_word_embeddings": True,
        "rope_theta": 1_000_000.0,
        "bos_token_id": 1,
        "conv_bias": False,
        "conv_L_cache": 3,
        "block_multiple_of": 256,
        "block_ffn_dim_multiplier": 1.0,
        "block_auto_adjust_ff_dim": True,
        "full_attn_idxs": None,
        "layer_types": None,
    },
    aliases={"block_ff_dim": "intermediate_size", "tie_embedding": "tie_word_embeddings"},
)
