"""LLaMA and the families built like it: Mistral, Qwen2, Qwen3, Gemma, Mixtral. One table of names, few differences."""

from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.mapping import Family, of
from tfcore.part_configs import ExpertsConfig

_LAYER = "layers.*."
_ATTENTION = f"{_LAYER}self_attn."
_EXPERTS = f"{_LAYER}mlp.experts."


def _config(s: ConfigValues, tensors: Tensors, **more: Any) -> ModelConfig:
    """Settings that all of them share; `more` is what one of them has besides, or otherwise."""
    head, tied = s.head(tensors, "embed_tokens.weight", "lm_head.weight")
    base, scaling = s.rope()
    width, n_heads = s.whole("hidden_size"), s.whole("num_attention_heads")
    common: dict[str, Any] = {
        "vocab_size": s.whole("vocab_size"),
        "d_model": width,
        "n_layers": s.whole("num_hidden_layers"),
        "n_heads": n_heads,
        "n_kv_heads": s.whole("num_key_value_heads", null=n_heads),
        "d_head": s.whole("head_dim", null=width // n_heads),
        "d_ff": s.whole("intermediate_size"),
        "max_seq_len": s.whole("max_position_embeddings"),
        "rope_base": base,
        "rope_scaling": scaling,
        "norm_eps": s.number("rms_norm_eps"),
        "activation": s.activation("hidden_act", gated=True),
        "head": head,
        "tie_embeddings": tied,
        "bos_id": s.bos(),
        "init": "normal",
    }
    return ModelConfig.from_dict(common | more)


def _llama(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    biased = s.flag("attention_bias")
    return _config(s, tensors, bias=s.flag("mlp_bias"), qkv_bias=biased, out_bias=biased)


def _mistral(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _config(s, tensors, window=_window(s))


def _mixtral(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    experts = ExpertsConfig(
        n_experts=s.whole("num_local_experts"),
        top_k=s.whole("num_experts_per_tok"),
        softmax="after",
        balance_loss=s.number("router_aux_loss_coef"),
    )
    return _config(s, tensors, window=_window(s), experts=experts)


def _qwen2(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    window, first = _some_windows(s)
    return _config(s, tensors, qkv_bias=True, window=window, window_from=first)


def _qwen3(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    window, first = _some_windows(s)
    biased = s.flag("attention_bias")
    return _config(s, tensors, qk_norm=True, qkv_bias=biased, out_bias=biased, window=window, window_from=first)


def _gemma(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("use_bidirectional_attention", False)
    activation = s.activation("hidden_act", gated=True)
    if s.get("hidden_act") == "gelu":  # what the first files say, and the weights were trained with the approximation
        s.only("hidden_activation", "gelu_pytorch_tanh")
        activation = "geglu_tanh"
    biased = s.flag("attention_bias")
    return _config(
        s, tensors, activation=activation, embed_scale=s.whole("hidden_size") ** 0.5, qkv_bias=biased, out_bias=biased
    )


def _window(s: ConfigValues) -> int | None:
    return None if s.get("sliding_window") is None else s.whole("sliding_window")


def _some_windows(s: ConfigValues) -> tuple[int | None, int]:
    """The window, and the first layer that has it."""
    n, window = s.whole("num_hidden_layers"), _window(s) if s.flag("use_sliding_window") else None
    kinds = s.get("layer_types")
    if kinds is None:
        first = min(n, s.whole("max_window_layers", low=0))
        return (window, first) if window is not None and first < n else (None, 0)
    full = kinds.count("full_attention") if isinstance(kinds, list) else 0
    if kinds != ["full_attention"] * full + ["sliding_attention"] * (n - full):
        raise ValueError(
            f"layer_types={short(kinds)} is not supported; supported: for each of the {n} layers 'full_attention', "
            "or from some layer on 'sliding_attention'"
        )
    if full < n and window is None:
        raise ValueError("layer_types has 'sliding_attention', which needs use_sliding_window=True and sliding_window")
    return (window, full) if full < n else (None, 0)


LLAMA = Family(
    architectures=("LlamaForCausalLM", "LlamaModel"),
    config=_llama,
    rows={
        "embed": of("embed_tokens") + of("lm_head"),
        "unembed": of("lm_head"),
        "decoder.ln_final": of("norm"),
        "decoder.blocks.*.ln1": of(f"{_LAYER}input_layernorm"),
        "decoder.blocks.*.ln2": of(f"{_LAYER}post_attention_layernorm"),
        "decoder.blocks.*.attn.qkv": of(f"{_ATTENTION}q_proj", f"{_ATTENTION}k_proj", f"{_ATTENTION}v_proj"),
        "decoder.blocks.*.attn.out": of(f"{_ATTENTION}o_proj"),
        "decoder.blocks.*.attn.q_norm": of(f"{_ATTENTION}q_norm"),
        "decoder.blocks.*.attn.k_norm": of(f"{_ATTENTION}k_norm"),
        "decoder.blocks.*.mlp.up": of(f"{_LAYER}mlp.gate_proj", f"{_LAYER}mlp.up_proj"),
        "decoder.blocks.*.mlp.down": of(f"{_LAYER}mlp.down_proj"),
    },
    head="lm_head.weight",
    prefix="model.",
    ignored=r"(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq",  # follows from the settings
    defaults={
        "vocab_size": 32_000,
        "hidden_size": 4096,
        "intermediate_size": 11_008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "hidden_act": "silu",
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": False,
        "rope_theta": 10_000.0,
        "bos_token_id": 1,
        "attention_bias": False,
        "mlp_bias": False,
    },
)
MISTRAL = replace(
    LLAMA,
    architectures=("MistralForCausalLM", "MistralModel"),
    config=_mistral,
    defaults={
        **LLAMA.defaults,
        "intermediate_size": 14_336,
        "num_key_value_heads": 8,
        "max_position_embeddings": 131_072,
        "sliding_window": 4096,
    },
)
MIXTRAL = replace(
    MISTRAL,
    architectures=("MixtralForCausalLM", "MixtralModel"),
    config=_mixtral,
    rows={
        **LLAMA.rows,
        "decoder.blocks.*.mlp.router": of(f"{_LAYER}mlp.gate"),
        "decoder.blocks.*.mlp.up": of(f"{_EXPERTS}#.w1.weight", f"{_EXPERTS}#.w3.weight")
        + of(f"{_EXPERTS}gate_up_proj"),
        "decoder.blocks.*.mlp.down": of(f"{_EXPERTS}#.w2.weight") + of(f"{_EXPERTS}down_proj"),
    },
    renamed={".block_sparse_moe.": ".mlp."},
    defaults={
        **MISTRAL.defaults,
        "rms_norm_eps": 1e-5,
        "sliding_window": None,
        "rope_theta": 1_000_000.0,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
        "router_aux_loss_coef": 0.001,
    },
    aliases={"num_experts": "num_local_experts"},
)
QWEN2 = replace(
    LLAMA,
    architectures=("Qwen2ForCausalLM", "Qwen2Model"),
    config=_qwen2,
    defaults={
        **LLAMA.defaults,
        "vocab_size": 151_936,
        "bos_token_id": None,
        "intermediate_size": 22_016,
        "num_key_value_heads": 32,
        "max_position_embeddings": 32_768,
        "use_sliding_window": False,
        "sliding_window": 4096,
        "max_window_layers": 28,
    },
)
QWEN3 = replace(
    QWEN2, architectures=("Qwen3ForCausalLM", "Qwen3Model"), config=_qwen3, defaults={**QWEN2.defaults, "head_dim": 128}
)
GEMMA = replace(
    LLAMA,
    architectures=("GemmaForCausalLM", "GemmaModel"),
    config=_gemma,
    rows={  # it stores how much a scale differs from 1
        **LLAMA.rows,
        "decoder.ln_final": of("norm", offset=1),
        "decoder.blocks.*.ln1": of(f"{_LAYER}input_layernorm", offset=1),
        "decoder.blocks.*.ln2": of(f"{_LAYER}post_attention_layernorm", offset=1),
    },
    defaults={
        **LLAMA.defaults,
        "vocab_size": 256_000,
        "bos_token_id": 2,
        "hidden_size": 3072,
        "intermediate_size": 24_576,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "head_dim": 256,
        "hidden_act": "gelu_pytorch_tanh",
        "max_position_embeddings": 8192,
        "tie_word_embeddings": True,
    },
)
