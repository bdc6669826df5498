"""The experiments of the walkthrough."""

from tfcore.analysis.start.walk_findings import stage_finding, stage_picture
from tfcore.analysis.start.walk_prediction import likely_tokens
from tfcore.analysis.start.walk_tensors import stage_tensors
from tfcore.analysis.start.walkthrough import WalkedText
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.shown import Shown
from tfcore.figures.start.walkthrough import limit_of, pieces_figure, stage_height
from tfcore.measures.token_text import tick_labels


def stage(walked: WalkedText, stage: str, head: int, when: str) -> Shown:
    """One stage on the way of a text through a model: its tensors, before or after it."""
    tensors = stage_tensors(walked.walk, stage, head)
    pieces = tensors.after if when == "after" else tensors.before
    # One range of colours for both pictures where the change of size matters.
    limit = max(limit_of(tensors.before), limit_of(tensors.after)) if tensors.compared else limit_of(pieces)
    figure = pieces_figure(
        pieces,
        tick_labels(walked.tokens),
        limit=limit,
        height=stage_height(len(walked.tokens)),
        sign=tensors.sign,
        candidates=tick_labels(walked.candidates),
    )
    picture = stage_picture(when, stage, pieces, limit)
    return Shown(figure, (picture, stage_finding(walked.walk, tensors, stage, walked.tokens)))


def answer(walked: WalkedText, top: int) -> Shown:
    """The model's prediction at the end of the walk: the most likely tokens."""
    found = likely_tokens(walked, top)
    probabilities = walked.walk.probabilities[walked.walk.position, :top]
    return Shown(guesses_figure(probabilities, tick_labels(found.tokens), height=400), (found,))
