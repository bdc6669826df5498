"""One text through one model, stage by stage: the tensors before and after each, and the prediction at the end."""

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd

from tfcore.charts.guesses import guesses_figure
from tfcore.measures.masked_tokens import mask_of
from tfcore.measures.quantities import counted
from tfcore.measures.token_text import tick_labels, visible
from tfcore.views.finding import state
from tfcore.views.kept import kept
from tfcore.views.sources import Source, opened
from tfcore.views.start.walkthrough import draw
from tfcore.views.start.walkthrough.code import functions
from tfcore.views.start.walkthrough.measure import heads, tensors, walk
from tfcore.views.start.walkthrough.measure.tensors import ShownTensor
from tfcore.views.start.walkthrough.measure.walk import WalkStage
from tfcore.views.start.walkthrough.say import prediction, stages
from tfcore.views.start.walkthrough.say.words import PARTS, SAID, StageWords, words
from tfcore.views.view import View, view

TOKENS = 32  # the last of a text
TOP = 5  # most likely tokens
TERMS = ("Transformer", "residual stream", "logit")
PAPERS = (
    "The whole: arXiv:1706.03762 (Vaswani et al., 2017), figure 1. Parts that came later: RMSNorm arXiv:1910.07467, "
    "RoPE arXiv:2104.09864, SwiGLU arXiv:2002.05202, norms before each sublayer arXiv:2002.04745."
)

ROLES = {"read": "embedding", "attention": "attention", "feed-forward": "feedforward", "predict": "accent"}  # of parts

walked_of = kept(walk.walk_text, entries=24)
first_head_of = kept(walk.first_head, entries=64)


def fills_blanks(model: Source) -> bool:
    """Whether a model guesses masked tokens: there is then an id that stands for one."""
    network, tokenizer = opened(model)
    return network.config.head == "mlm" and mask_of(tokenizer, network.config.vocab_size) is not None


@view
def overview(model: Source, text: str, name: str, layer: int, hidden: int | None = None) -> View:
    """The stages on the way of a text through a model, as the stops of a map.

    Args:
        model, text, layer, hidden: see stage.
        name: of the stage where we are.
    """
    walked = walked_of(model, text, TOKENS, layer, hidden)
    config = walked.walk.config
    path = walk.walk_stages(config, layer)
    at = [one.name for one in path].index(name)
    answer = f"'{visible(walked.candidates[0])}'" if walked.candidates else ""
    explained = [words(config, one.name, layer, answer) for one in path]
    following = [*path[1:], None]
    return View(
        key="map",
        title="The stages of a text through the model",
        result=path,
        chart=draw.stage_map(
            list(map(_stop, path, following, explained)), _areas(path, layer), _folds(path, layer, config.n_layers), at
        ),
        described=state(
            "stop",
            "Stage {number} of {stages} of a text through the model: {title}.",
            number=at + 1,
            stages=len(path),
            title=explained[at].title,
        ),
        table=lambda: pd.DataFrame(
            {
                "stage": [SAID.get(one.name, one.name) for one in path],
                "part": [PARTS[one.part] for one in path],
                "title": [one.title for one in explained],
            }
        ),
        papers=PAPERS,
        terms=TERMS,
        code=(walk.walk_stages,),
    )


def _stop(at: WalkStage, after: WalkStage | None, explained: StageWords) -> draw.MapStop:
    """A stage as a stop of the map; its label goes under the line where a branch would cross it."""
    return draw.MapStop(
        label=explained.label,
        title=f"{explained.title} ({PARTS[at.part]})",
        role=explained.role,
        beside=at.beside,
        branch=ROLES[at.part],
        under=not at.beside and (after is None or after.beside or at.name.startswith("add-")),
        carried=at.name not in ("characters", "tokens", "ids", "final-norm", "mlm-head", "logits", "probabilities"),
    )


def _areas(path: Sequence[WalkStage], layer: int) -> list[draw.Area]:
    """The parts of the map, each with its words."""
    areas = []
    for part, title in PARTS.items():
        places = [i for i, one in enumerate(path) if one.part == part]
        if places:
            name = f"layer {layer}: {title}" if part in ("attention", "feed-forward") else title
            areas.append(draw.Area(first=places[0], last=places[-1], title=name, role=ROLES[part]))
    return areas


def _folds(path: Sequence[WalkStage], layer: int, n_layers: int) -> list[draw.Fold]:
    """The layers before the one that is walked through, and those after it."""
    inside = [i for i, one in enumerate(path) if one.part in ("attention", "feed-forward")]
    around = ((inside[0], range(layer)), (inside[-1] + 1, range(layer + 1, n_layers)))
    return [
        draw.Fold(
            before=before,
            title=_span(layers),
            words=f"The text passes through {counted(len(layers), 'more layer')} here.",
        )
        for before, layers in around
        if layers and before < len(path)
    ]


def _span(layers: range) -> str:
    """Their numbers: "layer 0", "layers 0–2"."""
    return f"layer {layers[0]}" if len(layers) == 1 else f"layers {layers[0]}–{layers[-1]}"


@view
def stage(
    model: Source,
    text: str,
    name: str,
    layer: int,
    head: int,
    when: Literal["before", "after"] = "after",
    hidden: int | None = None,
) -> View:
    """One stage on the way of a text through a model: its tensors, before or after it.

    Args:
        model: decoder or encoder, with its tokenizer.
        text: whose last tokens are read.
        name: of the stage.
        layer, head: that are looked into.
        hidden: position of a masked token, whose prediction is looked at; None looks at the token after the last.
    """
    walked = walked_of(model, text, TOKENS, layer, hidden)
    shown = tensors.stage_tensors(walked.walk, name, head)
    pieces = shown.after if when == "after" else shown.before
    # One range of colours for both pictures where the change of size matters.
    limit = max(map(draw.limit_of, (shown.before, shown.after))) if shown.compared else draw.limit_of(pieces)
    picture = stages.stage_picture(when, name, pieces, limit)
    done = stages.stage_finding(walked.walk, shown, name, walked.tokens)
    explained = words(walked.walk.config, name, layer)
    return View(
        key=when,
        title=f"{explained.title}: {when}",
        result=shown,
        chart=draw.pieces_figure(
            pieces,
            tick_labels(walked.tokens),
            limit=limit,
            height=draw.stage_height(len(walked.tokens)),
            sign=shown.sign,
            candidates=tick_labels(walked.candidates),
        ),
        min_width=300,
        described=state("stage", "{picture} {done}", picture=picture, done=done),
        note=str(picture),
        table=lambda: _numbers(pieces, walked.tokens, walked.candidates),
        cursor=pieces[0].columns in ("key", "candidate"),
        formula=explained.equation,
        papers=PAPERS,
        terms=TERMS,
        code=functions(walked.walk, name, opened(model)[1]),
    )


def _numbers(pieces: Sequence[ShownTensor], tokens: Sequence[str], candidates: Sequence[str]) -> pd.DataFrame:
    """The numbers of a picture, a row a token."""
    columns: dict[str, Any] = {"token": list(tokens)}
    for piece in pieces:
        for i in range(piece.values.shape[1]):
            name = candidates[i] if piece.columns == "candidate" else piece.first + i
            columns[f"{piece.title} {i if piece.columns == 'candidate' else ''}{name}"] = piece.values[:, i]
    return pd.DataFrame(columns)


@view
def head(model: Source, text: str, name: str, layer: int, head: int, hidden: int | None = None) -> View:
    """One head at work on a text: its queries, keys and values, scores, mask, weights and output, step by step.

    Args:
        model, text, layer, head, hidden: see stage.
        name: of the step that is shown, one of heads.STEPS that the model has.
    """
    walked = walked_of(model, text, TOKENS, layer, hidden)
    config, tokens = walked.walk.config, list(map(visible, walked.tokens))
    steps = heads.head_steps(walked.walk, head)
    at = steps.steps.index(name)
    labels = [words(config, step, layer).label for step in steps.steps]
    stories = stages.strongest_keys(walked.tokens, steps)
    shown = state("head", "Attention of head {head} in layer {layer}, {step}", head=head, layer=layer, step=labels[at])
    explained = words(config, name, layer)
    return View(
        key="head",
        title=f"One head: {explained.title}",
        result=steps,
        chart=draw.head_stage(steps, at, tokens, labels, list(map(str, stories)), str(shown)),
        described=state("head and token", "{shown}. {strongest}", shown=shown, strongest=stories[-1]),
        table=lambda: _pairs(steps, walked.tokens),
        formula=explained.equation,
        papers=PAPERS,
        terms=TERMS,
        code=functions(walked.walk, name, opened(model)[1]),
    )


def _pairs(steps: heads.HeadSteps, tokens: Sequence[str]) -> pd.DataFrame:
    """The score and the weight of each query for each key that the mask allows."""
    query, key = (at.tolist() for at in steps.allowed.nonzero())
    return pd.DataFrame(
        {
            "query": query,
            "query token": [tokens[at] for at in query],
            "key": key,
            "key token": [tokens[at] for at in key],
            "score": steps.scores[-1][query, key],
            "weight": steps.weights[query, key],
        }
    )


@view
def answer(
    model: Source, text: str, layer: int, hidden: int | None = None, name: str = "top-5", height: int = 400
) -> View:
    """The model's prediction at the end of the walk: the most likely tokens.

    Args:
        model, text, layer, hidden: see stage.
        name: of the stage beside which it stands, whose code and formula come with it.
        height: in pixels.
    """
    walked = walked_of(model, text, TOKENS, layer, hidden)
    likely = prediction.likely_tokens(walked, TOP)
    probabilities = walked.walk.probabilities[walked.walk.position, :TOP]
    tokens = walked.candidates[:TOP]
    return View(
        key="next",
        title="The prediction",
        result=walked,
        chart=guesses_figure(probabilities, tick_labels(tokens), height=height),
        described=likely,
        note=f"The prediction. {likely}",
        table=lambda: pd.DataFrame({"token": tokens, "probability": probabilities}),
        formula=words(walked.walk.config, name, layer).equation,
        papers=PAPERS,
        terms=TERMS,
        code=functions(walked.walk, name, opened(model)[1]),
    )
