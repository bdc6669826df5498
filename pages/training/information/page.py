"""The page on information: what a loss measures, from a coin to a pasted text, in bits."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.training.information import models as information_models
from pages.training.information import text as texts
from pages.training.information.facts import FACTS
from pages.ui import controls, fragments, notices, page, text
from pages.ui.components import bars
from pages.ui.components.figure import Event
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.reading import last_tokens, say_nothing_read, text_box
from tfcore.views.training import information as views
from tfcore.views.training.information.measure.mutual_information import KINDS
from tfcore.views.training.information.say import entropy, kl_fit, mutual_information
from tfcore.views.view import View

CHARACTERS = 2_000  # of a text

# ---- entropy and KL ----

PROMPT = "Lily went to the park with her mother. She saw a big"
WEIGHTS = 10**9  # a model's probabilities as whole weights: what they sum to
LETTERS = "ABCDEFGH"
P_FIRST = (60, 25, 10, 5, 4, 3, 2, 1)  # by hand, as many as there are outcomes
Q_FIRST = (4, 16, 30, 50, 60, 70, 80, 90)
SOURCES = {"hand": "By hand", "model": "P is a model's next token"}
NUMBERS = {
    "H(P)": "entropy: mean bits per outcome of P",
    "H(P, Q)": "cross-entropy: mean bits per outcome of P with the code of Q",
    "KL(P‖Q)": "KL divergence: extra bits with Q where P is true",
    "KL(Q‖P)": "reverse KL: extra bits with P where Q is true",
    "perplexity of P": "2 to the power H(P): as uncertain as among that many equally likely outcomes; a model's "
    "perplexity on a text is 2 to the power of its mean loss, H(P, Q)",
}


def by_hand(p: str, q: str) -> dict[str, Any]:
    """An example: two distributions of as many outcomes as their weights."""
    n = len(p.split("_"))
    return {"of": "hand", "n": n, f"p{n}": p, f"q{n}": q}


def distributions() -> None:
    """Two distributions as bars to drag, their entropies, and KL both ways."""
    with panel(None) as p:
        p.examples(
            {
                "fair coin": by_hand("1_1", "1_1"),
                "0.9/0.1 coin, Q fair": by_hand("9_1", "1_1"),
                "uniform die": by_hand("1_1_1_1_1_1", "1_1_1_1_1_5"),
                "peaked": by_hand("93_1_1_1_1_1_1_1", "1_1_1_1_1_1_1_1"),
                "Q gives 0 to one": by_hand("4_3_2_1", "4_4_2_0"),
                "a model's next token": {"of": "model", "text": PROMPT, "guess": "6_1_1_1_1_2"},
            }
        )
        which, rest = st.columns([2, 5], vertical_alignment="bottom")
        with which:
            source = controls.segmented("Outcomes", "of", list(SOURCES), "hand", SOURCES, named=False)
        if source == "hand":
            dragged(p)
        else:
            of_a_model(p, rest)
        p.what_to_see(
            "Blue is the true distribution P, orange the prediction Q. Each block is as wide as its outcome is "
            "probable and as high as its code length: log₂ 1/p bits by P's own code, log₂ 1/q by Q's. The blue area is "
            "the entropy, the orange one the cross-entropy, and no Q makes it smaller than P's own. Drag a bar of Q to "
            "0 while P keeps it: the cross-entropy becomes infinite. With a finger, drag the handle; with the "
            "keyboard, Tab to a bar, then arrow keys for 1 %, with Shift for 0.1 %, Page Up and Page Down for 10 %, "
            "Home and End for 0 and 1."
        )
        p.question(
            "A model is trained for ever, on data without end. How far can its loss fall?",
            "To H(P), the entropy of the text itself, and no further: the KL divergence can reach 0, the entropy "
            "stays. A loss above 0 at the end of training is no failure: for the 0.9/0.1 coin 0.469 bits per throw is "
            "the minimum, even for the exact Q.",
        )


@fragments.fragment
def dragged(p: Panel) -> None:
    """Both by hand: drag, and see every number follow."""
    boards, picture = st.columns([2, 3], gap="large")
    with boards:
        drawn = st.container()
        n = controls.slider("Number of outcomes", "n", 2, len(LETTERS), 4)
    names = list(LETTERS[:n])
    with drawn:
        st.markdown("**P**, the true distribution")
        true = bars.read(f"p{n}", P_FIRST[:n])
        bars.show(f"p{n}", true, names, label="distribution P", hue=0, height=150)
        st.markdown("**Q**, the prediction")
        predicted = bars.read(f"q{n}", Q_FIRST[:n])
        bars.show(f"q{n}", predicted, names, label="distribution Q", hue=1, height=150)
    given = bars.shares(true), bars.shares(predicted), names
    with picture:
        show_distributions(p, views.areas(*given), views.terms(*given), names)


def of_a_model(p: Panel, above: DeltaGenerator) -> None:
    """A text that a model goes on from."""
    left, right = above.columns([3, 1], vertical_alignment="bottom")
    with right:
        model_name = information_models.choose()
    with left:
        label = "Text to go on from"
        pasted = text_box(model_name, label, "text", PROMPT, CHARACTERS, height=68, named=False, kind="prompt")
    read = last_tokens(model_name, pasted, views.TOKENS)
    notices.tokens(read.total, len(read.ids))
    if read.ids:
        guessed(p, model_name, pasted)
    else:
        say_nothing_read(model_name, pasted, "text", "There is no text yet: type or paste some.")


@fragments.fragment
def guessed(p: Panel, model_name: str, pasted: str) -> None:
    """The model's own distribution, which stands, and a guess of it, which can be dragged."""
    shares, names = views.shares_of(model_name, pasted, views.TOKENS, views.OUTCOMES)
    boards, picture = st.columns([2, 3], gap="large")
    with boards:
        st.markdown("**P**, the model's distribution")
        weights = tuple(round(WEIGHTS * one) for one in shares)
        bars.show("said", weights, names, label="distribution P", hue=0, height=150, fixed=True)
        st.markdown("**Q**, your prediction of it: drag")
        guess = bars.read("guess", (1,) * len(names))
        bars.show("guess", guess, names, label="distribution Q", hue=1, height=150)
    given = model_name, pasted, bars.shares(guess)
    with picture:
        show_distributions(p, views.next_areas(*given), views.next_terms(*given), names)


def show_distributions(p: Panel, areas: View, terms: View, names: Sequence[str]) -> None:
    """All numbers of two distributions, between the pictures of them."""
    p.show(areas)
    show_numbers(NUMBERS, entropy.entropy_numbers(areas.result).metrics, lambda name: 88 if len(name) < 12 else 120)
    identity = entropy.entropy_identity(areas.result, names)
    st.markdown(f"**{'Infinite' if identity.ruled_out else 'Checked now'}**: {text.escape(identity)}")
    p.show(terms)


def show_numbers(words: Mapping[str, str], numbers: Mapping[str, str], width: Callable[[str], int]) -> None:
    """Numbers in a row, each with what it is.

    Args:
        width: of a number by its name, in pixels.
    """
    with st.container(horizontal=True, gap="small"):
        for name, said in words.items():
            st.metric(name, numbers[name], help=said, width=width(name))


# ---- why KL has a direction ----

MEANS = (-6.0, 6.0, 0.1)  # ends and step of the sliders of one's own bump
WIDTHS = (0.25, 5.0, 0.05)


def two_bumps() -> None:
    """One bump fitted to two by either KL, which is where the two differ most."""
    with panel(None) as p:
        p.examples(
            {
                "two bumps far apart": {"distance": 5.0, "balance": 0.4, "width": 0.7},
                "so near that they are one": {"distance": 1.4, "balance": 0.5, "width": 0.8},
                "a small bump far off": {"distance": 7.0, "balance": 0.05, "width": 0.6},
                "mine on the left bump": {"distance": 5.0, "balance": 0.4, "width": 0.7, "mean": -2.5, "own": 0.7},
                "mine in the middle, wide": {"distance": 5.0, "balance": 0.4, "width": 0.7, "mean": -0.5, "own": 2.55},
            }
        )
        fitted(p)
        p.what_to_see(
            "P is a mixture of two bumps, Q a single one. **KL(P‖Q)** is weighted by P: wherever P is large, Q must "
            "not be near 0, so the best Q (blue) covers both bumps, with the mean and the standard deviation of P "
            "(mean-seeking). **KL(Q‖P)** is weighted by Q: wherever Q is large, P must not be near 0, so with bumps "
            "far apart the best Q (orange) picks one of them (mode-seeking). Below, pale means a small divergence; "
            "rings mark the minima. Click a map to put your own bump there."
        )
        p.question(
            "A small model learns from texts of two kinds that it cannot tell apart well. What will it write?",
            "With the usual loss, KL(P‖Q), it must give some probability to all that occurs, so a model that is too "
            "small also spreads over what lies between, and generates texts of neither kind. With KL(Q‖P) it would "
            "keep to one kind and generate that well. Both fail, in different ways.",
        )


@fragments.fragment
def fitted(p: Panel) -> None:
    """Sliders for the two bumps and for one's own, the curves, the maps and the numbers."""
    left, right = st.columns([1, 2], gap="large")
    with left:
        distance = controls.slider("Distance of the two bumps", "distance", 0.0, 8.0, 5.0, 0.2, format="%.1f")
        balance = controls.slider("Share of the right bump", "balance", 0.05, 0.95, 0.4, 0.05, format="%.2f")
        mean = controls.slider("Mean of your bump", "mean", *MEANS[:2], 1.0, MEANS[2], format="%.1f")
        with page.more_settings():
            width = controls.slider("Width of each bump", "width", 0.4, 1.5, 0.7, 0.1, format="%.1f")
            own_width = controls.slider("Width of your bump", "own", *WIDTHS[:2], 1.5, WIDTHS[2], format="%.2f")
    given = distance, balance, width, mean, own_width
    curves = views.bumps(*given)
    with right:
        p.show(curves)
    st.dataframe(pd.DataFrame(kl_fit.fit_table(curves.result.fit, curves.result.own)), hide_index=True)
    p.show(views.maps(*given), on_click=take_bump)


def take_bump(event: Event) -> None:
    """A click on a map sets one's own bump."""
    x, y = event["x"], event["y"]
    if isinstance(x, int | float) and isinstance(y, int | float):
        controls.set_values(mean=on_slider(float(x), *MEANS), own=on_slider(float(y), *WIDTHS))


def on_slider(value: float, low: float, high: float, step: float) -> float:
    """The value of a slider nearest to a number."""
    return round(low + step * round((min(max(value, low), high) - low) / step), 2)


# ---- mutual information ----

STORY = (
    "Once upon a time, there was a little girl named Lily. She loved to play in the garden with her dog. One day the "
    "dog ran away, and Lily looked for him behind the house, under the trees and near the pond. There he was, wet and "
    "happy, with a big red ball. Lily laughed and gave him a hug."
)
TABLES = {"hand": "By hand", "letters": "Letters of a text"}
MOST = 4  # values of each variable
HEIGHTS = {2: 110, 3: 84, 4: 70}  # of a cell, by the number of rows
SHARED = {
    "I(X; Y)": "mutual information, bits",
    "H(X)": "bits of X alone",
    "H(Y)": "bits of Y alone",
    "H(X, Y)": "bits of both together",
    "H(X | Y)": "bits of X that are left when Y is known",
}


def by_cells(*rows: Sequence[int]) -> dict[str, Any]:
    """An example: a table with these weights."""
    down, across = len(rows), len(rows[0])
    weights = bars.written(tuple(cell for row in rows for cell in row))
    return {"cells": "hand", "down": down, "across": across, f"j{down}{across}": weights}


def first_table(down: int, across: int) -> tuple[int, ...]:
    """A table to begin with: most of it on the diagonal."""
    return tuple(6 if i == j else 1 + (i + j) % 2 for i in range(down) for j in range(across))


def two_variables() -> None:
    """A joint table to drag, and its mutual information three ways."""
    with panel(None) as p:
        p.examples(
            {
                "independent": by_cells((42, 18), (28, 12)),
                "one decides the other": by_cells((1, 0, 0), (0, 1, 0), (0, 0, 1)),
                "a noisy copy": by_cells((45, 5), (5, 45)),
                "uncorrelated, but dependent": by_cells((0, 1), (1, 0), (0, 1)),
                "four of four": by_cells((4, 1, 1, 1), (1, 4, 1, 1), (1, 1, 4, 1), (1, 1, 1, 4)),
                "letters that follow each other": {"cells": "letters", "apart": 1, "text": STORY},
            }
        )
        which, rest = st.columns([2, 5], vertical_alignment="bottom")
        with which:
            source = controls.segmented("Table", "cells", list(TABLES), "hand", TABLES, named=False)
        if source == "hand":
            cells(p)
        else:
            with rest:
                pasted = controls.text_area("Text", "text", STORY, CHARACTERS, height=68, named=False)
            letters(p, pasted)
        p.what_to_see(
            "Each cell is the probability that X takes its row and Y its column. The bars overlap by the mutual "
            "information: knowing Y reduces the entropy of X by I(X; Y), and knowing X that of Y by as much. Red cells "
            "are more probable than if X and Y were independent, blue ones less; their sum is never below 0. A table "
            "whose rows are all proportional has none: X and Y are independent."
        )
        p.question(
            "X is −1, 0 or 1, each a third of the time, and Y = X². Their correlation is 0. What is I(X; Y)?",
            "0.918 bits, all that Y has: X decides Y. Correlation only measures linear dependence; mutual information "
            "any dependence. Try the fourth button.",
        )


@fragments.fragment
def cells(p: Panel) -> None:
    """The table by hand."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        down = controls.slider("Values of X (rows)", "down", 2, MOST, 3)
        across = controls.slider("Values of Y (columns)", "across", 2, MOST, 3)
        key = f"j{down}{across}"
        weights = bars.read(key, first_table(down, across))
        rows, columns = [f"x{i + 1}" for i in range(down)], [f"y{i + 1}" for i in range(across)]
        show_board(key, weights, rows, columns, fixed=False)
    shares = bars.shares(weights)
    table = [list(shares[i * across : (i + 1) * across]) for i in range(down)]
    with right:
        show_shared(p, views.overlap(table), views.cells(table))


def letters(p: Panel, pasted: str) -> None:
    """The table of a text: which kind of character follows which."""
    left, right = st.columns([2, 3], gap="large")
    with left:
        apart = controls.slider("Y comes how many characters after X", "apart", 1, 20, 1)
    counts = views.counted(pasted, apart)
    if not counts.any():
        st.info(f"The text is too short: it takes more than {apart} characters to have a pair that far apart.")
        return
    with left:
        st.caption(str(mutual_information.pair_count(counts, apart)))
        show_board("letters", tuple(counts.ravel().tolist()), KINDS, KINDS, fixed=True)
    with right:
        show_shared(p, views.letter_overlap(pasted, apart), views.letter_cells(pasted, apart))


def show_board(key: str, weights: tuple[int, ...], rows: Sequence[str], columns: Sequence[str], *, fixed: bool) -> None:
    """A table whose cells can be dragged, unless it is fixed."""
    names = [f"{row} and {column}" for row in rows for column in columns]
    bars.show(
        key,
        weights,
        names,
        label="joint distribution",
        hue=2,
        height=HEIGHTS[len(rows)],
        rows=rows,
        columns=columns,
        top=1.2 / min(len(rows), len(columns)),
        fixed=fixed,
    )


def show_shared(p: Panel, overlap: View, cells: View) -> None:
    """The three ways, between the pictures."""
    p.show(overlap)
    show_numbers(SHARED, mutual_information.shared_information(overlap.result).metrics, lambda _: 94)
    ways = mutual_information.three_ways(overlap.result)
    st.markdown(f"**Checked now, three ways**: {text.escape(ways)}")
    p.show(cells)


# ---- loss of one token ----

GOOD = 0.9  # probability of all other tokens


def one_token() -> None:
    """The loss of one token against the probability of the right one."""
    with panel(None) as p:
        p.examples(
            {
                "nearly sure: 0.9": {"right": 0.9},
                "a coin: 0.5": {"right": 0.5},
                "surprised: 0.01": {"right": 0.01},
                "very surprised: 0.001": {"right": 0.001},
                "one token in ten at 0.001": {"right": 0.001, "share": 10},
            }
        )
        surprised(p)
        p.what_to_see(
            "Each halving of the probability costs one bit more, wherever it happens: from 1 to 0.5 as from 0.002 to "
            "0.001. At 0.9 the loss is 0.152 bits, at 0.01 it is 6.64, so a few improbable tokens can make most of the "
            "loss of a text. The gradient with respect to the logit is bounded: it is at most 1."
        )
        p.question(
            "Two models have the same mean loss on a text. Are they equally good at predicting the next token?",
            "Not necessarily. One may be confident everywhere and wrong now and then, the other a little uncertain "
            "everywhere: ten per cent of tokens at 0.001 among others at 0.9 cost as much on average as all tokens at "
            "0.46. The mean does not say how often the likeliest token is the right one.",
        )


@fragments.fragment
def surprised(p: Panel) -> None:
    """A slider for the probability, and what follows from it."""
    left, right = st.columns([1, 2], gap="large")
    with left:
        likely = controls.slider("Probability of the right token", "right", 0.001, 1.0, 0.01, 0.001, format="%.3f")
        share = controls.slider(
            "Tokens of that kind in a text, %", "share", 0, 100, 10, help="All others have probability 0.9."
        )
        shown = views.one_token(likely)
        with st.container(horizontal=True):
            for name, value in shown.result.metrics.items():
                said = "The perplexity if every token were like this one." if name == "1/p" else None
                st.metric(name, value, help=said, width=110)
        st.markdown(str(entropy.loss_of_mixture(likely, share / 100, GOOD)))
    with right:
        p.show(shown)
    st.dataframe(pd.DataFrame(entropy.loss_table(views.ROWS)), hide_index=True)


# what draws each section, computed and sent only when it is looked at
SECTIONS: dict[str, Callable[[], None]] = {
    "bars": distributions,
    "bumps": two_bumps,
    "joint": two_variables,
    "token": one_token,
    "text": texts.in_bits,
}

page.begin(FACTS, always=models.always())
SECTIONS[controls.sections(FACTS.sections)]()
