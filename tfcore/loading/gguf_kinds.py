"""The architectures of GGUF that are read: names of tensors there and in the files of the family, and settings that
change no number here."""

from collections.abc import Mapping
from dataclasses import dataclass

_LLAMA = {
    "token_embd": "embed_tokens",
    "output_norm": "norm",
    "output": "lm_head",
    "blk.*.attn_norm": "layers.*.input_layernorm",
    "blk.*.ffn_norm": "layers.*.post_attention_layernorm",
    "blk.*.attn_q": "layers.*.self_attn.q_proj",
    "blk.*.attn_k": "layers.*.self_attn.k_proj",
    "blk.*.attn_v": "layers.*.self_attn.v_proj",
    "blk.*.attn_output": "layers.*.self_attn.o_proj",
    "blk.*.attn_q_norm": "layers.*.self_attn.q_norm",
    "blk.*.attn_k_norm": "layers.*.self_attn.k_norm",
    "blk.*.ffn_gate": "layers.*.mlp.gate_proj",
    "blk.*.ffn_up": "layers.*.mlp.up_proj",
    "blk.*.ffn_down": "layers.*.mlp.down_proj",
}
_APERTUS = {
    **{there: name for there, name in _LLAMA.items() if there != "blk.*.ffn_gate"},
    "blk.*.attn_norm": "layers.*.attention_layernorm",
    "blk.*.ffn_norm": "layers.*.feedforward_layernorm",
}
_MIXTURE = {
    **_LLAMA,
    "blk.*.ffn_gate_inp": "layers.*.mlp.gate",
    "blk.*.ffn_gate_exps": "layers.*.mlp.experts.#.gate_proj",
    "blk.*.ffn_up_exps": "layers.*.mlp.experts.#.up_proj",
    "blk.*.ffn_down_exps": "layers.*.mlp.experts.#.down_proj",
}
_MIXTRAL = {
    **_MIXTURE,
    "blk.*.ffn_gate_exps": "layers.*.mlp.experts.#.w1",
    "blk.*.ffn_up_exps": "layers.*.mlp.experts.#.w3",
    "blk.*.ffn_down_exps": "layers.*.mlp.experts.#.w2",
}
_SHARED = {
    **_MIXTURE,
    "blk.*.ffn_gate_inp_shexp": "layers.*.mlp.shared_expert_gate",
    "blk.*.ffn_gate_shexp": "layers.*.mlp.shared_expert.gate_proj",
    "blk.*.ffn_up_shexp": "layers.*.mlp.shared_expert.up_proj",
    "blk.*.ffn_down_shexp": "layers.*.mlp.shared_expert.down_proj",
}
_BESIDE_SHARED = {
    "blk.*.ffn_gate_shexp": "layers.*.mlp.shared_experts.gate_proj",
    "blk.*.ffn_up_shexp": "layers.*.mlp.shared_experts.up_proj",
    "blk.*.ffn_down_shexp": "layers.*.mlp.shared_experts.down_proj",
    "blk.*.exp_probs_b": "layers.*.mlp.gate.e_score_correction_bias",
}
_GLM4_MOE = {
    **{there: name for there, name in _MIXTURE.items() if there != "blk.*.ffn_norm"},
    **_BESIDE_SHARED,
    "blk.*.post_attention_norm": "layers.*.post_attention_layernorm",
}
_OSS = {
    **{there: name for there, name in _MIXTURE.items() if there != "blk.*.ffn_norm"},
    "blk.*.post_attention_norm": "layers.*.post_attention_layernorm",
    "blk.*.attn_sinks": "layers.*.self_attn.sinks",
    "blk.*.ffn_gate_inp": "layers.*.mlp.router",
}
_SANDWICH = {
    **_LLAMA,
    "blk.*.ffn_norm": "layers.*.pre_feedforward_layernorm",
    "blk.*.post_attention_norm": "layers.*.post_attention_layernorm",
    "blk.*.post_ffw_norm": "layers.*.post_feedforward_layernorm",
}
_AFTER = {there: name for there, name in _SANDWICH.items() if there not in ("blk.*.attn_norm", "blk.*.ffn_norm")}
_PHI3 = {
    **{there: name for there, name in _LLAMA.items() if not there.endswith(("attn_q", "attn_k", "attn_v", "ffn_gate"))},
    "blk.*.attn_qkv": "layers.*.self_attn.qkv_proj",
    "blk.*.ffn_up": "layers.*.mlp.gate_up_proj",
}
_PHI = {
    **{there: name for there, name in _LLAMA.items() if not there.endswith(("ffn_norm", "ffn_gate"))},
    "output_norm": "final_layernorm",
    "blk.*.attn_output": "layers.*.self_attn.dense",
    "blk.*.ffn_up": "layers.*.mlp.fc1",
    "blk.*.ffn_down": "layers.*.mlp.fc2",
}
_STARCODER2 = {**_LLAMA, "blk.*.ffn_up": "layers.*.mlp.c_fc", "blk.*.ffn_down": "layers.*.mlp.c_proj"}
_GLM4 = {
    **_LLAMA,
    "blk.*.post_attention_norm": "layers.*.post_self_attn_layernorm",
    "blk.*.post_ffw_norm": "layers.*.post_mlp_layernorm",
    "blk.*.ffn_up": "layers.*.mlp.gate_up_proj",
}
_NEOX = {
    "token_embd": "embed_in",
    "output_norm": "final_layer_norm",
    "output": "embed_out",
    "blk.*.attn_norm": "layers.*.input_layernorm",
    "blk.*.ffn_norm": "layers.*.post_attention_layernorm",
    "blk.*.attn_qkv": "layers.*.attention.query_key_value",
    "blk.*.attn_output": "layers.*.attention.dense",
    "blk.*.ffn_up": "layers.*.mlp.dense_h_to_4h",
    "blk.*.ffn_down": "layers.*.mlp.dense_4h_to_h",
}
_GPT2 = {
    "token_embd": "wte",
    "position_embd": "wpe",
    "output_norm": "ln_f",
    "output": "lm_head",
    "blk.*.attn_norm": "h.*.ln_1",
    "blk.*.ffn_norm": "h.*.ln_2",
    "blk.*.attn_qkv": "h.*.attn.c_attn",
    "blk.*.attn_output": "h.*.attn.c_proj",
    "blk.*.ffn_up": "h.*.mlp.c_fc",
    "blk.*.ffn_down": "h.*.mlp.c_proj",
}
_BLOOM = {
    "token_embd": "word_embeddings",
    "token_embd_norm": "word_embeddings_layernorm",
    "output_norm": "ln_f",
    "output": "lm_head",
    "blk.*.attn_norm": "h.*.input_layernorm",
    "blk.*.ffn_norm": "h.*.post_attention_layernorm",
    "blk.*.attn_qkv": "h.*.self_attention.query_key_value",
    "blk.*.attn_output": "h.*.self_attention.dense",
    "blk.*.ffn_up": "h.*.mlp.dense_h_to_4h",
    "blk.*.ffn_down": "h.*.mlp.dense_4h_to_h",
}
_FALCON = {there: name for there, name in _BLOOM.items() if there not in ("token_embd_norm", "blk.*.ffn_norm")}
_FALCON_OF_TWO_NORMS = {**_FALCON, "blk.*.attn_norm": "h.*.ln_mlp", "blk.*.attn_norm_2": "h.*.ln_attn"}
_MPT = {
    "token_embd": "wte",
    "output_norm": "norm_f",
    "output": "lm_head",
    "blk.*.attn_norm": "blocks.*.norm_1",
    "blk.*.ffn_norm": "blocks.*.norm_2",
    "blk.*.attn_qkv": "blocks.*.attn.Wqkv",
    "blk.*.attn_output": "blocks.*.attn.out_proj",
    "blk.*.ffn_up": "blocks.*.ffn.up_proj",
    "blk.*.ffn_down": "blocks.*.ffn.down_proj",
}
_GRANITE_MOE = {
    **_LLAMA,
    "blk.*.ffn_gate_inp": "layers.*.block_sparse_moe.router.layer",
    "blk.*.ffn_gate_exps": "layers.*.block_sparse_moe.experts.#.gate_proj",
    "blk.*.ffn_up_exps": "layers.*.block_sparse_moe.experts.#.up_proj",
    "blk.*.ffn_down_exps": "layers.*.block_sparse_moe.experts.#.down_proj",
    "blk.*.ffn_gate_shexp": "layers.*.shared_mlp.gate_proj",
    "blk.*.ffn_up_shexp": "layers.*.shared_mlp.up_proj",
    "blk.*.ffn_down_shexp": "layers.*.shared_mlp.output_linear",
}
_DEEPSEEK = {
    **{there: name for there, name in _MIXTURE.items() if there not in ("blk.*.attn_k", "blk.*.attn_v")},
    "blk.*.attn_q_a": "layers.*.self_attn.q_a_proj",
    "blk.*.attn_q_a_norm": "layers.*.self_attn.q_a_layernorm",
    "blk.*.attn_q_b": "layers.*.self_attn.q_b_proj",
    "blk.*.attn_kv_a_mqa": "layers.*.self_attn.kv_a_proj_with_mqa",
    "blk.*.attn_kv_a_norm": "layers.*.self_attn.kv_a_layernorm",
    "blk.*.attn_kv_b": "layers.*.self_attn.kv_b_proj",  # in older files; in others it is two tensors
    "blk.*.attn_k_b": "layers.*.self_attn.kv_b_proj",
    "blk.*.attn_v_b": "",
    **_BESIDE_SHARED,
}
_LFM2 = {
    "token_embd": "embed_tokens",
    "token_embd_norm": "embedding_norm",  # which is the last norm, whatever it is called
    "output": "lm_head",
    "blk.*.attn_norm": "layers.*.operator_norm",
    "blk.*.ffn_norm": "layers.*.ffn_norm",
    "blk.*.attn_q": "layers.*.self_attn.q_proj",
    "blk.*.attn_k": "layers.*.self_attn.k_proj",
    "blk.*.attn_v": "layers.*.self_attn.v_proj",
    "blk.*.attn_output": "layers.*.self_attn.out_proj",
    "blk.*.attn_q_norm": "layers.*.self_attn.q_layernorm",
    "blk.*.attn_k_norm": "layers.*.self_attn.k_layernorm",
    "blk.*.shortconv.conv": "layers.*.conv.conv",
    "blk.*.shortconv.in_proj": "layers.*.conv.in_proj",
    "blk.*.shortconv.out_proj": "layers.*.conv.out_proj",
    "blk.*.ffn_gate": "layers.*.feed_forward.w1",
    "blk.*.ffn_up": "layers.*.feed_forward.w3",
    "blk.*.ffn_down": "layers.*.feed_forward.w2",
}
_LFM2_MOE = {
    **_LFM2,
    "blk.*.ffn_gate_inp": "layers.*.feed_forward.gate",
    "blk.*.exp_probs_b": "layers.*.feed_forward.expert_bias",
    "blk.*.ffn_gate_exps": "layers.*.feed_forward.experts.#.w1",
    "blk.*.ffn_up_exps": "layers.*.feed_forward.experts.#.w3",
    "blk.*.ffn_down_exps": "layers.*.feed_forward.experts.#.w2",
}
_STATE = {
    "ssm_in": "in_proj",
    "ssm_conv1d": "conv1d",
    "ssm_dt": "dt_bias",
    "ssm_a": "A_log",
    "ssm_d": "D",
    "ssm_norm": "norm",
    "ssm_out": "out_proj",
}
_MAMBA2 = {
    "token_embd": "embeddings",
    "output_norm": "norm_f",
    "output": "lm_head",
    "blk.*.attn_norm": "layers.*.norm",
    **{f"blk.*.{there}": f"layers.*.mixer.{name}" for there, name in _STATE.items()},
}
_OF_MAMBA = {f"blk.*.{there}": f"layers.*.mamba.{name}" for there, name in _STATE.items()}
_FALCON_H1 = {
    **{there: name.replace(".mlp.", ".feed_forward.") for there, name in _LLAMA.items()},
    "output_norm": "final_layernorm",
    "blk.*.ffn_norm": "layers.*.pre_ff_layernorm",
    **_OF_MAMBA,
}
_GRANITE_HYBRID = {
    **_GRANITE_MOE,
    **_OF_MAMBA,
    # without experts, the shared one alone
    **{f"blk.*.ffn_{one}": _GRANITE_MOE[f"blk.*.ffn_{one}_shexp"] for one in ("gate", "up", "down")},
}
_DELTA = {
    **_LLAMA,
    "blk.*.post_attention_norm": "layers.*.post_attention_layernorm",
    "blk.*.attn_qkv": "layers.*.linear_attn.in_proj_qkv",
    "blk.*.attn_gate": "layers.*.linear_attn.in_proj_z",
    "blk.*.ssm_alpha": "layers.*.linear_attn.in_proj_a",
    "blk.*.ssm_beta": "layers.*.linear_attn.in_proj_b",
    **{f"blk.*.{there}": f"layers.*.linear_attn.{name}" for there, name in _STATE.items() if there != "ssm_d"},
    "blk.*.ssm_in": "layers.*.linear_attn.in_proj_qkvz",  # in older files; in others it is attn_qkv and attn_gate
    "blk.*.ssm_ba": "layers.*.linear_attn.in_proj_ba",
}
_DELTA_MIXTURE = _SHARED | _DELTA
_NEMOTRON_H = {
    **_MAMBA2,
    **{f"blk.*.attn_{there}": f"layers.*.mixer.{there}_proj" for there in "qkv"},
    "blk.*.attn_output": "layers.*.mixer.o_proj",
    "blk.*.ffn_up": "layers.*.mixer.up_proj",
    "blk.*.ffn_down": "layers.*.mixer.down_proj",
    "blk.*.ffn_gate_inp": "layers.*.mixer.gate",
    "blk.*.exp_probs_b": "layers.*.mixer.gate.e_score_correction_bias",
    "blk.*.ffn_up_exps": "layers.*.mixer.experts.#.up_proj",
    "blk.*.ffn_down_exps": "layers.*.mixer.experts.#.down_proj",
    "blk.*.ffn_up_shexp": "layers.*.mixer.shared_experts.up_proj",
    "blk.*.ffn_down_shexp": "layers.*.mixer.shared_experts.down_proj",
    **dict.fromkeys(("blk.*.ffn_latent_down", "blk.*.ffn_latent_up"), ""),  # whose size is refused by its name
}
# What a layer of Nemotron-H is, by a tensor that no other kind has.
ALONE = {"ssm_in": "linear_attention", "attn_q": "full_attention", "ffn_gate_inp": "moe", "ffn_up": "mlp"}
BARE = ("ssm_a", "ssm_d", "ffn_norm")  # of states and of Falcon-H1: tensors whose names have no ending in the file
RATES = ".A_log"  # there it is the rate itself, below 0
IN_ROWS = (RATES, ".D", ".mixer.norm.weight", ".mamba.norm.weight")  # matrices there, vectors in the family's files
CONVOLVED = (".conv1d.weight", ".conv.conv.weight")  # (channel, width) there, (channel, 1, width) in the family's files
# Lists of settings with a number for each layer, which are tensors in the family's files.
XIELU = {f"xielu.{name}": f"layers.*.mlp.act_fn.{name}" for name in ("alpha_p", "alpha_n", "beta", "eps")}
FACTORS = "rope_freqs.weight"  # by which LLaMA 3.1's frequencies are divided, pair by pair
LONG, SHORT = "rope_factors_long.weight", "rope_factors_short.weight"  # LongRoPE's


@dataclass(frozen=True, slots=True)
class GgufKind:
    """An architecture of GGUF.

    Args:
        family: in tfcore.loading.families.
        names: module there -> module in the family's files; # is the number of an expert, all of which are one tensor
            there, and "" is a tensor that is read with another.
        interleaved: whether rows of q and k are.
        added: whether 1 was added to the scales of norms, but those behind a state.
        turned: ends of the names of matrices that are stored (in, out) in the family's files.
        by_head: ends of the names of tensors whose rows are all queries, all keys, all values there, and in the
            family's files the queries of each key, that key and its value, one after the other.
        tiled: whether heads of values of the delta rule are first the first of every key, then the second of every key;
            in the family's files they are those of the first key, then those of the second.
        factors: names of tensors that are no weights, but divide the frequencies of rotations.
    """

    family: str
    names: Mapping[str, str]
    interleaved: bool = False
    added: bool = False
    turned: tuple[str, ...] = ()
    by_head: tuple[str, ...] = ()
    tiled: bool = False
    factors: tuple[str, ...] = (FACTORS,)


_JOINED = ("query_key_value.weight", "query_key_value.bias")
KINDS = {
    "llama": GgufKind("llama", _LLAMA, interleaved=True),  # Mistral's are called llama, too
    "qwen2": GgufKind("qwen2", _LLAMA),
    "qwen3": GgufKind("qwen3", _LLAMA),
    "qwen2vl": GgufKind("qwen2", _LLAMA),  # the decoder of texts of Qwen2-VL and Qwen2.5-VL, and so on
    "qwen3vl": GgufKind("qwen3", _LLAMA),
    "qwen3vlmoe": GgufKind("qwen3_moe", _MIXTURE),
    "qwen2moe": GgufKind("qwen2_moe", _SHARED),
    "qwen3moe": GgufKind("qwen3_moe", _MIXTURE),
    "olmoe": GgufKind("olmoe", _MIXTURE),
    "gpt-oss": GgufKind("gpt_oss", _OSS),
    "arcee": GgufKind("arcee", _LLAMA, interleaved=True),
    "smollm3": GgufKind("smollm3", _LLAMA, interleaved=True),
    "phi2": GgufKind("phi", _PHI),
    "phi3": GgufKind("phi3", _PHI3, factors=(FACTORS, LONG, SHORT)),
    "starcoder2": GgufKind("starcoder2", _STARCODER2),
    "granite": GgufKind("granite", _LLAMA, interleaved=True),
    "stablelm": GgufKind("stablelm", _LLAMA),
    "command-r": GgufKind("cohere", _LLAMA),
    "cohere2": GgufKind("cohere2", _LLAMA),
    "nemotron": GgufKind("nemotron", _LLAMA, added=True),
    "exaone4": GgufKind("exaone4", _AFTER),
    "glm4": GgufKind("glm4", _GLM4),
    "olmo": GgufKind("olmo", _LLAMA, interleaved=True),
    "gemma": GgufKind("gemma", _LLAMA, added=True),
    "gemma2": GgufKind("gemma2", _SANDWICH, added=True),
    "gemma3": GgufKind("gemma3_text", _SANDWICH, added=True),
    "olmo2": GgufKind("olmo2", _AFTER),  # and OLMo 3, which has a window
    "gptneox": GgufKind("gpt_neox", _NEOX, by_head=_JOINED),
    "gpt2": GgufKind("gpt2", _GPT2, turned=("c_attn.weight", "c_proj.weight", "c_fc.weight")),
    "starcoder": GgufKind("gpt_bigcode", _GPT2),
    "bloom": GgufKind("bloom", _BLOOM, by_head=_JOINED),
    "mpt": GgufKind("mpt", _MPT),
    "falcon": GgufKind("falcon", _FALCON, by_head=_JOINED),
    "granitemoe": GgufKind("granitemoe", _GRANITE_MOE, interleaved=True),  # and that with a shared expert
    "granitehybrid": GgufKind("granitemoehybrid", _GRANITE_HYBRID, interleaved=True),
    "mistral3": GgufKind("ministral3", _LLAMA, interleaved=True),
    "glm4moe": GgufKind("glm4_moe", _GLM4_MOE),
    "apertus": GgufKind("apertus", _APERTUS),
    "ernie4_5": GgufKind("ernie4_5", _LLAMA),
    "lfm2": GgufKind("lfm2", _LFM2),
    "lfm2moe": GgufKind("lfm2_moe", _LFM2_MOE),
    "mamba2": GgufKind("mamba2", _MAMBA2),
    "falcon-h1": GgufKind("falcon_h1", _FALCON_H1),
    "qwen3next": GgufKind("qwen3_next", _DELTA_MIXTURE, added=True),
    "qwen35": GgufKind("qwen3_5_text", _DELTA, added=True, tiled=True),
    "qwen35moe": GgufKind("qwen3_5_moe_text", _DELTA_MIXTURE, added=True, tiled=True),
    **dict.fromkeys(("nemotron_h", "nemotron_h_moe"), GgufKind("nemotron_h", _NEMOTRON_H, interleaved=True)),
    "deepseek2": GgufKind("deepseek_v2", _DEEPSEEK),  # and DeepSeek-V3, whose experts have sigmoids
}
MIXTURE_OF_LLAMAS = GgufKind("mixtral", _MIXTRAL, interleaved=True)  # also called llama
FALCON_OF_TWO_NORMS = GgufKind("falcon", _FALCON_OF_TWO_NORMS, by_head=_JOINED)
WITHOUT_WINDOW = (
    "qwen2",
    "qwen3",
    "qwen2moe",
    "qwen3moe",
    "qwen2vl",
    "qwen3vl",
    "qwen3vlmoe",
)  # llama.cpp runs these without one
RENORMALISED = ("mixtral", "qwen3_moe", "qwen3_next", "qwen3_5_moe_text", "gpt_oss")  # chosen probabilities add up to 1
KEYS_OF_LATENT, VALUES_OF_LATENT = (
    "attn_k_b.weight",
    "attn_v_b.weight",
)  # of all heads: one matrix in the family's files
SHARED_GATE = "shared_expert_gate.weight"  # a row in older files, a matrix of one row in others and in the family's
# Settings that are not read and change no number here, whatever they say, or at these values alone.
SILENT = {"vocab_size", "pooling_type", "rope.scaling.finetuned", "rope.scaling.original_context_length"}
# Settings of pictures, of decoders in models that see: in a text the places of all sections are one.
OF_PICTURES = ("rope.dimension_sections", "n_deepstack_layers")
SEEING = ("qwen2vl", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe")
OFF: dict[str, tuple[object, ...]] = {
    "attention.causal": (True,),
    "tensor_data_layout": ("Meta AI original pth",),  # of which is known that it is interleaved
    **dict.fromkeys(("logit_scale", "embedding_scale", "residual_scale", "rope.scaling.attn_factor"), (1,)),
    **dict.fromkeys(("attn_logit_softcapping", "final_logit_softcapping", "attention.clamp_kqv"), (0,)),
    **dict.fromkeys(("attention.max_alibi_bias", "attention.sliding_window", "expert_used_count"), (0,)),
    **dict.fromkeys(("use_parallel_residual", "rope.scaling.alpha"), (0,)),
}
