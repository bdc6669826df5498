"""GPT-J: attention and feed-forward layer in parallel, part of each head rotated, neighbouring features together; and
CodeGen, whose queries, values and keys are made by one matrix, in four parts."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.mapping import Family, Shared, of

_ATTENTION = "h.*.attn."
_PARTS = 4  # which CodeGen was trained on as many devices with


def _config(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    head, tied = s.head(tensors, "wte.weight", "lm_head.weight")
    width, n_heads, rotated = s.whole("n_embd"), s.whole("n_head"), s.whole("rotary_dim")
    return ModelConfig.from_dict(
        {
            "vocab_size": s.whole("vocab_size"),
            "d_model": width,
            "n_layers": s.whole("n_layer"),
            "n_heads": n_heads,
            "d_ff": s.whole("n_inner", null=4 * width),
            "max_seq_len": s.whole("n_positions"),
            "positions": "rope",
            "rotated": None if rotated * n_heads == width else rotated,
            "norm": "layernorm",
            "norm_eps": s.number("layer_norm_epsilon"),
            "activation": s.activation("activation_function"),
            "parallel": True,
            "bias": True,
            "qkv_bias": False,
            "out_bias": False,
            "head": head,
            "logit_bias": True,
            "tie_embeddings": tied,
            "bos_id": s.bos(),
            "init": "normal",
        }
    )


def _codegen(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    if (n_heads := s.whole("n_head")) % _PARTS:
        raise ValueError(f"n_head={n_heads} is not supported; supported: a multiple of {_PARTS}")
    return _config(s, tensors)


def _in_parts(config: ModelConfig) -> Shared:
    """Rows of queries, keys and values, of which each part has queries, values and keys of its own heads."""
    q = config.d_model // _PARTS
    return Shared(_PARTS, 3 * q, (range(q), range(2 * q, 3 * q), range(q, 2 * q)))


GPTJ = Family(
    title="GPT-J",
    architectures=("GPTJForCausalLM", "GPTJModel"),
    config=_config,
    rows={
        "embed": of("wte") + of("lm_head"),
        "unembed": of("lm_head"),
        "logit_bias": of("lm_head.bias"),
        "decoder.ln_final": of("ln_f"),
        "decoder.blocks.*.ln1": of("h.*.ln_1"),
        "decoder.blocks.*.attn.qkv": of(
            f"{_ATTENTION}q_proj", f"{_ATTENTION}k_proj", f"{_ATTENTION}v_proj", neighbours=True
        ),
        "decoder.blocks.*.attn.out": of(f"{_ATTENTION}out_proj"),
        "decoder.blocks.*.mlp.up": of("h.*.mlp.fc_in"),
        "decoder.blocks.*.mlp.down": of("h.*.mlp.fc_out"),
    },
    head="lm_head.weight",
    prefix="transformer.",
    ignored=r"h\.\d+\.attn\.(bias|masked_bias)",  # the causal mask, stored
    defaults={
        "vocab_size": 50_400,
        "n_positions": 2048,
        "n_embd": 4096,
        "n_layer": 28,
        "n_head": 16,
        "rotary_dim": 64,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "bos_token_id": 50_256,
        "tie_word_embeddings": False,
    },
    aliases={
        "hidden_size": "n_embd",
        "max_position_embeddings": "n_positions",
        "num_attention_heads": "n_head",
        "num_hidden_layers": "n_layer",
    },
)
CODEGEN = replace(
    GPTJ,
    title="CodeGen",
    architectures=("CodeGenForCausalLM", "CodeGenModel"),
    config=_codegen,
    rows={**GPTJ.rows, "decoder.blocks.*.attn.qkv": of(f"{_ATTENTION}qkv_proj", shared=_in_parts, neighbours=True)},
    ignored=r"h\.\d+\.attn\.(bias|masked_bias|causal_mask)",
)
