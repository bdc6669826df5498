"""The page on induction: which heads of a model are of which kind, and what all sections share."""

from dataclasses import dataclass

from pages.ui import cache
from pages.ui.loading import models
from tfcore.analysis.inside.copying import Place, copying, random_rows, ranked, twice

MODEL, LENGTH, TESTED = "stories", 24, 32  # the first model; tokens repeated in the picture, and in the test of kinds


@dataclass(frozen=True, slots=True)
class Kinds:
    """The heads of a model by what they do on repeated random tokens, the strongest first.

    Args:
        induction: those that attend to the token after the earlier occurrence of the query token.
        previous: those in layers below them that attend to the previous token.
        others: as many heads as there are induction heads, that are neither, from layers as near as possible.
        best: the head with the highest induction score, however low; score: that score.
    """

    induction: list[Place]
    previous: list[Place]
    others: list[Place]
    best: Place
    score: float


def choose_model() -> str:
    """The model: those that predict the next token."""
    return models.choose("decoder", default=MODEL, why_not=models.silent)


@cache.data(max_entries=12)
def kinds(model_name: str) -> Kinds:
    model = cache.model(model_name)[0]
    length = min(TESTED, model.config.max_seq_len // 2, model.config.vocab_size)
    found = copying(model, twice(random_rows(model.config.vocab_size, length, 8, 0)), length)
    induction, by_score = found.strong("induction"), ranked(found.scores["induction"])
    top = max((layer for layer, _ in induction), default=model.config.n_layers)
    previous = [place for place in found.strong("previous token") if place[0] < top]
    near = induction[0][0] if induction else 0
    rest = [place for place in by_score if place not in induction and place not in previous]
    others = sorted(rest, key=lambda place: abs(place[0] - near))[: len(induction)]
    return Kinds(induction, previous, others, by_score[0], float(found.scores["induction"][by_score[0]]))
