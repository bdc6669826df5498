"""Section of the page on the residual stream: direct logit attribution, each part's share in one token's logit."""

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.reading import Reading
from pages.inside.stream import experiments
from pages.inside.stream.choice import TOKENS, Choice, choose
from pages.ui import cache, controls, fragments, page
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from tfcore.analysis.inside import logit_attribution as findings
from tfcore.analysis.inside.logit_attribution import Promoted
from tfcore.measures import logit_attribution as attribution
from tfcore.measures.logit_attribution import Against, Contributions, Parts
from tfcore.model import Output

FORWARD = "feed-forward"
UP = 8  # tokens that a part raises most
DOWN = 3  # and lowers most


@cache.shared(max_entries=2)
def written(model: str, pasted: str, bos: bool | None) -> Output:
    """What the parts wrote at all positions: 43 MB of 128 tokens of smollm2."""
    return attribution.written(cache.model(model)[0], _reading.read(model, pasted, TOKENS, bos).ids)


@cache.shared(max_entries=32)
def parts_at(model: str, pasted: str, bos: bool | None, position: int) -> Parts:
    """Small, and read only."""
    return attribution.parts_at(cache.model(model)[0], written(model, pasted, bos), position)


FORMULA = (
    r"x_L = x_{embedding} + \sum_{\ell} \Big( \sum_{h} \mathrm{head}_{\ell,h} + \mathrm{FF}_\ell \Big), \qquad "
    r"\mathrm{logit}_t - \mathrm{logit}_{ref} = \sum_{parts} \frac{\gamma \odot part}{s} \cdot "
    r"\big(W_U[t] - W_U[ref]\big)"
)


@cache.data(max_entries=256)
def split(model: str, pasted: str, bos: bool | None, position: int, token: int, against: Against) -> Contributions:
    return attribution.contributions(cache.model(model)[0], parts_at(model, pasted, bos, position), token, against)


@cache.data(max_entries=256)
def promoted(model: str, pasted: str, bos: bool | None, position: int, layer: int, head: int | None) -> Promoted:
    """The tokens whose logits one part raises most and lowers most."""
    parts = parts_at(model, pasted, bos, position)
    return findings.most_promoted(*cache.model(model), parts, layer, head, UP, DOWN)


def who_wrote(reading: Reading, more: Any) -> None:
    """The section."""
    left, right = st.columns([5, 6], gap="large")
    choice, latest = choose(reading, more, has_reference=True), page.Latest()
    found = split(*choice.key, choice.token, choice.against)
    with left:
        adding_up(choice, found, more)
    with right:
        one_part(choice, found, latest)
    page.what_to_see(
        "Each bar on the left begins where the one before it ended, and the last bar is the logit. The board splits it "
        "by head. Blue shares are negative: that part favours other tokens. These are direct effects only: a head "
        "whose output is used by a later head gets no credit for it here, and yet the prediction may depend on it. "
        "Ablate it on the page on interventions to see."
    )
    metric.elsewhere("direct logit attribution", reading, choice.quantity, choice.position)
    parts = made(experiments.parts_at, *choice.key[:2], TOKENS, choice.position, choice.reading.bos)
    model = choice.reading.model
    page.question(
        "Why measure a logit relative to the mean of all logits?",
        "Because the softmax does not change when the same number is added to all logits. A part that raises every "
        "logit by 3 changes no probability, yet its share in the raw logit would be 3. Relative to the mean it is 0. "
        "Set the reference to “nothing” and see which shares change.",
    )
    page.how_it_is_computed(
        page.experiment_of(
            "All parts",
            experiments.parts,
            made(attribution.contributions, model, parts, choice.token, choice.against),
            None,
        ),
        latest,
        formula=FORMULA,
        code=(attribution.contributions, attribution.frozen_norm, attribution.stream_parts, attribution.promoted_by),
        papers=(
            "Direct logit attribution, as in arXiv:2211.00593, section 3.1. With LayerNorm each part also loses its "
            "mean; biases of the model, where it has any, are a part of their own. In the formula s is what the final "
            "norm divides the whole x_L by, held fixed; γ are its weights."
        ),
    )


def adding_up(choice: Choice, found: Contributions, more: Any) -> None:
    """The sum, part after part."""
    total = findings.logit_sum(found, choice.piece)
    many = len(findings.instalments(found)) > findings.LARGEST + 1
    with more:
        whole = many and controls.toggle("Every part", "whole", False)
    shown = experiments.summed(found, choice.piece, whole)
    figure(
        shown.figure,
        key="sum",
        height=shown.figure.layout.height,
        table=lambda: table(found),
        alt=shown.alt,
        caption=f"Shares in the order of computation, all heads of a layer in one bar"
        f"{'; the largest, and all others in one' if many and not whole else ''}. {shown.findings[1]}",
    )
    st.markdown(
        f"Logit of **{_reading.shown(choice.piece)}** after {_reading.shown(choice.reading.tokens[choice.position])}, "
        f"{choice.versus}: **{total.logit_text}**. Sum of the {total.count} parts: **{total.total_text}** "
        f"(off by {total.error_text})."
    )


def table(found: Contributions) -> pd.DataFrame:
    """Every part with its share."""
    rows = [("embedding", found.embedding), ("positions", found.position), ("biases", found.biases)]
    for layer, heads in enumerate(found.heads):
        rows += [(f"head {layer}.{head}", share) for head, share in enumerate(heads.tolist())]
        rows.append((f"feed-forward {layer}", float(found.feedforward[layer])))
    return pd.DataFrame([*rows, ("logit of the model", found.logit)], columns=["part", "share"])


@fragments.fragment
def one_part(choice: Choice, found: Contributions, latest: page.Latest) -> None:
    """The board of all heads and feed-forward layers, and what the chosen one promotes."""
    shares, parts = findings.shares_by_part(found)
    n_layers = len(shares)
    picture = st.container()
    with page.more_settings():
        first = (3, parts[0])
        if _reading.begins_with_strongest(cache.model(choice.reading.model)[0].config):
            first = findings.largest_place(found)
        layer = controls.place("Layer", "layer", n_layers, first[0])
        part = controls.select("Part", "part", parts, first[1])
    column = parts.index(part)
    shown = experiments.parts(found, (layer, column))
    with picture:
        figure(
            shown.figure,
            key="board",
            height=shown.figure.layout.height,
            min_width=350,
            on_click=partial(choose_part, parts, n_layers),
            table=lambda: table(found),
            alt=shown.alt,
            caption=f"One field per head{' or feed-forward layer (FF)' if FORWARD in parts else ''}: (layer, part) = "
            f"{shares.shape}. {shown.caption} Click a field to see what it writes.",
        )
    head = None if part == FORWARD else column
    written = promoted(*choice.key, layer, head)
    shown = experiments.promoted(written, choice.following)
    marked = choice.following in written.ids
    figure(
        shown.figure,
        key="writes",
        height=300,
        table=lambda: pd.DataFrame({"token": written.tokens, "share": written.shares}),
        alt=shown.alt,
        caption=f"What {part} of layer {layer} writes here, projected on the vocabulary: the logits it raises most "
        f"relative to the mean, and those it lowers most.{' ◂ follows in the text.' if marked else ''}",
    )
    model = choice.reading.model
    parts_made = made(experiments.parts_at, *choice.key[:2], TOKENS, choice.position, choice.reading.bos)
    latest.offer(
        experiments.promoted, made(findings.most_promoted, model, parts_made, layer, head, UP, DOWN), choice.following
    )


def choose_part(parts: list[str], n_layers: int, event: Event) -> None:
    """A click on a field chooses its layer and part."""
    match event["customdata"]:
        case [int(layer), int(column)] if 0 <= column < len(parts) and 0 <= layer < n_layers:
            controls.set_values(layer=layer, part=parts[column])
