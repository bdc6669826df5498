"""Views of what each token of a text adds to a prediction."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tfcore.charts.part_by_token import part_by_token
from tfcore.measures.answers import answers_of
from tfcore.measures.effect_metric import Quantity, quantity_name
from tfcore.measures.one_text import UsedTokens, last_tokens
from tfcore.measures.token_text import tick_labels
from tfcore.views.finding import Finding
from tfcore.views.inside.interventions import say
from tfcore.views.inside.interventions.draw import attribution_bars
from tfcore.views.inside.interventions.measure import input_attribution
from tfcore.views.inside.interventions.measure.input_attribution import CONSTANTS, Constant, InputAttribution, Occlusion
from tfcore.views.inside.scale_end import scale_end
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View, view

LONGEST = 48  # tokens of a text
COLUMN = 30  # pixels of a token, at least


def _read(reading: Reading, text: str) -> UsedTokens:
    model, tokenizer = opened(reading.model)
    return last_tokens(model, tokenizer, text, LONGEST, reading.bos)


def by_steps(reading: Reading, quantity: Quantity, other: str | None, constant: Constant) -> Iterator[InputAttribution]:
    """Shares of the tokens of a text in a quantity, as far as they are known after each group of runs: against another
    text of equally many tokens, or (None) the same vector everywhere."""
    baseline = constant if other is None else _read(reading, other).ids
    ids = _read(reading, reading.text).ids
    return input_attribution.attribute_by_steps(opened(reading.model)[0], ids, quantity, baseline)


def _attributed(reading: Reading, quantity: Quantity, other: str | None, constant: Constant) -> InputAttribution:
    return list(by_steps(reading, quantity, other, constant))[-1]


def _begun(reading: Reading, quantity: Quantity, other: str | None, constant: Constant) -> InputAttribution:
    """The first result, which is there at once: gradient times input."""
    return next(by_steps(reading, quantity, other, constant))


attributed = kept(_attributed, entries=64)
begun = kept(_begun, entries=64)


@view
def coloured_text(
    reading: Reading,
    quantity: Quantity,
    other: str | None,
    constant: Constant,
    occlusion: Occlusion,
    position: int,
    *,
    so_far: InputAttribution | None = None,
) -> View:
    """A text as coloured tokens, a row for each method: red adds to the quantity, blue takes away.

    Args:
        reading: the last LONGEST tokens of a text, of two or more.
        quantity: that is explained.
        other: the baseline, a text of equally many tokens; None for a vector that is the same at every token.
        constant: which vector, without another text.
        occlusion: whether an occluded token is replaced by the baseline, or left out.
        position: of the token that is marked.
        so_far: what is known until now; None computes all methods.
    """
    attribution = attributed(reading, quantity, other, constant) if so_far is None else so_far
    read, unit = _read(reading, reading.text), quantity.unit
    methods, labels = attribution.methods(occlusion), tick_labels(read.tokens, 10)
    values = np.stack(list(methods.values()))
    end = scale_end(values, [[f"{label} by {name}" for label in labels] for name in methods], least=0.1)
    said: tuple[Finding, ...] = (say.known_so_far(attribution),)
    if attribution.complete:
        against = CONSTANTS[constant] if other is None else "the other text"
        said = say.removed(attribution, position, read.tokens, unit), say.completeness(attribution, against, unit)
        said += (end,) if end.beyond else ()
    return View(
        key="inputs",
        title="The coloured text",
        result=attribution,
        chart=part_by_token(
            values,
            list(methods),
            labels,
            limit=end.end,
            chosen=(-2, position),  # no row is framed
            hover="%{x} by %{y}: %{z:+.2f} " + unit,
            axis="token of the text",
            height=230,
        ),
        min_width=_wide(read),
        findings=(say.colours(quantity_name(quantity, answers_of(*opened(reading.model)))), *said),
        described=said[0],
        table=lambda: _table(attribution, read),
        formula=(
            r"\begin{gathered}\mathrm{IG}_i = (x_i - b_i) \cdot \int_0^1 \frac{\partial Q}{\partial x_i}"
            r"\big(b + t\,(x - b)\big)\, dt, \qquad \sum_i \mathrm{IG}_i = Q(x) - Q(b) \\ "
            r"\text{occlusion}_i = Q(x) - Q(x \text{ with } b_i \text{ for } x_i), \qquad "
            r"\text{gradient} \times \text{input}_i = (x_i - b_i) \cdot \frac{\partial Q}{\partial x_i}(x)"
            r"\end{gathered}"
        ),
        papers=(
            "Integrated gradients and completeness: arXiv:1703.01365, equation 1 and proposition 1; here by a "
            "Gauss-Legendre sum. Occlusion: arXiv:1311.2901, section 4.2. Gradient times input: arXiv:1605.01713; with "
            "another text as baseline the input is the difference of the two embeddings."
        ),
        code=(
            input_attribution.attribute_by_steps,
            input_attribution.integrals,
            input_attribution.without_each,
            say.method_agreement,
        ),
    )


@view
def compared_methods(
    reading: Reading,
    quantity: Quantity,
    other: str | None,
    constant: Constant,
    occlusion: Occlusion,
    position: int,
    *,
    so_far: InputAttribution | None = None,
) -> View:
    """Occlusion, integrated gradients (arXiv:1703.01365) and gradient times input beside each other. See
    coloured_text."""
    attribution = attributed(reading, quantity, other, constant) if so_far is None else so_far
    read, methods = _read(reading, reading.text), attribution.methods(occlusion)
    said = say.method_agreement(methods, read.tokens) if attribution.complete else say.known_so_far(attribution)
    return View(
        key="methods",
        title="Three methods",
        result=attribution,
        chart=attribution_bars(methods, tick_labels(read.tokens, 10), quantity.unit, position, height=320),
        min_width=_wide(read),
        findings=(said,),
        table=lambda: _table(attribution, read),
    )


def _wide(read: UsedTokens) -> int:
    return max(420, COLUMN * len(read.ids) + 190)


def _table(attribution: InputAttribution, read: UsedTokens) -> pd.DataFrame:
    columns = {**attribution.methods("left out"), **attribution.methods("replaced")}
    return pd.DataFrame({"token": read.tokens, **columns})
