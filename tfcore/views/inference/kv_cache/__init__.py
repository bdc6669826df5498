"""The KV cache: what it saves, how large it is, whether it fits, and how its memory is allocated."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from tfcore.kv_cache import KVCache
from tfcore.latent_attention import LatentAttention
from tfcore.measures import kv_bytes
from tfcore.measures.kv_bytes import cache_bytes
from tfcore.measures.one_text import last_tokens
from tfcore.measures.precision import Precision, stored_bytes
from tfcore.measures.quantities import Unit, amount, counted, short
from tfcore.measures.stored import read, tuples
from tfcore.views.inference.kv_cache.draw.memory import crowd_figure, picture_figure, shares_figure
from tfcore.views.inference.kv_cache.draw.sizes import Size, budget_figure, latents_figure, models_figure, ways_figure
from tfcore.views.inference.kv_cache.draw.steps import steps_figure
from tfcore.views.inference.kv_cache.measure import generation, serving
from tfcore.views.inference.kv_cache.measure.generation import BothWays, BothWaysConfig, CacheWork, Exactness
from tfcore.views.inference.kv_cache.measure.paging import (
    LATER,
    NAMES,
    NEVER,
    STRANDED,
    TOKEN,
    Contiguous,
    MemoryRun,
    Paged,
    Policy,
    Server,
    Traffic,
    compare,
    run_trace,
)
from tfcore.views.inference.kv_cache.measure.serving import Budgets, Model, Service
from tfcore.views.inference.kv_cache.say.generation import measured, step_costs
from tfcore.views.inference.kv_cache.say.paging import most_at_once, policy_row, token_shares, waste_shares
from tfcore.views.inference.kv_cache.say.serving import fit
from tfcore.views.inference.kv_cache.say.sizes import cache_range, cache_sizes, latents_kept, product_latex
from tfcore.views.kept import kept
from tfcore.views.sources import Source, opened
from tfcore.views.view import Metric, View, view

FORMULA = (
    r"\begin{aligned}\text{bytes} = 2 &\cdot \text{layers} \cdot \text{KV heads} \cdot d_{head}"
    r"\\ &\cdot \text{tokens} \cdot \text{bytes per value}\end{aligned}"
)
STORED = Path(__file__).with_name("stored.json")
LEAST = 8  # tokens of the context that a prompt leaves to be written
SOLD = "What is sold as 80 GB has nearly 80 GiB: 80 × 2³⁰ = 85.9 × 10⁹ bytes."
STATES = {
    "tokens": TOKEN,
    "reserved": LATER,
    "internal fragmentation": NEVER,
    "external fragmentation": STRANDED,
    "free": 0,
}
OTHER: dict[Unit, Unit] = {"decimal": "binary", "binary": "decimal"}

# What many settings have in common, and every change of another setting asks for again.
work_of = kept(generation.cache_work, entries=32)
budgets_of = kept(serving.budgets, entries=128)
runs_of = kept(compare, entries=24)


@cache
def stored_runs() -> dict[BothWaysConfig, tuple[BothWays, ...]]:
    """Texts written both ways that ship, with the times of the machine that they were made on."""
    return read(STORED, BothWaysConfig, BothWays, tuples)


@view
def with_and_without(
    model: Source,
    text: str,
    steps: int,
    exactness: Exactness = "float32",
    seed: int = 0,
    *,
    so_far: Sequence[BothWays] | None = None,
) -> View:
    """One text generated with the cache and without, step by step: operations and times.

    Args:
        model: a decoder.
        text: the prompt; its end is left out where the context has no room for LEAST tokens more.
        steps: tokens to write; fewer where the context is full.
        exactness: see generation.both_ways.
        seed: of the draws.
        so_far: the steps that are known; None measures all of them here and now.
    """
    network, tokenizer = opened(model)
    ids = last_tokens(network, tokenizer, text, network.config.max_seq_len - LEAST).ids
    steps = min(steps, network.config.max_seq_len - len(ids))
    done = list(generation.both_ways(network, ids, steps, seed, exactness)) if so_far is None else so_far
    work = work_of(network.config, len(ids), steps, exactness)
    timings = measured(work, done)
    fast, slow = timings.seconds
    few, many = (f"{short(count)} operations" for count in (timings.operations_with, timings.operations_without))
    return View(
        key="steps",
        title="With and without a KV cache",
        result=(work, done),
        chart=steps_figure(work, done, height=600),
        min_width=320,
        findings=(step_costs(work, done),),
        note="Pale: steps to come; lines through the times: median of nine. The first step reads the whole prompt "
        "(prefill), with and without the cache.",
        metrics=(
            Metric("With the cache", fast, few),
            Metric(f"Without: {timings.times}" if timings.steps else "Without", slow, many),
            Metric("Largest difference of a logit", timings.largest_difference, timings.same_tokens),
        ),
        table=lambda: _steps_table(work, done),
        formula=FORMULA,
        papers="Operations: 2 per weight and token, and the (query, key) pairs that the causal mask lets through "
        "(after arXiv:2001.08361, table 1). Keys and values cached between steps: arXiv:1911.02150, section 2.4.",
        code=(generation.both_ways, generation.next_scores, generation.cache_work, KVCache.extend),
    )


def _steps_table(work: CacheWork, done: Sequence[BothWays]) -> pd.DataFrame:
    n = len(done)
    return pd.DataFrame(
        {
            "tokens": work.length[:n],
            "operations with": work.with_cache[:n],
            "operations without": work.without[:n],
            "seconds with": [step.with_cache for step in done],
            "seconds without": [step.without for step in done],
            "difference": [step.difference for step in done],
        }
    )


@view
def sizes(chosen: Model, tokens: int, batch: int, precision: Precision, unit: Unit) -> View:
    """How large the cache is, and what sharing keys and values would make of it.

    Args:
        tokens, batch: of each sequence, and how many sequences.
        precision: of the numbers kept.
        unit: GB or GiB.
    """
    caches = cache_sizes(chosen.name, chosen.shape, chosen.context, tokens, batch, precision)
    bars = [
        Size(name, shape.kind, size, shape == chosen.shape)
        for (name, size), shape in zip(caches.sizes.items(), kv_bytes.ways(chosen.shape), strict=True)
    ]
    return View(
        key="ways",
        title="Ways to share keys and values",
        result=caches,
        chart=ways_figure(bars, unit, height=270),
        min_width=330,
        findings=(caches,),
        metrics=(
            Metric(
                "KV cache per token",
                amount(caches.token, unit),
                f"{amount(caches.token, OTHER[unit])}; {caches.values}",
            ),
            Metric("KV cache per sequence", amount(caches.sequence, unit), amount(caches.sequence, OTHER[unit])),
            Metric("Relative to MHA", caches.share_of_mha, str(caches.shape)),
        ),
        table=lambda: pd.DataFrame(caches.sizes.items(), columns=["sharing", "bytes"]),
        formula=product_latex(chosen.shape, tokens, batch, precision),
        papers="Grouped-query attention: arXiv:2305.13245. Multi-query attention: arXiv:1911.02150. Multi-head latent "
        "attention: arXiv:2405.04434, section 2.1 and table 1; a model that was not built so is given 4 d_head + "
        "d_head / 2 values, as there. int8 and int4 also keep a scale per group of values, some per cent more that "
        "are not counted here.",
        code=(kv_bytes.cache_bytes, kv_bytes.shared, kv_bytes.CacheShape),
    )


@view
def latents(chosen: Model, tokens: int, precision: Precision) -> View:
    """What latent attention keeps of a token, beside the keys and values that heads make of it.

    Args:
        tokens: of a sequence.
        precision: of the numbers kept.

    Raises:
        ValueError: a model that keeps keys and values.
    """
    shape = chosen.shape
    if not shape.latent:
        raise ValueError(f"{chosen.name} keeps keys and values ({shape}); take a model with latent attention")
    keys, values = shape.of_all_heads
    return View(
        key="latents",
        title="A token in the cache of latent attention",
        result=shape,
        chart=latents_figure(shape, height=220),
        min_width=330,
        findings=(latents_kept(chosen.name, shape, tokens, precision),),
        table=lambda: pd.DataFrame(
            {
                "part": ["keys of all heads", "values of all heads", "latent", "rotated key"],
                "kept": [False, False, True, True],
                "numbers": [keys, values, shape.latent - shape.rotated, shape.rotated],
            }
        ),
        formula=(
            r"\begin{gathered}c_t = W^{DKV} h_t, \qquad k_t^R = \mathrm{RoPE}(W^{KR} h_t) \\ "
            r"k_{t,i} = \big[\,W_i^{UK} c_t;\; k_t^R\,\big], \qquad v_{t,i} = W_i^{UV} c_t\end{gathered}"
        ),
        papers="Multi-head latent attention: arXiv:2405.04434, sections 2.1.2 and 2.1.3, equations 9 to 17; what is "
        "kept: section 2.1.4, table 1. The published code normalises the latent before it is used.",
        code=(LatentAttention.keys_and_values, KVCache.extend),
    )


@view
def every_model(
    models: Sequence[Model], chosen: Model, tokens: int, batch: int, precision: Precision, unit: Unit
) -> View:
    """The same sequences in every model: see sizes."""
    bytes_by_model = {model.name: cache_bytes(model.shape, tokens, batch, precision) for model in models}
    dots = [Size(one.name, one.shape.kind, bytes_by_model[one.name], one == chosen) for one in models]
    rows = [(dot.name, dot.kind, dot.value) for dot in dots]
    columns = ["model", "attention", "bytes"]
    return View(
        key="models",
        title="The same sequences in every model",
        result=bytes_by_model,
        chart=models_figure(dots, unit, height=max(560, 100 + 19 * len(dots))),
        min_width=350,
        findings=(cache_range(bytes_by_model, tokens, batch),),
        note="Published sizes; sequences longer than a model's context are counted all the same.",
        table=lambda: pd.DataFrame(rows, columns=columns).sort_values("bytes", kind="stable"),
    )


@view
def fits(chosen: Model, service: Service, block: int, unit: Unit) -> View:
    """Does it fit: weights and the users' caches on a few GPUs, and what each remedy saves.

    Args:
        chosen: the model as it was built.
        service: how it is served.
        block: tokens of a block, of the remedy that allocates memory in blocks.
    """
    budgets = budgets_of(service, block)
    names = serving.remedy_names(budgets["asked"][0])
    asked, need = budgets["asked"]
    rows = {names[name]: one for name, (_, one) in budgets.items()}
    full = cache_bytes(asked.shape, asked.tokens, 1, asked.cache)
    groups = asked.gpus // asked.parallel
    copies = "1 copy" if groups == 1 else f"{groups} copies"
    weights = amount(stored_bytes(asked.parameters, asked.weights), unit)
    return View(
        key="budget",
        title="Memory of the fullest GPU",
        result=budgets,
        chart=budget_figure(rows, unit, height=150 + 44 * len(rows)),
        min_width=340,
        findings=(fit(chosen, budgets, unit),),
        metrics=(
            Metric("It fits" if need.fits else "It does not fit", need.verdict(unit), "on the fullest GPU"),
            Metric("KV cache of a full sequence", amount(full, unit), amount(full, OTHER[unit])),
            Metric("Weights", weights, f"{copies}, each on {counted(asked.parallel, 'GPU')}"),
        ),
        table=lambda: _budget_table(budgets, unit),
        formula=FORMULA,
        papers="Paged cache: arXiv:2309.06180. Tensor parallelism: arXiv:1909.08053, section 3. Grouped-query "
        "attention: arXiv:2305.13245. 5 % of each GPU is kept free for activations; real servers need some room more, "
        f"and int8 a few per cent for its scales. {SOLD}",
        code=(serving.budget, serving.user_bytes, serving.remedies),
    )


def _budget_table(budgets: Budgets, unit: Unit) -> pd.DataFrame:
    names = serving.remedy_names(budgets["asked"][0])
    return pd.DataFrame(
        [
            {
                "remedy": names[name],
                "fits": "yes" if need.fits else "no",
                "cache on the fullest GPU": amount(need.cache, unit),
                "weights on it": amount(need.weights, unit),
                "left over": amount(need.free, unit),
                "most users": need.most_users_words,
                "longest context that fits": need.longest_words,
            }
            for name, (_, need) in budgets.items()
        ]
    )


PAGED_PAPERS = (
    "PagedAttention: arXiv:2309.06180, which measured 20.4 to 38.2 % of the cache memory holding tokens in earlier "
    "servers (section 1, figure 2). Lengths here are drawn from log-normal distributions, arrivals from a Poisson "
    "process; a real trace differs, so compare the policies, not the percentages."
)


@view
def memory(traffic: Traffic, slots: int, block: int, by_request: bool) -> View:
    """A trace of requests on contiguous memory and on blocks: what lies where, step by step.

    Args:
        slots: tokens that the memory has room for.
        block: tokens of a block.
        by_request: colours say whose a slot is, and not what it holds.
    """
    runs = runs_of(traffic, slots, block)
    return View(
        key="memory",
        title="Memory, step by step",
        result=runs,
        chart=picture_figure(runs, height=620, by_request=by_request),
        min_width=340,
        findings=(token_shares(runs),),
        note="Grey: reserved, no token yet." if by_request else "A column is a moment, from slot 0 at the bottom.",
        table=lambda: pd.concat({p: _by_step(run) for p, run in runs.items()}, names=["policy"]).reset_index(level=0),
    )


@view
def paging(traffic: Traffic, slots: int, block: int) -> View:
    """A trace of requests on contiguous memory and on blocks (arXiv:2309.06180): what is wasted. See memory."""
    runs = runs_of(traffic, slots, block)
    return View(
        key="shares",
        title="Shares of the memory",
        result=runs,
        chart=shares_figure(runs, height=310),
        min_width=340,
        findings=(waste_shares(runs),),
        table=lambda: policies(runs),
        papers=PAGED_PAPERS,
        code=(run_trace, Server, Contiguous, Paged),
    )


@view
def crowd(traffic: Traffic, slots: int, block: int) -> View:
    """A trace of requests on contiguous memory and on blocks: how many run at once. See memory."""
    runs = runs_of(traffic, slots, block)
    return View(
        key="crowd",
        title="Requests at once",
        result=runs,
        chart=crowd_figure(runs, height=310),
        min_width=340,
        findings=(most_at_once(runs),),
        table=lambda: policies(runs),
    )


def policies(runs: Mapping[Policy, MemoryRun]) -> pd.DataFrame:
    """Each policy in numbers."""
    return pd.DataFrame([{"memory": NAMES[policy], **policy_row(run)} for policy, run in runs.items()])


def _by_step(run: MemoryRun) -> pd.DataFrame:
    counts = {name: run.counts[state] for name, state in STATES.items()}
    return pd.DataFrame({"step": range(run.steps), **counts, "running": run.running, "waiting": run.waiting})
