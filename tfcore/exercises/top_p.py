"""Sampling from the nucleus."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.exercises.shown import ids_of, shipped_model
from tfcore.generation import sampling
from tfcore.generation.sampling import Sampling
from tfcore.views.finding import state
from tfcore.views.inference.generation.draw.next_token import filters_figure
from tfcore.views.inference.generation.measure.next_token import FILTERS, first_token, logits_after

P = 0.7


def top_p(logits: Float[Tensor, " vocab"], p: float) -> Float[Tensor, " vocab"]:
    """The distribution that nucleus sampling draws from: softmax is allowed.

    The nucleus are the fewest tokens, from the most likely on, whose probabilities together reach p. A token is in it
    if those more likely than it have less than p together: so the first always is. The others get 0, and what is left
    is divided by its sum.

    Args:
        logits: of the next token.
        p: above 0, at most 1.

    Returns:
        probabilities: of every id, in the order of the logits.
    """
    sizes, ids = logits.softmax(-1).sort(descending=True)
    before = sizes.cumsum(-1) - sizes  # of all that are more likely
    kept = torch.where(before < p, sizes, 0.0)
    return torch.zeros_like(logits).scatter(-1, ids, kept / kept.sum())


def by_tfcore(logits: Tensor, p: float) -> Tensor:
    return sampling.top_p(logits, p).softmax(-1)


def _nucleus(sizes: Tensor, kept: Tensor, ids: Tensor) -> Tensor:
    """The kept of the sorted probabilities, divided by their sum and put back in place."""
    left = torch.where(kept, sizes, 0.0)
    return torch.zeros_like(sizes).scatter(-1, ids, left / left.sum())


def without_the_last(logits: Tensor, p: float) -> Tensor:
    sizes, ids = logits.softmax(-1).sort(descending=True)
    kept = sizes.cumsum(-1) <= p
    kept[0] = True
    return _nucleus(sizes, kept, ids)


def perhaps_none(logits: Tensor, p: float) -> Tensor:
    sizes, ids = logits.softmax(-1).sort(descending=True)
    return _nucleus(sizes, sizes.cumsum(-1) <= p, ids)


def one_too_many(logits: Tensor, p: float) -> Tensor:
    sizes, ids = logits.softmax(-1).sort(descending=True)
    return _nucleus(sizes, sizes.cumsum(-1) - sizes - sizes.roll(1) < p, ids)


def not_divided(logits: Tensor, p: float) -> Tensor:
    return torch.where(top_p(logits, p) > 0, logits.softmax(-1), 0.0)


def left_sorted(logits: Tensor, p: float) -> Tensor:
    return top_p(logits, p).sort(descending=True).values


def from_the_least(logits: Tensor, p: float) -> Tensor:
    sizes, ids = logits.softmax(-1).sort()
    return _nucleus(sizes, sizes.cumsum(-1) - sizes < p, ids)


def each_above(logits: Tensor, p: float) -> Tensor:
    sizes, ids = logits.softmax(-1).sort(descending=True)
    return _nucleus(sizes, sizes >= (1 - p) * sizes[0], ids)


def softmax_again(logits: Tensor, p: float) -> Tensor:
    kept = top_p(logits, p) > 0
    return torch.where(kept, logits.softmax(-1), 0.0).softmax(-1)


def cases(generator: torch.Generator) -> list[Inputs]:
    sizes = ((8, 1.0, 0.9), (20, 2.0, 0.5), (12, 1.0, 1.0), (6, 3.0, 0.05), (50, 1.0, 0.75))
    return [(size * normal(generator, vocab), p) for vocab, size, p in sizes]


def sums_to_one(call: Function, logits: Tensor, p: float) -> bool:
    return abs(float(call(logits, p).sum()) - 1) < 1e-5


def most_likely_stays(call: Function, logits: Tensor, p: float) -> bool:
    return float(call(logits, p)[logits.argmax()]) > 0


def nucleus_reaches_p(call: Function, logits: Tensor, p: float) -> bool:
    return float(logits.softmax(-1)[call(logits, p) > 0].sum()) >= p - 1e-5


def nothing_can_be_left_out(call: Function, logits: Tensor, p: float) -> bool:
    own = logits.softmax(-1)[call(logits, p) > 0]
    return float(own.sum() - own.min()) < p + 1e-5


def ratios_stay(call: Function, logits: Tensor, p: float) -> bool:
    after, own = call(logits, p), logits.softmax(-1)
    kept = after > 0
    return torch.allclose(after[kept] / after[kept].sum(), own[kept] / own[kept].sum(), atol=1e-4)


def draw(call: Function) -> Picture:
    (model, tokenizer), ids = shipped_model("stories"), ids_of("stories")[:-1]  # after "found the", many may come
    logits = logits_after(model, ids)
    result = first_token(tokenizer, ids, logits, Sampling(top_p=P), 0)
    mine = call(logits, P).detach().numpy()
    rows = result.probabilities.copy()
    rows[FILTERS.index("top-p") :] = mine[result.order]
    words = "After top-p {p:g}, the fourth column, the nucleus has {count:counted token}, which sum to {total:.2f}."
    found = state("nucleus", words, p=P, count=int(np.count_nonzero(mine)), total=float(mine.sum()))
    return Picture(filters_figure(replace(result, probabilities=rows)), found, 540)


TOP_P = Exercise(
    solution=top_p,
    title="Nucleus sampling",
    asks="The distribution that top-p leaves of a model's.",
    papers="The Curious Case of Neural Text Degeneration, equations 2 and 3, arXiv:1904.09751",
    formula=r"V_p = \text{the smallest set with } \sum_{v \in V_p} P(v) \ge p, \qquad "
    r"P'(v) = \frac{P(v)}{\sum_{u \in V_p} P(u)} \quad (v \in V_p)",
    returns=("probabilities",),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty("The probabilities sum to 1.", "the probabilities do not sum to 1", sums_to_one),
        ExerciseProperty(
            "The most likely token is in the nucleus.", "the most likely token has probability 0", most_likely_stays
        ),
        ExerciseProperty(
            "The tokens of the nucleus reach p.", "the tokens left do not reach p together", nucleus_reaches_p
        ),
        ExerciseProperty(
            "Without its least likely token the nucleus does not reach p.",
            "more tokens are left than it takes to reach p",
            nothing_can_be_left_out,
        ),
        ExerciseProperty(
            "Ratios within the nucleus are those of the model.", "ratios of probabilities change", ratios_stay
        ),
    ),
    mistakes=(
        UsualMistake(without_the_last, "is the token that crosses p left out? It belongs to the nucleus"),
        UsualMistake(perhaps_none, "is the token that crosses p left out, even where it is the first?"),
        UsualMistake(one_too_many, "is there one token too many? Compare what comes before a token with p"),
        UsualMistake(not_divided, "is what is left divided by its sum?"),
        UsualMistake(left_sorted, "are the probabilities still sorted? Put each back at its id"),
        UsualMistake(from_the_least, "is it sorted with the least likely first?"),
        UsualMistake(each_above, "is each probability compared with a threshold, as min-p does? It is their sum"),
        UsualMistake(softmax_again, "is there a softmax of probabilities? Divide by the sum"),
    ),
    hints=(
        "Sort the probabilities, the largest first, and keep the ids that `sort` returns with them.",
        "`cumsum` includes the token itself: take its own probability away to have what comes before it.",
        "`torch.zeros_like(logits).scatter(-1, ids, values)` puts sorted values back at their ids.",
    ),
    page="generation",
    draw=draw,
)
