"""Sinusoidal positions and RoPE."""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.positions import apply_rope, rope_angles, rope_cos_sin, sinusoidal
from tfcore.views.finding import state
from tfcore.views.foundations.positions.draw.scores import rotary_scores_figure
from tfcore.views.foundations.positions.measure.scores import rotary_scores, similar_vectors

KINDS = ("sinusoidal", "rope")
MOVED, FURTHEST, WIDTH = 40, 128, 64
TURNED = 7  # positions by which both a query and a key are moved


def add_positions(x: Float[Tensor, "seq d"], positions: Int[Tensor, " seq"], kind: str) -> Float[Tensor, "seq d"]:
    """Vectors that know their positions, in one of two ways; both have the frequencies w_i = 10000^(-2i/d).

    "sinusoidal": x plus a vector of waves, sin(p w_i) in dimension 2i and cos(p w_i) in dimension 2i + 1.
    "rope": each pair of dimensions (i, i + d/2) of x turned by the angle p w_i, against the clock.

    Args:
        x: one row a token; d is even. Embeddings for "sinusoidal", queries or keys for "rope".
        positions: p of each row, from 0 on.
        kind: "sinusoidal" or "rope".

    Returns:
        vectors: of the shape of x.
    """
    d = x.shape[1]
    angles = positions[:, None] * 10_000.0 ** (-torch.arange(0, d, 2) / d)  # (seq, d/2)
    cos, sin = angles.cos(), angles.sin()
    if kind == "sinusoidal":
        return x + torch.stack((sin, cos), dim=-1).flatten(1)  # sin, cos, sin, cos ...
    a, b = x.chunk(2, dim=1)  # pair i is (a_i, b_i)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=1)


def by_tfcore(x: Tensor, positions: Tensor, kind: str) -> Tensor:
    if kind == "sinusoidal":
        return x + sinusoidal(positions, x.shape[1])
    return apply_rope(x, *rope_cos_sin(rope_angles(positions, x.shape[1])))


def sines_first(x: Tensor, positions: Tensor, kind: str) -> Tensor:
    if kind == "rope":
        return add_positions(x, positions, kind)
    return x + sinusoidal(positions, x.shape[1], halves=True)


def half_exponent(x: Tensor, positions: Tensor, kind: str) -> Tensor:
    base = 100.0  # 100^(-2i/d) is 10000^(-i/d)
    if kind == "sinusoidal":
        return x + sinusoidal(positions, x.shape[1], base)
    return apply_rope(x, *rope_cos_sin(rope_angles(positions, x.shape[1], base)))


def from_one(x: Tensor, positions: Tensor, kind: str) -> Tensor:
    return add_positions(x, positions + 1, kind)


def by_row(x: Tensor, positions: Tensor, kind: str) -> Tensor:
    return add_positions(x, torch.arange(len(positions)), kind)


def neighbours(x: Tensor, positions: Tensor, kind: str) -> Tensor:
    if kind == "sinusoidal":
        return add_positions(x, positions, kind)
    pairs = torch.cat((x[:, ::2], x[:, 1::2]), dim=1)
    a, b = add_positions(pairs, positions, kind).chunk(2, dim=1)
    return torch.stack((a, b), dim=-1).flatten(1)


def clockwise(x: Tensor, positions: Tensor, kind: str) -> Tensor:
    return add_positions(x, -positions if kind == "rope" else positions, kind)


def added_to_queries(x: Tensor, positions: Tensor, kind: str) -> Tensor:
    return add_positions(x, positions, "sinusoidal")


def stretched(x: Tensor, positions: Tensor, kind: str) -> Tensor:
    if kind == "sinusoidal":
        return add_positions(x, positions, kind)
    angles = rope_angles(positions, x.shape[1])
    a, b = x.chunk(2, dim=1)
    return torch.cat((a * angles.cos() + b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=1)


def cases(generator: torch.Generator) -> list[Inputs]:
    places = (torch.arange(6), torch.arange(5) + 30, torch.tensor([0, 3, 3, 100]))
    return [
        (normal(generator, len(at), d), at, kind) for at, d in zip(places, (8, 16, 4), strict=True) for kind in KINDS
    ]


def waves_do_not_depend_on_x(call: Function, x: Tensor, positions: Tensor, kind: str) -> bool:
    if kind != "sinusoidal":
        return True
    return torch.allclose(call(x, positions, kind) - x, call(0 * x, positions, kind), atol=1e-4)


def lengths_stay(call: Function, x: Tensor, positions: Tensor, kind: str) -> bool:
    return kind != "rope" or torch.allclose(call(x, positions, kind).norm(dim=1), x.norm(dim=1), atol=1e-4)


def distance_alone_matters(call: Function, x: Tensor, positions: Tensor, kind: str) -> bool:
    here, moved = call(x, positions, kind), call(x, positions + TURNED, kind)
    return kind != "rope" or torch.allclose(here @ here.T, moved @ moved.T, atol=1e-3)


def position_zero_stays(call: Function, x: Tensor, positions: Tensor, kind: str) -> bool:
    return kind != "rope" or torch.allclose(call(x, 0 * positions, kind), x, atol=1e-5)


def draw(call: Function) -> Picture:
    result = rotary_scores(WIDTH, 10_000.0, 0.9, MOVED, 20, FURTHEST)
    q, k = similar_vectors(WIDTH, 0.9, 0)
    at = torch.arange(FURTHEST + 1)
    rows = []
    for start in (0, MOVED):
        key = call(k[None], torch.tensor([start]), "rope")
        rows.append((call(q.expand(len(at), -1), start + at, "rope") @ key.T)[:, 0])
    scores = torch.stack(rows).detach().numpy()
    apart = float(abs(scores[0] - scores[1]).max())
    words = (
        "Scores of a query and a key that the function turned, with the key at position 0 and at "
        "{moved}: at most {apart:.2f} apart."
    )
    found = state("rotary", words, moved=MOVED, apart=apart)
    return Picture(rotary_scores_figure(replace(result, scores=scores, difference=apart), MOVED, 20, 380), found, 480)


ADD_POSITIONS = Exercise(
    solution=add_positions,
    title="Sinusoidal positions and RoPE",
    asks="Waves that are added to embeddings, and rotations of queries and keys.",
    papers="Attention Is All You Need, section 3.5, arXiv:1706.03762; RoFormer, equation 34, arXiv:2104.09864",
    formula=r"\begin{gathered} PE_{p, 2i} = \sin(p\, w_i), \quad PE_{p, 2i+1} = \cos(p\, w_i), \quad "
    r"w_i = 10000^{-2i/d} \\ \begin{pmatrix} x'_i \\ x'_{i + d/2} \end{pmatrix} = \begin{pmatrix} \cos p w_i & "
    r"-\sin p w_i \\ \sin p w_i & \cos p w_i \end{pmatrix} \begin{pmatrix} x_i \\ x_{i + d/2} \end{pmatrix} "
    r"\end{gathered}",
    returns=("vectors",),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty(
            "Sinusoidal: what is added depends on the position alone.",
            "what is added to x depends on x",
            waves_do_not_depend_on_x,
        ),
        ExerciseProperty("RoPE: lengths stay.", "the length of a turned vector changes", lengths_stay),
        ExerciseProperty(
            "RoPE: the dot product of two turned vectors depends on their distance alone.",
            "dot products of turned vectors change when both are moved",
            distance_alone_matters,
        ),
        ExerciseProperty("RoPE: at position 0 nothing turns.", "a vector at position 0 is turned", position_zero_stays),
    ),
    mistakes=(
        UsualMistake(sines_first, "are all sines before all cosines? They take turns"),
        UsualMistake(half_exponent, "is the exponent -i/d in place of -2i/d?"),
        UsualMistake(from_one, "do positions begin at 1?"),
        UsualMistake(by_row, "is the row's number used in place of its position?"),
        UsualMistake(neighbours, "are neighbours (2i, 2i + 1) paired, as in the paper? Pairs are (i, i + d/2) here"),
        UsualMistake(clockwise, "does it turn the other way round? Mind the sign of the sines"),
        UsualMistake(added_to_queries, "are waves added for both kinds?"),
        UsualMistake(stretched, "is a minus missing? A rotation has one of its two sines negative"),
    ),
    hints=(
        "Both kinds begin alike: angles (seq, d/2), each position times each frequency.",
        "Sinusoidal: `torch.stack((sin, cos), dim=-1).flatten(1)` lets the two take turns.",
        "RoPE: with a, b the two halves of x, the first half becomes a cos - b sin. What does the second become?",
    ),
    page="positions?scheme=rope",
    draw=draw,
)
