"""Folders with a tiny random model of every family and a tokenizer like its own, as `transformers` writes them."""

from pathlib import Path

import transformers as hf
from tokenizers import Tokenizer

from tests.parity.checkpoints import QWEN_WITHIN, SEES, STACK, VISUAL, with_texts, written
from tests.tokenizers.test_foreign_tokenizers import byte_level, pieces, unigram, word_piece

SHAPE = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "max_position_embeddings": 48,
}
GROUPED = SHAPE | {"num_key_value_heads": 3}


def with_a_mask(tokenizer: Tokenizer) -> Tokenizer:
    """The same with a token for what is masked."""
    tokenizer.add_special_tokens(["<mask>"])
    return tokenizer


FAMILIES = {
    "gpt2": (
        hf.GPT2LMHeadModel,
        {"vocab_size": 320, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 48},
        byte_level,
    ),
    "llama": (hf.LlamaForCausalLM, GROUPED | {"vocab_size": 400}, pieces),
    "lfm2": (
        hf.Lfm2ForCausalLM,
        GROUPED
        | {
            "vocab_size": 330,
            "num_hidden_layers": 4,
            "full_attn_idxs": [1, 3],
            "block_multiple_of": 8,
            "pad_token_id": 0,
        },
        byte_level,
    ),
    "mixtral": (
        hf.MixtralForCausalLM,
        GROUPED | {"vocab_size": 330, "num_local_experts": 3, "num_experts_per_tok": 2, "sliding_window": 9},
        lambda: byte_level("<s> $A", ("<s>",)),
    ),
    "gemma2": (
        hf.Gemma2ForCausalLM,
        GROUPED | {"vocab_size": 400, "head_dim": 10, "sliding_window": 9, "query_pre_attn_scalar": 12},
        pieces,
    ),
    "gemma3": (
        hf.Gemma3ForCausalLM,
        GROUPED | {"vocab_size": 400, "head_dim": 10, "sliding_window": 9, "num_hidden_layers": 7},
        pieces,
    ),
    "gemma3 that sees": (
        hf.Gemma3ForConditionalGeneration,
        with_texts(GROUPED | {"vocab_size": 400, "head_dim": 10, "sliding_window": 9}, SEES),
        pieces,
    ),
    "qwen2-vl": (
        hf.Qwen2VLForConditionalGeneration,
        with_texts(QWEN_WITHIN | {"vocab_size": 330, "max_position_embeddings": 48}, VISUAL | {"hidden_size": 24}),
        byte_level,
    ),
    "bloom": (hf.BloomForCausalLM, {"vocab_size": 330, "hidden_size": 24, "n_layer": 3, "n_head": 6}, byte_level),
    "falcon": (
        hf.FalconForCausalLM,
        SHAPE | {"vocab_size": 330, "new_decoder_architecture": True, "num_kv_heads": 2},
        byte_level,
    ),
    "pythia": (hf.GPTNeoXForCausalLM, SHAPE | {"vocab_size": 330, "hidden_size": 48}, byte_level),
    "olmo2": (hf.Olmo2ForCausalLM, GROUPED | {"vocab_size": 330}, byte_level),
    "phi": (
        hf.PhiForCausalLM,
        SHAPE | {"vocab_size": 330, "hidden_size": 48, "num_key_value_heads": 2, "pad_token_id": 0},
        byte_level,
    ),
    "arcee": (hf.ArceeForCausalLM, GROUPED | {"vocab_size": 330}, byte_level),
    "apertus": (hf.ApertusForCausalLM, GROUPED | {"vocab_size": 330, "pad_token_id": 0}, byte_level),
    "nemotron": (
        hf.NemotronForCausalLM,
        SHAPE | {"vocab_size": 330, "hidden_size": 48, "num_key_value_heads": 2},
        byte_level,
    ),
    "cohere2": (
        hf.Cohere2ForCausalLM,
        SHAPE
        | {"vocab_size": 330, "hidden_size": 48, "num_hidden_layers": 4, "num_key_value_heads": 2}
        | {"sliding_window": 9, "logit_scale": 0.5, "pad_token_id": 0},
        byte_level,
    ),
    "phi3": (hf.Phi3ForCausalLM, SHAPE | {"vocab_size": 400, "pad_token_id": 0}, pieces),
    "smollm3": (
        hf.SmolLM3ForCausalLM,
        GROUPED | {"vocab_size": 330, "num_hidden_layers": 5, "pad_token_id": 0},
        byte_level,
    ),
    "qwen3 mixture": (
        hf.Qwen3MoeForCausalLM,
        GROUPED
        | {"vocab_size": 330, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2}
        | {"moe_intermediate_size": 16, "mlp_only_layers": [0]},
        byte_level,
    ),
    "qwen2 mixture": (
        hf.Qwen2MoeForCausalLM,
        GROUPED
        | {"vocab_size": 330, "num_experts": 4, "num_experts_per_tok": 2}
        | {"moe_intermediate_size": 16, "shared_expert_intermediate_size": 32}
        | {"num_hidden_layers": 4, "decoder_sparse_step": 2},  # layers 1 and 3 have experts
        byte_level,
    ),
    "gpt-oss": (
        hf.GptOssForCausalLM,
        GROUPED
        | {"vocab_size": 330, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2}
        | {"sliding_window": 9, "num_hidden_layers": 3},
        byte_level,
    ),
    "deepseek": (
        hf.DeepseekV3ForCausalLM,
        SHAPE
        | {"vocab_size": 330, "num_key_value_heads": 6, "num_hidden_layers": 3, "first_k_dense_replace": 1}
        | {"kv_lora_rank": 9, "q_lora_rank": 14, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5}
        | {"n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "n_shared_experts": 2}
        | {"n_group": 3, "topk_group": 2},
        byte_level,
    ),
    "bert": (hf.BertForMaskedLM, SHAPE | {"vocab_size": 120}, word_piece),
    "feelings": (
        hf.DistilBertForSequenceClassification,
        {"vocab_size": 120, "dim": 24, "n_layers": 2, "n_heads": 6, "hidden_dim": 40, "max_position_embeddings": 48}
        | {"id2label": {0: "sad", 1: "glad"}},
        word_piece,
    ),
    "answers": (hf.BertForQuestionAnswering, SHAPE | {"vocab_size": 120}, word_piece),
    "names": (
        hf.LlamaForTokenClassification,
        GROUPED | {"vocab_size": 400, "id2label": {0: "other", 1: "name", 2: "place"}},
        pieces,
    ),
    "roberta": (
        hf.RobertaForMaskedLM,
        SHAPE | {"vocab_size": 330, "max_position_embeddings": 50},
        lambda: with_a_mask(byte_level("<s> $A </s>", ("<s>", "</s>"))),
    ),
    "albert": (hf.AlbertForMaskedLM, SHAPE | {"vocab_size": 120, "embedding_size": 10}, word_piece),
    "mpnet": (
        hf.MPNetForMaskedLM,
        SHAPE | {"vocab_size": 330, "max_position_embeddings": 50},
        lambda: with_a_mask(byte_level("<s> $A </s>", ("<s>", "</s>"))),
    ),
    "deberta": (
        hf.DebertaV2ForMaskedLM,
        SHAPE
        | {"vocab_size": 80, "relative_attention": True, "pos_att_type": "p2c|c2p", "position_biased_input": False}
        | {"position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True},
        lambda: with_a_mask(unigram()),
    ),
    "modernbert": (
        hf.ModernBertForMaskedLM,
        SHAPE
        | {"vocab_size": 330, "hidden_size": 48, "num_hidden_layers": 4, "local_attention": 6}
        | {f"{name}_token_id": i for i, name in enumerate(("bos", "eos", "pad", "cls", "sep"))},
        lambda: with_a_mask(byte_level("<s> $A </s>", ("<s>", "</s>"))),
    ),
    "t5": (
        hf.T5ForConditionalGeneration,
        {"vocab_size": 80, "d_model": 24, "d_kv": 10, "d_ff": 40, "num_layers": 2, "num_heads": 4},
        unigram,
    ),
    "umt5": (
        hf.UMT5ForConditionalGeneration,
        {"vocab_size": 80, "d_model": 24, "d_kv": 10, "d_ff": 40, "num_layers": 2, "num_heads": 4},
        unigram,
    ),
    "m2m100": (
        hf.M2M100ForConditionalGeneration,
        {"vocab_size": 330, "d_model": 24, "max_position_embeddings": 48, "decoder_start_token_id": 1}
        | {f"{stack}_{name}": n for stack in ("encoder", "decoder") for name, n in STACK.items()}
        | {"eos_token_id": 1, "pad_token_id": 2},
        lambda: byte_level("<s> $A </s>", ("<s>", "</s>")),
    ),
    "bart": (
        hf.BartForConditionalGeneration,
        {"vocab_size": 330, "d_model": 24, "max_position_embeddings": 48, "forced_bos_token_id": 0}
        | {f"{stack}_{name}": n for stack in ("encoder", "decoder") for name, n in STACK.items()}
        | {"eos_token_id": 1, "forced_eos_token_id": 1, "decoder_start_token_id": 1, "pad_token_id": 2},
        lambda: byte_level("<s> $A </s>", ("<s>", "</s>")),
    ),
    "agreement": (
        hf.BartForSequenceClassification,
        {"vocab_size": 330, "d_model": 24, "max_position_embeddings": 48}
        | {f"{stack}_{name}": n for stack in ("encoder", "decoder") for name, n in STACK.items()}
        | {"eos_token_id": 1, "decoder_start_token_id": 1, "pad_token_id": 2}
        | {"id2label": {0: "contradiction", 1: "neutral", 2: "entailment"}},
        lambda: byte_level("<s> $A </s>", ("<s>", "</s>")),
    ),
    "marian": (
        hf.MarianMTModel,
        {"vocab_size": 80, "d_model": 24, "max_position_embeddings": 48, "scale_embedding": True}
        | {f"{stack}_{name}": n for stack in ("encoder", "decoder") for name, n in STACK.items()}
        | {"eos_token_id": 1, "forced_eos_token_id": 1, "decoder_start_token_id": 0, "pad_token_id": 0}
        | {"bad_words_ids": [[0]], "activation_function": "swish"},
        unigram,
    ),
    "headless": (hf.LlamaModel, GROUPED | {"vocab_size": 320}, byte_level),
}

DELTA = {"linear_key_head_dim": 6, "linear_value_head_dim": 10, "linear_num_key_heads": 2, "linear_num_value_heads": 4}
# Hybrids besides LFM2: by the names of their classes, as their code in `transformers` takes a while to be imported.
HYBRIDS = {
    "mamba2": (
        "Mamba2ForCausalLM",
        {"hidden_size": 24, "num_hidden_layers": 3, "num_heads": 6, "head_dim": 8, "n_groups": 3, "state_size": 10}
        | {"vocab_size": 330, "chunk_size": 4, "pad_token_id": 0},
        byte_level,
    ),
    "qwen3 next": (
        "Qwen3NextForCausalLM",
        GROUPED
        | DELTA
        | {"vocab_size": 330, "num_hidden_layers": 4, "head_dim": 8, "shared_expert_intermediate_size": 24}
        | {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "pad_token_id": 0},
        byte_level,
    ),
    "granite 4": (
        "GraniteMoeHybridForCausalLM",
        GROUPED
        | {"vocab_size": 330, "num_hidden_layers": 3, "head_dim": 4, "shared_intermediate_size": 80}
        | {"layer_types": ["linear_attention", "full_attention", "linear_attention"], "num_local_experts": 5}
        | {"mamba_n_heads": 4, "mamba_d_state": 6, "mamba_chunk_size": 4, "residual_multiplier": 0.6},
        byte_level,
    ),
    "qwen3.5": (
        "Qwen3_5ForCausalLM",
        GROUPED | DELTA | {"vocab_size": 330, "num_hidden_layers": 4, "head_dim": 8},
        byte_level,
    ),
    "falcon-h1": (
        "FalconH1ForCausalLM",
        SHAPE
        | {"vocab_size": 330, "num_key_value_heads": 2, "mamba_d_ssm": 40, "mamba_n_heads": 4, "mamba_n_groups": 2}
        | {"mamba_d_state": 6, "mamba_chunk_size": 4, "mamba_d_head": "auto", "pad_token_id": 0},
        byte_level,
    ),
    "nemotron-h": (
        "NemotronHForCausalLM",
        {name: n for name, n in GROUPED.items() if name != "num_hidden_layers"}
        | {"vocab_size": 330, "head_dim": 10, "mamba_num_heads": 6, "mamba_head_dim": 5, "n_groups": 3}
        | {"ssm_state_size": 7, "chunk_size": 4}
        | {"layers_block_type": ["linear_attention", "mlp", "full_attention", "linear_attention", "mlp"]},
        byte_level,
    ),
}


def write(root: Path, *names: str) -> None:
    """The folders of these families below root; without names of all but the HYBRIDS."""
    for name in names or FAMILIES:
        kind, settings, tokenizer = FAMILIES[name] if name in FAMILIES else HYBRIDS[name]
        written(getattr(hf, kind) if isinstance(kind, str) else kind, settings, root / name)
        tokenizer().save(str(root / name / "tokenizer.json"))
