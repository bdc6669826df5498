"""LoRA: a low-rank update."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from tfcore.charts.depth_curves import Line, depth_figure
from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.training.lora import LoRALinear
from tfcore.views.finding import state

RANKS = (1, 2, 4)
SIDE, WANTED, STEPS, RATE = 16, 4, 120, 0.02  # of the picture: a matrix, the rank of its change, steps of Adam


def lora(
    x: Float[Tensor, "seq d_in"],
    weight: Float[Tensor, "d_out d_in"],
    a: Float[Tensor, "rank d_in"],
    b: Float[Tensor, "d_out rank"],
    alpha: float,
) -> Float[Tensor, "seq d_out"]:
    """A linear layer with a low-rank update beside its frozen matrix: W x + (alpha / rank) B A x.

    Args:
        x: one row a token, so that a product is x @ weight.T.
        weight: W, which stays as it is.
        a, b: A and B, which are trained.
        alpha: how strong the update is, whatever its rank.

    Returns:
        output: one row a token.
    """
    return x @ weight.T + alpha / len(a) * (x @ a.T @ b.T)


def by_tfcore(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
    d_out, d_in = weight.shape
    base = nn.Linear(d_in, d_out, bias=False)
    base.weight = nn.Parameter(weight)
    layer = LoRALinear(base, len(a), alpha, torch.Generator())
    layer.a.data, layer.b.data = a, b
    output: Tensor = layer(x).detach()
    return output


def not_divided(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
    return x @ weight.T + alpha * (x @ a.T @ b.T)


def without_alpha(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
    return x @ weight.T + x @ a.T @ b.T


def by_width(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
    return x @ weight.T + alpha / a.shape[1] * (x @ a.T @ b.T)


def by_root(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
    return x @ weight.T + alpha / len(a) ** 0.5 * (x @ a.T @ b.T)


def all_scaled(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
    return alpha / len(a) * (x @ (weight + b @ a).T)


def update_alone(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
    return alpha / len(a) * (x @ a.T @ b.T)


def frozen_alone(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
    return x @ weight.T


def with_relu(x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> Tensor:
    return x @ weight.T + alpha / len(a) * ((x @ a.T).relu() @ b.T)


def cases(generator: torch.Generator) -> list[Inputs]:
    sizes = ((4, 6, 5, 2, 8.0), (3, 8, 8, 4, 4.0), (1, 4, 9, 1, 3.0), (2, 6, 6, 3, 16.0))
    return [
        (
            normal(generator, seq, d_in),
            normal(generator, d_out, d_in),
            normal(generator, rank, d_in),
            normal(generator, d_out, rank),
            alpha,
        )
        for seq, d_in, d_out, rank, alpha in sizes
    ]


def starts_as_it_was(call: Function, x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> bool:
    return torch.allclose(call(x, weight, a, 0 * b, alpha), x @ weight.T, atol=1e-4)


def is_one_matrix(call: Function, x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> bool:
    change = call(x, weight, a, b, alpha) - call(x, weight, a, 0 * b, alpha)
    return torch.allclose(change, -(call(-x, weight, a, b, alpha) - call(-x, weight, a, 0 * b, alpha)), atol=1e-3)


def rank_does_not_matter(call: Function, x: Tensor, weight: Tensor, a: Tensor, b: Tensor, alpha: float) -> bool:
    twice = call(x, weight, torch.cat((a, a)), torch.cat((b, b), dim=1), alpha)
    return torch.allclose(twice, call(x, weight, a, b, alpha), rtol=1e-3, atol=1e-2)


def draw(call: Function) -> Picture:
    generator = torch.Generator().manual_seed(0)
    weight, x = normal(generator, SIDE, SIDE) / SIDE**0.5, normal(generator, 64, SIDE)
    change = normal(generator, SIDE, WANTED) @ normal(generator, WANTED, SIDE) / SIDE
    wanted, ends, lines = x @ (weight + change).T, dict[int, float](), list[Line]()
    for i, rank in enumerate(RANKS):
        a = (normal(generator, rank, SIDE) / SIDE**0.5).requires_grad_()
        b = torch.zeros(SIDE, rank, requires_grad=True)
        optimizer, losses = torch.optim.Adam([a, b], RATE), []
        for _ in range(STEPS):
            loss = (call(x, weight, a, b, 2.0 * rank) - wanted).square().mean()
            losses.append(float(loss.detach()))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        ends[rank] = losses[-1]
        lines.append(Line(f"rank {rank}", f"@cat{i}", np.arange(STEPS), np.array(losses)))
    words = (
        "The function trained to follow a matrix whose change has rank {wanted}: mean squared error "
        "after {steps} steps "
        "by rank: {ends:each .2g}."
    )
    found = state(
        "trained", words, wanted=WANTED, steps=STEPS, ends={f"rank {rank}": end for rank, end in ends.items()}
    )
    return Picture(depth_figure(lines, x_title="step", y_title="mean squared error", height=380), found)


LORA = Exercise(
    solution=lora,
    title="LoRA",
    asks="A frozen matrix with a trained update of low rank beside it.",
    papers="LoRA: Low-Rank Adaptation of Large Language Models, equation 3, arXiv:2106.09685",
    formula=r"W' x = W x + \frac{\alpha}{r} B A x, \qquad A \in \mathbb R^{r \times d_{in}},\; "
    r"B \in \mathbb R^{d_{out} \times r}",
    returns=("output",),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty(
            "With B = 0 the output is that of the frozen layer.",
            "with B = 0 the output is not that of the frozen layer",
            starts_as_it_was,
        ),
        ExerciseProperty("The update is linear in x.", "the update is not linear in x", is_one_matrix),
        ExerciseProperty(
            "The same update twice, as one of twice the rank, has the same strength.",
            "the same update twice, as one of twice the rank, has another strength",
            rank_does_not_matter,
        ),
    ),
    mistakes=(
        UsualMistake(not_divided, "is alpha divided by the rank?"),
        UsualMistake(without_alpha, "is the factor alpha / rank missing?"),
        UsualMistake(by_width, "is alpha divided by d_in in place of the rank?"),
        UsualMistake(by_root, "is alpha divided by the root of the rank? That is rsLoRA (arXiv:2312.03732)"),
        UsualMistake(all_scaled, "is the frozen product multiplied by alpha / rank, too?"),
        UsualMistake(update_alone, "is the frozen product missing?"),
        UsualMistake(frozen_alone, "is the update missing?"),
        UsualMistake(with_relu, "is there a non-linearity between A and B? An adapter has one, LoRA has none"),
    ),
    hints=(
        "Two products in a row for the update: down to the rank with A, up to d_out with B.",
        "The rank is the number of rows of A.",
        "`x @ a.T @ b.T` never writes out the (d_out, d_in) matrix B A.",
    ),
    page="finetuning",
    draw=draw,
)
