"""Panel of the page on the KV cache: one text generated with it and without, step by step, measured as it runs."""

from collections.abc import Iterator

import pandas as pd
import streamlit as st

from pages.inference.kv_cache import experiments as experiments
from pages.inference.kv_cache.models import FORMULA
from pages.ui import cache, controls, notices, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import model_settings, models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.program import made
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from pages.ui.work import jobs, large_models, live
from tfcore.analysis.inference import cached_generation
from tfcore.analysis.inference.cached_generation import BothWays, CacheWork, Exactness, Measured, both_ways, measured
from tfcore.analysis.quantities import amount, short
from tfcore.generation.kv_cache import KVCache

TEXT = "Once upon a time there was a little dog named Max."
CHARACTERS = 1_000  # of a prompt
LEAST = 8  # new tokens
MOST = 232
STEPS = 160
HEIGHT = 600
COPY = 4  # a copy may take one part in so many of what loaded models may (TFCORE_MODEL_GB)
EXACT: dict[Exactness, str] = {"float32": "float32", "float64": "float64"}

work = cache.of_model(max_entries=32)(cached_generation.model_work)


def panel() -> None:
    """The section: a prompt, a job that writes on both ways, pictures that grow with it."""
    tries = st.container()
    left, right = st.columns([1, 3], gap="medium")
    with left:
        row = controls.text_row()
        model_name = models.choose("decoder", why_not=models.silent)
        pasted = text_box(model_name, "Prompt", "text", TEXT, CHARACTERS, height=80, kind="prompt", row=row)
        offer_real(model_name, pasted)
        wanted = controls.slider("Max new tokens", "steps", LEAST, MOST, STEPS, 8)
        exactness = controls.segmented("Data type", "exact", list(EXACT), "float32", EXACT)
        with page.more_settings():
            seed = controls.slider("Seed of the draws", "seed", 0, 20, 0)
        beside = st.container()
    with tries:
        page.try_this(
            {
                "232 new tokens": {"steps": 232, "exact": "float32"},
                "float64: only rounding?": {"steps": 64, "exact": "float64"},
                "a long prompt": {"text": " ".join([TEXT] * 8), "steps": 96},
                "a model of two layers": {"model": "induction", "text": "abcdefgh abcdefgh abc", "steps": 128},
                "another seed": {"seed": controls.next_seed(seed)},
            }
        )
    model, tokenizer = cache.model(model_name)
    # There must be room for some more.
    ids, _, total = first_tokens(model_name, pasted, model.config.max_seq_len - LEAST)
    notices.tokens(total, len(ids))
    if not ids:
        with right:
            say_nothing_read(
                model_name, pasted, "text", "There is no text yet: type or paste some, or press Ctrl+Z in the box."
            )
        return
    steps = min(wanted, model.config.max_seq_len - len(ids))
    copied = 8 * sum(one.numel() for one in model.parameters())
    if exactness == "float64" and copied > model_settings.read().kept // COPY:
        said = f"In float64 {text.escape(model_name, text.NAME)} takes {amount(copied)} more"
        notices.add("exact", f"{said}, which this server does not spare. Shown instead: float32", value=exactness)
        exactness = "float32"
    key = ("with and without a cache", model_name, pasted, steps, exactness, seed)

    def write() -> Iterator[BothWays]:
        return both_ways(model, ids, steps, seed, exactness)

    job = live.begin(key, write if exactness == "float32" else large_models.with_a_copy(write))
    costs = work(model_name, len(ids), steps, exactness)

    def draw(job: jobs.Job) -> None:
        done: list[BothWays] = list(job.items)
        with beside:
            live.bar(key, job, len(done), steps, {"seed": controls.next_seed(seed)}, work="run", step="token")
        with right:
            picture(costs, done)
            numbers(measured(costs, done))
            st.caption("Generated:")
            st.code(tokenizer.decode([*ids, *(step.token for step in done)]), language=None, wrap_lines=True)

    live.watch(key, draw, job)
    experiment = page.experiment(
        experiments.with_and_without,
        made(cached_generation.model_work, model_name, len(ids), steps, exactness),
        made(cached_generation.generated, model_name, pasted, LEAST, steps, seed, exactness),
    )
    words(experiment)


def numbers(found: Measured) -> None:
    """Both times with the operations so far, and how far the logits are apart."""
    fast, slow = found.seconds
    few, many = (f"{short(count)} operations" for count in (found.operations_with, found.operations_without))
    for place, (label, value, note) in zip(
        st.columns(3),
        (
            ("With the cache", fast, few),
            (f"Without: {found.times}" if found.steps else "Without", slow, many),
            ("Largest difference of a logit", found.largest_difference, found.same_tokens),
        ),
        strict=True,
    ):
        place.metric(label, value, note, delta_color="off", delta_arrow="off")


def picture(costs: CacheWork, done: list[BothWays]) -> None:
    """Operations, time and memory by step, as far as the text is written."""
    shown = experiments.with_and_without(costs, done)
    figure(
        shown.figure,
        key="steps",
        height=HEIGHT,
        min_width=320,
        alt=shown.alt,
        caption=f"{shown.alt} Pale: steps to come; lines through the times: median of nine. The first step reads the "
        "whole prompt (prefill), with and without the cache.",
        table=lambda: pd.DataFrame(
            {
                "tokens": costs.length[: len(done)],
                "operations with": costs.with_cache[: len(done)],
                "operations without": costs.without[: len(done)],
                "seconds with": [s.with_cache for s in done],
                "seconds without": [s.without for s in done],
                "difference": [s.difference for s in done],
            }
        ),
    )


def words(experiment: page.Experiment) -> None:
    """What to see and to ask, and how it is computed."""
    page.what_to_see(
        "Without the cache every step computes the whole sequence again, so its work grows with each token, and the "
        "total with the square of the length or faster. With it, a step computes one token and only attention grows; "
        "the price is the cache, which grows by the same amount with every token. Measured times follow the operations "
        "less closely: a step of one token mostly waits for weights and for the calls themselves, however few "
        "operations it has. The logits differ by rounding alone, because the same sums run in another order: float64 "
        "has 29 more bits, and its difference is about 2²⁹, half a billion, times smaller."
    )
    page.question(
        "Add up the operations of all steps with the cache. Which single pass costs the same?",
        "The last one without it: a pass over the whole sequence. Each step with the cache computes just what its "
        "token adds to that pass, so all steps together, prefill included, cost one pass over the whole sequence, "
        "where without the cache every step costs a pass.",
    )
    page.how_it_is_computed(
        experiment,
        formula=FORMULA,
        code=(both_ways, cached_generation.next_scores, cached_generation.cache_work, KVCache.extend),
        papers=(
            "Operations: 2 per weight and token, and the (query, key) pairs that the causal mask lets through (after "
            "arXiv:2001.08361, table 1). Keys and values cached between steps: arXiv:1911.02150, section 2.4."
        ),
    )
