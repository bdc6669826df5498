"""Exercises on what a model is made of and what it weighs."""

from dataclasses import replace
from random import Random

from tfcore.config import ModelConfig
from tfcore.measures.memory_use import memory
from tfcore.measures.parameter_count import parameters
from tfcore.part_configs import AttentionConfig, ExpertsConfig, FeedForwardConfig
from tfcore.presets import PRESETS, gpt2_small
from tfcore.views.reference.check.measure.problem import Problem

SHAPES = ((6, 512, 8), (8, 512, 8), (12, 768, 12), (16, 1024, 16), (24, 1024, 16), (24, 2048, 16), (32, 4096, 32))


def _plain(rng: Random) -> ModelConfig:
    """A decoder in GPT-2's style, of a size drawn."""
    layers, d_model, heads = rng.choice(SHAPES)
    vocab = rng.choice((16_000, 32_000, 50_257))
    return gpt2_small().changed(vocab_size=vocab, n_layers=layers, d_model=d_model, n_heads=heads, d_ff=4 * d_model)


def block_weights(rng: Random) -> Problem:
    """The weights in the blocks of a plain decoder: 12 N d^2 (arXiv:2001.08361, table 1), from the exact count."""
    config = replace(_plain(rng), bias=False)
    parts = parameters(config).by_component
    blocks, square = parts["attention"] + parts["feed-forward"], config.n_layers * config.d_model**2
    mistakes = {
        "attention only": 4 * square,
        "feed-forward only": 8 * square,
        "no output": 11 * square,
        "one block": 12 * config.d_model**2,
        "d for d squared": 12 * config.n_layers * config.d_model,
    }
    return Problem(given={"layers": config.n_layers, "d_model": config.d_model}, answer=blocks, mistakes=mistakes)


def all_weights(rng: Random) -> Problem:
    """A whole decoder with tied embeddings and learned positions, counted from its config."""
    config = _plain(rng)
    count = parameters(config)
    ends = count.by_component["token embedding"]
    mistakes = {
        "embeddings": count.total - ends - count.by_component["positions"],
        "twice": parameters(replace(config, tie_embeddings=False)).total,
        "no feed-forward": count.total - count.by_component["feed-forward"],
    }
    given = {
        "layers": config.n_layers,
        "d_model": config.d_model,
        "vocab": config.vocab_size,
        "context": config.max_seq_len,
    }
    return Problem(given=given, answer=count.total, mistakes=mistakes, tolerance=0.015)


def embedding_weights(rng: Random) -> Problem:
    """The table of tokens, and the unembedding where it is a matrix of its own."""
    config = replace(_plain(rng), tie_embeddings=False)
    parts = parameters(config).by_component
    table, total = parts["token embedding"], parts["token embedding"] + parts["unembedding"]
    return Problem(
        given={"vocab": config.vocab_size, "d_model": config.d_model},
        answer=total,
        mistakes={"one table": table, "squared": config.d_model**2},
    )


def grouped_attention(rng: Random) -> Problem:
    """The weights of an attention layer with shared keys and values: 2 d^2 + 2 d g d_head (arXiv:2305.13245)."""
    heads, groups = rng.choice((16, 32, 64)), rng.choice((2, 4, 8))
    config = ModelConfig(
        vocab_size=1, d_model=128 * heads, attention=AttentionConfig(n_heads=heads, n_kv_heads=groups), n_layers=1
    )

    def count(c: ModelConfig) -> int:
        return parameters(c).by_component["attention"]

    square = config.d_model**2
    mistakes = {
        "multi-head": count(config.changed(n_kv_heads=heads)),
        "keys only": count(config) - square * groups // heads,
        "no output": count(config) - square,
        "one group": count(config.changed(n_kv_heads=1)),
    }
    return Problem(
        given={"d_model": config.d_model, "heads": heads, "groups": groups, "d_head": 128},
        answer=count(config),
        mistakes=mistakes,
    )


def weight_bytes(rng: Random) -> Problem:
    """The bytes of the weights of a published model in 16 bits."""
    name = rng.choice(("llama2_7b", "llama2_13b", "llama2_70b", "llama3_8b", "gpt3_175b", "gpt2_xl", "mistral_7b"))
    config = PRESETS[name]()
    total = parameters(config).total
    answer = memory(config, batch=1, seq=1, dtype="bfloat16").weights
    return Problem(
        given={"billions": total / 1e9},
        answer=answer,
        mistakes={"one byte": total, "four bytes": 4 * total, "bits": 16 * total},
    )


def training_bytes(rng: Random) -> Problem:
    """Weights, gradients and AdamW's state: 16 bytes a parameter (arXiv:1910.02054, section 3.1)."""
    config = _plain(rng)
    use = memory(config, batch=1, seq=1, dtype="bfloat16", optimizer="adamw")
    total = parameters(config).total
    mistakes = {
        "weights only": use.weights,
        "no optimiser": use.weights + use.gradients,
        "no copy": 12 * total,
        "no moments": use.weights + use.gradients + 4 * total,
    }
    return Problem(
        given={"millions": total / 1e6}, answer=use.weights + use.gradients + use.optimizer, mistakes=mistakes
    )


def mixture_active(rng: Random) -> Problem:
    """Parameters that one token uses in a mixture of experts: all but the experts it was not sent to."""
    experts, top_k = rng.choice(((8, 2), (8, 1), (16, 2), (16, 4), (64, 6)))
    config = ModelConfig(
        vocab_size=32_000,
        d_model=1024,
        n_layers=rng.choice((8, 12, 24)),
        attention=AttentionConfig(n_heads=16),
        feed_forward=FeedForwardConfig(d_ff=rng.choice((1024, 2048))),
        experts=ExpertsConfig(n_experts=experts, top_k=top_k),
    )
    count = parameters(config)
    of_experts = count.by_component["experts"]
    rest = count.total - of_experts
    given = {"experts": experts, "top_k": top_k, "in_experts": of_experts / 1e6, "rest": rest / 1e6}
    mistakes = {
        "total": count.total,
        "a share of all": count.total * top_k / experts,
        "only the experts": count.active - rest,
        "one expert": rest + of_experts / experts,
    }
    return Problem(given=given, answer=count.active, mistakes=mistakes)
