"""Section of the page on generation: speculative decoding, which keeps the distribution of the model."""

from functools import partial
from typing import Any

import streamlit as st

from pages.inference.generation.choices import SEEDS, Prompt, joined, seed
from pages.inference.generation.strategies import PATIENCE
from pages.ui import controls, page, text
from pages.ui.frame import panel
from pages.ui.work import jobs, live
from tfcore.generation import draft_models as drafts
from tfcore.generation.sampling import Sampling
from tfcore.measures.one_text import pieces_of
from tfcore.measures.quantities import counted
from tfcore.views.inference import generation as views
from tfcore.views.inference.generation.measure import speculation
from tfcore.views.inference.generation.measure.speculation import LONGEST, Pass, State

AT = 60  # draft tokens that can be looked at closely
EVERY = 1.0  # seconds between two looks: most of the time goes into timing, with little new to see
TABLE = "table"
HUES: dict[State, int] = {"accepted": 1, "rejected": 4, "discarded": 3}  # of the chips


def kinds(prompt: Prompt) -> dict[str, str]:
    """The drafts of a model, with what they are called."""
    config = prompt.network.config
    names = {TABLE: "bigram table"} if config.vocab_size <= drafts.LARGEST_TABLE else {}
    return names | {blocks(n): f"first {n} of {config.n_layers} blocks" for n in range(1, config.n_layers)}


def blocks(n: int) -> str:
    """The draft that is a model's first n blocks."""
    return f"first {counted(n, 'block')}"


def examples(prompt: Prompt, names: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Examples to try with the drafts of a model: half of its blocks, and all but one."""
    n = prompt.network.config.n_layers
    exits = [name for name in (blocks(n // 2), blocks(n - 1)) if name in names]
    return {
        **({"a bigram table as draft": {"draft": TABLE, "guesses": 2, "temperature": 0.8}} if TABLE in names else {}),
        **{f"early exit: {names[name]}": {"draft": name, "guesses": 2} for name in exits},
        "draft length 8": {"draft": begin(names), "guesses": 8},
        "greedy": {"temperature": 0.0},
    }


def begin(names: dict[str, str]) -> str:
    """The draft at first: the table, or all blocks but two where there is none, as the first blocks of a model of many
    are hardly ever accepted."""
    return TABLE if TABLE in names else list(names)[-2:][0]


def show(prompt: Prompt) -> None:
    """Show the section."""
    names = kinds(prompt)
    if not names:
        st.info(
            f"This model has one block and {prompt.network.config.vocab_size:,} tokens, so nothing smaller can be made "
            f"of it: a draft takes two blocks, or a vocabulary of at most {drafts.LARGEST_TABLE:,} tokens."
        )
        return
    with panel(None) as p, p.picture:
        p.examples(examples(prompt, names))
        left, right = st.columns([1, 3], gap="large")
        with left:
            kind = controls.select("Draft model", "draft", list(names), begin(names), names)
            guesses = controls.slider("Draft length γ", "guesses", 1, LONGEST, 2)
            with page.more_settings():
                temperature = controls.slider("Temperature", "temperature", 0.0, 2.0, 0.8, 0.05, format="%.2f")
                tokens = controls.slider("Max new tokens", "tokens", 10, 120, 40, 10)
                chosen_seed = seed()
            beside = st.container()
        network, size = prompt.network, None if kind == TABLE else int(kind.split()[1])
        draft, sampling = views.draft_of(prompt.model, size), Sampling(temperature=temperature)
        given = prompt.model, prompt.pasted, size, guesses, temperature, tokens, chosen_seed
        key = ("speculation", prompt, kind, guesses, temperature, tokens, chosen_seed)

        def work() -> Any:
            return speculation.watch(network, draft, prompt.ids, sampling, guesses, chosen_seed, tokens)

        def draw(job: jobs.Job) -> None:
            steps = list(job.items)
            passes = [one for one in steps if isinstance(one, Pass)]
            total = min(tokens, network.config.max_seq_len - len(prompt.ids))
            done = sum(len(one.ids) for one in passes)
            with beside:
                live.bar(
                    key, job, done, total, {"seed": controls.next_seed(chosen_seed, SEEDS)}, work="text", step="token"
                )
            if not passes:
                right.info("Nothing is written yet: the first pass is being computed.")
                return
            with right:
                _text(prompt, passes, job.active)
                for place, one in zip(st.columns(4), views.speculation_numbers(steps, guesses), strict=True):
                    place.metric(
                        one.label, one.value, one.note, help=one.help or None, delta_color="off", delta_arrow="off"
                    )
            if not speculation.verified(passes):
                return
            at = controls.place("Draft token to inspect (or click one above)", "at", AT, 5)
            left, beside_it = st.columns(2, gap="medium")
            with left:
                p.show(views.one_guess(*given, at, so_far=steps))
            with beside_it:
                p.show(views.speculative(*given, so_far=steps))

        live.watch(key, draw, live.begin(key, work, PATIENCE), EVERY)
        st.markdown(
            "**Draft tokens, then verify them in one pass.** A cheap draft model proposes a few tokens; the target "
            "model verifies them in one pass and accepts or rejects each, so that the distribution of the text is "
            "exactly the target model's."
        )
        p.what_to_see(
            "Green draft tokens were accepted, orange ones rejected, grey ones discarded behind a rejected one; blue "
            "tokens are the target model's own, one per pass. In the bars, accepted draft tokens and the residual "
            "draws after a rejection add up to the target distribution, token by token, whatever the draft model is. A "
            "bad draft model costs time, never quality."
        )
        p.question(
            "A bigram table can be a better draft model than the first half of the model, even with a lower acceptance "
            "rate. How?",
            "The speed-up weighs the acceptance rate α against the cost c of a draft token. The table costs nearly "
            "nothing; half a model costs more than half of the time, because each token also pays for the unembedding "
            "and the sampling. The formula needs both numbers; compare them above.",
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
        pieces_of(prompt.tokenizer, pieces),
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
