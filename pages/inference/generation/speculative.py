"""Section of the page on generation: speculative decoding, which keeps the distribution of the model."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.generation import experiments as experiments
from pages.inference.generation.settings import SEEDS, TOKENS, Prompt, joined, seed
from pages.inference.generation.strategies import PATIENCE
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.work import jobs, live
from tfcore.analysis.inference import speculation as analysis
from tfcore.analysis.inference.speculation import Guess, Pass, Timing
from tfcore.figures.inference import speculation as figures
from tfcore.generation import draft_models as drafts
from tfcore.generation import speculative
from tfcore.generation.sampling import Sampling

MOST, AT = 8, 60  # draft length; draft tokens that can be looked at closely
EVERY = 1.0  # seconds between two looks: most of the time goes into timing, with little new to see
TABLE = "table"
MARKS = {"accepted": ("✓", 1), "refused": ("✗", 4), "unread": ("–", 3)}  # sign, hue of the chip
STATES = {"accepted": "accepted", "refused": "rejected", "unread": "discarded"}
TRY: dict[str, dict[str, Any]] = {
    "a bigram table as draft": {"draft": TABLE, "guesses": 2, "temperature": 0.8},
    "early exit after 2 blocks": {"draft": "first 2 blocks", "guesses": 2},
    "early exit after 3 blocks": {"draft": "first 3 blocks", "guesses": 3},
    "draft length 8": {"draft": TABLE, "guesses": 8},
    "greedy": {"temperature": 0.0},
}


@st.cache_resource(max_entries=8, show_spinner="Making the draft")
def make(model: str, kind: str) -> Any:
    """A draft made of the model, shared by all visitors and read only."""
    network = cache.model(model)[0]
    return drafts.SingleTokenTable(network) if kind == TABLE else drafts.early_exit(network, int(kind.split()[1]))


def kinds(prompt: Prompt) -> dict[str, str]:
    """The drafts of a model, with what they are called."""
    config = prompt.network.config
    found = {TABLE: "bigram table"} if config.vocab_size <= drafts.LARGEST_TABLE else {}
    for n in range(1, config.n_layers):
        found[f"first {n} block{'s' if n > 1 else ''}"] = f"first {n} of {config.n_layers} blocks"
    return found


def show(prompt: Prompt) -> None:
    """The section."""
    st.markdown(
        "**Draft tokens, then verify them in one pass.** A cheap draft model proposes a few tokens; the target model "
        "verifies them in one pass and accepts or rejects each, so that the distribution of the text is exactly the "
        "target model's."
    )
    st.latex(
        r"x \sim q \text{ is accepted with probability } \min\!\Big(1, \frac{p(x)}{q(x)}\Big), \text{ else } "
        r"x' \sim \frac{\max(0, p - q)}{\sum \max(0, p - q)} \quad\Rightarrow\quad x \sim p"
    )
    page.try_this(TRY)
    found = kinds(prompt)
    places = st.columns(5, gap="medium", vertical_alignment="bottom")
    with places[0]:
        kind = controls.select("Draft model", "draft", list(found), next(iter(found)), found)
    with places[1]:
        guesses = controls.slider("Draft length γ", "guesses", 1, MOST, 2)
    with places[2]:
        temperature = controls.slider("Temperature", "temperature", 0.0, 2.0, 0.8, 0.05, format="%.2f")
    with places[3]:
        tokens = controls.slider("Max new tokens", "tokens", 10, 120, 40, 10)
    with places[4]:
        chance = seed()
    sampling = Sampling(temperature=temperature)
    network, draft = prompt.network, make(prompt.model, kind)
    key = ("speculation", prompt, kind, guesses, temperature, tokens, chance)

    def work() -> Any:
        return analysis.watch(network, draft, prompt.ids, sampling, guesses, chance, tokens)

    def draw(job: jobs.Job) -> None:
        passes = [one for one in job.items if isinstance(one, Pass)]
        timings = [one for one in job.items if isinstance(one, Timing)]
        total = min(tokens, network.config.max_seq_len - len(prompt.ids))
        done = sum(len(one.ids) for one in passes)
        live.bar(key, job, done, total, {"seed": (chance + 1) % (SEEDS + 1)}, work="text", step="token")
        if passes:
            _text(prompt, passes, job.active)
            _numbers(passes, timings, guesses)
            _closer(prompt, passes, timings, guesses)

    live.watch(key, draw, live.begin(key, work, PATIENCE), EVERY)
    page.what_to_see(
        "Green draft tokens were accepted, orange ones rejected, grey ones discarded behind a rejected one; blue "
        "tokens are the target model's own, one per pass. In the bars, accepted draft tokens and the residual draws "
        "after a rejection add up to the target distribution, token by token, whatever the draft model is. A bad draft "
        "model costs time, never quality."
    )
    page.source(
        speculative.accept, speculative.residual, speculative.outcome, drafts.early_exit, analysis.expected_speed_up
    )
    blocks = None if kind == TABLE else int(kind.split()[1])
    page.experiment(
        experiments.speculative, prompt.model, prompt.pasted, TOKENS, blocks, guesses, temperature, tokens, chance
    )
    st.caption(
        "arXiv:2211.17192: algorithm 1, eq. 1 (tokens per pass), theorem 3.8 (speed-up), appendix A.1 (same "
        "distribution); arXiv:2302.01318. Draft models are made of the model itself: its first blocks with its own "
        "final norm and unembedding, not trained for it (early exit), or a table of its next-token distribution after "
        "each single token (bigrams)."
    )
    page.question(
        "A bigram table can be a better draft model than the first half of the model, even with a lower acceptance "
        "rate. How?",
        "The speed-up weighs the acceptance rate α against the cost c of a draft token. The table costs nearly "
        "nothing; half a model costs more than half of the time, because each token also pays for the unembedding and "
        "the sampling. The formula needs both numbers; compare them above.",
    )


def _text(prompt: Prompt, passes: list[Pass], is_active: bool) -> None:
    """The guesses with their marks, and the model's own tokens, in order; a click looks closer."""
    pieces, hues, notes, titles, numbers = [], [], [], [], []
    number = 0
    for i, one in enumerate(passes, start=1):
        for guess in one.guesses:
            mark, hue = MARKS[guess.state]
            pieces.append(guess.token)
            hues.append(hue)
            notes.append(f"{mark} {guess.stays:.2f}" if guess.state != "unread" else mark)
            titles.append(
                f"pass {i}: q = {guess.q:.3f}, p = {guess.p:.3f}, accepted with probability {guess.stays:.2f}: "
                f"{STATES[guess.state]}"
            )
            numbers.append(number)
            number += guess.state != "unread"
        pieces.append(one.token)
        hues.append(0)
        notes.append("model")
        titles.append(f"pass {i}: the model's own token")
        numbers.append(max(number - 1, 0))

    def choose(index: int) -> None:
        controls.set_values(at=min(numbers[index], AT - 1))

    text.chips(
        prompt.tokenizer.tokens(pieces),
        key="guesses marked",
        hues=hues,
        notes=notes,
        on_select=choose,
        titles=None if is_active else titles,
        label="Every draft token, accepted or rejected, with its acceptance probability",
    )
    st.caption(text.escape(joined(prompt, [token for one in passes for token in one.ids])))


def _numbers(passes: list[Pass], timings: list[Timing], guesses: int) -> None:
    """What was measured, as four numbers."""
    alpha = analysis.acceptance(passes)
    written = sum(len(one.ids) for one in passes)
    looked = [guess for one in passes for guess in one.guesses if guess.state != "unread"]
    stayed = sum(guess.state == "accepted" for guess in looked)
    error = max((guess.error for guess in looked), default=0.0)
    quiet: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off"}
    places = st.columns(4)
    places[0].metric(
        "Accepted draft tokens",
        f"{stayed} of {len(looked)}",
        f"expected: α = {alpha:.2f}",
        help="Of those that were verified. α: acceptance rate, the mean over these positions of Σ min(p, q)",
        **quiet,
    )
    places[1].metric(
        "Tokens per pass",
        f"{written / len(passes):.2f}",
        f"formula: {analysis.expected_tokens(alpha, guesses):.2f}",
        help="(1 − α^(γ+1)) / (1 − α)",
        **quiet,
    )
    if timings:
        ratio, cost, _ = _costs(timings)
        places[2].metric(
            "Speed-up",
            f"{ratio:.2f}",
            f"formula: {analysis.expected_speed_up(alpha, guesses, cost):.2f}",
            help=f"The fastest of {len(timings)} runs each, on this server. A draft token costs c = {cost:.2f} of a "
            "target token.",
            **quiet,
        )
    else:
        places[2].metric("Speed-up", "…", "timed next", **quiet)
    places[3].metric(
        "Error of the sum",
        f"{error:.0e}",
        f"{len(looked)} places, all tokens",
        help="Largest |min(p, q) + residual draw − p|. float32 rounds at about 1e-7",
        **quiet,
    )


def _costs(timings: list[Timing]) -> tuple[float, float, float]:
    """Times as fast; a token of the draft and a pass over all guesses, both in tokens (passes) of the model."""
    best = {name: min(getattr(one, name) for one in timings) for name in Timing.__slots__}
    return best["alone"] / best["together"], best["draft"] / best["alone"], max(1.0, best["several"] / best["one"])


def _closer(prompt: Prompt, passes: list[Pass], timings: list[Timing], guesses: int) -> None:
    """One guess under the rule, and what the draft is worth."""
    looked = [guess for one in passes for guess in one.guesses if guess.state != "unread"]
    if not looked:
        return
    at = min(controls.slider("Draft token to inspect (or click one above)", "at", 0, AT - 1, 5), len(looked) - 1)
    guess = looked[at]
    left, right = st.columns(2, gap="medium")
    with left:
        _rule(prompt, guess, at)
    with right:
        _worth(passes, timings, guesses)


def _rule(prompt: Prompt, guess: Guess, at: int) -> None:
    token = text.visible(prompt.tokenizer.tokens([guess.token])[0])
    labels = text.tick_labels(prompt.tokenizer.tokens(guess.tokens.tolist()), 12)
    figure(
        figures.rule_figure(guess, labels, 400),
        key="rule",
        height=400,
        alt=f"Draft token {at}, '{token}': p = {guess.p:.3f}, q = {guess.q:.3f}, {STATES[guess.state]}. Acceptance "
        f"rate here {guess.overlap:.3f}; accepted and residual draws differ from p by at most {guess.error:.0e} in "
        "sum.",
        caption=f"Draft token {at}, '{token}': q = {guess.q:.3f}, p = {guess.p:.3f}, so it is accepted with "
        f"probability {guess.stays:.2f}; {STATES[guess.state]}. Green + blue = p, over all tokens to within "
        f"{guess.error:.0e}; green sums to {guess.overlap:.3f}.",
        table=lambda: pd.DataFrame(
            {"token": prompt.tokenizer.tokens(guess.tokens.tolist()), "p": guess.p_all, "q": guess.q_all}
        ),
    )


def _worth(passes: list[Pass], timings: list[Timing], guesses: int) -> None:
    alpha, every = analysis.acceptance(passes), range(MOST + 1)
    lines = {"tokens": [analysis.expected_tokens(alpha, n) for n in every]}
    measured = {"tokens": sum(len(one.ids) for one in passes) / len(passes)}
    verdict = f"Measured: {measured['tokens']:.2f} tokens per pass."
    if timings:
        ratio, cost, check = _costs(timings)
        lines["speed"] = [analysis.expected_speed_up(alpha, n, cost) for n in every]
        measured["speed"] = ratio
        best = analysis.best_guess(alpha, cost, MOST)
        advice = f"draft length {best} would be best" if best else "no draft length makes it faster"
        verdict = (
            f"Measured: {measured['tokens']:.2f} tokens per pass, speed-up {ratio:.2f}. A draft token costs c = "
            f"{cost:.2f} of a target token, verifying {guesses + 1} tokens {check:.2f} passes (the formula says 1). By "
            f"the formula {advice}."
        )
    figure(
        figures.worth_figure(lines, measured, guesses, 400),
        key="worth",
        height=400,
        alt=f"With α = {alpha:.2f}. {verdict}",
        caption=verdict,
        table=lambda: pd.DataFrame({"draft length": list(every), **lines}),
    )
