"""How much a head is an induction head."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.exercises.shown import shipped_model
from tfcore.measures.heads.induction_heads import random_rows, ranked, twice
from tfcore.measures.heads.kinds import mean_weight, targets
from tfcore.views.finding import state
from tfcore.views.inside.induction.draw.find import head_grid

MODEL, LENGTH = "induction", 24  # random tokens, which come twice


def induction_score(pattern: Float[Tensor, "head query key"], ids: Int[Tensor, " seq"]) -> Float[Tensor, " head"]:
    """How much each head attends to the tokens that came after earlier occurrences of the query's token.

    A query at position t has a target at each position j + 1 <= t with j < t and ids[j] = ids[t]. Sum its weights on
    its targets, and take the mean over the queries that have any; 0 where none has. A target that is the query itself,
    as in a text of the same token twice in a row, does not count.

    Args:
        pattern: attention weights of a causal head.
        ids: of the text.

    Returns:
        scores: one a head, from 0 to 1.
    """
    n = len(ids)
    same = (ids[:, None] == ids[None, :]).tril(-1)  # (query, key): an earlier occurrence
    target = torch.zeros_like(same)
    target[:, 1:] = same[:, :-1]  # the key after it
    target &= ~torch.eye(n, dtype=torch.bool)
    queries = target.any(1)
    if not queries.any():
        return torch.zeros(len(pattern))
    return (pattern * target).sum(-1)[:, queries].mean(-1)


def by_tfcore(pattern: Tensor, ids: Tensor) -> Tensor:
    return _mean(pattern, targets(ids.numpy())["induction"])


def _mean(pattern: Tensor, target: np.ndarray) -> Tensor:
    return torch.tensor(mean_weight(pattern.numpy()[None], target)[0], dtype=torch.float32)


def on_occurrence(pattern: Tensor, ids: Tensor) -> Tensor:
    return _mean(pattern, targets(ids.numpy())["duplicate"])


def on_previous(pattern: Tensor, ids: Tensor) -> Tensor:
    return _mean(pattern, targets(ids.numpy())["previous token"])


def before_occurrence(pattern: Tensor, ids: Tensor) -> Tensor:
    same = targets(ids.numpy())["duplicate"]
    return _mean(pattern, np.pad(same, ((0, 0), (0, 1)))[:, 1:])


def transposed(pattern: Tensor, ids: Tensor) -> Tensor:
    return by_tfcore(pattern.mT, ids)


def over_all_queries(pattern: Tensor, ids: Tensor) -> Tensor:
    target = torch.tensor(targets(ids.numpy())["induction"])
    return (pattern * target).sum((1, 2)) / len(ids)


def over_pairs(pattern: Tensor, ids: Tensor) -> Tensor:
    target = torch.tensor(targets(ids.numpy())["induction"])
    return (pattern * target).sum((1, 2)) / max(int(target.sum()), 1)


def largest_weight(pattern: Tensor, ids: Tensor) -> Tensor:
    target = torch.tensor(targets(ids.numpy())["induction"])
    queries = target.any(1)
    return (pattern * target).amax(-1)[:, queries].mean(-1) if queries.any() else torch.zeros(len(pattern))


def cases(generator: torch.Generator) -> list[Inputs]:
    made: list[Inputs] = []
    for heads, seq, vocab in ((3, 9, 3), (2, 12, 6), (1, 2, 1), (2, 14, 4)):
        ids = torch.randint(vocab, (seq,), generator=generator)
        made.append((_causal(normal(generator, heads, seq, seq)), ids))
    return [*made, (_causal(normal(generator, 2, 5, 5)), torch.arange(5))]


def _causal(scores: Tensor) -> Tensor:
    weights = scores.softmax(-1).tril()
    return weights / weights.sum(-1, keepdim=True)


def within_zero_and_one(call: Function, pattern: Tensor, ids: Tensor) -> bool:
    scores = call(pattern, ids)
    return bool((scores >= 0).all() and (scores <= 1 + 1e-5).all())


def perfect_head_has_one(call: Function, pattern: Tensor, ids: Tensor) -> bool:
    text = torch.tensor([3, 1, 4, 2, 3, 1, 4, 2])
    weights = torch.eye(8)
    weights[4:] = torch.eye(8)[1:5]  # each token of the second copy looks at the one after the first
    return abs(float(call(weights[None], text)) - 1) < 1e-5


def looking_at_itself_has_none(call: Function, pattern: Tensor, ids: Tensor) -> bool:
    return abs(float(call(torch.eye(len(ids))[None], ids))) < 1e-6


def no_repetition_no_score(call: Function, pattern: Tensor, ids: Tensor) -> bool:
    return not bool(call(pattern, torch.arange(len(ids))).any())


@torch.no_grad()
def draw(call: Function) -> Picture:
    model = shipped_model(MODEL)[0]
    ids = twice(random_rows(model.config.vocab_size, LENGTH, 1, 0))
    names = [f"blocks.{i}.attn.pattern" for i in range(model.config.n_layers)]
    read = model.activations(ids, names)
    scores = torch.stack([call(read[name][0], ids[0]) for name in names]).numpy()
    layer, head = best = ranked(scores)[0]
    words = (
        "Scores that the function gives the heads of induction, on {n} random tokens that come twice: "
        "highest at {at}, {score:.2f}."
    )
    found = state("scores", words, n=LENGTH, at=f"{layer}.{head}", score=float(scores[best]))
    return Picture(head_grid(scores, best, (), "scores", 1.0, 220), found)


INDUCTION_SCORE = Exercise(
    solution=induction_score,
    title="Induction score",
    asks="How much each head looks for what came after the same token before.",
    papers="In-context Learning and Induction Heads, section on induction heads, arXiv:2209.11895",
    formula=r"\frac{1}{|T|} \sum_{t \in T} \;\sum_{j < t - 1,\; x_j = x_t} A_{t,\, j + 1}, \qquad "
    r"T = \{t : \text{an earlier } x_j = x_t\}",
    returns=("scores",),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty("Scores are from 0 to 1.", "a score is below 0 or above 1", within_zero_and_one),
        ExerciseProperty(
            "A head that always looks at the token after the earlier one has 1.",
            "a head that always looks at the token after the earlier occurrence does not have 1",
            perfect_head_has_one,
        ),
        ExerciseProperty(
            "A head that looks at the query itself has 0.",
            "a head that looks at the query itself does not have 0",
            looking_at_itself_has_none,
        ),
        ExerciseProperty(
            "In a text without a repetition all scores are 0.",
            "a text without a repetition has a score other than 0",
            no_repetition_no_score,
        ),
    ),
    mistakes=(
        UsualMistake(on_occurrence, "is it the weight on the earlier occurrence itself? It is that on the token after"),
        UsualMistake(on_previous, "is it the weight on the previous token?"),
        UsualMistake(before_occurrence, "is it the token before the earlier occurrence, a shift the wrong way?"),
        UsualMistake(transposed, "are queries and keys exchanged?"),
        UsualMistake(over_all_queries, "is the mean over all queries? Those without a target do not count"),
        UsualMistake(over_pairs, "is it divided by the number of targets? The weights on a query's targets are summed"),
        UsualMistake(largest_weight, "is the largest weight of a query taken in place of the sum?"),
    ),
    hints=(
        "`ids[:, None] == ids[None, :]` is True where the key is the query's token; `tril(-1)` keeps earlier ones.",
        "Move that matrix by one column to the right: the targets. On the diagonal they are the query itself.",
        "`target.any(1)` tells which queries count. Sum over the keys first, then take the mean over these queries.",
    ),
    page="induction",
    draw=draw,
)
