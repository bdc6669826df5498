"""ModernBERT: an encoder with rotations, windows in most layers, a gate in the feed-forward layers, and no norm before
the first attention."""

from tfcore.config import ModelConfig
from tfcore.loading.families.bert import masked_head
from tfcore.loading.families.config_values import FULL, SLIDING, ConfigValues, Tensors, short
from tfcore.loading.families.llama import biases, rotated_by_kind
from tfcore.loading.families.mapping import Family, of

_LAYER = "layers.*."


def _config(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("position_embedding_type", "absolute", "rope")  # which its files say and nothing reads
    s.only("rope_scaling")
    if not isinstance(rotations := s.get("rope_parameters") or {}, dict) or not {*rotations} <= {FULL, SLIDING}:
        raise ValueError(f"rope_parameters={short(rotations)} is not supported; supported: those by kind of layer")
    head, tied = masked_head(s, tensors, "head.dense.weight", "embeddings.tok_embeddings.weight", "decoder.weight")
    width, n_heads, every = s.whole("hidden_size"), s.whole("num_attention_heads"), s.whole(_EVERY)
    rotated = rotated_by_kind(
        s,
        width // n_heads,
        lambda layer: layer % every != 0,
        window=s.whole("local_attention") // 2 + 1,  # so many to either side, and the token itself
        bases=("global_rope_theta", "local_rope_theta"),
    )
    settings = {
        "architecture": "encoder",
        "vocab_size": s.whole("vocab_size"),
        "d_model": width,
        "n_layers": s.whole("num_hidden_layers"),
        "n_heads": n_heads,
        "d_ff": s.whole("intermediate_size"),
        "activation": s.activation("hidden_activation", gated=True),
        "max_seq_len": s.whole("max_position_embeddings"),
        "norm": "layernorm",
        "norm_eps": s.number("norm_eps"),
        "norm_bias": s.flag("norm_bias"),
        "embed_norm": True,
        "first_norm": False,
        "bias": s.flag("mlp_bias"),
        "head": head,
        "mlm_activation": s.activation("classifier_activation"),
        "mlm_bias": s.flag("classifier_bias"),
        "logit_bias": s.flag("decoder_bias"),
        "tie_embeddings": tied,
        "bos_id": s.bos(),
        "init": "normal",
    }
    return ModelConfig.from_dict(settings | biases(s) | rotated)


_EVERY = "global_attn_every_n_layers"
MODERNBERT = Family(
    title="ModernBERT",
    architectures=("ModernBertForMaskedLM", "ModernBertModel"),
    config=_config,
    rows={
        "embed": of("embeddings.tok_embeddings") + of("decoder"),
        "encoder.embed_norm": of("embeddings.norm"),
        "encoder.blocks.*.ln1": of(f"{_LAYER}attn_norm"),
        "encoder.blocks.*.attn.qkv": of(f"{_LAYER}attn.Wqkv"),
        "encoder.blocks.*.attn.out": of(f"{_LAYER}attn.Wo"),
        "encoder.blocks.*.ln2": of(f"{_LAYER}mlp_norm"),
        "encoder.blocks.*.mlp.up": of(f"{_LAYER}mlp.Wi"),
        "encoder.blocks.*.mlp.down": of(f"{_LAYER}mlp.Wo"),
        "encoder.ln_final": of("final_norm"),
        "mlm.dense": of("head.dense"),
        "mlm.ln": of("head.norm"),
        "mlm.bias": of("decoder.bias"),
        "unembed": of("decoder"),
    },
    head="decoder.weight",
    prefix="model.",
    defaults={
        "vocab_size": 50_368,
        "hidden_size": 768,
        "intermediate_size": 1152,
        "num_hidden_layers": 22,
        "num_attention_heads": 12,
        "hidden_activation": "gelu",
        "max_position_embeddings": 8192,
        "norm_eps": 1e-5,
        "norm_bias": False,
        "bos_token_id": 50_281,
        "attention_bias": False,
        "mlp_bias": False,
        "global_rope_theta": 160_000.0,
        "local_rope_theta": 10_000.0,
        "local_attention": 128,
        _EVERY: 3,
        "decoder_bias": True,
        "classifier_bias": False,
        "classifier_activation": "gelu",
        "tie_word_embeddings": True,
    },
)
