"""GGUF files of tiny random models, written as llama.cpp's converter writes them, by the `gguf` package's tables."""

import json
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

INTERLEAVED = (
    "llama",
    "arcee",
    "smollm3",
    "granite",
    "granitemoe",
    "granitehybrid",
    "mistral3",
    "olmo",
    "nemotron_h",
    "nemotron_h_moe",
)  # rows of q and k
ADDED = ("gemma", "gemma2", "gemma3", "nemotron", "qwen3next", "qwen35", "qwen35moe")  # to whose scales of norms 1 is
SEEING = ("qwen2vl", "qwen3vl", "qwen3vlmoe")  # which are written with settings of pictures
DELTA = ("qwen3next", "qwen35", "qwen35moe")
STATEFUL = ("mamba2", "falcon-h1", "granitehybrid", "nemotron_h", "nemotron_h_moe")
QUANTISED = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")
# Kinds that the package cannot write -> where their blocks have scales in half precision, and the size of random ones
# with which the numbers have a standard deviation of about 1 / sqrt(256): logits of like size.
RAW = {
    "Q2_K": ((80, 82), 3.5e-3),
    "Q3_K": ((108,), 1.4e-3),
    "Q4_K": ((0, 2), 2e-4),
    "Q5_K": ((0, 2), 1e-4),
    "Q6_K": ((208,), 5e-5),
    "IQ1_S": ((0,), 8e-3),
    "IQ1_M": ((), 8e-3),  # in four places
    "IQ2_XXS": ((0,), 1e-3),
    "IQ2_XS": ((0,), 1e-3),
    "IQ2_S": ((0,), 1e-3),
    "IQ3_XXS": ((0,), 5e-4),
    "IQ3_S": ((0,), 5e-4),
    "IQ4_NL": ((0,), 1e-3),
    "IQ4_XS": ((0,), 6e-5),
    "TQ1_0": ((52,), 6e-2),
    "TQ2_0": ((64,), 6e-2),
    "MXFP4": ((), 0.0),  # exponents
    "NVFP4": ((), 0.0),  # four numbers of 8 bits
}
SHAPE = {
    "vocab_size": 320,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}
EXPERTS_OF_OSS = {"num_local_experts": 5, "num_experts_per_tok": 2, "head_dim": 32, "sliding_window": 5}
EXPERTS = {"num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 40}
LONG = {  # LongRoPE
    "pad_token_id": 0,
    "sliding_window": 9,
    "original_max_position_embeddings": 64,
    "rope_parameters": {
        "rope_type": "longrope",
        "rope_theta": 100.0,
        "partial_rotary_factor": 0.5,
        "short_factor": [1.0, 1.1, 1.25, 1.5],
        "long_factor": [1.5, 2.0, 3.0, 4.0],
    },
}
FULL = "full_attention"
SCALES = {"attention_multiplier": 0.2, "embedding_multiplier": 2.0, "residual_multiplier": 0.6, "logits_scaling": 3.0}
SCALE = {"query_pre_attn_scalar": 32, "pad_token_id": 0}
FALCON = {name: SHAPE[name] for name in SHAPE if name not in ("intermediate_size", "num_key_value_heads")}
DEEPSEEK = {
    **{name: value for name, value in SHAPE.items() if name != "num_key_value_heads"},
    "num_hidden_layers": 3,
    "kv_lora_rank": 32,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 24,
    "n_routed_experts": 6,
    "num_experts_per_tok": 2,
    "n_shared_experts": 2,
    "moe_intermediate_size": 40,
    "first_k_dense_replace": 1,
    "routed_scaling_factor": 1.5,
    "num_key_value_heads": 4,
    "q_lora_rank": None,
}
GROUPS = {"n_group": 3, "topk_group": 2}
BLENDED = {"rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0, "original_max_position_embeddings": 32}
GROWING = BLENDED | {"mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.2}
SHARPER = {
    "rope_type": "yarn",
    "rope_theta": 1000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 64,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale": 0.7,
    "mscale_all_dim": 0.7,
}
# Three heads of values for each of two keys, so that no order is that of another.
RULES = {"linear_num_key_heads": 2, "linear_num_value_heads": 6, "linear_key_head_dim": 8, "linear_value_head_dim": 12}
RULES |= {"num_hidden_layers": 4, "head_dim": 32, "rms_norm_eps": 1e-3}
APART = {name: value for name, value in SHAPE.items() if name != "num_hidden_layers"} | {"head_dim": 16}
APART |= {"mamba_num_heads": 6, "mamba_head_dim": 16, "n_groups": 2, "ssm_state_size": 8, "chunk_size": 8}
APART |= {"layer_norm_epsilon": 1e-3}
CHOSEN = {"n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 40, "n_group": 3, "topk_group": 2}
CHOSEN |= {"moe_shared_expert_intermediate_size": 80, "routed_scaling_factor": 1.5}
FOUR = {"num_hidden_layers": 3, "layer_types": ["linear_attention", FULL, "linear_attention"], "mamba_n_heads": 8}
FOUR |= {"mamba_d_state": 8, "mamba_n_groups": 2, "mamba_chunk_size": 8}
STATES = {"state_size": 16, "n_groups": 2, "chunk_size": 8}
BESIDE = {"mamba_d_ssm": 96, "mamba_n_heads": 6, "mamba_d_head": 16, "mamba_n_groups": 2, "mamba_d_state": 8}
BESIDE |= {"head_dim": 16, "mamba_chunk_size": 8, "pad_token_id": 0, "embedding_multiplier": 2.0}
BESIDE |= {"lm_head_multiplier": 0.5, "key_multiplier": 0.7, "attention_in_multiplier": 1.3, "ssm_in_multiplier": 0.8}
BESIDE |= {"attention_out_multiplier": 0.9, "ssm_out_multiplier": 1.1, "mlp_multipliers": [0.6, 1.2]}
BESIDE |= {"ssm_multipliers": [0.5, 1.5, 0.8, 1.2, 0.9]}
GPT2 = {"vocab_size": 320, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 1024, "n_inner": 256}
# Name -> architecture of GGUF, class and settings of transformers.
MODELS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "llama": ("llama", hf.LlamaForCausalLM, SHAPE | {"rms_norm_eps": 1e-3, "tie_word_embeddings": False}),
    "llama, tied": ("llama", hf.LlamaForCausalLM, SHAPE | {"tie_word_embeddings": True, "rope_theta": 500.0}),
    "mistral": ("llama", hf.MistralForCausalLM, SHAPE | {"sliding_window": None}),
    "qwen2": ("qwen2", hf.Qwen2ForCausalLM, SHAPE | {"rms_norm_eps": 1e-3}),
    "qwen3": ("qwen3", hf.Qwen3ForCausalLM, SHAPE | {"head_dim": 32}),
    "qwen2-vl": ("qwen2vl", hf.Qwen2ForCausalLM, SHAPE | {"rope_theta": 500.0}),
    "qwen3-vl": ("qwen3vl", hf.Qwen3ForCausalLM, SHAPE | {"head_dim": 32}),
    "qwen3-vl mixture": ("qwen3vlmoe", hf.Qwen3MoeForCausalLM, SHAPE | EXPERTS | {"norm_topk_prob": True}),
    "gemma": ("gemma", hf.GemmaForCausalLM, SHAPE | {"head_dim": 32}),
    "gemma2": ("gemma2", hf.Gemma2ForCausalLM, SHAPE | {"head_dim": 32, "sliding_window": 5, **SCALE}),
    "gemma3": (
        "gemma3",
        hf.Gemma3ForCausalLM,
        SHAPE | {"head_dim": 32, "sliding_window": 5, "num_hidden_layers": 7, **SCALE},
    ),
    "olmo2": ("olmo2", hf.Olmo2ForCausalLM, SHAPE),
    "olmo3": ("olmo2", hf.Olmo3ForCausalLM, SHAPE | {"sliding_window": 5, "num_hidden_layers": 5}),
    "smollm3": ("smollm3", hf.SmolLM3ForCausalLM, SHAPE | {"num_hidden_layers": 5, "pad_token_id": 0}),
    "mixtral": ("llama", hf.MixtralForCausalLM, SHAPE | {"num_local_experts": 5}),
    "qwen2 mixture": ("qwen2moe", hf.Qwen2MoeForCausalLM, SHAPE | EXPERTS | {"shared_expert_intermediate_size": 80}),
    "qwen3 mixture": ("qwen3moe", hf.Qwen3MoeForCausalLM, SHAPE | EXPERTS | {"head_dim": 32, "norm_topk_prob": True}),
    "gpt-oss": ("gpt-oss", hf.GptOssForCausalLM, SHAPE | EXPERTS_OF_OSS),
    "olmoe": ("olmoe", hf.OlmoeForCausalLM, SHAPE | {"num_experts": 6, "num_experts_per_tok": 3}),
    "phi": ("phi2", hf.PhiForCausalLM, SHAPE | {"pad_token_id": 0}),
    "phi3": ("phi3", hf.Phi3ForCausalLM, SHAPE | {"pad_token_id": 0}),
    "starcoder2": ("starcoder2", hf.Starcoder2ForCausalLM, SHAPE | {"norm_epsilon": 1e-3}),
    "granite": ("granite", hf.GraniteForCausalLM, SHAPE | SCALES),
    "stablelm": ("stablelm", hf.StableLmForCausalLM, SHAPE | {"use_qkv_bias": True}),
    "stablelm, parallel": ("stablelm", hf.StableLmForCausalLM, SHAPE | {"use_parallel_residual": True}),
    "stablelm, norms of single heads": (
        "stablelm",
        hf.StableLmForCausalLM,
        SHAPE | {"use_parallel_residual": True, "qk_layernorm": True},
    ),
    "cohere, norms of single heads": ("command-r", hf.CohereForCausalLM, SHAPE | {"use_qk_norm": True}),
    "cohere": ("command-r", hf.CohereForCausalLM, SHAPE | {"logit_scale": 0.3}),
    "cohere2": (
        "cohere2",
        hf.Cohere2ForCausalLM,
        SHAPE | {"logit_scale": 0.3, "sliding_window": 5, "num_hidden_layers": 5},
    ),
    "arcee": ("arcee", hf.ArceeForCausalLM, SHAPE | {"rope_parameters": BLENDED}),
    "nemotron": ("nemotron", hf.NemotronForCausalLM, SHAPE),
    "exaone4": ("exaone4", hf.Exaone4ForCausalLM, SHAPE | {"sliding_window": None, "layer_types": [FULL] * 2}),
    "exaone4, windows": ("exaone4", hf.Exaone4ForCausalLM, SHAPE | {"sliding_window": 5, "num_hidden_layers": 5}),
    "glm4": ("glm4", hf.Glm4ForCausalLM, SHAPE | {"head_dim": 32, "pad_token_id": 0}),
    "olmo": ("olmo", hf.OlmoForCausalLM, SHAPE),
    "phi3, long": ("phi3", hf.Phi3ForCausalLM, SHAPE | LONG),
    "pythia": ("gptneox", hf.GPTNeoXForCausalLM, SHAPE),
    "gpt2": ("gpt2", hf.GPT2LMHeadModel, GPT2),
    "starcoder": ("starcoder", hf.GPTBigCodeForCausalLM, GPT2),
    "bloom": ("bloom", hf.BloomForCausalLM, {"vocab_size": 320, "hidden_size": 64, "n_layer": 2, "n_head": 4}),
    "mpt": ("mpt", hf.MptForCausalLM, {"vocab_size": 320, "d_model": 64, "n_layers": 2, "n_heads": 4}),
    "falcon": ("falcon", hf.FalconForCausalLM, FALCON | {"num_kv_heads": 1}),
    "falcon, two norms": (
        "falcon",
        hf.FalconForCausalLM,
        FALCON | {"num_kv_heads": 2, "new_decoder_architecture": True},
    ),
    "falcon, one norm": (
        "falcon",
        hf.FalconForCausalLM,
        FALCON | {"num_kv_heads": 2, "new_decoder_architecture": True, "num_ln_in_parallel_attn": 1},
    ),
    "deepseek2, lite": ("deepseek2", hf.DeepseekV2ForCausalLM, DEEPSEEK),
    "deepseek2": (
        "deepseek2",
        hf.DeepseekV2ForCausalLM,
        DEEPSEEK | GROUPS | {"q_lora_rank": 48, "topk_method": "group_limited_greedy", "rope_parameters": SHARPER},
    ),
    "deepseek3": ("deepseek2", hf.DeepseekV3ForCausalLM, DEEPSEEK | GROUPS | {"q_lora_rank": 48}),
    "lfm2": (
        "lfm2",
        hf.Lfm2ForCausalLM,
        SHAPE
        | {"num_hidden_layers": 3, "layer_types": ["conv", FULL, "conv"], "block_multiple_of": 8, "norm_eps": 1e-3},
    ),
    "mamba2": (
        "mamba2",
        hf.Mamba2ForCausalLM,
        {"vocab_size": 320, "hidden_size": 64, "num_hidden_layers": 2, "num_heads": 8, "head_dim": 16, **STATES},
    ),
    "falcon-h1": ("falcon-h1", hf.FalconH1ForCausalLM, SHAPE | BESIDE),
    "falcon-h1, normed": (
        "falcon-h1",
        hf.FalconH1ForCausalLM,
        SHAPE
        | BESIDE
        | {"mamba_rms_norm": True, "mamba_norm_before_gate": False, "tie_word_embeddings": True}
        | {"embedding_multiplier": 1.0, "lm_head_multiplier": 1.0},
    ),
    "qwen3-next": (
        "qwen3next",
        hf.Qwen3NextForCausalLM,
        SHAPE | RULES | EXPERTS | {"shared_expert_intermediate_size": 80, "rope_theta": 500.0},
    ),
    "qwen3.5": ("qwen35", hf.Qwen3_5ForCausalLM, SHAPE | RULES | {"tie_word_embeddings": True}),
    "qwen3.5, a key for each": ("qwen35", hf.Qwen3_5ForCausalLM, SHAPE | RULES | {"linear_num_key_heads": 6}),
    "qwen3.5 mixture": (
        "qwen35moe",
        hf.Qwen3_5MoeForCausalLM,
        {name: n for name, n in (SHAPE | RULES).items() if name != "intermediate_size"}
        | EXPERTS
        | {"shared_expert_intermediate_size": 80},
    ),
    "nemotron-h": (
        "nemotron_h",
        hf.NemotronHForCausalLM,
        APART | {"layers_block_type": ["linear_attention", "mlp", FULL, "linear_attention", "mlp"]},
    ),
    "nemotron-h mixture": (
        "nemotron_h_moe",
        hf.NemotronHForCausalLM,
        APART | CHOSEN | {"layers_block_type": ["linear_attention", "moe", FULL, "moe"]},
    ),
    "granite mixture, shared": (
        "granitemoe",
        hf.GraniteMoeSharedForCausalLM,
        SHAPE | SCALES | {"num_local_experts": 5, "num_experts_per_tok": 2, "shared_intermediate_size": 192},
    ),
    "granite 4": (
        "granitehybrid",
        hf.GraniteMoeHybridForCausalLM,
        SHAPE | SCALES | FOUR | {"num_local_experts": 5, "num_experts_per_tok": 2, "shared_intermediate_size": 192},
    ),
    "granite 4, dense": (
        "granitehybrid",
        hf.GraniteMoeHybridForCausalLM,
        SHAPE | SCALES | FOUR | {"num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": 80},
    ),
    "ministral3": ("mistral3", hf.Ministral3ForCausalLM, SHAPE | {"head_dim": 32, "rope_parameters": GROWING}),
    "glm 4.5": (
        "glm4moe",
        hf.Glm4MoeForCausalLM,
        SHAPE
        | {name: DEEPSEEK[name] for name in ("n_routed_experts", "num_experts_per_tok", "n_shared_experts")}
        | GROUPS
        | {"num_hidden_layers": 3, "head_dim": 32, "use_qk_norm": True, "attention_bias": True}
        | {"moe_intermediate_size": 40, "routed_scaling_factor": 1.5},
    ),
    "apertus": ("apertus", hf.ApertusForCausalLM, SHAPE | {"head_dim": 32, "rope_parameters": {"rope_theta": 500.0}}),
    "ernie 4.5": ("ernie4_5", hf.Ernie4_5ForCausalLM, SHAPE | {"head_dim": 32, "rms_norm_eps": 1e-3}),
    "lfm2 mixture": (
        "lfm2moe",
        hf.Lfm2MoeForCausalLM,
        SHAPE | EXPERTS | {"num_hidden_layers": 3, "layer_types": ["conv", FULL, "conv"], "num_dense_layers": 1},
    ),
    "granite mixture": (
        "granitemoe",
        hf.GraniteMoeForCausalLM,
        SHAPE | SCALES | {"num_local_experts": 5, "num_experts_per_tok": 2},
    ),
}
TEXT = (
    "Once upon a time there was a little dog who lived in a small house by the sea. It's 1234567 days ago; he'll "
    'say: "I\'ve seen 3 cats!"\n\n\tThen they ran, ran and ran. Ärger über Öl, naïve café, 東京 and 🐱.  Two spaces. '
)


def random_model(name: str) -> hf.PreTrainedModel:
    """A tiny model of `transformers` with weights that are not small."""
    _, kind, settings = MODELS[name]
    torch.manual_seed(1)
    model = kind(kind.config_class(**settings)).eval()
    for weight in model.parameters():
        weight.data = torch.randn_like(weight) * 0.3 if weight.ndim > 1 else 1 + torch.randn_like(weight) * 0.2
    for buffer_name, numbers in model.named_buffers():
        if buffer_name.endswith(("e_score_correction_bias", "expert_bias")):
            numbers.copy_(torch.randn_like(numbers) * 0.2)
    return model


def write(
    path: Path,
    name: str,
    model: hf.PreTrainedModel,
    kind: str = "F32",
    only: Collection[str] | None = None,
    apart: bool = True,
    **more: Any,
) -> None:
    """The model as a GGUF file.

    Args:
        kind: of the numbers of its matrices; of RAW random ones, which are not those of the model.
        only: names of the tensors in the file; all where None.
        apart: whether what makes keys and values of latents, or all of the delta rule in Qwen3-Next, is two tensors, as
            since 2025.
        more: further settings of the file.
    """
    architecture, c = MODELS[name][0], model.config
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(c.num_hidden_layers)
    lengths = (getattr(c, name, None) for name in ("max_position_embeddings", "max_seq_len", "seq_length"))
    writer.add_context_length(next((length for length in lengths if length), 2048))
    writer.add_embedding_length(c.hidden_size)
    writer.add_head_count(getattr(c, "num_attention_heads", 0))
    if architecture in SEEING:
        writer.add_rope_dimension_sections([2, 3, 3, 0])
        writer.add_num_deepstack_layers(1)
    if architecture in ("mamba2", "falcon-h1"):
        add_states(writer, c)
    elif architecture in DELTA:
        add_rules(writer, c)
    elif architecture in STATEFUL and architecture != "granitehybrid":
        add_apart(writer, c)
    elif architecture in ("lfm2", "lfm2moe"):
        if architecture == "lfm2":
            blocks_of = int(2 * c.intermediate_size / 3) + c.block_multiple_of - 1
            writer.add_feed_forward_length(blocks_of // c.block_multiple_of * c.block_multiple_of)
        else:
            writer.add_feed_forward_length(c.intermediate_size)
            writer.add_expert_count(c.num_experts)
            writer.add_expert_used_count(c.num_experts_per_tok)
            writer.add_expert_feed_forward_length(c.moe_intermediate_size)
            writer.add_leading_dense_block_count(c.num_dense_layers)
            writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
        writer.add_head_count_kv([c.num_key_value_heads if kind == FULL else 0 for kind in c.layer_types])
        writer.add_layer_norm_rms_eps(c.norm_eps)
        writer.add_shortconv_l_cache(c.conv_L_cache)
        writer.add_rope_freq_base(c.rope_parameters["rope_theta"])
        writer.add_vocab_size(c.vocab_size)
    elif architecture in ("gpt2", "starcoder", "bloom", "mpt", "falcon"):
        writer.add_feed_forward_length(getattr(c, "n_inner", None) or 4 * c.hidden_size)
        writer.add_layer_norm_eps(c.layer_norm_epsilon)
        keys = {"starcoder": 1, "bloom": c.num_attention_heads, "falcon": getattr(c, "num_kv_heads", 0)}
        if architecture in keys:
            writer.add_head_count_kv(keys[architecture])
        if architecture == "mpt":
            writer.add_max_alibi_bias(c.attn_config.alibi_bias_max)
        if architecture == "falcon":
            writer.add_tensor_data_layout("jploski")
    elif architecture == "deepseek2":
        add_latents(writer, c, apart)
    elif architecture == "gptneox":
        writer.add_feed_forward_length(c.intermediate_size)
        writer.add_layer_norm_eps(c.layer_norm_eps)
        writer.add_rope_dimension_count(c.hidden_size // c.num_attention_heads // 4)
        writer.add_parallel_residual(c.use_parallel_residual)
    else:
        writer.add_feed_forward_length(c.intermediate_size)
        writer.add_head_count_kv(c.num_key_value_heads)
        if hasattr(c, "rms_norm_eps"):
            writer.add_layer_norm_rms_eps(c.rms_norm_eps)
        else:
            names = ("layer_norm_eps", "norm_epsilon", "norm_eps")
            writer.add_layer_norm_eps(next((getattr(c, name) for name in names if hasattr(c, name)), 1e-5))
        if architecture.startswith("granite"):
            writer.add_attention_scale(c.attention_multiplier)
            writer.add_embedding_scale(c.embedding_multiplier)
            writer.add_residual_scale(c.residual_multiplier)
            writer.add_logit_scale(c.logits_scaling)
            if shared := getattr(c, "shared_intermediate_size", 0):
                writer.add_expert_shared_feed_forward_length(shared)
        if architecture == "granitehybrid":
            writer.add_context_length(2**20)
            writer.add_head_count_kv([c.num_key_value_heads if kind == FULL else 0 for kind in c.layer_types])
            writer.add_rope_dimension_count(c.hidden_size // c.num_attention_heads)
            writer.add_rope_scaling_finetuned(False)
            of_state = (c.mamba_d_conv, c.mamba_d_state, c.mamba_n_heads, c.mamba_n_groups)
            add_state(writer, c.mamba_expand * c.hidden_size, *of_state)
        if architecture == "mistral3":
            writer.add_rope_scaling_yarn_log_mul(c.rope_parameters["mscale_all_dim"])
            writer.add_attn_temperature_scale(c.rope_parameters["llama_4_scaling_beta"])
        if architecture == "apertus":
            for name in ("alpha_p", "alpha_n", "beta", "eps"):
                add = getattr(writer, f"add_xielu_{name}")
                add([float(getattr(layer.mlp.act_fn, name).detach()) for layer in model.model.layers])
        if architecture == "glm4moe":
            add_experts(writer, c)
            writer.add_leading_dense_block_count(c.first_k_dense_replace)
            writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
            writer.add_expert_weights_norm(c.norm_topk_prob)
        if architecture in ("command-r", "cohere2"):
            writer.add_logit_scale(c.logit_scale)
            writer.add_rope_scaling_type(gguf.RopeScalingType.NONE)
        if architecture == "exaone4" and c.sliding_window:
            writer.add_sliding_window_pattern([kind != FULL for kind in c.layer_types])
        if (share := c.rope_parameters.get("partial_rotary_factor", 1)) != 1 and architecture != "phi3":
            head = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
            writer.add_rope_dimension_count(int(share * head))
        writer.add_rope_freq_base(c.rope_parameters.get("full_attention", c.rope_parameters)["rope_theta"])
        if architecture in ("gemma2", "gemma3", "olmo2", "gpt-oss", "cohere2", "exaone4") and getattr(
            c, "sliding_window", None
        ):
            writer.add_sliding_window(c.sliding_window)
        if c.rope_parameters.get("rope_type") == "yarn" and architecture != "gpt-oss":
            writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
            writer.add_rope_scaling_factor(c.rope_parameters["factor"])
            writer.add_rope_scaling_orig_ctx_len(c.rope_parameters["original_max_position_embeddings"])
        if c.rope_parameters.get("rope_type") == "longrope":
            writer.add_rope_dimension_count(2 * len(c.rope_parameters["long_factor"]))
            writer.add_rope_scaling_orig_ctx_len(c.original_max_position_embeddings)
            longer = math.log(c.max_position_embeddings / c.original_max_position_embeddings)
            writer.add_rope_scaling_attn_factors(math.sqrt(1 + longer / math.log(c.original_max_position_embeddings)))
            writer.add_sliding_window(c.sliding_window)
            for name in ("long", "short"):
                factors = np.array(c.rope_parameters[f"{name}_factor"], np.float32)
                writer.add_tensor(f"rope_factors_{name}.weight", factors)
        if experts := getattr(c, "num_experts", getattr(c, "num_local_experts", 0)):
            writer.add_expert_count(experts)
            writer.add_expert_used_count(c.num_experts_per_tok)
        if width := getattr(c, "moe_intermediate_size", None):
            writer.add_expert_feed_forward_length(width)
        if architecture == "gpt-oss":
            writer.add_expert_feed_forward_length(c.intermediate_size)
            writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
            writer.add_rope_scaling_factor(c.rope_parameters["factor"])
            writer.add_rope_scaling_orig_ctx_len(c.rope_parameters["original_max_position_embeddings"])
        writer.add_key_length(getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads)
    for key, value in more.items():
        add = {str: writer.add_string, bool: writer.add_bool, int: writer.add_uint32, list: writer.add_array}
        (add | {float: writer.add_float32})[type(value)](key, value)
    for their_name, numbers in tensors(architecture, model, apart).items():
        if only is not None and their_name not in only:
            continue
        _add(writer, their_name, numbers, kind if numbers.ndim > 1 else "F32")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_states(writer: gguf.GGUFWriter, c: hf.PreTrainedConfig) -> None:
    """The settings of states, and of the attention beside them, as llama.cpp's converter writes them."""
    if c.model_type == "mamba2":
        writer.add_feed_forward_length(0)
        writer.add_layer_norm_rms_eps(c.layer_norm_epsilon)
        values, of_state = c.num_heads * c.head_dim, (c.conv_kernel, c.state_size, c.num_heads, c.n_groups)
    else:
        writer.add_feed_forward_length(c.intermediate_size)
        writer.add_layer_norm_rms_eps(c.rms_norm_eps)
        writer.add_head_count_kv(c.num_key_value_heads)
        writer.add_key_length(c.head_dim)
        writer.add_value_length(c.head_dim)
        writer.add_rope_freq_base(c.rope_parameters["rope_theta"])
        writer.add_vocab_size(c.vocab_size)
        values, of_state = c.mamba_d_ssm, (c.mamba_d_conv, c.mamba_d_state, c.mamba_n_heads, c.mamba_n_groups)
    add_state(writer, values, *of_state)


def add_state(writer: gguf.GGUFWriter, values: int, conv: int, state: int, heads: int, groups: int) -> None:
    """The settings of one state, whose values of all heads together are so many numbers."""
    writer.add_ssm_conv_kernel(conv)
    writer.add_ssm_inner_size(values)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(heads)
    writer.add_ssm_group_count(groups)


def add_rules(writer: gguf.GGUFWriter, c: hf.PreTrainedConfig) -> None:
    """The settings of Qwen3-Next and Qwen3.5, as llama.cpp's converter writes them."""
    if (width := getattr(c, "intermediate_size", None)) is not None:
        writer.add_feed_forward_length(width)
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_head_count_kv(c.num_key_value_heads)
    writer.add_key_length(c.head_dim)
    writer.add_value_length(c.head_dim)
    writer.add_rope_freq_base(c.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(int(c.head_dim * c.rope_parameters["partial_rotary_factor"]))
    writer.add_full_attention_interval(4)
    if c.model_type != "qwen3_next":
        writer.add_rope_dimension_sections([11, 11, 10, 0])
    if experts := getattr(c, "num_experts", 0):
        writer.add_expert_count(experts)
        writer.add_expert_used_count(c.num_experts_per_tok)
        writer.add_expert_feed_forward_length(c.moe_intermediate_size)
        writer.add_expert_shared_feed_forward_length(c.shared_expert_intermediate_size)
    values = c.linear_num_value_heads * c.linear_value_head_dim
    heads = (c.linear_num_value_heads, c.linear_num_key_heads)
    add_state(writer, values, c.linear_conv_kernel_dim, c.linear_key_head_dim, *heads)


def add_apart(writer: gguf.GGUFWriter, c: hf.PreTrainedConfig) -> None:
    """The settings of Nemotron-H, as llama.cpp's converter writes them."""
    kinds = c.layers_block_type
    width = c.moe_intermediate_size if "moe" in kinds else c.intermediate_size
    writer.add_context_length(2**20)
    writer.add_feed_forward_length([width if kind in ("moe", "mlp") else 0 for kind in kinds])
    writer.add_head_count_kv([c.num_key_value_heads if kind == FULL else 0 for kind in kinds])
    writer.add_key_length(c.head_dim)
    writer.add_value_length(c.head_dim)
    writer.add_rope_dimension_count(c.hidden_size // c.num_attention_heads)
    writer.add_rope_scaling_finetuned(False)
    writer.add_vocab_size(c.vocab_size)
    writer.add_layer_norm_eps(c.layer_norm_epsilon)
    writer.add_layer_norm_rms_eps(c.layer_norm_epsilon)
    values = c.mamba_num_heads * c.mamba_head_dim
    add_state(writer, values, c.conv_kernel, c.ssm_state_size, c.mamba_num_heads, c.n_groups)
    if "moe" in kinds:
        add_experts(writer, c)
        writer.add_expert_shared_feed_forward_length(c.moe_shared_expert_intermediate_size)
        writer.add_expert_weights_norm(c.norm_topk_prob)


def add_experts(writer: gguf.GGUFWriter, c: hf.PreTrainedConfig) -> None:
    """The settings of experts that are chosen in groups, beside shared ones."""
    writer.add_expert_count(c.n_routed_experts)
    writer.add_expert_used_count(c.num_experts_per_tok)
    writer.add_expert_feed_forward_length(c.moe_intermediate_size)
    writer.add_expert_shared_count(c.n_shared_experts)
    writer.add_expert_weights_scale(c.routed_scaling_factor)
    if c.n_group:
        writer.add_expert_group_count(c.n_group)
        writer.add_expert_group_used_count(c.topk_group)


def of_rule(c: hf.PreTrainedConfig, name: str, numbers: np.ndarray) -> np.ndarray:
    """A tensor of Qwen3-Next or Qwen3.5, as llama.cpp's converter changes it."""
    if name.endswith("A_log"):
        numbers = -np.exp(numbers)
    if c.model_type == "qwen3_next" or "linear_attn." not in name or name.endswith("norm.weight"):
        return numbers
    keys = 2 * c.linear_num_key_heads * c.linear_key_head_dim  # rows of queries and keys
    if "out_proj" in name:
        return tiled(c, numbers.T).T
    if "in_proj_qkv" in name or "conv1d" in name:
        return np.concatenate([numbers[:keys], tiled(c, numbers[keys:])])
    return tiled(c, numbers)


def tiled(c: hf.PreTrainedConfig, numbers: np.ndarray) -> np.ndarray:
    """Rows of heads of values, those of a key beside each other: first the first of every key, then the second."""
    each = c.linear_num_value_heads // c.linear_num_key_heads
    heads = np.split(numbers, c.linear_num_value_heads)
    return np.concatenate([heads[key * each + i] for i in range(each) for key in range(c.linear_num_key_heads)])


def by_part(c: hf.PreTrainedConfig, layer: str, numbers: np.ndarray) -> dict[str, np.ndarray]:
    """Two tensors of Qwen3-Next's matrix of queries, keys, values and gates, one head of keys after another in it."""
    each = c.linear_num_value_heads // c.linear_num_key_heads
    sizes = np.cumsum([c.linear_key_head_dim, c.linear_key_head_dim, each * c.linear_value_head_dim])
    of_heads = [np.split(rows, sizes) for rows in np.split(numbers, c.linear_num_key_heads)]
    queries, keys, values, gates = (np.concatenate(parts) for parts in zip(*of_heads, strict=True))
    joined = np.concatenate([queries, keys, values])
    return {f"blk.{layer}.attn_qkv.weight": joined, f"blk.{layer}.attn_gate.weight": gates}


def of_state(c: hf.PreTrainedConfig, name: str, numbers: np.ndarray) -> np.ndarray:
    """A tensor of a state, or one with factors of Falcon-H1, as llama.cpp's converter changes it."""
    if name.endswith(("A_log", ".D")):
        return (-np.exp(numbers) if name.endswith("A_log") else numbers).reshape(-1, 1)
    if name.endswith(("mixer.norm.weight", "mamba.norm.weight")):
        return numbers.reshape(getattr(c, "n_groups", None) or c.mamba_n_groups, -1)
    if c.model_type != "falcon_h1":
        return numbers
    if name.endswith("mamba.in_proj.weight"):
        keys = c.mamba_n_groups * c.mamba_d_state
        sizes = (c.mamba_d_ssm, c.mamba_d_ssm, keys, keys, c.mamba_n_heads)
        return numbers * c.ssm_in_multiplier * np.repeat(np.float32(c.ssm_multipliers), sizes)[:, None]
    factors = {
        "down_proj": c.mlp_multipliers[1],
        "gate_proj": c.mlp_multipliers[0],
        "k_proj": c.key_multiplier * c.attention_in_multiplier,
        "q_proj": c.attention_in_multiplier,
        "v_proj": c.attention_in_multiplier,
        "o_proj": c.attention_out_multiplier,
        "out_proj": c.ssm_out_multiplier,
        "lm_head": c.lm_head_multiplier,
        "embed_tokens": c.embedding_multiplier,
    }
    return numbers * np.float32(next((factor for part, factor in factors.items() if f".{part}." in f".{name}"), 1.0))


def add_latents(writer: gguf.GGUFWriter, c: hf.PreTrainedConfig, apart: bool) -> None:
    """The settings of a model with latent attention, as llama.cpp's converter writes them."""
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_rope_freq_base(c.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(c.qk_rope_head_dim)
    writer.add_head_count_kv(1 if apart else c.num_attention_heads)
    if c.q_lora_rank is not None:
        writer.add_q_lora_rank(c.q_lora_rank)
    writer.add_kv_lora_rank(c.kv_lora_rank)
    writer.add_key_length((c.kv_lora_rank if apart else c.qk_nope_head_dim) + c.qk_rope_head_dim)
    writer.add_value_length(c.kv_lora_rank if apart else c.v_head_dim)
    if apart:
        writer.add_key_length_mla(c.qk_nope_head_dim + c.qk_rope_head_dim)
        writer.add_value_length_mla(c.v_head_dim)
    writer.add_leading_dense_block_count(c.first_k_dense_replace)
    writer.add_vocab_size(c.vocab_size)
    add_experts(writer, c)
    if c.model_type == "deepseek_v3":
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
        writer.add_expert_weights_norm(c.norm_topk_prob)
    if c.rope_parameters.get("rope_type") == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(c.rope_parameters["factor"])
        writer.add_rope_scaling_orig_ctx_len(c.rope_parameters["original_max_position_embeddings"])
        writer.add_rope_scaling_yarn_log_mul(0.1 * c.rope_parameters["mscale_all_dim"])


def tensors(architecture: str, model: hf.PreTrainedModel, apart: bool = True) -> dict[str, np.ndarray]:
    """Names in the file -> numbers, changed as llama.cpp's converter does."""
    c = model.config
    names = gguf.get_tensor_name_map(
        next(a for a, n in gguf.MODEL_ARCH_NAMES.items() if n == architecture), c.num_hidden_layers
    )
    found = {}
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and c.tie_word_embeddings:
            continue
        if ".experts." in name and architecture == "gpt-oss":  # gate and up in turn, and matrices turned
            found |= {there: np.ascontiguousarray(part) for there, part in experts_of_oss(name, tensor).items()}
            continue
        if ".experts." in name:  # of each layer two tensors, and three in the file
            one = "up" if "up_proj" in name else "down"
            kinds, layer = ("gate", "up") if "gate_up" in name else (one,), name.split(".")[2]
            for kind, numbers in zip(kinds, tensor.float().chunk(len(kinds), dim=1), strict=True):
                found[f"blk.{layer}.ffn_{kind}_exps.weight"] = np.ascontiguousarray(numbers.numpy())
            continue
        if "shared_mlp.input_linear" in name:  # gate and up in one
            kind = "_shexp" if c.num_local_experts else ""
            for one, numbers in zip(("gate", "up"), tensor.float().chunk(2), strict=True):
                found[f"blk.{name.split('.')[2]}.ffn_{one}{kind}.weight"] = np.ascontiguousarray(numbers.numpy())
            continue
        if "shared_mlp.output_linear" in name and not c.num_local_experts:
            found[f"blk.{name.split('.')[2]}.ffn_down.weight"] = tensor.float().numpy()
            continue
        if ".act_fn." in name:  # which are settings
            continue
        name = f"{name}.weight" if name.endswith("sinks") else name
        name = f"{name}.bias" if name.endswith("expert_bias") else name
        name = name.replace("e_score_correction_bias", "e_score_correction.bias")
        if name.endswith("kv_b_proj.weight") and apart:  # (head of key and value, latent)
            keys, values = (
                tensor.float()
                .unflatten(0, (c.num_attention_heads, -1))
                .split([c.qk_nope_head_dim, c.v_head_dim], dim=1)
            )
            found[f"blk.{name.split('.')[2]}.attn_k_b.weight"] = np.ascontiguousarray(keys.mT.numpy())
            found[f"blk.{name.split('.')[2]}.attn_v_b.weight"] = np.ascontiguousarray(values.numpy())
            continue
        if ".norms." in name:  # of each head one, and all of them together in the file
            name = name.partition(".norms.")[0]
            layer, kind = name.split(".")[2], name.split(".")[-1][0]
            rows = [part for there, part in model.state_dict().items() if there.startswith(f"{name}.norms.")]
            found[f"blk.{layer}.attn_{kind}_norm.weight"] = torch.stack(rows).float().numpy()
            continue
        numbers = tensor.float().squeeze().numpy()
        if "in_proj_qkvz" in name and apart:
            found |= by_part(c, name.split(".")[2], numbers)
            continue
        if architecture in STATEFUL:
            numbers = of_state(c, name, numbers)
        if architecture in DELTA:
            numbers = of_rule(c, name, numbers[None] if "shared_expert_gate" in name else numbers)
        name = name.replace(".dt_bias", ".dt_proj.bias")
        name = name.replace("model.", "backbone.") if architecture.startswith("nemotron_h") else name
        names_of_it = (name, name.removeprefix("transformer."), name.replace("router.", "router.layer."))
        there = next(
            filter(None, (names.get_name(one, try_suffixes=(".weight", ".bias")) for one in names_of_it)), None
        )
        if there is None:
            raise ValueError(f"the package does not know {name}")
        if architecture in INTERLEAVED and "q_proj" in name:
            numbers = interleaved(numbers, c.num_attention_heads)
        if architecture in INTERLEAVED and "k_proj" in name:
            numbers = interleaved(numbers, c.num_key_value_heads)
        if architecture in ADDED and name.endswith("norm.weight") and "linear_attn." not in name:
            numbers = numbers + 1
        if "query_key_value" in name:  # one key after the other there, in the file all queries, all keys, all values
            heads = c.num_attention_heads
            groups = c.num_kv_heads if architecture == "falcon" else heads
            by_key = numbers.reshape(groups, heads // groups + 2, c.hidden_size // heads, *numbers.shape[1:])
            parts = (by_key[:, :-2], by_key[:, -2], by_key[:, -1])
            numbers = np.concatenate([part.reshape(-1, *numbers.shape[1:]) for part in parts])
        if architecture == "gpt2" and name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            numbers = numbers.T
        found[there] = np.ascontiguousarray(numbers)
    return found


def experts_of_oss(name: str, tensor: torch.Tensor) -> dict[str, np.ndarray]:
    """Of the experts of a layer of gpt-oss, (expert, in, out) or biases: names in the file -> numbers."""
    layer, ending = name.split(".")[2], "bias" if name.endswith("bias") else "weight"
    numbers = tensor.float().numpy()
    numbers = numbers.swapaxes(1, 2) if ending == "weight" else numbers
    parts = {"gate": numbers[:, ::2], "up": numbers[:, 1::2]} if "gate_up" in name else {"down": numbers}
    return {f"blk.{layer}.ffn_{kind}_exps.{ending}": part for kind, part in parts.items()}


def interleaved(numbers: np.ndarray, heads: int) -> np.ndarray:
    """Rows of q or k as llama.cpp wants them: the halves of each pair that is rotated beside each other."""
    rows = numbers.shape[0] // heads
    out = np.empty_like(numbers)
    for head in range(heads):
        for i in range(rows // 2):
            out[head * rows + 2 * i] = numbers[head * rows + i]
            out[head * rows + 2 * i + 1] = numbers[head * rows + rows // 2 + i]
    return out


def _add(writer: gguf.GGUFWriter, name: str, numbers: np.ndarray, kind: str) -> None:
    quantisation = gguf.GGMLQuantizationType[kind]
    if kind in RAW:
        block = gguf.GGML_QUANT_SIZES[quantisation][0]
        raw = blocks(kind, numbers.size // block, len(name)).reshape(*numbers.shape[:-1], -1)
    elif kind == "F32":
        writer.add_tensor(name, numbers.astype(np.float32))
        return
    else:
        raw = gguf.quants.quantize(numbers, quantisation)
        if kind == "F16":
            writer.add_tensor(name, raw)
            return
    writer.add_tensor(name, raw, raw_dtype=quantisation)


def blocks(kind: str, n: int, seed: int) -> np.ndarray:
    """(n, bytes of a block) of a kind of RAW, at random but for the scales, which are not large."""
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 256, (n, gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]][1]), dtype=np.uint8)
    places, size_of_scales = RAW[kind]
    for place in places:
        scale = rng.normal(0, size_of_scales, n).astype(np.float16)
        raw[:, place : place + 2] = scale.view(np.uint8).reshape(-1, 2)
    if kind == "IQ1_M":  # four bits of the scale in each of the last four pairs of bytes
        scale = rng.normal(0, size_of_scales, n).astype(np.float16).view(np.uint16)
        for i in range(4):
            raw[:, 49 + 2 * i] = (raw[:, 49 + 2 * i] & 15) | ((scale >> (4 * i)) & 15) << 4
    if kind == "MXFP4":
        raw[:, 0] = rng.integers(120, 124, n)
    if kind == "NVFP4":
        raw[:, :4] = rng.integers(8, 15, (n, 4))
    return raw


def byte_level(pre: str) -> dict[str, Any]:
    """The settings of a small byte-level BPE of 320 tokens."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=318, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    inner.train_from_iterator([TEXT] * 4, trainer)
    vocabulary = sorted(inner.get_vocab(), key=inner.get_vocab().get)
    merges = json.loads(inner.to_str())["model"]["merges"]
    tokens = [*vocabulary, *(f"<free {i}>" for i in range(318 - len(vocabulary))), "<|begin|>", "<|end|>"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * 318 + [3, 3],
        "tokenizer.ggml.merges": [" ".join(merge) for merge in merges],
        "tokenizer.ggml.bos_token_id": 318,
        "tokenizer.ggml.eos_token_id": 319,
    }


def sentence_piece(**more: Any) -> dict[str, Any]:
    """The settings of a small SentencePiece BPE of 320 tokens."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.decoder = decoders.Metaspace()
    inner.train_from_iterator([TEXT[:150]] * 4, trainers.BpeTrainer(vocab_size=61, show_progress=False))
    pieces = sorted(inner.get_vocab(), key=inner.get_vocab().get)
    pieces += [f"free{i}" for i in range(61 - len(pieces))]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [0.0] * 259 + [-float(i) for i in range(61)],
        "tokenizer.ggml.token_type": [2, 3, 3, *[6] * 256, *[1] * 61],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        **more,
    }
