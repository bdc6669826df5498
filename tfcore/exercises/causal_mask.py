"""The causal mask."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore import masks
from tfcore.attention import attention_weights
from tfcore.charts.tokens import token_heatmap
from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.exercises.shown import recorded, tokens_of
from tfcore.views.finding import state

HEAD, LAYER = 2, 1  # of stories: one that looks back at several tokens


def causal_weights(scores: Float[Tensor, "head query key"]) -> Float[Tensor, "head query key"]:
    """Attention weights under a causal mask: each token sees itself and those before it.

    The queries are the last tokens of the text: with 7 keys and 3 queries they are at positions 4, 5 and 6.

    Args:
        scores: of every query for every key; n_query <= n_key.

    Returns:
        weights: the softmax over the keys that a query sees, and exactly 0 at the others.
    """
    n_query, n_key = scores.shape[-2:]
    seen = torch.ones(n_query, n_key, dtype=torch.bool).tril(n_key - n_query)
    return scores.masked_fill(~seen, -math.inf).softmax(-1)


def by_tfcore(scores: Tensor) -> Tensor:
    return attention_weights(scores, masks.causal(*scores.shape[-2:]))


def no_mask(scores: Tensor) -> Tensor:
    return scores.softmax(-1)


def after_softmax(scores: Tensor) -> Tensor:
    return scores.softmax(-1).tril(scores.shape[-1] - scores.shape[-2])


def filled_with_zero(scores: Tensor) -> Tensor:
    return scores.tril(scores.shape[-1] - scores.shape[-2]).softmax(-1)


def future_only(scores: Tensor) -> Tensor:
    offset = scores.shape[-1] - scores.shape[-2]
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(offset)
    return scores.masked_fill(~seen, -math.inf).softmax(-1)


def one_ahead(scores: Tensor) -> Tensor:
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(scores.shape[-1] - scores.shape[-2] + 1)
    return scores.masked_fill(~seen, -math.inf).softmax(-1)


def not_itself(scores: Tensor) -> Tensor:
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(scores.shape[-1] - scores.shape[-2] - 1)
    return scores.masked_fill(~seen, -math.inf).softmax(-1)


def from_the_start(scores: Tensor) -> Tensor:
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~seen, -math.inf).softmax(-1)


def cases(generator: torch.Generator) -> list[Inputs]:
    return [(3 * normal(generator, *shape),) for shape in ((2, 6, 6), (1, 3, 7), (3, 1, 4), (1, 1, 1))]


def later_scores_do_not_matter(call: Function, scores: Tensor) -> bool:
    offset = scores.shape[-1] - scores.shape[-2]
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(offset + 1)
    before, after = call(scores), call(torch.where(later, scores + 2, scores))
    return torch.equal(before.tril(offset), after.tril(offset))


def later_keys_get_nothing(call: Function, scores: Tensor) -> bool:
    return bool((call(scores).triu(scores.shape[-1] - scores.shape[-2] + 1) == 0).all())


def rows_sum_to_one(call: Function, scores: Tensor) -> bool:
    sums = call(scores).sum(-1)
    return torch.allclose(sums, torch.ones_like(sums), atol=1e-5)


def all_before_are_seen(call: Function, scores: Tensor) -> bool:
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(scores.shape[-1] - scores.shape[-2])
    return bool((call(scores)[:, seen] > 0).all())


def draw(call: Function) -> Picture:
    scores = recorded("stories", f"blocks.{LAYER}.attn.scores")[0, HEAD : HEAD + 1]
    weights = call(scores)[0].detach().numpy()
    words = (
        "What the function makes of the scores of layer {layer}, head {head} of stories: {ahead:.2f} of "
        "the weight is on later tokens."
    )
    ahead = float(torch.tensor(weights).triu(1).sum() / len(weights))
    found = state("causal", words, layer=LAYER, head=HEAD, ahead=ahead)
    return Picture(token_heatmap(weights, tokens_of("stories"), blocked=weights == 0, height=430), found)


CAUSAL_MASK = Exercise(
    solution=causal_weights,
    title="Causal mask",
    asks="Weights with which no token looks ahead, with a cache of earlier keys, too.",
    papers="Attention Is All You Need, section 3.2.3, arXiv:1706.03762",
    formula=r"A_{ij} = \frac{e^{s_{ij}}}{\sum_{j' \le i} e^{s_{ij'}}} \quad (j \le i), \qquad A_{ij} = 0 \quad (j > i)",
    returns=("weights",),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty(
            "Position t does not change when token t + 1 does.",
            "position t changes when token t + 1 does",
            later_scores_do_not_matter,
        ),
        ExerciseProperty("A later token gets weight 0.", "later tokens get weight", later_keys_get_nothing),
        ExerciseProperty("Each query's weights sum to 1.", "rows do not sum to 1", rows_sum_to_one),
        ExerciseProperty(
            "Each token sees itself and all before it.", "a token does not see all before it", all_before_are_seen
        ),
    ),
    mistakes=(
        UsualMistake(no_mask, "is there a mask?"),
        UsualMistake(after_softmax, "is the mask applied after the softmax, which shared the weight out already?"),
        UsualMistake(filled_with_zero, "are scores set to 0, whose exp is 1, in place of minus infinity?"),
        UsualMistake(future_only, "is the mask the wrong way round, with the later tokens in sight?"),
        UsualMistake(one_ahead, "is the mask off by one, with the next token in sight?"),
        UsualMistake(not_itself, "does each token see itself? The first one has nothing else"),
        UsualMistake(from_the_start, "with fewer queries than keys: is the first query at the position of the cache?"),
    ),
    hints=(
        "Make a matrix (query, key) of booleans first: True where the key is not later than the query.",
        "`torch.ones(n_query, n_key, dtype=torch.bool).tril(diagonal)` is True up to a diagonal. With as many queries "
        "as keys it is diagonal 0; which one when the first query is at position n_key - n_query?",
        "A score of minus infinity has weight 0 after the softmax, and the others share all of it: `masked_fill`.",
    ),
    page="masks",
    draw=draw,
)
