"""Claims that mix up units, models, lengths or papers, recomputed."""

from tfcore import presets
from tfcore.measures.kv_bytes import cache_bytes, cache_shape
from tfcore.measures.parameter_count import parameters
from tfcore.views.reference.folklore.measure.claim import Checked, Claim, compare

TRANSFORMER = "1706.03762"
ADAMW = "1711.05101"
BATCHES = {"1 × 2,048": (1, 2_048), "16 × 2,048": (16, 2_048), "64 × 4,096": (64, 4_096)}
FASTER = (1.5, 2.0)  # times, as it is said


def llama3_at_128k() -> Checked:
    """The cache of LLaMA 3 70B in float16 at 131,072 tokens."""
    shape = cache_shape(presets.llama3_70b())
    size, token = cache_bytes(shape, 131_072), cache_bytes(shape, 1)
    each = f"{token / 1e3:.0f}"
    words = f"{size / 1e9:.1f} GB; {each} kB for one token, {each} GB for a million"
    return compare(328, {"131,072 tokens": size / 1e9}, words)


def llama2_70b_cache() -> Checked:
    """The cache of LLaMA 2 70B in float16, as long as its context is and as long as it takes to be 10.5 GB."""
    shape = cache_shape(presets.llama2_70b())
    sizes = {f"{tokens:,} tokens": cache_bytes(shape, tokens) / 1e9 for tokens in (4_096, 32_000, 32_768)}
    words = ", ".join(f"{size:.2f} GB ({tokens})" for tokens, size in sizes.items())
    return compare(10.5, sizes, words)


def bytes_in_gb() -> Checked:
    """9.66e9 bytes in GB of 10^9 and in GiB of 2^30; a change of unit is exact but for its last digit."""
    size = 9.66e9
    words = f"{size / 1e9:.2f} GB, or {size / 2**30:.2f} GiB; 9.4 is divided by 1,024 once and by 1,000 twice"
    return compare(9.4, {"GB": size / 1e9, "GiB": size / 2**30}, words, exact=0.005, rough=0.005)


def gqa_is_faster() -> Checked:
    """How many times fewer bytes one step of LLaMA 2 70B reads with 8 KV heads than with 64: weights, and the cache.

    Where reading them takes the time, that is how many times faster it is.
    """
    grouped = presets.llama2_70b()
    own = grouped.changed(n_kv_heads=None)
    cases, words = {}, []
    for name, (batch, tokens) in BATCHES.items():
        read = [2 * parameters(one).total + cache_bytes(cache_shape(one), tokens, batch) for one in (own, grouped)]
        times = read[0] / read[1]
        words.append(f"× {times:.2f} ({name})")
        cases[name] = times / min(max(times, FASTER[0]), FASTER[1])  # 1 from the least to the most that is said
    return compare(1, cases, ", ".join(words))


def adamw_of_2017() -> Checked:
    """The months of 2017 of both papers, as their arXiv ids begin with them."""
    month, other_month = (int(one.removeprefix("17")[:2]) for one in (TRANSFORMER, ADAMW))
    later = other_month - month
    words = f"arXiv:{ADAMW} came {later} months after arXiv:{TRANSFORMER}, whose section 5.3 says Adam with β₂ = 0.98"
    return compare(1, {"month of AdamW / of the Transformer": other_month / month}, words)


def two_models_of_2017() -> Checked:
    """The parameters of both Transformers of table 3, beside the 65 M that are quoted with the big one's BLEU."""
    base, big = (parameters(one()).total for one in (presets.transformer_base, presets.transformer_big))
    words = f"base {base / 1e6:.0f} M with 27.3 BLEU; big {big / 1e6:.0f} M with 28.4 (arXiv:{TRANSFORMER}, table 2)"
    return compare(65e6, {"the model with 28.4 BLEU": big}, words)


CLAIMS = (
    Claim(
        key="cache328",
        name="LLaMA 3 70B: 328 GB of cache",
        compute=llama3_at_128k,
        chapter="Inference",
        said="LLaMA 3 70B needs 328 GB of KV cache at 128 k tokens",
        where="blog posts on long context",
        why="328 kB is one token's; 131,072 of them are an eighth of what 64 KV heads would take.",
        see="kv-cache?part=large&of=llama3_70b&tokens=131072",
    ),
    Claim(
        key="cache10",
        name="LLaMA 2 70B: 10.5 GB of cache",
        compute=llama2_70b_cache,
        chapter="Inference",
        said="LLaMA 2 70B has a KV cache of 10.5 GB",
        where="sizing of servers for large models",
        why="At 32,000 tokens; its own context is 4,096, an eighth of that. A cache has a length, or no size.",
        see="kv-cache?part=large&of=llama2_70b&tokens=4096",
    ),
    Claim(
        key="gb94",
        name="9.66e9 bytes: 9.4 GB",
        compute=bytes_in_gb,
        chapter="Inference",
        said="9.66 · 10⁹ bytes are 9.4 GB",
        where="wherever units are mixed",
        why="Either 9.66 GB of 10⁹ bytes or 9.00 GiB of 2³⁰; 9.4 is neither.",
        see="kv-cache?part=large&unit=binary",
    ),
    Claim(
        key="gqa",
        name="GQA: 1.5 to 2 times faster",
        compute=gqa_is_faster,
        chapter="Inference",
        said="Grouped-query attention makes generation 1.5 to 2 times faster",
        where="summaries of arXiv:2305.13245",
        why="One short text reads weights almost alone; many long ones read mostly cache, and that is an eighth.",
        see="kv-cache?part=fit",
    ),
    Claim(
        key="adamw",
        name="AdamW in June 2017",
        compute=adamw_of_2017,
        chapter="Training",
        said="The Transformer of 2017 was trained with AdamW",
        where="courses and slides",
        why="Its paper is of June 2017 and uses Adam; decoupled weight decay was put forward in November.",
        see="history?words=AdamW",
    ),
    Claim(
        key="bleu",
        name="65 M parameters, 28.4 BLEU",
        compute=two_models_of_2017,
        chapter="Model",
        said="The Transformer reached 28.4 BLEU with 65 M parameters",
        where="arXiv:1706.03762, tables 2 and 3, read as one",
        why="The 65 M are the base model's, which has 27.3 BLEU; 28.4 are the big one's.",
        see="parameters?model=transformer_big",
    ),
)
