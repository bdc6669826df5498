"""Panel of the page on the KV cache: a trace of requests on contiguous memory and on blocks, and what is wasted."""

import pandas as pd
import streamlit as st

from pages.inference.kv_cache import experiments as experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.inference import fragmentation, paged_memory
from tfcore.analysis.inference.paged_memory import LATER, NAMES, NEVER, STRANDED, TOKEN, MemoryRun, Policy, Traffic

BLOCKS = [1, 4, 16, 64, 256]
COLOUR_BY = {"state": "state", "request": "request"}
compare = cache.data(max_entries=24)(paged_memory.compare)


def panel() -> None:
    """The section: the memory over time under three policies, and how well each used it."""
    tries = st.container()
    left, right = st.columns([1, 3], gap="medium")
    with left:
        block = controls.select("Block size (tokens)", "block", BLOCKS, 16)
        slots = controls.slider("Memory (tokens)", "slots", 1_024, 4_096, 2_048, 256, format="localized")
        every = controls.slider("Steps between requests", "every", 1.0, 12.0, 3.0, 0.5, format="%.1f")
        with page.more_settings():
            view = controls.segmented("Colour by", "colour", list(COLOUR_BY), "state", COLOUR_BY)
            traffic = choose_traffic(every)
    runs = compare(traffic, slots, block)
    with right:
        picture(runs, view == "request")
        shares, crowd = st.columns(2, gap="medium")
        with shares:
            share_bars(runs)
        with crowd:
            at_once(runs)
    st.dataframe(table(runs), hide_index=True)
    with tries:
        page.try_this(
            {
                "the defaults": {"block": 16, "slots": 2_048, "output": 64, "prompt": 32, "longest": 256, "every": 3.0},
                "blocks of 256 tokens": {"block": 256},
                "blocks of one token": {"block": 1},
                "a burst of requests": {"every": 1.0},
                "colour by request": {"colour": "request"},
                "another trace": {"trace": controls.next_seed(traffic.seed)},
            }
        )
    experiment = page.experiment(experiments.paging, made(paged_memory.compare, traffic, slots, block))
    words(runs, experiment)


def choose_traffic(every: float) -> Traffic:
    """The other settings of the requests."""
    prompt = controls.slider("Prompt, mean tokens", "prompt", 8, 128, 32, 8)
    output = controls.slider("Output, mean tokens", "output", 8, 128, 64, 8)
    longest = controls.slider("Maximum length", "longest", 256, 512, 256, 64)
    seed = controls.slider("Seed of the trace", "trace", 0, 20, 0)
    return Traffic(prompt=prompt, output=output, every=every, longest=longest, seed=seed)


def picture(runs: dict[Policy, MemoryRun], by_request: bool) -> None:
    """The memory over time."""
    shown = experiments.memory(runs, by_request)
    meaning = "Grey: reserved, no token yet." if by_request else "A column is a moment, from slot 0 at the bottom."
    figure(
        shown.figure,
        key="memory",
        height=620,
        min_width=340,
        alt=shown.alt,
        caption=f"{shown.caption} {meaning}",
        table=lambda: pd.concat({p: by_step(run) for p, run in runs.items()}, names=["policy"]).reset_index(level=0),
    )


def by_step(run: MemoryRun) -> pd.DataFrame:
    names = {
        TOKEN: "tokens",
        LATER: "reserved",
        NEVER: "internal fragmentation",
        STRANDED: "external fragmentation",
        0: "free",
    }
    counts = {name: run.counts[state] for state, name in names.items()}
    return pd.DataFrame({"step": range(run.steps), **counts, "running": run.running, "waiting": run.waiting})


def share_bars(runs: dict[Policy, MemoryRun]) -> None:
    """What share holds tokens."""
    shown = experiments.paging(runs)
    figure(
        shown.figure,
        key="shares",
        height=310,
        min_width=340,
        table=lambda: table(runs),
        alt=shown.alt,
        caption=shown.caption,
    )


def at_once(runs: dict[Policy, MemoryRun]) -> None:
    """How many requests run at once."""
    shown = experiments.crowd(runs)
    figure(
        shown.figure,
        key="crowd",
        height=310,
        min_width=340,
        table=lambda: table(runs),
        alt=shown.alt,
        caption=shown.caption,
    )


def table(runs: dict[Policy, MemoryRun]) -> pd.DataFrame:
    """Each policy in numbers."""
    return pd.DataFrame([{"memory": NAMES[policy], **fragmentation.policy_row(run)} for policy, run in runs.items()])


def words(runs: dict[Policy, MemoryRun], experiment: page.Experiment) -> None:
    """What to see and to ask, and how it is computed."""
    page.what_to_see(
        "The length of an output is not known in advance. A contiguous cache therefore reserves the maximum length for "
        "each request. Even an oracle that knew every length would reserve memory for tokens to come, and as requests "
        "end, gaps stay between the others: enough memory in all, but in no one piece. A paged cache allocates blocks "
        "on demand, anywhere; only the last block of a request has unused slots. "
        f"{fragmentation.fragmentation(runs)} When "
        "no block is left, the youngest request is preempted: it gives its blocks up and is computed again later."
    )
    page.question(
        "Why not blocks of one token, which have no internal fragmentation at all?",
        "Because attention would gather every key from an address of its own, and the block table would be as long as "
        "the sequence. GPUs read contiguous memory fastest, so blocks of 16 lose a little memory and read fast "
        "(arXiv:2309.06180, section 7.2).",
    )
    page.how_it_is_computed(
        experiment,
        code=(paged_memory.run_trace, paged_memory.Server, paged_memory.Contiguous, paged_memory.Paged),
        papers=(
            "PagedAttention: arXiv:2309.06180, which measured 20.4 to 38.2 % of the cache memory holding tokens in "
            "earlier servers (section 1, figure 2). Lengths here are drawn from log-normal distributions, arrivals "
            "from a Poisson process; a real trace differs, so compare the policies, not the percentages."
        ),
    )
