"""Tiny random checkpoints of every family, written by `transformers`, with awkward settings."""

import copy

import torch
import transformers as hf
from torch import nn

from tfcore.loading.checkpoints import OF_WRITING

SHAPE = {
    "vocab_size": 61,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "max_position_embeddings": 32,
}
GROUPED = SHAPE | {"num_key_value_heads": 3, "head_dim": 10}  # three for six, and 60 features of heads in a width of 24
GPT2 = {"vocab_size": 61, "n_embd": 24, "n_layer": 2, "n_head": 6, "n_positions": 32}
STACK = {"layers": 2, "attention_heads": 6, "ffn_dim": 40}
ROBERTA = SHAPE | {"max_position_embeddings": 34}
DISTIL = {"vocab_size": 61, "dim": 24, "n_layers": 2, "n_heads": 6, "hidden_dim": 40, "max_position_embeddings": 32}
T5 = {"vocab_size": 61, "d_model": 24, "d_kv": 10, "d_ff": 40, "num_layers": 2, "num_heads": 6}
BART = {"vocab_size": 61, "d_model": 24, "max_position_embeddings": 32, "decoder_start_token_id": 2}
BART |= {f"{stack}_{name}": n for stack in ("encoder", "decoder") for name, n in STACK.items()}
PEGASUS = BART | {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1, "forced_eos_token_id": 1}
MARIAN = BART | {"pad_token_id": 58, "decoder_start_token_id": 58, "eos_token_id": 3, "forced_eos_token_id": 3}
OPT = SHAPE | {"ffn_dim": 40} | {f"{name}_token_id": i for i, name in enumerate(("pad", "bos", "eos"))}
BLOOM = {"vocab_size": 61, "hidden_size": 24, "n_layer": 2, "n_head": 6}
MPT = {"vocab_size": 61, "d_model": 24, "n_layers": 2, "n_heads": 6, "max_seq_len": 32}
FALCON = {name: SHAPE[name] for name in SHAPE if name != "intermediate_size"}
# Of its two kinds of attention the one that keeps its maps adds the biases twice (transformers 5.23).
FALCON_RW = FALCON | {"alibi": True, "parallel_attn": False, "multi_query": False, "bias": True}
FALCON_RW |= {"attn_implementation": "sdpa"}
NEO = {"vocab_size": 61, "hidden_size": 24, "num_heads": 6, "max_position_embeddings": 32, "window_size": 5}
NEO |= {"num_layers": 4, "attention_types": [[["global", "local"], 2]]}
THREE = GROUPED | {"num_hidden_layers": 3}
LFM2 = THREE | {"head_dim": 4, "block_multiple_of": 8, "pad_token_id": 0}
LFM2_MOE = {name: n for name, n in LFM2.items() if name != "block_multiple_of"} | {"num_dense_layers": 1}
LFM2_MOE |= {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 12}
MAMBA2 = {"vocab_size": 61, "hidden_size": 24, "num_hidden_layers": 3, "num_heads": 6, "head_dim": 8, "n_groups": 3}
MAMBA2 |= {"state_size": 10, "chunk_size": 4, "pad_token_id": 0}
DELTA = {"linear_key_head_dim": 6, "linear_value_head_dim": 10, "linear_num_key_heads": 2, "linear_num_value_heads": 4}
NEXT = GROUPED | DELTA | {"num_hidden_layers": 4, "head_dim": 8, "shared_expert_intermediate_size": 24}
NEXT |= {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "pad_token_id": 0}
PARTLY = {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5}
THREEFOLD = PARTLY | {"mrope_section": [1, 1, 0], "mrope_interleaved": True}
BESIDE = SHAPE | {
    "num_key_value_heads": 2,
    "mamba_d_ssm": 40,
    "mamba_n_heads": 4,
    "mamba_n_groups": 2,
    "pad_token_id": 0,
}
BESIDE |= {"mamba_d_state": 6, "mamba_chunk_size": 4, "mamba_d_head": "auto"}
SCALED = {
    f"{name}_multiplier": 0.5 + i / 7 for i, name in enumerate(("lm_head", "embedding", "key", "ssm_in", "ssm_out"))
}
SCALED |= {"attention_in_multiplier": 1.4, "attention_out_multiplier": 0.7, "mlp_multipliers": [0.6, 1.7]}
SCALED |= {"ssm_multipliers": [0.5, 1.5, 0.8, 1.2, 0.9]}
NEMOTRON_H = {name: n for name, n in GROUPED.items() if name != "num_hidden_layers"} | {"mamba_num_heads": 6}
NEMOTRON_H |= {"mamba_head_dim": 5, "n_groups": 3, "ssm_state_size": 7, "chunk_size": 4}
ALONE = ["linear_attention", "mlp", "full_attention", "linear_attention", "mlp"]
OF_EXPERTS = {
    "n_routed_experts": 6,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 12,
    "n_group": 3,
    "topk_group": 2,
}
OF_EXPERTS |= {"moe_shared_expert_intermediate_size": 24, "routed_scaling_factor": 1.7}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 4.0,
    "original_max_position_embeddings": 16,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}
LINEAR = {"rope_type": "linear", "rope_theta": 1000.0, "factor": 3.0}
YARN = {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "original_max_position_embeddings": 64}
OWN_YARN = YARN | {"attention_factor": 1.7, "beta_fast": 9.0, "beta_slow": 2.0, "truncate": False}
GROWING = YARN | {"llama_4_scaling_beta": 0.5, "mscale": 1.0, "mscale_all_dim": 1.0}
GROWING |= {"original_max_position_embeddings": 30}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 100.0, "factor": 4.0}
SLIDING = {"use_sliding_window": True, "sliding_window": 5}

GEMMA = GROUPED | {"sliding_window": 4, "query_pre_attn_scalar": 7, "pad_token_id": 0}
MOE = GROUPED | {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 12}
QWEN_MOE = MOE | {"shared_expert_intermediate_size": 24, "head_dim": 4}
NEOX = SHAPE | {"hidden_size": 48, "rope_parameters": {"rope_theta": 100.0, "partial_rotary_factor": 0.5}}
PHI = SHAPE | {"hidden_size": 48, "num_key_value_heads": 2, "pad_token_id": 0}
LONG = {"rope_type": "longrope", "rope_theta": 100.0, "short_factor": [1.0, 1.1], "long_factor": [1.5, 4.0]}
TOKENS = {f"{name}_token_id": i for i, name in enumerate(("pad", "bos", "eos", "cls", "sep"))}
MODERN = SHAPE | {"num_hidden_layers": 4, "hidden_size": 48, "local_attention": 4} | TOKENS
OSS = GROUPED | {"num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": 4}
LATENT = SHAPE | {"kv_lora_rank": 10, "q_lora_rank": 14, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5}
ROUTED = {"n_routed_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 12, "n_shared_experts": 2}
LATENT |= {"num_key_value_heads": 6}
MIXED = THREE | ROUTED | {"head_dim": 12, "first_k_dense_replace": 1, "routed_scaling_factor": 1.7}
MIXED |= {"rope_parameters": {"rope_theta": 100.0, "partial_rotary_factor": 0.5}}
DEEPSEEK = LATENT | ROUTED | {"num_hidden_layers": 3, "first_k_dense_replace": 1, "routed_scaling_factor": 1.7}
GROUPS = {"n_group": 3, "topk_group": 2}
SHARP = YARN | {"mscale": 0.7, "mscale_all_dim": 1.3, "original_max_position_embeddings": 8}
FACTORS = {"embedding_multiplier": 3.0, "attention_multiplier": 0.4, "residual_multiplier": 0.6, "logits_scaling": 2.5}
KINDS = ["linear_attention", "full_attention", "linear_attention"]
FOUR = THREE | {"head_dim": 4, "shared_intermediate_size": 80, "mamba_n_heads": 4, "mamba_d_state": 6}
FOUR |= {"mamba_chunk_size": 4}
EXAONE = GROUPED | {"head_dim": 4, "sliding_window": 4}
STABLE = SHAPE | {"hidden_size": 48, "num_key_value_heads": 2}
HALF = {"hidden_size": 48, "rope_parameters": {"rope_theta": 100.0, "partial_rotary_factor": 0.5}, "pad_token_id": 0}
GPTJ = GPT2 | {"n_embd": 48, "rotary_dim": 4}
COHERE = SHAPE | {"hidden_size": 48, "num_key_value_heads": 2, "logit_scale": 0.4}
GLM = GROUPED | {"head_dim": 12, "pad_token_id": 0}
XGLM = {"vocab_size": 61, "d_model": 24, "num_layers": 2, "attention_heads": 6, "ffn_dim": 40}
XGLM |= {"max_position_embeddings": 32}
DEBERTA = SHAPE | {"relative_attention": True, "pos_att_type": "p2c|c2p", "position_biased_input": False}
LOGARITHMIC = {"position_buckets": 6, "norm_rel_ebd": "layer_norm", "share_att_key": True}
PATCHES = {name: n for name, n in SHAPE.items() if name not in ("vocab_size", "max_position_embeddings")}
PATCHES |= {"image_size": 14, "patch_size": 4}  # whose last two lines of pixels are in no patch
DINO = {name: n for name, n in PATCHES.items() if name != "intermediate_size"} | {"mlp_ratio": 2}
WHISPER = {name: n for name, n in BART.items() if name != "max_position_embeddings"} | {"num_mel_bins": 8}
WHISPER |= {"max_source_positions": 50, "max_target_positions": 20, "begin_suppress_tokens": [3, 7]}
WHISPER |= {f"{name}_token_id": i for i, name in enumerate(("pad", "bos", "eos"))}
OLMO3 = SHAPE | {"hidden_size": 96, "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]}

DECODERS = {
    "gpt2": (hf.GPT2LMHeadModel, GPT2),
    "gpt2, untied, narrow": (hf.GPT2LMHeadModel, GPT2 | {"n_inner": 17, "tie_word_embeddings": False}),
    "gpt2, unscaled, relu": (hf.GPT2LMHeadModel, GPT2 | {"scale_attn_weights": False, "activation_function": "relu"}),
    "gpt2, upcast": (hf.GPT2LMHeadModel, GPT2 | {"reorder_and_upcast_attn": True, "layer_norm_epsilon": 1e-2}),
    "gpt2, scaled by layer": (
        hf.GPT2LMHeadModel,
        GPT2 | {"scale_attn_by_inverse_layer_idx": True, "reorder_and_upcast_attn": True},
    ),
    "gpt2, no head": (hf.GPT2Model, GPT2 | {"activation_function": "silu"}),
    "gpt bigcode": (hf.GPTBigCodeForCausalLM, GPT2),
    "gpt bigcode, all keys, untied": (
        hf.GPTBigCodeForCausalLM,
        GPT2 | {"multi_query": False, "tie_word_embeddings": False, "n_inner": 17, "scale_attn_weights": False},
    ),
    "gpt bigcode, no head": (hf.GPTBigCodeModel, GPT2 | {"activation_function": "relu"}),
    "gpt-neo": (hf.GPTNeoForCausalLM, NEO),
    "gpt-neo, own kinds, untied": (
        hf.GPTNeoForCausalLM,
        NEO
        | {"attention_types": [[["local"], 1], [["global", "local", "local"], 1]], "intermediate_size": 17}
        | {"tie_word_embeddings": False, "activation_function": "relu", "window_size": 3, "layer_norm_epsilon": 1e-2},
    ),
    "gpt-neo, no head": (hf.GPTNeoModel, NEO | {"num_layers": 1, "attention_types": [[["global"], 1]]}),
    "opt": (hf.OPTForCausalLM, OPT),
    "opt, after each sum": (hf.OPTForCausalLM, OPT | {"do_layer_norm_before": False, "activation_function": "gelu"}),
    "opt, untied, no biases": (hf.OPTForCausalLM, OPT | {"tie_word_embeddings": False, "enable_bias": False}),
    "opt, no head": (hf.OPTModel, OPT | {"num_attention_heads": 2}),
    "bloom": (hf.BloomForCausalLM, BLOOM),
    "bloom, eight heads, untied": (
        hf.BloomForCausalLM,
        BLOOM | {"n_head": 8, "tie_word_embeddings": False, "layer_norm_epsilon": 1e-2},
    ),
    "bloom, no head": (hf.BloomModel, BLOOM | {"n_head": 3}),
    "mpt": (hf.MptForCausalLM, MPT),
    "mpt, own scale, untied": (
        hf.MptForCausalLM,
        MPT | {"n_heads": 12, "attn_config": {"softmax_scale": 0.3}, "tie_word_embeddings": False},
    ),
    "mpt, clipped": (hf.MptForCausalLM, MPT | {"attn_config": {"clip_qkv": 0.7}}),
    "mpt, no head": (hf.MptModel, MPT | {"n_heads": 4, "layer_norm_epsilon": 1e-2}),
    "falcon": (hf.FalconForCausalLM, FALCON),
    "falcon, grouped": (hf.FalconForCausalLM, FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "falcon, grouped, one norm, biases": (
        hf.FalconForCausalLM,
        FALCON
        | {"new_decoder_architecture": True, "num_kv_heads": 3, "num_ln_in_parallel_attn": 1, "bias": True}
        | {"rope_parameters": LINEAR, "ffn_hidden_size": 17, "activation": "relu", "tie_word_embeddings": False},
    ),
    "falcon, in turn, all keys": (
        hf.FalconForCausalLM,
        FALCON | {"parallel_attn": False, "multi_query": False, "bias": True, "layer_norm_epsilon": 1e-2},
    ),
    "falcon-rw": (hf.FalconForCausalLM, FALCON_RW),
    "falcon, no head": (hf.FalconModel, FALCON | {"parallel_attn": False}),
    "llama": (hf.LlamaForCausalLM, GROUPED | {"rms_norm_eps": 1e-2}),
    "llama, tied": (hf.LlamaForCausalLM, GROUPED | {"tie_word_embeddings": True}),
    "llama, multi-query, biases": (
        hf.LlamaForCausalLM,
        SHAPE | {"num_key_value_heads": 1, "attention_bias": True, "mlp_bias": True},
    ),
    "llama, attention biases alone": (hf.LlamaForCausalLM, GROUPED | {"attention_bias": True}),
    "llama 3": (hf.LlamaForCausalLM, GROUPED | {"rope_parameters": LLAMA3}),
    "llama, linear, gelu": (hf.LlamaForCausalLM, GROUPED | {"rope_parameters": LINEAR, "hidden_act": "gelu"}),
    "llama, dynamic": (hf.LlamaForCausalLM, GROUPED | {"rope_parameters": DYNAMIC}),
    "llama, yarn of its own": (hf.LlamaForCausalLM, GROUPED | {"head_dim": 16, "rope_parameters": OWN_YARN}),
    "llama, no head": (hf.LlamaModel, GROUPED),
    "lfm2": (hf.Lfm2ForCausalLM, LFM2 | {"layer_types": ["conv", "full_attention", "conv"], "norm_eps": 1e-2}),
    "lfm2, biases, attention by number, untied": (
        hf.Lfm2ForCausalLM,
        LFM2 | {"full_attn_idxs": [2], "conv_bias": True, "conv_L_cache": 5, "tie_word_embeddings": False},
    ),
    "lfm2, no head": (hf.Lfm2Model, LFM2 | {"full_attn_idxs": [0], "block_auto_adjust_ff_dim": False}),
    "lfm2 mixture": (
        hf.Lfm2MoeForCausalLM,
        LFM2_MOE | {"layer_types": ["conv", "full_attention", "conv"], "routed_scaling_factor": 1.7},
    ),
    "lfm2 mixture, no biases, not to 1, untied": (
        hf.Lfm2MoeForCausalLM,
        LFM2_MOE
        | {"layer_types": ["full_attention", "conv", "full_attention"], "use_expert_bias": False, "conv_bias": True}
        | {"norm_topk_prob": False, "tie_word_embeddings": False, "num_dense_layers": 0, "norm_eps": 1e-2},
    ),
    "lfm2 mixture, no head": (hf.Lfm2MoeModel, LFM2_MOE | {"layer_types": ["conv", "conv", "full_attention"]}),
    "mamba2": (hf.Mamba2ForCausalLM, MAMBA2),
    "mamba2, biases, tied, one group": (
        hf.Mamba2ForCausalLM,
        MAMBA2
        | {"use_bias": True, "tie_word_embeddings": True, "n_groups": 1, "conv_kernel": 3, "layer_norm_epsilon": 1e-2},
    ),
    "mamba2, no head, no bias of its convolution, least steps": (
        hf.Mamba2Model,
        MAMBA2 | {"use_conv_bias": False, "time_step_limit": (0.5, float("inf")), "expand": 3, "head_dim": 12},
    ),
    "qwen3-next": (hf.Qwen3NextForCausalLM, NEXT),
    "qwen3-next, some dense, own kinds, biases": (
        hf.Qwen3NextForCausalLM,
        NEXT
        | {"layer_types": ["full_attention", "linear_attention"] * 2, "mlp_only_layers": [1], "attention_bias": True}
        | {"rope_parameters": PARTLY, "norm_topk_prob": False, "tie_word_embeddings": True, "rms_norm_eps": 1e-2},
    ),
    "qwen3-next, no head": (hf.Qwen3NextModel, NEXT | {"linear_num_key_heads": 4, "linear_conv_kernel_dim": 3}),
    "qwen3.5": (hf.Qwen3_5ForCausalLM, GROUPED | DELTA | {"num_hidden_layers": 4, "head_dim": 8}),
    "qwen3.5, three places, own kinds, biases, tied": (
        hf.Qwen3_5ForCausalLM,
        GROUPED
        | DELTA
        | {"layer_types": ["full_attention", "linear_attention"], "attention_bias": True, "tie_word_embeddings": True}
        | {"rope_parameters": THREEFOLD, "head_dim": 12, "linear_num_value_heads": 2, "rms_norm_eps": 1e-2},
    ),
    "qwen3.5 mixture": (hf.Qwen3_5MoeForCausalLM, {name: n for name, n in NEXT.items() if name != "intermediate_size"}),
    "falcon-h1": (hf.FalconH1ForCausalLM, BESIDE),
    "falcon-h1, factors, biases, normed": (
        hf.FalconH1ForCausalLM,
        BESIDE
        | SCALED
        | {"mamba_rms_norm": True, "mamba_norm_before_gate": False, "attention_bias": True, "mlp_bias": True}
        | {"mamba_proj_bias": True, "projectors_bias": True, "time_step_limit": [0.5, float("inf")]},
    ),
    "falcon-h1, factors, tied, own width": (
        hf.FalconH1ForCausalLM,
        BESIDE | SCALED | {"tie_word_embeddings": True, "mamba_d_ssm": None, "mamba_conv_bias": False},
    ),
    "falcon-h1, no head": (hf.FalconH1Model, BESIDE | {"mamba_d_conv": 3, "num_key_value_heads": 6}),
    "nemotron-h": (hf.NemotronHForCausalLM, NEMOTRON_H | {"layers_block_type": ALONE}),
    "nemotron-h, experts": (
        hf.NemotronHForCausalLM,
        NEMOTRON_H | OF_EXPERTS | {"layers_block_type": [*ALONE, "moe", "full_attention", "moe"]},
    ),
    "nemotron-h, biases, least steps, a pattern": (
        hf.NemotronHForCausalLM,
        NEMOTRON_H
        | {"hybrid_override_pattern": "M-*-M", "mlp_bias": True, "use_bias": True}
        | {"mamba_proj_bias": True, "mlp_hidden_act": "silu", "time_step_min": 0.5, "layer_norm_epsilon": 1e-2},
    ),
    "ministral3": (hf.Ministral3ForCausalLM, GROUPED | {"rope_parameters": GROWING}),
    "ministral3, tied, window, another scaling": (
        hf.Ministral3ForCausalLM,
        GROUPED
        | {"tie_word_embeddings": True, "sliding_window": 5, "head_dim": 4, "rms_norm_eps": 1e-2}
        | {"rope_parameters": LINEAR | {"llama_4_scaling_beta": 0.0, "original_max_position_embeddings": 8}},
    ),
    "ministral3, no head": (hf.Ministral3Model, GROUPED | {"hidden_act": "gelu"}),
    "mistral, window": (hf.MistralForCausalLM, GROUPED | {"sliding_window": 5}),
    "mistral, no window": (hf.MistralForCausalLM, SHAPE | {"num_key_value_heads": 2, "sliding_window": None}),
    "qwen2": (hf.Qwen2ForCausalLM, GROUPED),
    "qwen2, windows from 1": (hf.Qwen2ForCausalLM, THREE | SLIDING | {"max_window_layers": 1}),
    "qwen2, all windows": (hf.Qwen2ForCausalLM, THREE | SLIDING | {"max_window_layers": 0}),
    "qwen2, windows too late": (hf.Qwen2ForCausalLM, THREE | SLIDING | {"max_window_layers": 3}),
    "qwen2, no head": (hf.Qwen2Model, GROUPED | {"head_dim": 4}),
    "qwen2, yarn": (hf.Qwen2ForCausalLM, GROUPED | {"rope_parameters": YARN, "head_dim": 16}),
    "qwen3": (hf.Qwen3ForCausalLM, GROUPED | {"rms_norm_eps": 1e-3, "tie_word_embeddings": True}),
    "qwen3, windows, biases": (
        hf.Qwen3ForCausalLM,
        THREE | SLIDING | {"layer_types": ["full_attention"] * 2 + ["sliding_attention"], "attention_bias": True},
    ),
    "qwen3, yarn of two factors": (
        hf.Qwen3ForCausalLM,
        GROUPED | {"rope_parameters": YARN | {"mscale": 2.0, "mscale_all_dim": 0.5}, "head_dim": 2},
    ),
    "gemma": (hf.GemmaForCausalLM, GROUPED),
    "gemma, untied, biases": (hf.GemmaForCausalLM, GROUPED | {"tie_word_embeddings": False, "attention_bias": True}),
    "gemma, old name, no head": (hf.GemmaModel, GROUPED | {"hidden_act": "gelu", "num_key_value_heads": 1}),
    "mixtral": (hf.MixtralForCausalLM, GROUPED | {"num_local_experts": 3, "num_experts_per_tok": 2}),
    "mixtral, one expert, window": (
        hf.MixtralForCausalLM,
        GROUPED | {"num_local_experts": 4, "num_experts_per_tok": 1, "sliding_window": 5, "tie_word_embeddings": True},
    ),
    "qwen2 mixture": (hf.Qwen2MoeForCausalLM, QWEN_MOE | {"norm_topk_prob": True}),
    "qwen2 mixture, tied": (hf.Qwen2MoeForCausalLM, QWEN_MOE | {"tie_word_embeddings": True}),
    "qwen2 mixture, some dense": (
        hf.Qwen2MoeForCausalLM,
        QWEN_MOE | SLIDING | {"num_hidden_layers": 4, "decoder_sparse_step": 2, "mlp_only_layers": [1]},
    ),
    "qwen3 mixture": (hf.Qwen3MoeForCausalLM, MOE),
    "qwen3 mixture, windows, one dense": (
        hf.Qwen3MoeForCausalLM,
        MOE | SLIDING | {"mlp_only_layers": [0], "norm_topk_prob": True, "attention_bias": True},
    ),
    "olmoe": (hf.OlmoeForCausalLM, GROUPED | {"num_experts": 5, "num_experts_per_tok": 2, "head_dim": 4}),
    "gemma2": (hf.Gemma2ForCausalLM, GEMMA | {"attn_logit_softcapping": 1.5, "final_logit_softcapping": 2.0}),
    "gemma2, no caps": (
        hf.Gemma2ForCausalLM,
        GEMMA | {"attn_logit_softcapping": None, "final_logit_softcapping": None, "attention_bias": True},
    ),
    "gemma3": (hf.Gemma3ForCausalLM, GEMMA | {"num_hidden_layers": 7}),
    "gemma3, scaled, own kinds": (
        hf.Gemma3ForCausalLM,
        GEMMA
        | {"layer_types": ["full_attention", "sliding_attention"], "final_logit_softcapping": 3.0}
        | {"rope_parameters": {"full_attention": LINEAR, "sliding_attention": {"rope_theta": 70.0}}},
    ),
    "gemma3, no head": (hf.Gemma3TextModel, GEMMA),
    "phi3": (hf.Phi3ForCausalLM, SHAPE | {"num_key_value_heads": 3, "pad_token_id": 0}),
    "phi3, long, partly rotated, window": (
        hf.Phi3ForCausalLM,
        PHI
        | {"rope_parameters": LONG | {"partial_rotary_factor": 0.5}, "sliding_window": 5}
        | {"original_max_position_embeddings": 32, "max_position_embeddings": 64},
    ),
    "phi3, longer than it was": (
        hf.Phi3ForCausalLM,
        PHI
        | {"rope_parameters": LONG | {"short_factor": [1.0] * 4, "long_factor": [1.5, 2.0, 4.0, 8.0]}}
        | {"original_max_position_embeddings": 2},
    ),
    "pythia": (hf.GPTNeoXForCausalLM, NEOX),
    "pythia, in turn, all rotated": (
        hf.GPTNeoXForCausalLM,
        NEOX | {"use_parallel_residual": False, "attention_bias": False, "rope_parameters": LINEAR},
    ),
    "pythia, tied": (hf.GPTNeoXForCausalLM, NEOX | {"tie_word_embeddings": True}),
    "pythia, no head": (hf.GPTNeoXModel, NEOX | {"hidden_act": "gelu_new", "tie_word_embeddings": True}),
    "olmo2": (hf.Olmo2ForCausalLM, GROUPED | {"head_dim": 4, "rms_norm_eps": 1e-2}),
    "olmo2, tied, biases": (hf.Olmo2ForCausalLM, SHAPE | {"tie_word_embeddings": True, "attention_bias": True}),
    "olmo3": (hf.Olmo3ForCausalLM, SHAPE | {"num_hidden_layers": 5, "sliding_window": 4, "num_key_value_heads": 2}),
    "olmo3, yarn": (
        hf.Olmo3ForCausalLM,
        OLMO3 | {"rope_parameters": {"full_attention": YARN, "sliding_attention": {"rope_theta": 90.0}}},
    ),
    "deepseek v2": (hf.DeepseekV2ForCausalLM, DEEPSEEK | {"rms_norm_eps": 1e-2}),
    "deepseek v2, groups, whole queries, sharper": (
        hf.DeepseekV2ForCausalLM,
        DEEPSEEK
        | GROUPS
        | {"topk_method": "group_limited_greedy", "q_lora_rank": None, "v_head_dim": 13, "rope_parameters": SHARP}
        | {"attention_bias": True, "first_k_dense_replace": 0},
    ),
    "deepseek v2, no head": (hf.DeepseekV2Model, DEEPSEEK | {"n_shared_experts": 1, "tie_word_embeddings": True}),
    "deepseek v3": (hf.DeepseekV3ForCausalLM, DEEPSEEK | GROUPS | {"kv_lora_rank": 9, "qk_nope_head_dim": 7}),
    "deepseek v3, biases, sharper, not to 1": (
        hf.DeepseekV3ForCausalLM,
        DEEPSEEK
        | {"n_group": 2, "topk_group": 1, "norm_topk_prob": False, "attention_bias": True, "rms_norm_eps": 1e-2}
        | {"rope_parameters": SHARP, "tie_word_embeddings": True, "v_head_dim": 11},
    ),
    "deepseek v3, whole queries, one group": (
        hf.DeepseekV3ForCausalLM,
        DEEPSEEK
        | {"n_group": 1, "topk_group": 1, "q_lora_rank": None, "first_k_dense_replace": 2}
        | {"rope_parameters": {"rope_type": "linear", "rope_theta": 50.0, "factor": 3.0, "mscale_all_dim": 0.5}},
    ),
    "deepseek v3, no head": (hf.DeepseekV3Model, DEEPSEEK | GROUPS | {"num_hidden_layers": 1}),
    "gpt-oss": (hf.GptOssForCausalLM, OSS | {"num_hidden_layers": 3}),
    "gpt-oss, cut off early, own kinds": (
        hf.GptOssForCausalLM,
        OSS
        | {"swiglu_limit": 0.5, "swiglu_alpha": 0.7, "layer_types": ["full_attention", "sliding_attention"]}
        | {"rope_parameters": OWN_YARN, "head_dim": 16, "num_experts_per_tok": 1, "attention_bias": False},
    ),
    "gpt-oss, tied, no window": (
        hf.GptOssForCausalLM,
        OSS
        | {"layer_types": ["full_attention"] * 2, "tie_word_embeddings": True}
        | {"rope_parameters": {"rope_type": "default", "rope_theta": 50.0}, "num_key_value_heads": 1},
    ),
    "gpt-oss, no head": (hf.GptOssModel, OSS | {"head_dim": 4, "num_local_experts": 2}),
    "smollm3": (hf.SmolLM3ForCausalLM, GROUPED | {"num_hidden_layers": 5, "head_dim": 4, "pad_token_id": 0}),
    "smollm3, own layers, windows": (
        hf.SmolLM3ForCausalLM,
        THREE
        | SLIDING
        | {"no_rope_layers": [0, 1, 0], "tie_word_embeddings": False, "mlp_bias": True, "head_dim": 4}
        | {"pad_token_id": 0},
    ),
    "starcoder2": (hf.Starcoder2ForCausalLM, SHAPE | {"num_key_value_heads": 2, "sliding_window": 5}),
    "starcoder2, untied, no biases": (
        hf.Starcoder2ForCausalLM,
        SHAPE
        | {"num_key_value_heads": 1, "use_bias": False, "tie_word_embeddings": False, "norm_epsilon": 1e-2}
        | {"hidden_act": "relu", "rope_parameters": LINEAR},
    ),
    "starcoder2, no head": (hf.Starcoder2Model, SHAPE | {"num_key_value_heads": 6}),
    "granite": (hf.GraniteForCausalLM, GROUPED | FACTORS),
    "granite, tied, biases": (
        hf.GraniteForCausalLM,
        GROUPED | FACTORS | {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True},
    ),
    "granite, factors of 1": (hf.GraniteForCausalLM, SHAPE | {"rope_parameters": YARN}),
    "granite, no head": (hf.GraniteModel, GROUPED | {"residual_multiplier": -0.5, "embedding_multiplier": 0.25}),
    "granite mixture": (
        hf.GraniteMoeForCausalLM,
        GROUPED | FACTORS | {"num_local_experts": 5, "num_experts_per_tok": 2, "head_dim": 4},
    ),
    "granite mixture, tied, one expert, biases": (
        hf.GraniteMoeForCausalLM,
        SHAPE
        | FACTORS
        | {"num_local_experts": 3, "num_experts_per_tok": 1, "tie_word_embeddings": True, "attention_bias": True},
    ),
    "granite mixture, no head": (hf.GraniteMoeModel, SHAPE | {"num_local_experts": 2}),
    "granite mixture, shared": (
        hf.GraniteMoeSharedForCausalLM,
        SHAPE | FACTORS | {"num_local_experts": 5, "num_experts_per_tok": 2, "shared_intermediate_size": 80},
    ),
    "granite mixture, shared, tied, no such expert, biases": (
        hf.GraniteMoeSharedForCausalLM,
        GROUPED
        | FACTORS
        | {"num_local_experts": 3, "head_dim": 4, "tie_word_embeddings": True, "attention_bias": True},
    ),
    "granite mixture, shared, no head": (
        hf.GraniteMoeSharedModel,
        SHAPE | {"num_local_experts": 2, "num_experts_per_tok": 1, "shared_intermediate_size": 40},
    ),
    "granite 4": (hf.GraniteMoeHybridForCausalLM, FOUR | FACTORS | {"num_local_experts": 5, "layer_types": KINDS}),
    "granite 4, dense, rotated, tied, biases, groups": (
        hf.GraniteMoeHybridForCausalLM,
        FOUR
        | FACTORS
        | {"num_local_experts": 0, "num_experts_per_tok": 0, "layer_types": [*KINDS[1:], KINDS[1]]}
        | {"position_embedding_type": "rope", "tie_word_embeddings": True, "attention_bias": True, "mamba_n_groups": 2}
        | {"mamba_proj_bias": True, "mamba_conv_bias": False, "time_step_limit": [0.5, float("inf")]},
    ),
    "granite 4, no head": (
        hf.GraniteMoeHybridModel,
        FOUR
        | {"num_local_experts": 3, "mamba_d_conv": 3, "mamba_expand": 1, "layer_types": KINDS, "rms_norm_eps": 1e-2},
    ),
    "stablelm": (hf.StableLmForCausalLM, STABLE),
    "stablelm, parallel, biases, tied": (
        hf.StableLmForCausalLM,
        STABLE | {"use_parallel_residual": True, "use_qkv_bias": True, "tie_word_embeddings": True},
    ),
    "stablelm, norms of single heads": (
        hf.StableLmForCausalLM,
        STABLE | {"qk_layernorm": True, "use_parallel_residual": True, "layer_norm_eps": 1e-2},
    ),
    "stablelm, all rotated": (
        hf.StableLmForCausalLM,
        STABLE
        | {"rope_parameters": LINEAR | {"partial_rotary_factor": 1.0}, "layer_norm_eps": 1e-2, "hidden_act": "gelu"},
    ),
    "exaone4": (hf.Exaone4ForCausalLM, EXAONE | {"num_hidden_layers": 5}),
    "exaone4, own layers, tied": (
        hf.Exaone4ForCausalLM,
        EXAONE | {"layer_types": ["full_attention", "sliding_attention"], "tie_word_embeddings": True},
    ),
    "exaone4, no window": (
        hf.Exaone4ForCausalLM,
        EXAONE
        | {"sliding_window": None, "layer_types": ["full_attention"] * 2, "rope_parameters": LLAMA3, "head_dim": 10},
    ),
    "ministral": (
        hf.MinistralForCausalLM,
        GROUPED | {"sliding_window": 4, "layer_types": ["full_attention", "sliding_attention"]},
    ),
    "ministral, all windows": (hf.MinistralForCausalLM, GROUPED | {"sliding_window": 5, "tie_word_embeddings": True}),
    "ministral, no windows": (
        hf.MinistralForCausalLM,
        GROUPED | {"num_key_value_heads": 1, "head_dim": 4, "layer_types": ["full_attention"] * 2},
    ),
    "phi": (hf.PhiForCausalLM, SHAPE | HALF),
    "phi, grouped, tied": (
        hf.PhiForCausalLM,
        SHAPE | HALF | {"num_key_value_heads": 2, "tie_word_embeddings": True, "layer_norm_eps": 1e-2},
    ),
    "phi, all rotated, linear": (
        hf.PhiForCausalLM,
        SHAPE | {"rope_parameters": LINEAR | {"partial_rotary_factor": 1.0}, "hidden_act": "relu", "pad_token_id": 0},
    ),
    "phi, no head": (hf.PhiModel, SHAPE | HALF),
    "gpt-j": (hf.GPTJForCausalLM, GPTJ),
    "gpt-j, all rotated, tied, narrow": (
        hf.GPTJForCausalLM,
        GPTJ | {"rotary_dim": 8, "tie_word_embeddings": True, "n_inner": 17, "layer_norm_epsilon": 1e-2},
    ),
    "gpt-j, no head": (hf.GPTJModel, GPTJ | {"rotary_dim": 2, "activation_function": "relu"}),
    "cohere": (hf.CohereForCausalLM, COHERE),
    "cohere, untied, biases": (
        hf.CohereForCausalLM,
        COHERE | {"tie_word_embeddings": False, "attention_bias": True, "layer_norm_eps": 1e-2, "logit_scale": 3.0},
    ),
    "cohere, norms of single heads": (hf.CohereForCausalLM, COHERE | {"use_qk_norm": True, "layer_norm_eps": 1e-2}),
    "cohere, yarn, no head": (hf.CohereModel, COHERE | {"rope_parameters": YARN}),
    "cohere2": (hf.Cohere2ForCausalLM, COHERE | {"num_hidden_layers": 5, "sliding_window": 4}),
    "cohere2, own kinds": (
        hf.Cohere2ForCausalLM,
        COHERE
        | {"sliding_window": 5, "layer_types": ["full_attention", "sliding_attention"], "rope_parameters": LINEAR}
        | {"attention_bias": True, "tie_word_embeddings": False},
    ),
    "glm": (hf.GlmForCausalLM, GLM),
    "glm, tied, no biases": (
        hf.GlmForCausalLM,
        GLM | {"tie_word_embeddings": True, "attention_bias": False, "rms_norm_eps": 1e-2, "num_key_value_heads": 1},
    ),
    "glm4": (hf.Glm4ForCausalLM, GLM),
    "glm4, all rotated, no biases": (
        hf.Glm4ForCausalLM,
        GLM | {"rope_parameters": LINEAR | {"partial_rotary_factor": 1.0}, "attention_bias": False},
    ),
    "glm4, no head": (hf.Glm4Model, GLM | {"hidden_act": "gelu"}),
    "glm 4.5": (hf.Glm4MoeForCausalLM, MIXED | {"n_group": 3, "topk_group": 2, "use_qk_norm": True}),
    "glm 4.5, biases, one group, not to 1, tied": (
        hf.Glm4MoeForCausalLM,
        MIXED
        | {"attention_bias": True, "norm_topk_prob": False, "tie_word_embeddings": True, "first_k_dense_replace": 2}
        | {"rope_parameters": YARN | {"partial_rotary_factor": 1.0}, "rms_norm_eps": 1e-2},
    ),
    "glm 4.5, no head": (hf.Glm4MoeModel, MIXED | {"num_hidden_layers": 1, "n_group": 2, "head_dim": 4}),
    "ernie 4.5": (hf.Ernie4_5ForCausalLM, GROUPED),
    "ernie 4.5, untied, biases, its heads share": (
        hf.Ernie4_5ForCausalLM,
        SHAPE
        | {"num_key_value_heads": None, "head_dim": None, "use_bias": True, "tie_word_embeddings": False}
        | {"rms_norm_eps": 1e-2, "rope_parameters": LINEAR},
    ),
    "ernie 4.5, no head": (hf.Ernie4_5Model, GROUPED | {"hidden_act": "gelu"}),
    "apertus": (hf.ApertusForCausalLM, GROUPED | {"rope_parameters": LLAMA3, "pad_token_id": 0}),
    "apertus, tied, biases, another activation": (
        hf.ApertusForCausalLM,
        SHAPE | {"tie_word_embeddings": True, "attention_bias": True, "hidden_act": "relu2", "rms_norm_eps": 1e-2},
    ),
    "apertus, no head": (hf.ApertusModel, SHAPE | {"num_key_value_heads": 2}),
    "codegen": (hf.CodeGenForCausalLM, GPTJ | {"n_head": 4}),
    "codegen, all rotated, tied, narrow": (
        hf.CodeGenForCausalLM,
        GPTJ | {"n_head": 8, "rotary_dim": 6, "tie_word_embeddings": True, "n_inner": 17, "layer_norm_epsilon": 1e-2},
    ),
    "codegen, no head": (hf.CodeGenModel, GPTJ | {"n_head": 4, "rotary_dim": 2, "activation_function": "relu"}),
    "xglm": (hf.XGLMForCausalLM, XGLM),
    "xglm, untied, unscaled": (
        hf.XGLMForCausalLM,
        XGLM | {"tie_word_embeddings": False, "scale_embedding": False, "activation_function": "relu"},
    ),
    "xglm, no head": (hf.XGLMModel, XGLM | {"attention_heads": 3, "pad_token_id": 0}),
    "helium": (hf.HeliumForCausalLM, GROUPED | {"head_dim": 4}),
    "helium, tied, biases": (
        hf.HeliumForCausalLM,
        GROUPED | {"head_dim": 4, "tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True},
    ),
    "helium, llama 3": (
        hf.HeliumForCausalLM,
        SHAPE | {"head_dim": 4, "num_key_value_heads": 6, "rope_parameters": LLAMA3},
    ),
    "olmo": (hf.OlmoForCausalLM, SHAPE | {"num_key_value_heads": 2, "pad_token_id": 0}),
    "olmo, tied, biases": (
        hf.OlmoForCausalLM,
        SHAPE | {"tie_word_embeddings": True, "attention_bias": True, "pad_token_id": 0, "rope_parameters": LINEAR},
    ),
    "olmo, clipped": (hf.OlmoForCausalLM, SHAPE | {"num_key_value_heads": 2, "pad_token_id": 0, "clip_qkv": 0.7}),
    "olmo, no head": (hf.OlmoModel, SHAPE | {"pad_token_id": 0, "hidden_act": "gelu"}),
    "arcee": (hf.ArceeForCausalLM, GROUPED | {"rope_parameters": YARN}),
    "arcee, tied, biases": (
        hf.ArceeForCausalLM,
        SHAPE | {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True, "rms_norm_eps": 1e-2},
    ),
    "arcee, silu, no head": (hf.ArceeModel, GROUPED | {"hidden_act": "silu"}),
    "nemotron": (hf.NemotronForCausalLM, SHAPE | HALF | {"num_key_value_heads": 2}),
    "nemotron, tied, biases, all rotated": (
        hf.NemotronForCausalLM,
        GROUPED
        | {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True, "norm_eps": 1e-2}
        | {"rope_parameters": LINEAR | {"partial_rotary_factor": 1.0}},
    ),
    "nemotron, silu, no head": (hf.NemotronModel, SHAPE | HALF | {"hidden_act": "silu", "num_key_value_heads": 6}),
}
ENCODERS = {
    "bert": (hf.BertForMaskedLM, SHAPE),
    "bert, untied, relu": (hf.BertForMaskedLM, SHAPE | {"tie_word_embeddings": False, "hidden_act": "relu"}),
    "bert, three segments": (hf.BertModel, SHAPE | {"type_vocab_size": 3, "layer_norm_eps": 1e-3}),
    "bert, everything": (hf.BertForPreTraining, SHAPE | {"type_vocab_size": 3, "hidden_act": "gelu_new"}),
    "roberta": (hf.RobertaForMaskedLM, ROBERTA),
    "roberta, untied, one segment": (
        hf.RobertaForMaskedLM,
        ROBERTA | {"tie_word_embeddings": False, "type_vocab_size": 1, "layer_norm_eps": 1e-3, "hidden_act": "relu"},
    ),
    "roberta, no head": (hf.RobertaModel, ROBERTA | {"hidden_act": "relu"}),
    "xlm-roberta": (hf.XLMRobertaForMaskedLM, ROBERTA),
    "camembert": (hf.CamembertForMaskedLM, ROBERTA),
    "modernbert": (hf.ModernBertForMaskedLM, MODERN),
    "modernbert, untied, biases": (
        hf.ModernBertForMaskedLM,
        MODERN
        | {"num_hidden_layers": 2, "tie_word_embeddings": False, "hidden_activation": "silu", "norm_eps": 1e-2}
        | {"attention_bias": True, "mlp_bias": True, "norm_bias": True, "classifier_bias": True, "decoder_bias": False},
    ),
    "modernbert, own kinds, another activation": (
        hf.ModernBertForMaskedLM,
        MODERN
        | {"layer_types": ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"]}
        | {"rope_parameters": {"full_attention": LINEAR, "sliding_attention": {"rope_theta": 70.0}}}
        | {"classifier_activation": "relu", "local_attention": 1},
    ),
    "modernbert, no head": (hf.ModernBertModel, MODERN | {"local_attention": 7}),
    "electra, narrow": (hf.ElectraForMaskedLM, SHAPE | {"embedding_size": 10}),
    "electra, as wide, untied, relu": (
        hf.ElectraForMaskedLM,
        SHAPE | {"embedding_size": 24, "tie_word_embeddings": False, "hidden_act": "relu", "layer_norm_eps": 1e-3},
    ),
    "electra, no head": (hf.ElectraModel, SHAPE | {"embedding_size": 30, "type_vocab_size": 3}),
    "albert": (hf.AlbertForMaskedLM, SHAPE | {"embedding_size": 10, "num_hidden_layers": 3}),
    "albert, as wide, untied, relu": (
        hf.AlbertForPreTraining,
        SHAPE | {"embedding_size": 24, "tie_word_embeddings": False, "hidden_act": "relu", "layer_norm_eps": 1e-3},
    ),
    "albert, no head": (hf.AlbertModel, SHAPE | {"embedding_size": 9}),
    "mpnet": (hf.MPNetForMaskedLM, ROBERTA),
    "mpnet, untied, relu": (
        hf.MPNetForMaskedLM,
        ROBERTA | {"tie_word_embeddings": False, "hidden_act": "relu", "layer_norm_eps": 1e-3},
    ),
    "mpnet, no head": (hf.MPNetModel, ROBERTA | {"num_attention_heads": 3}),
    "deberta": (hf.DebertaV2ForMaskedLM, DEBERTA | LOGARITHMIC),
    "deberta, matrices of places, newer head": (
        hf.DebertaV2ForMaskedLM,
        DEBERTA | {"max_relative_positions": 5, "position_biased_input": True, "type_vocab_size": 2, "legacy": False},
    ),
    "deberta, content to position": (
        hf.DebertaV2ForMaskedLM,
        DEBERTA | LOGARITHMIC | {"pos_att_type": "c2p", "tie_word_embeddings": False, "hidden_act": "relu"},
    ),
    "deberta, position to content": (
        hf.DebertaV2Model,
        DEBERTA | {"pos_att_type": ["p2c"], "position_buckets": 5, "max_relative_positions": 9, "layer_norm_eps": 1e-2},
    ),
    "deberta, convolution": (
        hf.DebertaV2ForMaskedLM,
        DEBERTA | LOGARITHMIC | {"conv_kernel_size": 3, "conv_act": "gelu", "type_vocab_size": 2},
    ),
    "deberta, wide convolution, no head": (
        hf.DebertaV2Model,
        SHAPE | {"pos_att_type": "c2p|p2c", "conv_kernel_size": 5, "layer_norm_eps": 1e-2},
    ),
    "deberta, no products": (hf.DebertaV2Model, DEBERTA | {"pos_att_type": [], "norm_rel_ebd": "layer_norm"}),
    "deberta, places alone": (hf.DebertaV2Model, SHAPE | {"pos_att_type": "c2p|p2c", "norm_rel_ebd": "layer_norm"}),
    "first deberta": (hf.DebertaForMaskedLM, DEBERTA | {"max_relative_positions": 5}),
    "first deberta, one product, newer head": (
        hf.DebertaForMaskedLM,
        DEBERTA
        | {"pos_att_type": ["c2p"], "legacy": False, "hidden_act": "relu", "layer_norm_eps": 1e-2}
        | {"position_biased_input": True, "type_vocab_size": 2},
    ),
    "first deberta, position to content": (hf.DebertaModel, DEBERTA | {"pos_att_type": "p2c"}),
    "first deberta, places alone": (hf.DebertaModel, SHAPE),
    "nomicbert": (hf.NomicBertForMaskedLM, SHAPE),
    "nomicbert, scaled, gelu, wide heads": (
        hf.NomicBertForMaskedLM,
        SHAPE | {"head_dim": 10, "rope_parameters": LINEAR, "hidden_act": "gelu", "type_vocab_size": 3},
    ),
    "nomicbert, no head": (hf.NomicBertModel, SHAPE | {"layer_norm_eps": 1e-3}),
    "distilbert": (hf.DistilBertForMaskedLM, DISTIL),
    "distilbert, untied": (hf.DistilBertForMaskedLM, DISTIL | {"tie_word_embeddings": False, "activation": "relu"}),
    "distilbert, no head": (hf.DistilBertModel, DISTIL | {"sinusoidal_pos_embds": True}),
    "t5, encoder alone": (hf.T5EncoderModel, T5 | {"feed_forward_proj": "gated-gelu", "num_decoder_layers": 1}),
    "mt5, encoder alone": (hf.MT5EncoderModel, T5),
    "umt5, encoder alone": (hf.UMT5EncoderModel, T5 | {"num_layers": 3}),
}
BOTH = {
    "t5 1.0": (hf.T5ForConditionalGeneration, T5),
    "t5 1.1": (
        hf.T5ForConditionalGeneration,
        T5 | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_decoder_layers": 3},
    ),
    "t5, few buckets": (
        hf.T5ForConditionalGeneration,
        T5
        | {"feed_forward_proj": "gated-silu", "relative_attention_num_buckets": 8, "decoder_start_token_id": 3}
        | {"relative_attention_max_distance": 9, "layer_norm_epsilon": 1e-2},
    ),
    "t5, odd buckets": (
        hf.T5ForConditionalGeneration,
        T5 | {"relative_attention_num_buckets": 7, "relative_attention_max_distance": 5},
    ),
    "mt5": (hf.MT5ForConditionalGeneration, T5),
    "mt5, head of its own, unequal": (
        hf.MT5ForConditionalGeneration,
        T5 | {"tie_word_embeddings": False, "num_decoder_layers": 3, "feed_forward_proj": "relu"},
    ),
    "mt5, no head": (hf.MT5Model, T5 | {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 9}),
    "umt5": (hf.UMT5ForConditionalGeneration, T5),
    "umt5, unequal, few buckets": (
        hf.UMT5ForConditionalGeneration,
        T5
        | {"num_layers": 1, "num_decoder_layers": 3, "feed_forward_proj": "gated-silu"}
        | {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 9},
    ),
    "umt5, no head": (hf.UMT5Model, T5 | {"num_decoder_layers": 1}),
    "m2m100": (hf.M2M100ForConditionalGeneration, BART | {"pad_token_id": 6, "forced_bos_token_id": 9}),
    "m2m100, untied, unequal, unscaled": (
        hf.M2M100ForConditionalGeneration,
        BART
        | {"tie_word_embeddings": False, "encoder_layers": 1, "activation_function": "gelu", "pad_token_id": 8}
        | {"scale_embedding": False, "decoder_start_token_id": 5},
    ),
    "m2m100, no head": (hf.M2M100Model, BART | {"decoder_layers": 1, "pad_token_id": 6}),
    "pegasus": (hf.PegasusForConditionalGeneration, PEGASUS | {"scale_embedding": True}),
    "pegasus, untied, unequal": (
        hf.PegasusForConditionalGeneration,
        PEGASUS | {"tie_word_embeddings": False, "encoder_layers": 1, "activation_function": "relu"},
    ),
    "pegasus, no head": (hf.PegasusModel, PEGASUS | {"decoder_layers": 1}),
    "mbart": (hf.MBartForConditionalGeneration, BART | {"forced_bos_token_id": 9, "scale_embedding": True}),
    "mbart, untied, unequal": (
        hf.MBartForConditionalGeneration,
        BART
        | {"tie_word_embeddings": False, "encoder_layers": 1, "activation_function": "relu"}
        | {"decoder_start_token_id": None},
    ),
    "mbart, no head": (hf.MBartModel, BART | {"decoder_layers": 1}),
    "bart": (hf.BartForConditionalGeneration, BART | {"forced_bos_token_id": 9}),
    "bart, scaled, untied, unequal": (
        hf.BartForConditionalGeneration,
        BART
        | {"scale_embedding": True, "tie_word_embeddings": False, "activation_function": "relu", "encoder_layers": 1}
        | {"forced_eos_token_id": None, "decoder_start_token_id": 5},
    ),
    "marian": (
        hf.MarianMTModel,
        MARIAN | {"scale_embedding": True, "activation_function": "swish", "bad_words_ids": [[58]]},
    ),
    "marian, untied, unequal": (
        hf.MarianMTModel,
        MARIAN | {"tie_word_embeddings": False, "decoder_layers": 1, "bad_words_ids": [[58], [7]]},
    ),
    "marian, no head": (hf.MarianModel, MARIAN | {"encoder_layers": 1, "activation_function": "relu"}),
    "bart, no head": (hf.BartModel, BART | {"decoder_layers": 1, "activation_function": "gelu_new"}),
    "t5, no head": (hf.T5Model, T5 | {"feed_forward_proj": "gelu", "num_decoder_layers": 1}),
}

PICTURES = {
    "vit": (hf.ViTModel, PATCHES | {"hidden_act": "gelu_new"}),
    "vit, classes, grey": (
        hf.ViTForImageClassification,
        PATCHES | {"num_channels": 1, "qkv_bias": False, "num_labels": 5, "layer_norm_eps": 1e-3},
    ),
    "deit": (hf.DeiTModel, PATCHES),
    "deit, classes": (hf.DeiTForImageClassification, PATCHES | {"num_labels": 4}),
    "dinov2": (hf.Dinov2Model, DINO),
    "dinov2, registers": (hf.Dinov2WithRegistersModel, DINO | {"num_register_tokens": 3, "qkv_bias": False}),
}

SOUNDS = {
    "whisper": (hf.WhisperForConditionalGeneration, WHISPER | {"suppress_tokens": [5, 9]}),
    "whisper, unequal, relu": (
        hf.WhisperForConditionalGeneration,
        WHISPER | {"decoder_layers": 1, "activation_function": "relu", "begin_suppress_tokens": None},
    ),
    "whisper, more bands, untied": (
        hf.WhisperForConditionalGeneration,
        WHISPER | {"num_mel_bins": 128, "encoder_layers": 1, "tie_word_embeddings": False},
    ),
    "whisper, no head": (hf.WhisperModel, WHISPER),
}

T5S = (hf.T5ForConditionalGeneration, hf.MT5ForConditionalGeneration)
BARTS = (
    hf.PegasusForConditionalGeneration,
    hf.BartForConditionalGeneration,
    hf.MBartForConditionalGeneration,
    hf.M2M100ForConditionalGeneration,
    hf.MarianMTModel,
)

# Models that see or hear, of which the decoder of texts is compared; what sees or hears is as small as may be.
SEES = {"hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 1, "num_attention_heads": 2}
SEES |= {"image_size": 28, "patch_size": 14}
CLIP = SEES | {"model_type": "clip_vision_model"}
SIGLIP = SEES | {"model_type": "siglip_vision_model"}
VISUAL = {"depth": 1, "hidden_size": 16, "intermediate_size": 20, "num_heads": 2, "num_position_embeddings": 16}
HEARS = {"num_mel_bins": 8, "max_source_positions": 20}
THREE_OF_ONE = {"rope_type": "default", "rope_theta": 100.0, "mrope_section": [1, 1, 0]}
QWEN_WITHIN = SHAPE | {"num_key_value_heads": 3, "rope_parameters": THREE_OF_ONE}


def with_texts(texts, sees, model_type=None, **more):
    """The settings of a model that sees and has such a decoder of texts, of a family that may be chosen or not."""
    return {"text_config": texts | ({"model_type": model_type} if model_type else {}), "vision_config": sees, **more}


COMPOSITES = {
    "gemma 3 that sees": (hf.Gemma3ForConditionalGeneration, with_texts(GEMMA | {"num_hidden_layers": 7}, SEES)),
    "qwen2-vl": (hf.Qwen2VLForConditionalGeneration, with_texts(QWEN_WITHIN, VISUAL | {"hidden_size": 24})),
    "qwen2.5-vl, tied": (
        hf.Qwen2_5_VLForConditionalGeneration,
        with_texts(QWEN_WITHIN, VISUAL | {"out_hidden_size": 24}, tie_word_embeddings=True),
    ),
    "qwen3-vl": (
        hf.Qwen3VLForConditionalGeneration,
        with_texts(
            GROUPED | {"rope_parameters": THREEFOLD | {"partial_rotary_factor": 1.0, "mrope_section": [2, 2, 1]}},
            VISUAL | {"out_hidden_size": 24, "deepstack_visual_indexes": [0]},
        ),
    ),
    "qwen3.5 that sees": (
        hf.Qwen3_5ForConditionalGeneration,
        with_texts(
            {name: n for name, n in NEXT.items() if "expert" not in name} | {"rope_parameters": THREEFOLD},
            VISUAL | {"out_hidden_size": 24},
        ),
    ),
    "qwen3.5-moe that sees": (
        hf.Qwen3_5MoeForConditionalGeneration,
        with_texts(NEXT | {"rope_parameters": THREEFOLD}, VISUAL | {"out_hidden_size": 24}),
    ),
    "mistral 3": (
        hf.Mistral3ForConditionalGeneration,
        with_texts(GROUPED | {"sliding_window": 4}, SEES | {"model_type": "pixtral", "head_dim": 8}, "mistral"),
    ),
    "mistral 3 with ministral 3": (
        hf.Mistral3ForConditionalGeneration,
        with_texts(GROUPED, SEES | {"model_type": "pixtral", "head_dim": 8}, "ministral3", tie_word_embeddings=False),
    ),
    "smolvlm": (hf.SmolVLMForConditionalGeneration, with_texts(GROUPED, SEES, "llama", pad_token_id=0)),
    "idefics3, tied": (
        hf.Idefics3ForConditionalGeneration,
        with_texts(GROUPED, SEES, "llama", pad_token_id=0, tie_word_embeddings=True),
    ),
    "llava": (hf.LlavaForConditionalGeneration, with_texts(GROUPED | {"rope_parameters": YARN}, CLIP, "llama")),
    "llava, gemma": (hf.LlavaForConditionalGeneration, with_texts(GROUPED | {"pad_token_id": 0}, CLIP, "gemma")),
    "llava-next": (hf.LlavaNextForConditionalGeneration, with_texts(GROUPED, CLIP, "mistral")),
    "llava-onevision": (
        hf.LlavaOnevisionForConditionalGeneration,
        with_texts(SHAPE | {"num_key_value_heads": 3}, SIGLIP, "qwen2"),
    ),
    "internvl": (hf.InternVLForConditionalGeneration, with_texts(SHAPE | {"num_key_value_heads": 3}, SEES, "qwen2")),
    "lfm2-vl": (
        hf.Lfm2VlForConditionalGeneration,
        with_texts(LFM2, SEES | {"model_type": "siglip2_vision_model", "num_patches": 16}, "lfm2"),
    ),
    "qwen2-audio": (
        hf.Qwen2AudioForConditionalGeneration,
        {
            "text_config": SHAPE | {"model_type": "qwen2", "num_key_value_heads": 3},
            "audio_config": HEARS | {f"encoder_{name}": n for name, n in STACK.items()} | {"d_model": 24},
        },
    ),
    "voxtral": (
        hf.VoxtralForConditionalGeneration,
        {"text_config": GROUPED | {"model_type": "llama"}, "audio_config": HEARS | SEES},
    ),
}


def written(kind, settings, folder, **options):
    """A model of `transformers` with random weights, its attention far from uniform, and its folder."""
    # a copy, as some of their configs write into what they are given
    theirs = kind(kind.config_class(**({"attn_implementation": "eager"} | copy.deepcopy(settings))))
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)
    for name, bias in theirs.named_buffers():
        if name.endswith(("e_score_correction_bias", "expert_bias")):
            nn.init.normal_(bias, std=0.3)
    if settings.get("tie_word_embeddings") is False and kind in T5S:
        theirs.lm_head.weight = nn.Parameter(
            torch.randn(61, theirs.config.d_model)
        )  # they tie it, published files do not
    for positions in (module for module in theirs.modules() if hasattr(module, "create_weight")):  # Marian's sines
        positions.weight = nn.Parameter(positions.create_weight(), requires_grad=False)
    for name in settings.keys() & {*OF_WRITING} if theirs.can_generate() else ():  # which they drop from configs
        setattr(theirs.generation_config, name, settings[name])
    if isinstance(getattr(theirs, "final_logits_bias", None), torch.Tensor):
        nn.init.normal_(theirs.final_logits_bias)
    if settings.get("tie_word_embeddings") is False and kind in BARTS:
        for name in ("encoder", "decoder"):  # which then are tables of their own, here with the same numbers
            getattr(theirs.model, name).embed_tokens.weight = nn.Parameter(theirs.model.shared.weight.clone())
    theirs.eval().requires_grad_(False).save_pretrained(folder, **options)
    return theirs
