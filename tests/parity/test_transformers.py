"""Whole models against `transformers`: tiny random ones with the same weights give the same logits and patterns."""

import pytest
import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from benchmarks.gpt2_shape import peer
from tests.small import ALL_PATTERNS, config, difference, ids
from tfcore.model import Transformer

TOLERANCE = 1e-4


def scrambled(model):
    """Every weight random and large enough that attention is far from uniform."""
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.eval().requires_grad_(False)


def assert_same(ours, theirs, tokens):
    output, expected = ours(tokens, capture=ALL_PATTERNS), theirs(tokens, output_attentions=True)
    assert difference(output.logits, expected.logits) < TOLERANCE
    assert difference(ours(tokens).logits, expected.logits) < TOLERANCE
    assert len(expected.attentions) == ours.config.n_layers
    for i, pattern in enumerate(expected.attentions):
        assert difference(output.activations[f"blocks.{i}.attn.pattern"], pattern) < TOLERANCE


@pytest.mark.parametrize("tie", [True, False])
def test_gpt2(tie):
    shape = config(
        positions="learned", norm="layernorm", activation="gelu_tanh", bias=True, tie_embeddings=True, d_ff=40
    )
    ours = scrambled(Transformer(shape))
    theirs = peer(ours)
    if not tie:  # the unembedding apart, with the same numbers
        state = ours.state_dict() | {"unembed.weight": ours.embed.weight}
        ours = Transformer(config(**(shape.to_dict() | {"tie_embeddings": False}))).eval()
        ours.load_state_dict(state)
    assert_same(ours.requires_grad_(False), theirs, ids(2, 20))


def from_llama(theirs, tie):
    """LLaMA's state under our names; its three projections side by side, its gate before its up."""
    state = theirs.state_dict()
    ours = {"embed.weight": state["model.embed_tokens.weight"], "ln_final.weight": state["model.norm.weight"]}
    if not tie:
        ours["unembed.weight"] = state["lm_head.weight"]
    for i in range(theirs.config.num_hidden_layers):
        layer = f"model.layers.{i}."
        ours[f"blocks.{i}.attn.qkv.weight"] = torch.cat([state[f"{layer}self_attn.{n}_proj.weight"] for n in "qkv"])
        ours[f"blocks.{i}.mlp.up.weight"] = torch.cat([state[f"{layer}mlp.{n}_proj.weight"] for n in ("gate", "up")])
        for name, other in (
            ("ln1", "input_layernorm"),
            ("ln2", "post_attention_layernorm"),
            ("attn.out", "self_attn.o_proj"),
            ("mlp.down", "mlp.down_proj"),
        ):
            ours[f"blocks.{i}.{name}.weight"] = state[f"{layer}{other}.weight"]
    return ours


SHAPE = {
    "vocab_size": 61,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 3,
    "head_dim": 10,  # not hidden_size / heads
    "max_position_embeddings": 32,
    "rms_norm_eps": 1e-5,
    "attn_implementation": "eager",
    "use_cache": False,
}
OURS = {"n_kv_heads": 3, "d_head": 10, "d_ff": 40, "norm_eps": 1e-5}


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("base", [10_000.0, 500.0])
def test_llama_with_grouped_queries_and_wide_heads(tie, base):
    rope = {"rope_type": "default", "rope_theta": base}
    theirs = LlamaForCausalLM(LlamaConfig(**SHAPE, tie_word_embeddings=tie, rope_parameters=rope))
    scrambled(theirs)
    ours = Transformer(config(**OURS, tie_embeddings=tie, rope_base=base)).eval().requires_grad_(False)
    ours.load_state_dict(from_llama(theirs, tie))
    assert_same(ours, theirs, ids(2, 20))


def test_mistral_with_a_sliding_window():
    theirs = scrambled(MistralForCausalLM(MistralConfig(**SHAPE, sliding_window=5, tie_word_embeddings=False)))
    ours = Transformer(config(**OURS, window=5, tie_embeddings=False)).eval().requires_grad_(False)
    ours.load_state_dict(from_llama(theirs, tie=False))
    assert_same(ours, theirs, ids(2, 20))
