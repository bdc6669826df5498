"""GPT-2, whose matrices are stored (in, out), its q, k and v in one; and GPTBigCode, which is GPT-2 with one key and
value for all queries."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.mapping import Family, of
from tfcore.part_configs import AttentionConfig, FeedForwardConfig, NormConfig, PositionsConfig


def _gpt2(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _config(s, tensors, AttentionConfig(scale_by_layer=s.flag("scale_attn_by_inverse_layer_idx")))


def _gpt_bigcode(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    shared = s.flag("multi_query")
    s.only("num_key_value_heads", 1 if shared else s.whole("n_head"))
    return _config(s, tensors, AttentionConfig(n_kv_heads=1 if shared else None))


def _config(s: ConfigValues, tensors: Tensors, attention: AttentionConfig) -> ModelConfig:
    s.only("add_cross_attention", False)
    head, tied = s.head(tensors, "wte.weight", "lm_head.weight")
    width = s.whole("n_embd")
    return ModelConfig(
        vocab_size=s.whole("vocab_size"),
        d_model=width,
        n_layers=s.whole("n_layer"),
        attention=replace(attention, n_heads=s.whole("n_head"), scale=None if s.flag("scale_attn_weights") else 1.0),
        feed_forward=FeedForwardConfig(
            d_ff=s.whole("n_inner", null=4 * width), activation=s.activation("activation_function")
        ),
        max_seq_len=s.whole("n_positions"),
        positions=PositionsConfig(kind="learned"),
        norm=NormConfig(kind="layernorm", eps=s.number("layer_norm_epsilon")),
        bias=True,
        head=head,
        tie_embeddings=tied,
        bos_id=s.bos(),
    )


GPT2 = Family(
    title="GPT-2",
    architectures=("GPT2LMHeadModel", "GPT2Model"),
    config=_gpt2,
    rows={
        "embed": of("wte") + of("lm_head"),
        "unembed": of("lm_head"),
        "decoder.pos_embed": of("wpe"),
        "decoder.ln_final": of("ln_f"),
        "decoder.blocks.*.ln1": of("h.*.ln_1"),
        "decoder.blocks.*.ln2": of("h.*.ln_2"),
        "decoder.blocks.*.attn.qkv": of("h.*.attn.c_attn", transposed=True),
        "decoder.blocks.*.attn.out": of("h.*.attn.c_proj", transposed=True),
        "decoder.blocks.*.mlp.up": of("h.*.mlp.c_fc", transposed=True),
        "decoder.blocks.*.mlp.down": of("h.*.mlp.c_proj", transposed=True),
    },
    head="lm_head.weight",
    prefix="transformer.",
    ignored=r"h\.\d+\.attn\.(bias|masked_bias)",  # the causal mask, stored
    defaults={
        "vocab_size": 50_257,
        "bos_token_id": 50_256,
        "n_positions": 1024,
        "n_embd": 768,
        "n_layer": 12,
        "n_head": 12,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "tie_word_embeddings": True,
    },
    aliases={
        "hidden_size": "n_embd",
        "max_position_embeddings": "n_positions",
        "num_attention_heads": "n_head",
        "num_hidden_layers": "n_layer",
    },
)
GPT_BIGCODE = replace(
    GPT2,
    title="GPTBigCode",
    architectures=("GPTBigCodeForCausalLM", "GPTBigCodeModel"),
    config=_gpt_bigcode,
    rows={
        **GPT2.rows,
        "decoder.blocks.*.attn.qkv": of("h.*.attn.c_attn", by_head=True),
        "decoder.blocks.*.attn.out": of("h.*.attn.c_proj"),
        "decoder.blocks.*.mlp.up": of("h.*.mlp.c_fc"),
        "decoder.blocks.*.mlp.down": of("h.*.mlp.c_proj"),
    },
    defaults={
        **{name: value for name, value in GPT2.defaults.items() if name != "scale_attn_by_inverse_layer_idx"},
        "activation_function": "gelu_pytorch_tanh",
        "multi_query": True,
    },
)
