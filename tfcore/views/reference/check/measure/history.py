"""Exercises on figures that are often quoted, from the configs of published models."""

from random import Random

from tfcore import presets
from tfcore.measures.parameter_count import parameters
from tfcore.measures.quantities import round_count
from tfcore.views.reference.check.measure.problem import Problem

QUOTED = {  # preset: (name, millions that are often quoted, and where the count differs by one per cent and more)
    "gpt2_small": ("GPT-2 small", 117),
    "gpt2_medium": ("GPT-2 medium", 345),
    "gpt2_large": ("GPT-2 large", 762),
    "llama_7b": ("LLaMA 7B", 7_000),
    "mistral_7b": ("Mistral 7B", 7_000),
    "mixtral_8x7b": ("Mixtral 8x7B", 56_000),
    "gemma_7b": ("Gemma 7B", 7_000),
}
GROWTH = (
    ("transformer_base", "gpt3_175b"),
    ("gpt2_small", "gpt2_xl"),
    ("gpt2_xl", "gpt3_175b"),
    ("bert_base", "gpt3_175b"),
    ("bert_base", "bert_large"),
    ("gpt2_small", "gpt3_175b"),
    ("llama_7b", "llama3_405b"),
)
SHAPE = {
    "transformer_base": "the first Transformer, base",
    "bert_base": "BERT base",
    "bert_large": "BERT large",
    "gpt2_small": "GPT-2 small",
    "gpt2_xl": "GPT-2 XL",
    "gpt3_175b": "GPT-3",
    "llama_7b": "LLaMA 7B",
    "llama3_405b": "LLaMA 3.1 405B",
}


def quoted_count(rng: Random) -> Problem:
    """The parameters of a model of which a rounder number is quoted."""
    preset = rng.choice(sorted(QUOTED))
    config = presets.PRESETS[preset]()
    name, quoted = QUOTED[preset]
    blocks = parameters(config).total - parameters(config).by_component["token embedding"]
    given = {
        "name": name,
        "quoted": round_count(quoted * 1e6),
        "layers": config.n_layers,
        "d_model": config.d_model,
        "d_ff": config.ff_size,
        "vocab": config.vocab_size,
        "kv": config.attention.kv_heads * config.head_size,
        "d_q": config.attention.n_heads * config.head_size,
        "tied": "shared with" if config.tie_embeddings else "a second table beside",
        "experts": f" {config.experts.n_experts} experts per block." if config.experts else "",
        "matrices": 3 if "glu" in config.feed_forward.activation else 2,
    }
    mistakes = {"quoted": quoted * 1e6, "no embeddings": blocks}
    return Problem(given=given, answer=parameters(config).total, mistakes=mistakes, tolerance=0.01)


def grown(rng: Random) -> Problem:
    """How many times as many parameters a later model has."""
    early, late = rng.choice(GROWTH)
    first, last = (parameters(presets.PRESETS[name]()).total for name in (early, late))
    given = {"early": SHAPE[early], "late": SHAPE[late], "small": first / 1e6, "large": last / 1e6}
    return Problem(
        given=given,
        answer=last / first,
        tolerance=0.03,
        mistakes={"difference": (last - first) / 1e6, "inverse": first / last},
    )
