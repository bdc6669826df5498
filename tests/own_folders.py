"""Folders with a tiny random model of every family and a tokenizer like its own, as `transformers` writes them."""

from pathlib import Path

import transformers as hf

from tests.parity.checkpoints import written
from tests.tokenizers.test_foreign_tokenizers import byte_level, pieces, unigram, word_piece

SHAPE = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "max_position_embeddings": 48,
}
GROUPED = SHAPE | {"num_key_value_heads": 3}
FAMILIES = {
    "gpt2": (
        hf.GPT2LMHeadModel,
        {"vocab_size": 320, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 48},
        byte_level,
    ),
    "llama": (hf.LlamaForCausalLM, GROUPED | {"vocab_size": 400}, pieces),
    "mixtral": (
        hf.MixtralForCausalLM,
        GROUPED | {"vocab_size": 330, "num_local_experts": 3, "num_experts_per_tok": 2, "sliding_window": 9},
        lambda: byte_level("<s> $A", ("<s>",)),
    ),
    "bert": (hf.BertForMaskedLM, SHAPE | {"vocab_size": 120}, word_piece),
    "t5": (
        hf.T5ForConditionalGeneration,
        {"vocab_size": 80, "d_model": 24, "d_kv": 10, "d_ff": 40, "num_layers": 2, "num_heads": 4},
        unigram,
    ),
    "headless": (hf.LlamaModel, GROUPED | {"vocab_size": 320}, byte_level),
}


def write(root: Path, *names: str) -> None:
    """The folders of these families below root, or of all."""
    for name in names or FAMILIES:
        kind, settings, tokenizer = FAMILIES[name]
        written(kind, settings, root / name)
        tokenizer().save(str(root / name / "tokenizer.json"))
