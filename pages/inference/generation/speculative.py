"""Section of the page on generation: speculative decoding, which keeps the distribution of the model."""

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.generation import experiments as experiments
from pages.inference.generation.settings import SEEDS, TOKENS, Prompt, joined, seed
from pages.inference.generation.strategies import PATIENCE
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import jobs, live
from tfcore.analysis.inference import speculation as analysis
from tfcore.analysis.inference.speculation import LONGEST, Acceptance, Guess, Pass, SpeedUp, State, Timing
from tfcore.figures.shown import Shown
from tfcore.generation import draft_models as drafts
from tfcore.generation import speculative
from tfcore.generation.sampling import Sampling
from tfcore.measures.one_text import piece_of
from tfcore.measures.quantities import counted

AT = 60  # draft tokens that can be looked at closely
EVERY = 1.0  # seconds between two looks: most of the time goes into timing, with little new to see
TABLE = "table"
HUES: dict[State, int] = {"accepted": 1, "rejected": 4, "discarded": 3}  # of the chips


@cache.shared(max_entries=8)
def make(model: str, kind: str) -> Any:
    """A draft made of the model, shared by all visitors and read only."""
    network = cache.model(model)[0]
    return drafts.SingleTokenTable(network) if kind == TABLE else drafts.early_exit(network, int(kind.split()[1]))


def kinds(prompt: Prompt) -> dict[str, str]:
    """The drafts of a model, with what they are called."""
    config = prompt.network.config
    found = {TABLE: "bigram table"} if config.vocab_size <= drafts.LARGEST_TABLE else {}
    return found | {blocks(n): f"first {n} of {config.n_layers} blocks" for n in range(1, config.n_layers)}


def blocks(n: int) -> str:
    """The draft that is a model's first n blocks."""
    return f"first {counted(n, 'block')}"


def examples(prompt: Prompt, found: dict[str, str]) -> dict[str, dict[str, Any]]:
    """What to try with the drafts of a model: half of its blocks, and all but one."""
    n = prompt.network.config.n_layers
    exits = [name for name in (blocks(n // 2), blocks(n - 1)) if name in found]
    return {
        **({"a bigram table as draft": {"draft": TABLE, "guesses": 2, "temperature": 0.8}} if TABLE in found else {}),
        **{f"early exit: {found[name]}": {"draft": name, "guesses": 2} for name in exits},
        "draft length 8": {"draft": begin(found), "guesses": 8},
        "greedy": {"temperature": 0.0},
    }


def begin(found: dict[str, str]) -> str:
    """The draft at first: the table, or all blocks but two where there is none, as the first blocks of a model of many
    are hardly ever accepted."""
    return TABLE if TABLE in found else list(found)[-2:][0]


def show(prompt: Prompt) -> None:
    """The section."""
    found = kinds(prompt)
    if not found:
        st.info(
            f"This model has one block and {prompt.network.config.vocab_size:,} tokens, so nothing smaller can be made "
            f"of it: a draft takes two blocks, or a vocabulary of at most {drafts.LARGEST_TABLE:,} tokens."
        )
        return
    page.try_this(examples(prompt, found))
    left, right = st.columns([1, 3], gap="large")
    with left:
        kind = controls.select("Draft model", "draft", list(found), begin(found), found)
        guesses = controls.slider("Draft length γ", "guesses", 1, LONGEST, 2)
        with page.more_settings():
            temperature = controls.slider("Temperature", "temperature", 0.0, 2.0, 0.8, 0.05, format="%.2f")
            tokens = controls.slider("Max new tokens", "tokens", 10, 120, 40, 10)
            chosen_seed = seed()
        beside = st.container()
    sampling = Sampling(temperature=temperature)
    network, draft = prompt.network, make(prompt.model, kind)
    key = ("speculation", prompt, kind, guesses, temperature, tokens, chosen_seed)

    def work() -> Any:
        return analysis.watch(network, draft, prompt.ids, sampling, guesses, chosen_seed, tokens)

    def draw(job: jobs.Job) -> None:
        passes = [one for one in job.items if isinstance(one, Pass)]
        total = min(tokens, network.config.max_seq_len - len(prompt.ids))
        done = sum(len(one.ids) for one in passes)
        with beside:
            live.bar(key, job, done, total, {"seed": controls.next_seed(chosen_seed, SEEDS)}, work="text", step="token")
        if not passes:
            right.info("Nothing is written yet: the first pass is being computed.")
        else:
            gain = analysis.speed_up(passes, [one for one in job.items if isinstance(one, Timing)], guesses)
            with right:
                _text(prompt, passes, job.active)
                _numbers(analysis.acceptance_found(passes, guesses), gain)
            _closer(prompt, passes, experiments.speculative(job.items, guesses), gain)

    live.watch(key, draw, live.begin(key, work, PATIENCE), EVERY)
    st.markdown(
        "**Draft tokens, then verify them in one pass.** A cheap draft model proposes a few tokens; the target model "
        "verifies them in one pass and accepts or rejects each, so that the distribution of the text is exactly the "
        "target model's."
    )
    page.what_to_see(
        "Green draft tokens were accepted, orange ones rejected, grey ones discarded behind a rejected one; blue "
        "tokens are the target model's own, one per pass. In the bars, accepted draft tokens and the residual draws "
        "after a rejection add up to the target distribution, token by token, whatever the draft model is. A bad draft "
        "model costs time, never quality."
    )
    exit_after = None if kind == TABLE else int(kind.split()[1])
    page.question(
        "A bigram table can be a better draft model than the first half of the model, even with a lower acceptance "
        "rate. How?",
        "The speed-up weighs the acceptance rate α against the cost c of a draft token. The table costs nearly "
        "nothing; half a model costs more than half of the time, because each token also pays for the unembedding and "
        "the sampling. The formula needs both numbers; compare them above.",
    )
    page.how_it_is_computed(
        page.experiment(
            experiments.speculative,
            made(
                experiments.speculated,
                prompt.model,
                prompt.pasted,
                TOKENS,
                exit_after,
                guesses,
                temperature,
                tokens,
                chosen_seed,
            ),
            guesses,
        ),
        formula=(
            r"x \sim q \text{ is accepted with probability } \min\!\Big(1, \frac{p(x)}{q(x)}\Big), \text{ else } "
            r"x' \sim \frac{\max(0, p - q)}{\sum \max(0, p - q)} \quad\Rightarrow\quad x \sim p"
        ),
        code=(
            speculative.accept,
            speculative.residual,
            speculative.outcome,
            drafts.early_exit,
            analysis.expected_speed_up,
        ),
        papers=(
            "arXiv:2211.17192: algorithm 1, eq. 1 (tokens per pass), theorem 3.8 (speed-up), appendix A.1 (same "
            "distribution); arXiv:2302.01318. Draft models are made of the model itself: its first blocks with its own "
            "final norm and unembedding, not trained for it (early exit), or a table of its next-token distribution "
            "after each single token (bigrams)."
        ),
    )


def _text(prompt: Prompt, passes: list[Pass], is_active: bool) -> None:
    """The guesses with their marks, and the model's own tokens, in order; a click looks closer."""
    pieces, hues, notes, titles = [], [], [], []
    for i, one in enumerate(passes, start=1):
        for guess in one.guesses:
            pieces.append(guess.token)
            hues.append(HUES[guess.state])
            notes.append(guess.note)
            titles.append(f"pass {i}: {guess.title}")
        pieces.append(one.token)
        hues.append(0)
        notes.append("model")
        titles.append(f"pass {i}: the model's own token")
    text.chips(
        prompt.tokenizer.tokens(pieces),
        key="guesses marked",
        hues=hues,
        notes=notes,
        on_select=partial(choose_guess, guess_of_chip(passes)),
        titles=None if is_active else titles,
        label="Every draft token, accepted or rejected, with its acceptance probability",
    )
    text.written(text.escape(joined(prompt, [token for one in passes for token in one.ids])), "speculative")


def guess_of_chip(passes: list[Pass]) -> list[int]:
    """For each chip the number of a verified guess: its own, of a discarded one the next, of the model's token the one
    before."""
    numbers, number = [], 0
    for one in passes:
        for guess in one.guesses:
            numbers.append(number)
            number += guess.state != "discarded"
        numbers.append(max(number - 1, 0))
    return numbers


def choose_guess(numbers: list[int], index: int) -> None:
    """A click on a chip chooses the draft token that is looked at."""
    controls.set_values(at=min(numbers[index], AT - 1))


def _numbers(found: Acceptance, gain: SpeedUp) -> None:
    """What was measured, as four numbers."""
    help_alpha = "Of those that were verified. α: acceptance rate, the mean over these positions of Σ min(p, q)"
    help_error = "Largest |min(p, q) + residual draw − p|. float32 rounds at about 1e-7"
    for place, (label, (value, note), hint) in zip(
        st.columns(4),
        (
            ("Accepted draft tokens", found.accepted_words, help_alpha),
            ("Tokens per pass", found.per_pass_words, "(1 − α^(γ+1)) / (1 − α)"),
            ("Speed-up", gain.words, gain.help),
            ("Error of the sum", found.error_words, help_error),
        ),
        strict=True,
    ):
        place.metric(label, value, note, help=hint, delta_color="off", delta_arrow="off")


def _closer(prompt: Prompt, passes: list[Pass], shown: Shown, gain: SpeedUp) -> None:
    """One guess under the rule, and what the draft brings."""
    verified = analysis.verified(passes)
    if not verified:
        return
    at = min(controls.place("Draft token to inspect (or click one above)", "at", AT, 5), len(verified) - 1)
    left, right = st.columns(2, gap="medium")
    with left:
        _rule(prompt, verified[at], at)
    with right:
        figure(
            shown.figure,
            key="worth",
            height=400,
            alt=shown.alt,
            caption=shown.caption,
            table=lambda: pd.DataFrame({"draft length": range(LONGEST + 1), **gain.curves}),
        )


def _rule(prompt: Prompt, guess: Guess, at: int) -> None:
    tokens = prompt.tokenizer.tokens(guess.tokens.tolist())
    shown = experiments.one_guess(guess, at, piece_of(prompt.tokenizer, guess.token), tokens)
    figure(
        shown.figure,
        key="rule",
        height=400,
        alt=shown.alt,
        caption=shown.caption,
        table=lambda: pd.DataFrame({"token": tokens, "p": guess.p_all, "q": guess.q_all}),
    )
