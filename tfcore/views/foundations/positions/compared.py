"""Position schemes compared: on shuffled words, on one head of a trained model, and beyond the trained length."""

from collections.abc import Mapping, Sequence

import pandas as pd

from tfcore import positions
from tfcore.measures.one_text import first_tokens
from tfcore.measures.token_text import tick_labels, visible
from tfcore.model import Transformer
from tfcore.part_configs import Positions
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training import ladder
from tfcore.views.finding import state
from tfcore.views.foundations.positions import say
from tfcore.views.foundations.positions.draw import scores as charts
from tfcore.views.foundations.positions.draw.lengths import length_losses_figure
from tfcore.views.foundations.positions.measure.effects import (
    SCHEMES,
    LengthLosses,
    SchemeEffect,
    length_losses,
    position_effects,
    shuffle_experiment,
)
from tfcore.views.kept import kept
from tfcore.views.sources import Source
from tfcore.views.view import View, view

TOKENS = 40  # of a text that a head reads

Effects = Mapping[Positions, SchemeEffect]


# ---- shuffled words ----

shuffle_of = kept(shuffle_experiment, entries=64)


@view
def shuffled(words: Sequence[str], shuffle: int, is_causal: bool, look: Positions) -> View:
    """The shuffle test: without positions a Transformer cannot tell a text from its words in another order.

    Args:
        words: of the text, at most 64.
        shuffle: which of the possible shuffles.
        is_causal: each word sees only itself and those before it.
        look: the scheme that stands out.
    """
    test = shuffle_of(tuple(words), shuffle, is_causal)
    mask = "Causal mask." if is_causal else "No mask: bidirectional."
    changes = {"scheme": list(say.TITLES.values()), "largest difference": list(test.largest.values())}
    return View(
        key="differences",
        title="Changes by a shuffle",
        result=test,
        chart=charts.differences_figure(test, look, say.TITLES, height=280),
        described=say.shuffle_changes(test),
        note=f"{mask} Shuffled: {' '.join(visible(words[i]) for i in test.permutation)}",
        table=lambda: pd.DataFrame(changes),
        formula=r"f(P\,x) = P\,f(x) \quad\text{for every permutation } P",
        papers=(
            "Equivariance of attention: arXiv:1810.00825, section 3. Order from the causal mask alone: arXiv:2203.16634"
        ),
        code=(shuffle_experiment,),
    )


@view
def outputs(words: Sequence[str], shuffle: int, is_causal: bool, look: Positions) -> View:
    """The shuffle test: outputs of a text, of its shuffle, and of the shuffle put back in order. See shuffled."""
    test = shuffle_of(tuple(words), shuffle, is_causal)
    change = say.output_change(test, look)
    vectors = test.outputs[SCHEMES.index(look)]
    return View(
        key="outputs",
        title="Outputs before and after",
        result=test,
        chart=charts.outputs_figure(test, look, tick_labels(words), height=max(300, 130 + 22 * len(words))),
        min_width=760,
        findings=(change,),
        described=state(
            "outputs",
            "Outputs for the text, for the shuffled text, and these put back in order. {change}",
            change=change,
        ),
        note=f"Output vectors, shape ({len(words)}, {vectors.shape[-1]}), first {charts.TABLE} dimensions.",
        table=lambda: pd.DataFrame(vectors, index=list(words)).reset_index(),
    )


# ---- one head ----


def _effects(model: Transformer, tokenizer: Tokenizer, text: str, head: int) -> Effects:
    ids = first_tokens(model, tokenizer, text, TOKENS).ids
    return position_effects(model, ids, head) if ids else {}


effects_of = kept(_effects, entries=48)


@view
def added(model: Source, text: str, head: int) -> View:
    """Changes of one head's scores by each position scheme. See together."""
    effects: Effects = effects_of(model, text, head)
    n = len(effects["none"].weights)
    return View(
        key="added",
        title="Changes of the scores",
        result=effects,
        chart=charts.added_figure(effects, say.NAMES, height=250),
        min_width=620,
        described=state("added", "What each scheme adds to the scores of one head; nothing at all without positions."),
        note=f"What each scheme changes the scores by, (query, key) = ({n}, {n}); full colour is ±8.",
        table=lambda: _effects_table(effects),
        formula=(
            r"\underbrace{W_Q(x_i + p_i)\cdot W_K(x_j + p_j)}_{\text{sinusoidal, learned}} \qquad "
            r"\underbrace{R_i q_i \cdot R_j k_j}_{\text{RoPE}} \qquad "
            r"\underbrace{q_i\cdot k_j - m\,(i-j)}_{\text{ALiBi}}"
        ),
        papers="Sinusoidal: arXiv:1706.03762, 3.5. RoPE: arXiv:2104.09864. ALiBi: arXiv:2108.12409",
        code=(position_effects, positions.apply_rope, positions.alibi_bias),
    )


@view
def together(model: Source, text: str, head: int) -> View:
    """Every scheme in turn on one head of a trained model, made for RoPE or learned positions.

    Args:
        text: of which TOKENS tokens are read.
        head: of the first layer.
    """
    effects: Effects = effects_of(model, text, head)
    return View(
        key="weights",
        title="Attention weights",
        result=effects,
        chart=charts.scheme_weights_figure(effects, say.NAMES, height=250),
        min_width=620,
        findings=(say.mean_distances(effects, head),),
        table=lambda: _effects_table(effects),
    )


def _effects_table(effects: Effects) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "scheme": [say.NAMES[name] for name in effects],
            "weight on the previous token": [effect.previous for effect in effects.values()],
            "mean distance (tokens)": [effect.distance for effect in effects.values()],
            "largest change of a score": [effect.largest for effect in effects.values()],
        }
    )


# ---- beyond the trained length ----


def _measured() -> LengthLosses | None:
    """The losses of the models that `python -m tfcore.training ladder-positions` trained; None where there are none."""
    return length_losses(ladder.read_table(ladder.SHIPPED / "positions.csv"))


measured = kept(_measured, entries=1)


@view
def beyond(schemes: Sequence[str], rise: bool) -> View:
    """Models trained on short texts read long ones: how far each position scheme carries (arXiv:2108.12409).

    Args:
        schemes: to show.
        rise: show by how much each loss is above its own at the end of the trained length.

    Raises:
        ValueError: no model has been measured.
    """
    if (losses := measured()) is None:
        raise ValueError("no model has been measured; train them: python -m tfcore.training ladder-positions")
    names = {scheme: say.NAMES[scheme] for scheme in schemes}
    bend = say.smallest_and_largest_rise(losses, names)
    shown = ", ".join(names.values())
    return View(
        key="beyond",
        title="Beyond the trained length",
        result=losses,
        chart=length_losses_figure(losses, names, rise, height=400),
        min_width=350,
        findings=(bend,),
        described=state("curves", "Held-out loss by position for {schemes}. {rise}", schemes=shown, rise=bend),
        note=f"Every point is the mean of {int(losses.ends[0])} positions; bands hold all {len(losses.loss['none'])} "
        "seeds.",
        table=lambda: pd.DataFrame(
            {"position": losses.ends, **{say.NAMES[scheme]: losses.mean(scheme) for scheme in losses.loss}}
        ),
        formula=r"L_p = -\ln P(\text{token } p + 1 \mid \text{tokens } 1 \ldots p), \qquad p = 1 \ldots 4n",
        papers=(
            "Small models after a short training (d_model 96, 4 layers, 1.4 M tokens; the table has every setting): "
            "what counts is where the curves bend. Train short, test long: arXiv:2108.12409, section 3 and figure 1."
        ),
        code=(length_losses, ladder.climb),
    )
