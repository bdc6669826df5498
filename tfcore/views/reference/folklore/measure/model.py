"""Claims about how large models are, what they cost, and how they learn, recomputed."""

import math
from dataclasses import replace

import torch

from tfcore import presets
from tfcore.config import ModelConfig
from tfcore.measures.deep_networks import Deep, probe
from tfcore.measures.flop_count import Pairs, flops
from tfcore.measures.information import entropy_bits
from tfcore.measures.memory_use import memory
from tfcore.measures.parameter_count import parameters
from tfcore.views.model.parameters.measure import published_sizes
from tfcore.views.reference.folklore.measure.claim import Checked, Claim, compare
from tfcore.views.training.scaling.measure.compute_budget import splits

COUNTED = ("no embeddings, all pairs", "no embeddings, causal", "all parameters, all pairs", "all parameters, causal")
BUDGETS = {"10¹⁹ FLOPs": 1e19, "10²¹": 1e21, "Chinchilla's 5.76 · 10²³": 5.76e23}


def count(config: ModelConfig, quoted: float, rounding: float) -> Checked:
    """A model's parameters against a quoted number, true if they round to it, roughly true up to 3 %."""
    total = parameters(config).total
    return compare(quoted, {"parameters": total}, f"{total:,}", exact=rounding / quoted, rough=0.03)


def gpt2_small() -> Checked:
    """GPT-2 small, positions and tied table included."""
    return count(presets.gpt2_small(), 117e6, 0.5e6)


def gpt3() -> Checked:
    """GPT-3: 96 layers of width 12,288."""
    return count(presets.gpt3_175b(), 175e9, 0.5e9)


def llama3() -> Checked:
    """LLaMA 3 8B."""
    return count(presets.llama3_8b(), 8e9, 0.5e9)


def bert_base() -> Checked:
    """BERT base without heads, and the published checkpoint with both."""
    sizes = published_sizes(presets.bert_base())
    if sizes is None:
        raise RuntimeError("BERT base is a masked language model")
    cases = {"without heads": sizes.base, "with both heads": sizes.checkpoint}
    words = ", ".join(f"{count:,} ({name})" for name, count in cases.items())
    return compare(110e6, cases, words, exact=0.5 / 110, rough=0.03)


def transformer_big() -> Checked:
    """The big Transformer of 2017."""
    return count(presets.transformer_big(), 213e6, 0.5e6)


def mixtral_total() -> Checked:
    """Mixtral: eight experts a layer, one attention, one table."""
    return count(presets.mixtral_8x7b(), 56e9, 0.5e9)


def mixtral_active() -> Checked:
    """The parameters of Mixtral that one token uses: two experts of eight."""
    active = parameters(presets.mixtral_8x7b()).active
    return compare(14e9, {"active": active}, f"{active:,}", exact=0.5 / 14, rough=0.03)


def twelve_n_d_squared() -> Checked:
    """Parameters of all blocks over 12 N d^2."""
    shapes = {
        "GPT-2 small": presets.gpt2_small,
        "GPT-3": presets.gpt3_175b,
        "BERT base": presets.bert_base,
        "LLaMA 2 7B": presets.llama2_7b,
        "LLaMA 3 8B": presets.llama3_8b,
        "Gemma 7B": presets.gemma_7b,
    }
    cases = {}
    for name, build in shapes.items():
        config = build()
        blocks = sum(sum(parts.values()) for parts in parameters(config).by_layer.values())
        cases[name] = blocks / (12 * config.n_layers * config.d_model**2)
    return compare(1, cases, ", ".join(f"{value:.2f} ({name})" for name, value in cases.items()))


def sixteen_bytes() -> Checked:
    """Bytes per parameter of weights, gradients and AdamW's state: 2 + 2 + 8 + 4 in 16 bits, 4 + 4 + 8 in 32."""
    config = presets.gpt2_small()
    cases = {}
    for dtype in ("bfloat16", "float32"):
        use = memory(config, batch=1, seq=1, dtype=dtype)
        cases[dtype] = (use.weights + use.gradients + use.optimizer) / parameters(config).total
    return compare(16, cases, ", ".join(f"{value:.1f} bytes ({name})" for name, value in cases.items()))


def six_n() -> Checked:
    """Operations of training per token over 6 N: exact matrix products, attention and unembedding included.

    N without embeddings (arXiv:2001.08361) or with all parameters (arXiv:2203.15556), and attention over all (query,
    key) pairs or over those that a causal mask lets through.
    """
    shapes = {"GPT-2 small": presets.gpt2_small, "LLaMA 3 8B": presets.llama3_8b, "GPT-3": presets.gpt3_175b}
    cases, words = {}, []
    for name, build in shapes.items():
        config = build()
        ways: tuple[Pairs, ...] = ("all", "visible")
        counts = {pairs: flops(config, config.max_seq_len, pairs=pairs) for pairs in ways}
        ratios = [
            counts[pairs].training / n for n in (counts["all"].six_n, 6 * parameters(config).active) for pairs in ways
        ]
        for case, ratio in zip(COUNTED, ratios, strict=True):
            cases[f"{name}, {case}"] = ratio
        words.append(f"{' / '.join(f'{ratio:.2f}' for ratio in ratios)} ({name}, {config.max_seq_len:,} tokens)")
    return compare(1, cases, ", ".join(words))


def twenty_tokens() -> Checked:
    """D / N of each rule of arXiv:2203.15556 and of the refit of arXiv:2404.10102, at three budgets C = 6 N D."""
    rules = [rule for rule in splits(list(BUDGETS.values())) if rule.name.startswith("Chinchilla")]
    cases = {
        f"{rule.name}, {name}": float(ratio) for rule in rules for name, ratio in zip(BUDGETS, rule.ratio, strict=True)
    }
    words = (f"{rule.ratio.min():.0f} to {rule.ratio.max():.0f} ({rule.name.partition(', ')[2]})" for rule in rules)
    return compare(20, cases, ", ".join(words))


def fair_coin() -> Checked:
    """Entropy of a fair coin."""
    bits = float(entropy_bits(torch.tensor([0.5, 0.5], dtype=torch.float64)))
    return compare(1, {"entropy": bits}, f"{bits:.3f} bits")


def loaded_coin() -> Checked:
    """Entropy of a coin that falls on one side nine times of ten."""
    bits = float(entropy_bits(torch.tensor([0.9, 0.1], dtype=torch.float64)))
    return compare(0.469, {"entropy": bits}, f"{bits:.3f} bits")


def loss_in_bits() -> Checked:
    """Cross-entropy of the right token at p = 0.9 and p = 0.01, in bits: -log2 p."""
    cases, words = {}, []
    for p, quoted in ((0.9, 0.152), (0.01, 6.64)):
        logits = torch.tensor([[p, 1 - p]], dtype=torch.float64).log()
        bits = float(torch.nn.functional.cross_entropy(logits, torch.tensor([0]))) / math.log(2)
        cases[f"p = {p:g}"] = bits / quoted
        words.append(f"{bits:.3f} bits (p = {p:g})")
    return compare(1, cases, ", ".join(words))


def loss_at_first() -> Checked:
    """Loss of a network before its first step over ln V, for three ways to draw its weights."""
    cases, small = {}, Deep(n_layers=6, init="gpt2")
    for name, deep in (
        ("std 0.02", small),
        ("Xavier", replace(small, init="xavier")),
        ("std 1", replace(small, init="normal", init_std=1.0)),
    ):
        cases[name] = probe(deep).loss / math.log(deep.vocab_size)
    return compare(1, cases, ", ".join(f"{value:.2f} ln V ({name})" for name, value in cases.items()))


CLAIMS = (
    Claim(
        key="gpt2",
        name="GPT-2 small: 117 M",
        compute=gpt2_small,
        chapter="Model",
        said="GPT-2 small has 117 M parameters",
        where="GPT-2 report (2019), table 2",
        why="The weights hold 124.4 M; the authors' repository says that the report was wrong.",
        see="parameters?model=gpt2_small",
    ),
    Claim(
        key="gpt3",
        name="GPT-3: 175 B",
        compute=gpt3,
        chapter="Model",
        said="GPT-3 has 175 B parameters",
        where="arXiv:2005.14165, table 2.1",
        why="174.6 B, rounded: 12 N d² for the blocks, the vocabulary and the positions.",
        see="parameters?model=gpt3_175b",
    ),
    Claim(
        key="llama3",
        name="LLaMA 3 8B",
        compute=llama3,
        chapter="Model",
        said="LLaMA 3 8B has 8 B parameters",
        where="its name; arXiv:2407.21783, table 3",
        why="8.03 B: more than LLaMA 2 7B through a vocabulary four times as large and wider layers.",
        see="parameters?model=llama3_8b&versus=llama2_7b",
    ),
    Claim(
        key="bert",
        name="BERT base: 110 M",
        compute=bert_base,
        chapter="Model",
        said="BERT base has 110 M parameters",
        where="arXiv:1810.04805, section 3",
        why="The published checkpoint has two heads, for masked tokens and next sentences; without them it is 109.5 M.",
        see="parameters?model=bert_base",
    ),
    Claim(
        key="big",
        name="Transformer big: 213 M",
        compute=transformer_big,
        chapter="Model",
        said="The big Transformer of 2017 has 213 M parameters",
        where="arXiv:1706.03762, table 3",
        why="It depends on the vocabulary: about 37,000 tokens, in one table that is tied.",
        see="parameters?model=transformer_big",
    ),
    Claim(
        key="mixtral",
        name="8x7B = 56 B",
        compute=mixtral_total,
        chapter="Model",
        said="Mixtral 8x7B has 8 × 7 = 56 B parameters",
        where="read out of its name (arXiv:2401.04088)",
        why="Only the feed-forward layers are there eight times; attention and embeddings are shared.",
        see="parameters?model=mixtral_8x7b",
    ),
    Claim(
        key="active",
        name="two experts: 14 B",
        compute=mixtral_active,
        chapter="Model",
        said="Mixtral uses two experts of 7 B, so 14 B parameters, for a token",
        where="read out of its name (arXiv:2401.04088)",
        why="12.9 B: the shared parts count once, not twice.",
        see="parameters?model=mixtral_8x7b",
    ),
    Claim(
        key="twelve",
        name="12 N d²",
        compute=twelve_n_d_squared,
        chapter="Model",
        said="A Transformer's blocks have 12 N d² parameters",
        where="arXiv:2001.08361, table 1",
        why="4 d² of attention and 8 d² of feed-forward: right for four matrices of d² and d_ff = 4 d, not beyond.",
        see="parameters?model=gemma_7b",
    ),
    Claim(
        key="adam",
        name="Adam: 16 bytes",
        compute=sixteen_bytes,
        chapter="Training",
        said="AdamW needs 16 bytes per parameter in mixed precision",
        where="arXiv:1910.02054, section 3.1",
        why="2 weight, 2 gradient, 8 moments, 4 float32 copy. As much as in float32: only activations become smaller.",
        see="parameters?model=gpt2_small&dtype=bfloat16",
    ),
    Claim(
        key="six_nd",
        name="6 N D",
        compute=six_n,
        chapter="Training",
        said="Training costs 6 N D operations",
        where="arXiv:2001.08361, section 2.1",
        why="2 per weight in the forward pass, 4 in the backward pass. It leaves out attention's products; which N and "
        "which pairs are counted decides how far GPT-2 small is off. Ratios: N without embeddings, then all; each "
        "with all pairs, then causal.",
        see="parameters?model=gpt2_small",
    ),
    Claim(
        key="twenty",
        name="20 tokens per parameter",
        compute=twenty_tokens,
        chapter="Training",
        said="By Chinchilla's law, 20 tokens per parameter are compute-optimal",
        where="arXiv:2203.15556, table 3",
        why="Its approaches 1 and 2 and the refit of the third say so within a third; the constants of the third as "
        "printed do not, and ever less for larger budgets (arXiv:2404.10102 finds why).",
        see="scaling?law=printed",
    ),
    Claim(
        key="coin",
        name="a fair coin: 1 bit",
        compute=fair_coin,
        chapter="Training",
        said="A fair coin has an entropy of 1 bit",
        where="Shannon 1948, section 6",
        why="−2 · ½ log₂ ½: one yes-or-no question settles it.",
        see="information?n=2&p2=1_1&q2=1_1",
    ),
    Claim(
        key="loaded",
        name="a 9 : 1 coin: 0.469 bits",
        compute=loaded_coin,
        chapter="Training",
        said="A coin that falls 9 : 1 has an entropy of 0.469 bits",
        where="Shannon 1948, section 6, figure 7",
        why="Mostly it falls as expected, so its outcome carries less information.",
        see="information?n=2&p2=9_1&q2=1_1",
    ),
    Claim(
        key="bits",
        name="loss in bits",
        compute=loss_in_bits,
        chapter="Training",
        said="The right token at p = 0.9 costs 0.152 bits, at 0.01 6.64 bits",
        where="cross-entropy, −log₂ p",
        why="Each halving of the probability costs one bit more.",
        see="information?show=token&right=0.01",
    ),
    Claim(
        key="first",
        name="the first loss is ln V",
        compute=loss_at_first,
        chapter="Training",
        said="Before training, the loss is ln V",
        where="a check before every training",
        why="Only if the first logits are all near 0, so with small weights; large ones make confident wrong "
        "predictions.",
        see="normalisation?part=First+steps",
    ),
)
