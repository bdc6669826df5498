"""Published models as configs: the sizes of their papers and model cards, nothing is downloaded or built.

Counts are of parameters, each counted once. Dropout is left at 0: it belongs to a training run, not to the model.
`tfcore.measures.parameter_count.parameters` counts the same from the config, tests compare both.
"""

from collections.abc import Callable

from tfcore.config import ModelConfig
from tfcore.part_configs import (
    AttentionConfig,
    ExpertsConfig,
    FeedForwardConfig,
    LayerConfig,
    NormConfig,
    PositionsConfig,
    RopeScaling,
)


def transformer_base() -> ModelConfig:
    """The first Transformer, base: about 65 M (arXiv:1706.03762, table 3; vocabulary: section 5.1, English-German).

    The paper sets no longest sequence; 1,024 is ours.
    """
    return ModelConfig(
        architecture="encoder-decoder",
        vocab_size=37_000,
        d_model=512,
        n_layers=6,
        attention=AttentionConfig(n_heads=8),
        feed_forward=FeedForwardConfig(d_ff=2048, activation="relu"),
        max_seq_len=1024,
        positions=PositionsConfig(kind="sinusoidal"),
        norm=NormConfig(kind="layernorm", placement="post"),
        bias=True,
        embed_scale=512**0.5,
        init="xavier",
    )


def transformer_big() -> ModelConfig:
    """The first Transformer, big: about 213 M (arXiv:1706.03762, table 3)."""
    return transformer_base().changed(d_model=1024, n_heads=16, d_ff=4096, embed_scale=1024**0.5)


def bert_base() -> ModelConfig:
    """BERT base, uncased, with the head of the masked words and no pooler: 109,514,298, as BertForMaskedLM of
    transformers has; 110 M (arXiv:1810.04805, section 3)."""
    return ModelConfig(
        architecture="encoder",
        vocab_size=30_522,
        d_model=768,
        n_layers=12,
        attention=AttentionConfig(n_heads=12),
        feed_forward=FeedForwardConfig(d_ff=3072, activation="gelu"),
        max_seq_len=512,
        positions=PositionsConfig(kind="learned"),
        norm=NormConfig(kind="layernorm", placement="post", eps=1e-12, of_embeddings=True),
        bias=True,
        head="mlm",
        n_segments=2,
        init="normal",
    )


def bert_large() -> ModelConfig:
    """BERT large, uncased, with the head of the masked words and no pooler: 335,174,458; 340 M (arXiv:1810.04805,
    section 3)."""
    return bert_base().changed(d_model=1024, n_layers=24, n_heads=16, d_ff=4096)


def gpt2_small() -> ModelConfig:
    """GPT-2 small: 124,439,808 (Radford et al. 2019, table 2, which says 117 M; the count is the checkpoint's)."""
    return ModelConfig(
        vocab_size=50_257,
        d_model=768,
        n_layers=12,
        attention=AttentionConfig(n_heads=12),
        feed_forward=FeedForwardConfig(d_ff=3072, activation="gelu_tanh"),
        max_seq_len=1024,
        positions=PositionsConfig(kind="learned"),
        norm=NormConfig(kind="layernorm"),
        bias=True,
    )


def gpt2_medium() -> ModelConfig:
    """GPT-2 medium: 354,823,168 (Radford et al. 2019, table 2, which says 345 M; the count is the checkpoint's)."""
    return gpt2_small().changed(d_model=1024, n_layers=24, n_heads=16, d_ff=4096)


def gpt2_large() -> ModelConfig:
    """GPT-2 large: 774,030,080 (Radford et al. 2019, table 2, which says 762 M; the count is the checkpoint's)."""
    return gpt2_small().changed(d_model=1280, n_layers=36, n_heads=20, d_ff=5120)


def gpt2_xl() -> ModelConfig:
    """GPT-2 XL: 1,557,611,200 (Radford et al. 2019, table 2, which says 1542 M; the count is the checkpoint's)."""
    return gpt2_small().changed(d_model=1600, n_layers=48, n_heads=25, d_ff=6400)


def gpt3_175b() -> ModelConfig:
    """GPT-3: 175.0 B (arXiv:2005.14165, table 2.1).

    There every other layer's attention is sparse, in locally banded patterns (section 2.1): it has the same
    parameters; here all layers are dense.
    """
    return gpt2_small().changed(d_model=12_288, n_layers=96, n_heads=96, d_ff=49_152, max_seq_len=2048)


def t5_small() -> ModelConfig:
    """T5 1.0 small: 60,506,624 (arXiv:1910.10683, section 3.7, which says about 60 M; the count is the checkpoint's).

    Relative positions have no longest sequence; 512 is that of its training.
    """
    return ModelConfig(
        architecture="encoder-decoder",
        vocab_size=32_128,
        d_model=512,
        n_layers=6,
        attention=AttentionConfig(n_heads=8, d_head=64, scale=1.0),
        feed_forward=FeedForwardConfig(d_ff=2048, activation="relu"),
        max_seq_len=512,
        positions=PositionsConfig(kind="relative"),
        norm=NormConfig(kind="rmsnorm", eps=1e-6),
        logit_scale=512**-0.5,
    )


def t5_base() -> ModelConfig:
    """T5 1.0 base: 222,903,552 (arXiv:1910.10683, section 3.1.1, which says about 220 M)."""
    return t5_small().changed(d_model=768, n_layers=12, n_heads=12, d_ff=3072, logit_scale=768**-0.5)


def t5_large() -> ModelConfig:
    """T5 1.0 large: 737,668,096 (arXiv:1910.10683, section 3.7, which says about 770 M)."""
    return t5_small().changed(d_model=1024, n_layers=24, n_heads=16, d_ff=4096, logit_scale=1024**-0.5)


def llama_7b() -> ModelConfig:
    """LLaMA 7B: 6,738,415,616 (arXiv:2302.13971, table 2, which says 6.7 B)."""
    return ModelConfig(
        vocab_size=32_000,
        d_model=4096,
        n_layers=32,
        attention=AttentionConfig(n_heads=32),
        feed_forward=FeedForwardConfig(d_ff=11_008, activation="swiglu"),
        max_seq_len=2048,
        positions=PositionsConfig(kind="rope"),
        norm=NormConfig(kind="rmsnorm", eps=1e-6),
        tie_embeddings=False,
        init="normal",
    )


def llama2_7b() -> ModelConfig:
    """Llama 2 7B: 6,738,415,616 (arXiv:2307.09288, table 1; sizes in its model card)."""
    return llama_7b().changed(max_seq_len=4096, norm_eps=1e-5)


def llama2_13b() -> ModelConfig:
    """Llama 2 13B: 13,015,864,320 (arXiv:2307.09288, table 1; sizes in its model card)."""
    return llama2_7b().changed(d_model=5120, n_layers=40, n_heads=40, d_ff=13_824)


def llama2_70b() -> ModelConfig:
    """Llama 2 70B, with grouped queries: 68,976,648,192 (arXiv:2307.09288, table 1; sizes in its model card)."""
    return llama2_7b().changed(d_model=8192, n_layers=80, n_heads=64, n_kv_heads=8, d_ff=28_672)


def llama3_8b() -> ModelConfig:
    """Llama 3 8B: 8,030,261,248 (arXiv:2407.21783, table 3, and its model card; the first release, 8,192 tokens)."""
    return llama2_7b().changed(vocab_size=128_256, n_kv_heads=8, d_ff=14_336, max_seq_len=8192, rope_base=500_000.0)


def llama3_70b() -> ModelConfig:
    """Llama 3 70B: 70,553,706,496 (arXiv:2407.21783, table 3, and its model card; the first release, 8,192 tokens)."""
    return llama3_8b().changed(d_model=8192, n_layers=80, n_heads=64, d_ff=28_672)


def llama3_405b() -> ModelConfig:
    """Llama 3.1 405B: 405,853,388,800 (arXiv:2407.21783, table 3; rotations slowed down as in its model card)."""
    return llama3_8b().changed(
        d_model=16_384,
        n_layers=126,
        n_heads=128,
        d_ff=53_248,
        max_seq_len=131_072,
        rope_scaling=RopeScaling(kind="llama3", factor=8.0, original_len=8192, low_freq=1.0, high_freq=4.0),
    )


def mistral_7b() -> ModelConfig:
    """Mistral 7B v0.1, window 4,096: 7,241,732,096 (arXiv:2310.06825, table 1; the card's longest text, 32,768)."""
    return llama2_7b().changed(n_kv_heads=8, d_ff=14_336, max_seq_len=32_768, window=4096)


def mixtral_8x7b() -> ModelConfig:
    """Mixtral 8x7B: 46,702,792,704, of which each token uses about 12.9 B (arXiv:2401.04088, table 1)."""
    experts = ExpertsConfig(n_experts=8, top_k=2, softmax="after")
    return mistral_7b().changed(window=None, rope_base=1_000_000.0, experts=experts)


def qwen2_7b() -> ModelConfig:
    """Qwen2 7B: 7,615,616,512 (arXiv:2407.10671, table 1; vocabulary and longest text as in its model card)."""
    return llama_7b().changed(
        vocab_size=152_064,
        d_model=3584,
        n_layers=28,
        n_heads=28,
        n_kv_heads=4,
        d_ff=18_944,
        max_seq_len=131_072,
        rope_base=1_000_000.0,
        qkv_bias=True,
    )


def gemma_7b() -> ModelConfig:
    """Gemma 7B: 8,537,680,896 (arXiv:2403.08295, tables 1 and 2; its d_ff of 49,152 counts gate and up together).

    Its norms multiply by 1 + weight: weights of a checkpoint have to be read that way.
    """
    return llama_7b().changed(
        vocab_size=256_000,
        d_model=3072,
        n_layers=28,
        n_heads=16,
        d_head=256,
        d_ff=24_576,
        max_seq_len=8192,
        activation="geglu_tanh",
        tie_embeddings=True,
        embed_scale=3072**0.5,
    )


def deepseek_moe_16b() -> ModelConfig:
    """DeepSeekMoE 16B: 16.4 B, of which each token uses 2.8 B (arXiv:2401.06066, section 5.1.2 and its model card).

    64 routed experts, of which a token goes to 6, and 2 shared ones; the first layer is dense.
    """
    experts = ExpertsConfig(n_experts=64, top_k=6, d_expert=1408, n_shared=2, softmax="before", balance_loss=0.001)
    return llama_7b().changed(
        vocab_size=102_400,
        d_model=2048,
        n_layers=28,
        n_heads=16,
        d_ff=10_944,
        max_seq_len=4096,
        experts=experts,
        dense_layers=1,
    )


def gemma2_2b() -> ModelConfig:
    """Gemma 2 2B: 2,614,341,888 (arXiv:2408.00118, tables 1 and 2, and what it says of soft caps and windows)."""
    return gemma_7b().changed(
        d_model=2304,
        n_layers=26,
        n_heads=8,
        n_kv_heads=4,
        d_ff=9216,
        embed_scale=2304**0.5,
        norm_placement="sandwich",
        attn_softcap=50.0,
        logit_softcap=30.0,
        layers=tuple(LayerConfig(window=None if i % 2 else 4096) for i in range(26)),
    )


def gemma3_1b() -> ModelConfig:
    """Gemma 3 1B: 999,885,952 (arXiv:2503.19786, table 1, which says 302 M and 698 M; sizes in its model card).

    Five layers with a window, whose rotations have the base 10,000, then one without, of base 1,000,000 (section 2).
    """
    local = LayerConfig(window=512, positions=PositionsConfig(kind="rope", base=10_000.0))
    return gemma2_2b().changed(
        vocab_size=262_144,
        d_model=1152,
        n_heads=4,
        n_kv_heads=1,
        d_ff=6912,
        max_seq_len=32_768,
        embed_scale=1152**0.5,
        attn_softcap=None,
        logit_softcap=None,
        qk_norm="head",
        rope_base=1_000_000.0,
        layers=tuple(LayerConfig() if i % 6 == 5 else local for i in range(26)),
    )


def qwen3_8b() -> ModelConfig:
    """Qwen3 8B: 8,190,735,360 (arXiv:2505.09388, table 1; widths as in its model card)."""
    return qwen2_7b().changed(
        vocab_size=151_936,
        d_model=4096,
        n_layers=36,
        n_heads=32,
        n_kv_heads=8,
        d_head=128,
        d_ff=12_288,
        max_seq_len=40_960,
        qkv_bias=False,
        qk_norm="head",
    )


def qwen3_30b_a3b() -> ModelConfig:
    """Qwen3 30B-A3B: 30,532,122,624, of which each token uses about 3.3 B (arXiv:2505.09388, table 2, and its card)."""
    experts = ExpertsConfig(n_experts=128, top_k=8, d_expert=768, softmax="before", renormalize=True)
    return qwen3_8b().changed(d_model=2048, n_layers=48, n_kv_heads=4, d_ff=6144, experts=experts)


def olmo2_7b() -> ModelConfig:
    """OLMo 2 7B: 7,298,617,344 (arXiv:2501.00656; norms of what is added: section 3.2; sizes in its model card)."""
    return llama2_7b().changed(
        vocab_size=100_352, norm_eps=1e-6, rope_base=500_000.0, norm_placement="after", qk_norm="width"
    )


def pythia_6_9b() -> ModelConfig:
    """Pythia 6.9B: 6,857,302,016, of which 6,444,163,072 are not of the two tables (arXiv:2304.01373, table 1)."""
    return gpt2_small().changed(
        vocab_size=50_432,
        d_model=4096,
        n_layers=32,
        n_heads=32,
        d_ff=16_384,
        max_seq_len=2048,
        activation="gelu",
        positions=PositionsConfig(kind="rope", rotated=32),
        parallel=True,
        shared_norm=False,
        tie_embeddings=False,
    )


def phi3_mini() -> ModelConfig:
    """Phi-3 mini, 4,096 tokens: 3,821,079,552 (arXiv:2404.14219, section 2, which says 3.8 B)."""
    return llama2_7b().changed(vocab_size=32_064, d_model=3072, d_ff=8192, window=2047)


def smollm3_3b() -> ModelConfig:
    """SmolLM3 3B: 3,075,098,624 (its model card); every fourth layer has no positions (arXiv:2501.18795)."""
    none = LayerConfig(positions=PositionsConfig(kind="none"))
    return llama3_8b().changed(
        d_model=2048,
        n_layers=36,
        n_heads=16,
        n_kv_heads=4,
        d_ff=11_008,
        max_seq_len=65_536,
        norm_eps=1e-6,
        rope_base=5_000_000.0,
        tie_embeddings=True,
        layers=tuple(none if i % 4 == 3 else LayerConfig() for i in range(36)),
    )


def gpt_oss_120b() -> ModelConfig:
    """gpt-oss 120B: 116,829,156,672, of which each token uses about 5.1 B (arXiv:2508.10925, table 1).

    Windows of 128 tokens in every other layer, a learned sink in each head (section 2.2).
    """
    return llama2_7b().changed(
        vocab_size=201_088,
        d_model=2880,
        n_layers=36,
        n_heads=64,
        n_kv_heads=8,
        d_head=64,
        d_ff=2880,
        max_seq_len=131_072,
        qkv_bias=True,
        out_bias=True,
        attn_sinks=True,
        ff_gain=1.702,
        ff_limit=7.0,
        ff_shift=1.0,
        experts=ExpertsConfig(n_experts=128, top_k=4, bias=True, softmax="after"),
        layers=tuple(LayerConfig(window=None if i % 2 else 128) for i in range(36)),
        positions=PositionsConfig(
            kind="rope",
            base=150_000.0,
            scaling=RopeScaling(kind="yarn", factor=32.0, original_len=4096, high_freq=32.0, whole_pairs=False),
        ),
    )


def gpt_oss_20b() -> ModelConfig:
    """gpt-oss 20B: 20,914,757,184, of which each token uses about 3.6 B (arXiv:2508.10925, table 1)."""
    return gpt_oss_120b().changed(n_layers=24, experts=ExpertsConfig(n_experts=32, top_k=4, bias=True, softmax="after"))


PRESETS: dict[str, Callable[[], ModelConfig]] = {
    preset.__name__: preset
    for preset in (
        *(transformer_base, transformer_big, bert_base, bert_large),
        *(gpt2_small, gpt2_medium, gpt2_large, gpt2_xl, gpt3_175b, t5_small, t5_base, t5_large),
        *(llama_7b, llama2_7b, llama2_13b, llama2_70b, llama3_8b, llama3_70b, llama3_405b),
        *(mistral_7b, mixtral_8x7b, qwen2_7b, qwen3_8b, qwen3_30b_a3b, gemma_7b, gemma2_2b, gemma3_1b),
        *(deepseek_moe_16b, olmo2_7b, pythia_6_9b, phi3_mini, smollm3_3b, gpt_oss_20b, gpt_oss_120b),
    )
}

# preset -> the name that people know it by.
NAMES = {
    "transformer_base": "Transformer base (2017)",
    "transformer_big": "Transformer big (2017)",
    "bert_base": "BERT base",
    "bert_large": "BERT large",
    "gpt2_small": "GPT-2 small",
    "gpt2_medium": "GPT-2 medium",
    "gpt2_large": "GPT-2 large",
    "gpt2_xl": "GPT-2 XL",
    "gpt3_175b": "GPT-3 175B",
    "t5_small": "T5 small",
    "t5_base": "T5 base",
    "t5_large": "T5 large",
    "llama_7b": "LLaMA 7B",
    "llama2_7b": "LLaMA 2 7B",
    "llama2_13b": "LLaMA 2 13B",
    "llama2_70b": "LLaMA 2 70B",
    "llama3_8b": "LLaMA 3 8B",
    "llama3_70b": "LLaMA 3 70B",
    "llama3_405b": "LLaMA 3.1 405B",
    "mistral_7b": "Mistral 7B",
    "mixtral_8x7b": "Mixtral 8x7B",
    "qwen2_7b": "Qwen2 7B",
    "qwen3_8b": "Qwen3 8B",
    "qwen3_30b_a3b": "Qwen3 30B-A3B",
    "gemma_7b": "Gemma 7B",
    "gemma2_2b": "Gemma 2 2B",
    "gemma3_1b": "Gemma 3 1B",
    "deepseek_moe_16b": "DeepSeekMoE 16B",
    "olmo2_7b": "OLMo 2 7B",
    "pythia_6_9b": "Pythia 6.9B",
    "phi3_mini": "Phi-3 mini",
    "smollm3_3b": "SmolLM3 3B",
    "gpt_oss_20b": "gpt-oss 20B",
    "gpt_oss_120b": "gpt-oss 120B",
}
