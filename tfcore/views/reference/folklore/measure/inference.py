"""Claims about generation: the KV cache, the cost of length, and how the next token is chosen, recomputed."""

from dataclasses import replace
from typing import Any

import torch

from tfcore import presets
from tfcore.config import ModelConfig
from tfcore.generation.beam import beam_search
from tfcore.generation.sampling import Sampling
from tfcore.measures.flop_count import flops, length_cost, sequence_cost
from tfcore.measures.head_vectors import head_vectors
from tfcore.measures.kv_bytes import CacheShape, cache_bytes, shared
from tfcore.measures.mask_patterns import MaskConfig
from tfcore.measures.one_text import next_logits
from tfcore.model import Transformer
from tfcore.views.inference.kv_cache.measure.generation import both_ways
from tfcore.views.inference.long_context.measure.flash import Tiling, follow
from tfcore.views.inference.long_context.measure.patterns import reach
from tfcore.views.reference.folklore.measure.claim import Checked, Claim, compare

LARGE = CacheShape(layers=80, heads=64, kv_heads=64, d_head=128)
TOKENS = 32_768
PROMPTS = (
    "Lily was very happy. She went to the park and saw a big",
    "Once upon a time there was a little dog",
    "Tom had a red ball. One day",
    "The old man opened the door. Behind it was a",
    "Ben and his mom went to the shop. They",
    "It was raining, so Anna",
)
BEGINNINGS = (
    "Once upon a time there was a little dog",
    "Tom had a red ball. One day",
    "It was raining, so Anna",
    "At night the moon",
)
FEW = 4  # beams
MANY = 16  # beams
LONG = 8  # tokens that the beams write
SAME = 1e-4  # probabilities of one text, computed in batches of another size, differ by less


def cache_of_80_layers() -> Checked:
    """2 * 80 layers * 64 heads * 128 * 32,768 tokens * 2 bytes, in GB of 10^9 bytes."""
    size = cache_bytes(LARGE, TOKENS)
    return compare(85.9, {"64 heads": size / 1e9}, f"{size:,} bytes = {size / 1e9:.1f} GB")


def cache_of_8_heads() -> Checked:
    """The cache of 80 layers with 8 heads of keys and values, and how many times smaller that is."""
    size = cache_bytes(shared(LARGE, "gqa"), TOKENS)
    times = cache_bytes(LARGE, TOKENS) / size
    return compare(1, {"GB": size / 1e9 / 10.7, "times": times / 8}, f"{size / 1e9:.1f} GB, {times:g} times smaller")


def gb_is_gib() -> Checked:
    """The bytes of that cache in GB (10^9) over the same in GiB (2^30)."""
    size = cache_bytes(LARGE, TOKENS)
    words = f"{size / 1e9:.1f} GB = {size / 2**30:.1f} GiB"
    return compare(1, {"GB over GiB": (size / 1e9) / (size / 2**30)}, words, rough=0.03)


def scores_of_4096() -> Checked:
    """n^2 at n = 4,096."""
    pairs = sequence_cost((4_096,)).cells.item()
    return compare(16.8e6, {"scores": pairs}, f"{pairs:,}")


def quadratic() -> Checked:
    """How many times the operations of a forward pass grow when the text becomes twice as long, for GPT-2 small."""
    cases = {}
    for n in (512, 4_096, 65_536):
        cost = length_cost(presets.gpt2_small(), (n, 2 * n))
        total = cost.linear + cost.squared
        cases[f"{n:,} tokens"] = float(total[1] / total[0])
    return compare(4, cases, ", ".join(f"× {value:.2f} ({name})" for name, value in cases.items()))


def six_d() -> Checked:
    """The length at which attention's products reach half of all operations, over 6 d."""
    cases, words = {}, []
    builds = {"GPT-2 small": presets.gpt2_small, "GPT-3": presets.gpt3_175b, "LLaMA 3 8B": presets.llama3_8b}
    for name, build in builds.items():
        config = build()
        crossing = length_cost(config, (1024,)).crossing
        cases[name] = crossing / (6 * config.d_model)
        words.append(f"{crossing:,.0f} tokens ({name})")
    return compare(1, cases, ", ".join(words))


def linear_with_cache() -> Checked:
    """How many times the whole work of writing grows for twice the text, with a cache: all steps cost one pass."""
    cases = {}
    for n in (512, 4_096, 65_536):
        work = [flops(_longer(presets.gpt2_small(), 2 * n), length, pairs="visible").sequence for length in (n, 2 * n)]
        cases[f"{n:,} tokens"] = work[1] / work[0]
    return compare(2, cases, ", ".join(f"× {value:.2f} ({name})" for name, value in cases.items()))


def _longer(config: ModelConfig, length: int) -> ModelConfig:
    return replace(config, max_seq_len=length)


def cache_changes_nothing(model: Transformer, tokenizer: Any) -> Checked:
    """Largest difference of a score with the cache and without, over eight steps, and whether the best token agrees."""
    steps = list(both_ways(model, tokenizer.encode(PROMPTS[0]), 8))
    largest = max(step.difference for step in steps)
    agreed = sum(step.same for step in steps) / len(steps)
    words = f"scores differ by {largest:.0e}; the best token is the same in {agreed:.0%} of the steps"
    return compare(1, {"same best token": agreed, "scores": 1 + largest}, words)


def window_reaches(tokens: int = 64, layers: int = 8) -> Checked:
    """How far back information comes through stacked windows: the farthest token that reaches the last one."""
    reached = reach(MaskConfig(kind="window", window=tokens), tokens * layers + 1, layers)
    back = int(reached.back[-1])
    words = f"{back} tokens for a window of {tokens} and {layers} layers, {layers} × {tokens - 1}"
    return compare(tokens * layers, {f"{tokens} × {layers}": back}, words)


def flash_is_exact(model: Transformer, tokenizer: Any) -> Checked:
    """Largest difference of one head's output, tile by tile and by standard attention, over its largest number."""
    ids = tokenizer.encode(" ".join(PROMPTS[:3]))
    vectors = head_vectors(model, ids, 1, 0)
    n, d_head = vectors.q.shape
    run = follow(vectors, Tiling(n=n, d_head=d_head, sram=16 * d_head), n - 1)
    off = run.difference / float(vectors.v.abs().max())
    return compare(1, {"float32": 1 + off}, f"{run.difference:.0e} in float32, {run.exact:.0e} in float64")


@torch.no_grad()
def scores_after(model: Transformer, tokenizer: Any, prompt: str) -> torch.Tensor:
    """The scores of the next token."""
    return next_logits(model, tokenizer.encode(prompt)).float().cpu()


def zero_is_greedy(model: Transformer, tokenizer: Any) -> Checked:
    """Probability of the likeliest token at temperature 0 and at small ones, on average over some prompts."""
    scores = torch.stack([scores_after(model, tokenizer, prompt) for prompt in PROMPTS])  # (prompt, vocab)
    cases = {f"T = {t:g}": float(Sampling(temperature=t).distribution(scores).amax(1).mean()) for t in (0.0, 0.05, 0.5)}
    exact = compare(1, {"T = 0": cases["T = 0"]}, "")
    words = ", ".join(f"{value:.1%} ({name})" for name, value in cases.items())
    return Checked(words, exact.verdict, exact.ratios)


def top_p_keeps(model: Transformer, tokenizer: Any) -> Checked:
    """Probability that top-p = 0.9 leaves, before it is scaled up again, for each prompt."""
    cases = {}
    for prompt in PROMPTS:
        scores = scores_after(model, tokenizer, prompt)
        kept = Sampling(top_p=0.9).distribution(scores) > 0
        cases[f"… {' '.join(prompt.split()[-2:])}"] = float(scores.softmax(-1)[kept].sum())
    words = f"{min(cases.values()):.1%} to {max(cases.values()):.1%}, over {len(PROMPTS)} prompts"
    return compare(0.9, cases, words)


def beams_find_the_best(model: Transformer, tokenizer: Any) -> Checked:
    """Probability of the best text of 8 tokens that 4 beams find, over that of the best found by 16."""
    cases = {}
    for prompt in BEGINNINGS:
        ids = tokenizer.encode(prompt)
        few, many = (
            beam_search(model, ids, beams=beams, max_new_tokens=LONG, length_penalty=0.0)[0].score
            for beams in (FEW, MANY)
        )
        cases[f"{' '.join(prompt.split()[:2])} …"] = float(torch.tensor(few - many).exp())
    missed = [ratio for ratio in cases.values() if ratio < 1 - SAME]
    most = 1 / min(cases.values())
    words = f"{FEW} beams missed a text up to {most:.1f} times as likely for {len(missed)} of {len(cases)} beginnings"
    return compare(1, cases, words, exact=SAME, rough=SAME)


CLAIMS = (
    Claim(
        key="kv",
        name="KV cache: 85.9 GB",
        compute=cache_of_80_layers,
        chapter="Inference",
        said="80 layers, 64 heads of 128, 32,768 tokens in fp16: 85.9 GB of cache",
        where="sizing of servers for large models",
        why="2 × layers × heads × width × tokens × bytes, for every user.",
        see="kv-cache?part=large&of=your+own,+by+sliders&layers=80&heads=64&kv_heads=64&d_head=128&tokens=32768",
    ),
    Claim(
        key="kv8",
        name="8 KV heads: 10.7 GB",
        compute=cache_of_8_heads,
        chapter="Inference",
        said="With 8 KV heads that is 10.7 GB, an eighth",
        where="arXiv:2305.13245; LLaMA 2 70B",
        why="Queries are not cached, so only KV heads count.",
        see="kv-cache?part=large&of=llama3_70b&tokens=32768",
    ),
    Claim(
        key="gib",
        name="GB = GiB",
        compute=gb_is_gib,
        chapter="Inference",
        said="85.9 GB of cache, so 85.9 GiB of memory",
        where="wherever units are mixed",
        why="A GiB is 2³⁰ bytes, 7.4 % more than 10⁹: these are exactly 80 GiB.",
        see="kv-cache?part=large&unit=binary",
    ),
    Claim(
        key="scores",
        name="4,096 tokens: 16.8 M scores",
        compute=scores_of_4096,
        chapter="Inference",
        said="A context of 4,096 makes 16.8 M scores per head",
        where="on why long context is expensive",
        why="4,096², in every head of every layer.",
        see="long-context?look=cost&tokens=12",
    ),
    Claim(
        key="quadratic",
        name="twice the length, four times",
        compute=quadratic,
        chapter="Inference",
        said="Attention is quadratic, so twice the length costs four times as much",
        where="arXiv:1706.03762, table 1",
        why="Only QKᵀ and AV are; up to some thousand tokens the products with weights cost more.",
        see="long-context?look=cost&tokens=16",
    ),
    Claim(
        key="six_d",
        name="attention leads from 6 d",
        compute=six_d,
        chapter="Inference",
        said="Attention costs more than everything else from n = 6 d tokens on",
        where="24 n d² against 4 n² d",
        why="Right for wide models with MHA and d_ff = 4 d; a large vocabulary or wider layers move it out.",
        see="long-context?look=cost&shape=GPT-3",
    ),
    Claim(
        key="linear",
        name="the cache makes it linear",
        compute=linear_with_cache,
        chapter="Inference",
        said="With a KV cache, generation is linear in the length",
        where="said of every inference engine",
        why="A step no longer computes all tokens again, but it still attends to every earlier one.",
        see="kv-cache?part=with",
    ),
    Claim(
        key="same",
        name="the cache changes nothing",
        compute=cache_changes_nothing,
        chapter="Inference",
        said="The KV cache changes nothing in the result",
        where="said of every inference engine",
        why="Under a causal mask, keys and values of earlier tokens never change. What differs is rounding.",
        see="kv-cache?part=with",
    ),
    Claim(
        key="window",
        name="window × layers",
        compute=window_reaches,
        chapter="Inference",
        said="A window of W tokens in k layers reaches k × W tokens back",
        where="arXiv:2310.06825, section 2",
        why="A window counts the token itself, so each layer adds W − 1; for W = 4,096 that is 0.02 % less.",
        see="long-context?look=patterns&kind=window",
    ),
    Claim(
        key="flash",
        name="flash attention is exact",
        compute=flash_is_exact,
        chapter="Inference",
        said="Flash attention is exact, not an approximation",
        where="arXiv:2205.14135, abstract",
        why="The softmax is rescaled tile by tile, which is algebra; what is left is rounding, of float64 too.",
        see="long-context?look=flash",
    ),
    Claim(
        key="greedy",
        name="temperature 0 is greedy",
        compute=zero_is_greedy,
        chapter="Inference",
        said="Temperature 0 always takes the likeliest token",
        where="documentation of every model",
        why="It is the limit of x / T for T → 0, defined as argmax, since nothing can be divided by 0.",
        see="generation?show=token&temperature=0.0",
    ),
    Claim(
        key="top_p",
        name="top-p 0.9 keeps 90 %",
        compute=top_p_keeps,
        chapter="Inference",
        said="top-p = 0.9 keeps 90 % of the probability",
        where="arXiv:1904.09751, equation 2",
        why="It keeps at least that: the token that crosses the line is kept as a whole.",
        see="generation?show=token&top_p=0.9&top_k=0",
    ),
    Claim(
        key="beams",
        name="beams find the best text",
        compute=beams_find_the_best,
        chapter="Inference",
        said="Beam search finds the most likely text",
        where="said against greedy decoding",
        why="It keeps only a few prefixes; the best text may begin with an unlikely one. More beams find more.",
        see="generation?show=beam&text=At+night+the+moon&beams=4&steps=8",
    ),
)
