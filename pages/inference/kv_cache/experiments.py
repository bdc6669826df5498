"""The experiments of the page on the KV cache."""

from tfcore import load
from tfcore.analysis.inference.kv_cache import CacheShape, Exactness, both_ways, cache_bytes, cache_work, shared
from tfcore.analysis.inference.paged_memory import LATER, NEVER, STRANDED, TOKEN, Traffic, compare
from tfcore.analysis.inference.serving import Service, budget, remedies
from tfcore.analysis.precision import Precision
from tfcore.figures.byte_words import Unit, both
from tfcore.figures.inference.cache_sizes import Size, budget_figure, verdict, ways_figure
from tfcore.figures.inference.cache_steps import steps_figure
from tfcore.figures.inference.paged_memory import shares_figure
from tfcore.figures.theme import Figure


def with_and_without(model_name: str, text: str, room: int, steps: int, seed: int, exactness: Exactness) -> Figure:
    """One text generated with the cache and without, step by step: operations and times."""
    model, tokenizer = load(model_name)
    ids = tokenizer.encode(text)[: model.config.max_seq_len - room]
    work = cache_work(model.config, len(ids), steps, exactness)
    done = list(both_ways(model, ids, steps, seed, exactness))
    print(tokenizer.decode([*ids, *(step.token for step in done)]))
    print(f"operations: {work.with_cache.sum():,} with the cache, {work.without.sum():,} without")
    fast, slow = sum(step.with_cache for step in done), sum(step.without for step in done)
    print(f"time: {fast:.2f} s and {slow:.2f} s; logits differ by {max(step.difference for step in done):.1e} at most")

    return steps_figure(work, done, height=600)


def sizes(shape: CacheShape, tokens: int, batch: int, precision: Precision, unit: Unit) -> Figure:
    """How large the cache is, and what sharing keys and values would make of it."""
    shapes = [shared(shape, way) for way in ("mha", "gqa", "mqa", "mla")]
    if shape not in shapes:
        shapes.append(shape)
    bars = []
    for one in sorted(set(shapes), key=lambda one: -one.numbers):
        kind = "MLA" if one.latent else {one.heads: "MHA", 1: "MQA"}.get(one.kv_heads, "GQA")
        bars.append(Size(kind, kind, cache_bytes(one, tokens, batch, precision), one == shape))
        print(f"{kind}, {one.kv_heads} KV heads: {both(bars[-1].value)}")

    return ways_figure(bars, unit, height=270)


def fits(service: Service, block: int, unit: Unit) -> Figure:
    """Does it fit: weights and the users' caches on a few GPUs, and what each remedy saves."""
    found = {name: budget(changed) for name, changed in remedies(service, block).items()}
    for name, need in found.items():
        print(f"{name}: {verdict(need, unit)}; at most {need.most_users:,} users")

    return budget_figure(found, unit, height=300)


def paging(traffic: Traffic, slots: int, block: int) -> Figure:
    """A trace of requests on contiguous memory and on blocks (arXiv:2309.06180): what is wasted."""
    runs = compare(traffic, slots, block)
    for policy, run in runs.items():
        kept = ", ".join(f"{run.share(state):.1%}" for state in (TOKEN, LATER, NEVER, STRANDED))
        print(f"{policy}: tokens, reserved, internal and external fragmentation: {kept}")
        print(f"    {run.running.max()} requests at once at most, {run.steps} steps")

    return shares_figure(runs, height=310)
