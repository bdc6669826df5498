"""GPT-Neo: GPT-2 whose scores are not divided, and whose layers take turns in seeing all and a window."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors, short
from tfcore.loading.families.gpt2 import GPT2
from tfcore.loading.families.mapping import of
from tfcore.part_configs import LayerConfig

_ATTENTION = "h.*.attn.attention."
_KINDS = ("global", "local")


def _config(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    head, tied = s.head(tensors, "wte.weight", "lm_head.weight")
    width, kinds, window = s.whole("hidden_size"), _kinds(s), s.whole("window_size")
    return ModelConfig.from_dict(
        {
            "vocab_size": s.whole("vocab_size"),
            "d_model": width,
            "n_layers": s.whole("num_layers"),
            "n_heads": s.whole("num_heads"),
            "attn_scale": 1.0,
            "qkv_bias": False,
            "d_ff": s.whole("intermediate_size", null=4 * width),
            "activation": s.activation("activation_function"),
            "max_seq_len": s.whole("max_position_embeddings"),
            "positions": "learned",
            "layers": tuple(LayerConfig(window=window if kind == "local" else None) for kind in kinds),
            "norm": "layernorm",
            "norm_eps": s.number("layer_norm_epsilon"),
            "bias": True,
            "head": head,
            "tie_embeddings": tied,
            "bos_id": s.bos(),
            "init": "normal",
        }
    )


def _kinds(s: ConfigValues) -> list[str]:
    """For each layer whether it is global or local, from pairs of some kinds and how often they come in turn."""
    said, n = s.get("attention_types"), s.whole("num_layers")
    kinds: list[str] = []
    for pair in said if isinstance(said, list) else ():
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], list):
            break
        kinds += pair[0] * (pair[1] if isinstance(pair[1], int) and 0 <= pair[1] <= n else 0)
    if len(kinds) != n or not all(kind in _KINDS for kind in kinds):
        raise ValueError(
            f"attention_types={short(said)} is not supported; supported: 'global' or 'local' for each of the {n} layers"
        )
    s.only("attention_layers", kinds)
    return kinds


GPT_NEO = replace(
    GPT2,
    title="GPT-Neo",
    architectures=("GPTNeoForCausalLM", "GPTNeoModel"),
    config=_config,
    rows={
        **GPT2.rows,
        "decoder.blocks.*.attn.qkv": of(*(f"{_ATTENTION}{one}_proj" for one in "qkv")),
        "decoder.blocks.*.attn.out": of(f"{_ATTENTION}out_proj"),
        "decoder.blocks.*.mlp.up": of("h.*.mlp.c_fc"),
        "decoder.blocks.*.mlp.down": of("h.*.mlp.c_proj"),
    },
    ignored=r"h\.\d+\.attn\.attention\.(bias|masked_bias)",  # the mask, stored
    defaults={
        "vocab_size": 50_257,
        "max_position_embeddings": 2048,
        "hidden_size": 2048,
        "num_layers": 24,
        "attention_types": [[["global", "local"], 12]],
        "num_heads": 16,
        "window_size": 256,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "bos_token_id": 50_256,
        "tie_word_embeddings": True,
    },
    aliases={"num_attention_heads": "num_heads", "num_hidden_layers": "num_layers"},
)
