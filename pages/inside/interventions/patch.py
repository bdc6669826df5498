"""Section of the page on interventions: activation patching, from the run on another text."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.continuations import NEW_TOKENS, when_asked
from pages.inside.effects import prediction
from pages.inside.interventions import experiments
from pages.inside.reading import Reading
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from pages.ui.reading import text_box
from pages.ui.work import live
from pages.ui.work.filling import fill
from tfcore.analysis.inside import attribution_patching, patching
from tfcore.analysis.inside.patching import Kind, Pair, PatchedColumns
from tfcore.measures import effect_metric, interventions, knock_outs
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.interventions import Effect

CHARACTERS = 1_000  # of a text
TOKENS = 128  # of a text
LEFT, SIDES = 80, 110  # beside the map, in pixels: names of rows, and the scale of colours with them
OTHER = "There was a little girl. One day, Sam said that"
KINDS: dict[Kind, str] = {"residual": "residual stream", "attention": "attention", "feed-forward": "feed-forward"}
FOUND = "found"
ANSWERS = {FOUND: "both predictions", "difference": "two tokens", "prediction": "the next token"}
SAME = 3  # hues of chips
DIFFERENT = 4
Answers = tuple[int, int] | None
Texts = tuple[str, str, str, bool | None, Answers]  # model, source text, this text, BOS, two tokens or None: found

compared = cache.of_model(max_entries=32)(experiments.compared)


@cache.data(max_entries=24)
def every_patch(
    model: str, source: str, pasted: str, bos: bool | None, answers: Answers, kind: Kind
) -> list[PatchedColumns]:
    return experiments.every_patch(cache.model(model)[0], compared(model, source, pasted, TOKENS, answers, bos), kind)


@cache.data(max_entries=24)
def estimated_patches(
    model: str, source: str, pasted: str, bos: bool | None, answers: Answers, kind: Kind
) -> Float[ndarray, "row seq"]:
    both = compared(model, source, pasted, TOKENS, answers, bos)
    return attribution_patching.estimate_patches(cache.model(model)[0], both, kind)


@cache.shared(max_entries=32)
def source_values(model: str, source: str, pasted: str, bos: bool | None, answers: Answers, name: str) -> Any:
    """What is put in, at every position: small, and read only."""
    return patching.source_values(cache.model(model)[0], compared(model, source, pasted, TOKENS, answers, bos), name)


@cache.data(max_entries=128)
def effect_of(
    model: str, source: str, pasted: str, bos: bool | None, answers: Answers, name: str, position: int
) -> Effect:
    """What one patch does to the prediction at the end."""
    both = compared(model, source, pasted, TOKENS, answers, bos)
    values = source_values(model, source, pasted, bos, answers, name)
    return experiments.patched_effect(cache.model(model)[0], both, values, name, position)


@cache.data(max_entries=128)
def continued(
    model: str, source: str, pasted: str, bos: bool | None, answers: Answers, name: str, position: int
) -> list[int]:
    """How the text continues with one patch."""
    edit = patching.patch(source_values(model, source, pasted, bos, answers, name), name, position)
    ids = _reading.read(model, pasted, TOKENS, bos).ids
    return interventions.continue_text(cache.model(model)[0], ids, [edit], NEW_TOKENS)


@cache.data(max_entries=64)
def plain(model: str, pasted: str, bos: bool | None) -> list[int]:
    ids = _reading.read(model, pasted, TOKENS, bos).ids
    return interventions.continue_text(cache.model(model)[0], ids, [], NEW_TOKENS)


def patch(reading: Reading, more: Any) -> None:
    """The section; what is measured is chosen below the map, which begins higher for it."""
    drawn = st.container()
    row = st.container(horizontal=True, gap="medium", vertical_alignment="bottom")
    first = _reading.other_text(reading.model, reading.pasted, OTHER, TOKENS)
    label = "Source text, whose activations are patched in"
    other = text_box(reading.model, label, "other", first, CHARACTERS, height=68, kind="other")
    source = _reading.checked(reading.model, other, TOKENS, "other text", reading.bos, "other")
    side_by_side(reading, source)
    with row:
        answers = choose_answers(reading, more)
    texts: Texts = (reading.model, other, reading.pasted, reading.bos, answers)
    programs: list[page.Experiment] = []
    try:
        both = compared(*texts[:3], TOKENS, answers, reading.bos)
    except ValueError as problem:
        st.info(f"{str(problem).capitalize()}.")
    else:
        with drawn:
            programs.append(picture(reading, source, both, texts, more))
    words(reading, answers, programs)


def choose_answers(reading: Reading, more: Any) -> Answers:
    """What is measured: at first what tells both texts apart."""
    kind = metric.choose_kind(ANSWERS, FOUND, "patch")
    if kind == FOUND:
        return None
    of: effect_metric.Kind = "prediction" if kind == "prediction" else "difference"
    with more:
        quantity = metric.choose_tokens(of, metric.candidates(reading, TOKENS))
    if quantity.kind == "prediction":
        return quantity.token, quantity.token
    return quantity.against, quantity.token  # 0 is what this text predicts


def side_by_side(target: Reading, source: Reading) -> None:
    """Both texts, what differs marked."""
    texts = (("This text", target, source), ("Source text", source, target))
    for place, (title, mine, theirs) in zip(st.columns(2, gap="medium"), texts, strict=True):
        new = [i >= len(theirs.ids) or token != theirs.ids[i] for i, token in enumerate(mine.ids)]
        with place:
            st.caption(f"{title}, {len(mine.ids)} tokens")
            text.chips(mine.tokens, key=f"chips {title}", hues=[DIFFERENT if one else SAME for one in new], label=title)


def picture(target: Reading, source: Reading, both: Pair, texts: Texts, more: Any) -> page.Experiment:
    """The map over layers and positions, and the prediction with the chosen patch."""
    network, tokenizer = cache.model(target.model)
    n = len(both.target)
    kinds = [kind for kind in KINDS if patching.patched_names(network.config, kind)]
    above = st.container()
    kind = controls.segmented("What is patched", "kind", kinds, "residual", KINDS)
    names = patching.patched_names(network.config, kind)
    titles = [patching.patched_title(name, kind) for name in names]
    last_layer = network.config.n_layers - 1  # what is patched before it at the last position, the prediction reads
    first = last_layer if _reading.begins_with_strongest(network.config) else 3
    with more:
        row = controls.place("Row", "row", len(names), first)
        position = controls.place("Position", "position", n, n - 1)
    wide = max(640, 12 * n + SIDES)  # of the picture: 12 pixels a token
    at = (*texts, names[row], position)
    change, estimate = effect_of(*at), estimated_patches(*texts, kind)

    def draw(found: Sequence[PatchedColumns]) -> None:
        exact = list(found)
        shown = experiments.patched(network, tokenizer, both, exact, estimate, change, kind, row, position)
        shares = patching.known_shares(found, estimate)
        if len(found) == steps:
            agree = experiments.patches_agree(network, tokenizer, both, exact, estimate, kind)
            where = f" {patching.where_it_is(shares, kind, titles, target.tokens)} {agree}"
        else:
            end = f"; exact from position {found[-1].start} on" if found else ""
            where = f" Estimates from one backward pass{end}."
        figure(
            shown.figure,
            key="patch",
            height=shown.figure.layout.height,
            min_width=wide,
            at=round(LEFT + (position + 0.5) * (wide - SIDES) / n),
            on_click=partial(choose_cell, len(names), n),
            table=lambda: pd.DataFrame(shares.T, columns=titles).assign(this=target.tokens, other=source.tokens),
            alt=f"Share of what is measured that one patched activation restores. {shown.alt}",
            caption=f"{shown.findings[0]}{where} Click a cell to see its prediction.",
        )

    steps = patching.groups(network.config, both)
    with above:
        fill(
            ("patches", *texts, kind),
            knock_outs.operations(network, len(names) * (n - both.differing[0]), n - both.differing[0]),
            lambda: patching.patch_each(network, both, kind),
            lambda: every_patch(*texts, kind),
            draw,
            steps,
            "group",
            wait=0.0,  # the estimates are there
        )
    patched = patching.patched_words(names[row], kind, target.tokens[position], position)
    token, against = both.answers
    prediction(target, n - 1, change, ("this text", patched), token, None if against == token else against)
    when_asked(
        target.model,
        n,
        {
            "This text continues": lambda: plain(target.model, target.pasted, target.bos),
            f"With {patched}": lambda: continued(*at),
            "The source text continues": lambda: plain(target.model, source.pasted, target.bos),
        },
    )
    model = target.model
    both_made = made(experiments.compared, *texts[:3], TOKENS, texts[4], texts[3])
    values = made(patching.source_values, model, both_made, names[row])
    return page.experiment(
        experiments.patched,
        model,
        both_made,
        made(experiments.every_patch, model, both_made, kind),
        made(attribution_patching.estimate_patches, model, both_made, kind),
        made(experiments.patched_effect, model, both_made, values, names[row], position),
        kind,
        row,
        position,
    )


def choose_cell(rows: int, columns: int, event: Event) -> None:
    """A click on a cell chooses the row and the position that are patched."""
    at = event["point"]
    if isinstance(at, list) and at[0] < rows and at[1] < columns:
        live.set_values(row=at[0], position=at[1])


def words(reading: Reading, answers: Answers, programs: list[page.Experiment]) -> None:
    """What to see, links, the equation, the code, a question."""
    page.what_to_see(
        "Follow the difference through the layers. In the residual stream before block 0 it is at the tokens that "
        "differ; only attention can move it to later positions. Choose “attention” to see which layers do."
    )
    if answers is not None:
        against, token = answers
        quantity = Quantity("prediction", token) if token == against else Quantity("difference", token, against)
        metric.elsewhere("activation patching", reading, quantity)
    page.question(
        "In the example of Sam, patching the position of “boy” before the last block restores almost nothing. Is the "
        "information gone from there?",
        "No, it is still in the residual stream there. But the last layer does not read it from there: attention in "
        "earlier layers has already moved to the last position what the prediction needs. Patching shows where "
        "information is used, not where it is.",
    )
    page.how_it_is_computed(
        *programs,
        formula=(
            r"\begin{gathered}\text{share} = "
            r"\frac{d(\text{patched}) - d(\text{this})}{d(\text{source}) - d(\text{this})} \\ "
            r"d = \mathrm{logit}_{\text{source's prediction}} - \mathrm{logit}_{\text{this one's}}"
            r"\quad\text{or}\quad \log p_{\text{token}} \\ \text{estimate} = "
            r"\frac{(x_{source} - x) \cdot \partial d / \partial x}{d(\text{source}) - d(\text{this})}\end{gathered}"
        ),
        code=(
            patching.patch_each,
            attribution_patching.estimate_patches,
            patching.source_values,
            patching.patch,
            patching.pair,
        ),
        papers=(
            "Activation patching, also called causal tracing: arXiv:2202.05262, section 2; the measure: "
            "arXiv:2309.16042, section 2; estimates: arXiv:2310.10348, section 2. The two predictions are the "
            "tokens whose probability differs most between the texts."
        ),
    )
