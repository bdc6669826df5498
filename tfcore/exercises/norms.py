"""LayerNorm and RMSNorm."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.norms import layer_norm, rms_norm
from tfcore.part_configs import Norm
from tfcore.views.block.normalisation.draw.norms import norm_steps_figure
from tfcore.views.block.normalisation.measure.norms import NormSteps, normalisation_steps
from tfcore.views.finding import state

KINDS: tuple[Norm, ...] = ("layernorm", "rmsnorm")
NUMBERS = (4.0, 1.0, 2.0, -1.0, 6.0, 3.0)
SCALE, SHIFT, EPS = 1.5, 0.5, 1e-5


def normalise(
    x: Float[Tensor, "seq d_model"],
    weight: Float[Tensor, " d_model"],
    bias: Float[Tensor, " d_model"],
    kind: str,
    eps: float,
) -> Float[Tensor, "seq d_model"]:
    """LayerNorm or RMSNorm of each token by itself, without torch's own functions for them.

    "layernorm": take the mean of a token's features away, divide by sqrt(variance + eps), multiply by the weight and
    add the bias. The variance is divided by d_model. "rmsnorm": divide by sqrt(mean of the squares + eps) and multiply
    by the weight; there is neither mean nor bias.

    Args:
        x: one row a token.
        weight, bias: one number a feature; "rmsnorm" leaves the bias alone.
        kind: "layernorm" or "rmsnorm".
        eps: keeps the divisor from 0.

    Returns:
        normalised: of the shape of x.
    """
    if kind == "layernorm":
        x = x - x.mean(-1, keepdim=True)
    y = x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight
    return y + bias if kind == "layernorm" else y


def by_tfcore(x: Tensor, weight: Tensor, bias: Tensor, kind: str, eps: float) -> Tensor:
    return layer_norm(x, weight, bias, eps) if kind == "layernorm" else rms_norm(x, weight, eps)


def over_tokens(x: Tensor, weight: Tensor, bias: Tensor, kind: str, eps: float) -> Tensor:
    if kind == "layernorm":
        x = x - x.mean(0)
    y = x / (x.square().mean(0) + eps).sqrt() * weight
    return y + bias if kind == "layernorm" else y


def unbiased(x: Tensor, weight: Tensor, bias: Tensor, kind: str, eps: float) -> Tensor:
    if kind == "rmsnorm":
        return normalise(x, weight, bias, kind, eps)
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt() * weight + bias


def eps_outside(x: Tensor, weight: Tensor, bias: Tensor, kind: str, eps: float) -> Tensor:
    if kind == "layernorm":
        x = x - x.mean(-1, keepdim=True)
    y = x / (x.square().mean(-1, keepdim=True).sqrt() + eps) * weight
    return y + bias if kind == "layernorm" else y


def without_eps(x: Tensor, weight: Tensor, bias: Tensor, kind: str, eps: float) -> Tensor:
    return normalise(x, weight, bias, kind, 0.0)


def mean_in_both(x: Tensor, weight: Tensor, bias: Tensor, kind: str, eps: float) -> Tensor:
    y = normalise(x, weight, bias, "layernorm", eps)
    return y if kind == "layernorm" else y - bias


def bias_in_both(x: Tensor, weight: Tensor, bias: Tensor, kind: str, eps: float) -> Tensor:
    y = normalise(x, weight, bias, kind, eps)
    return y if kind == "layernorm" else y + bias


def by_variance(x: Tensor, weight: Tensor, bias: Tensor, kind: str, eps: float) -> Tensor:
    if kind == "layernorm":
        x = x - x.mean(-1, keepdim=True)
    y = x / (x.square().mean(-1, keepdim=True) + eps) * weight
    return y + bias if kind == "layernorm" else y


def without_weight(x: Tensor, weight: Tensor, bias: Tensor, kind: str, eps: float) -> Tensor:
    return normalise(x, torch.ones_like(weight), bias, kind, eps)


def cases(generator: torch.Generator) -> list[Inputs]:
    made: list[Inputs] = []
    for seq, d, size in ((4, 8, 1.0), (3, 5, 20.0), (6, 6, 0.004)):
        x = size * (normal(generator, seq, d) + 0.5)
        x[1] = 0  # a token whose features are all alike
        made += [(x, normal(generator, d) + 1, normal(generator, d), kind, EPS) for kind in KINDS]
    return made


def other_tokens_do_not_matter(call: Function, x: Tensor, *rest: object) -> bool:
    changed = x.clone()
    changed[-1] += 1
    return torch.equal(call(changed, *rest)[:-1], call(x, *rest)[:-1])


def size_does_not_matter(call: Function, x: Tensor, weight: Tensor, bias: Tensor, kind: str, eps: float) -> bool:
    given = weight, bias, kind
    return torch.allclose(call(8 * x, *given, 64 * eps), call(x, *given, eps), atol=1e-4)


def mean_is_taken_away(call: Function, x: Tensor, *rest: object) -> bool:
    return rest[2] == "rmsnorm" or torch.allclose(call(x + 1, *rest), call(x, *rest), atol=2e-3)


def variance_is_one(call: Function, x: Tensor, weight: Tensor, bias: Tensor, kind: str, eps: float) -> bool:
    large = 1_000 * x / x.abs().max()
    y = call(large, torch.ones_like(weight), torch.zeros_like(bias), kind, eps)
    sizes = y.square().mean(-1)[x.std(-1) > 0]
    return torch.allclose(sizes, torch.ones_like(sizes), atol=1e-2)


def draw(call: Function) -> Picture:
    x = torch.tensor([NUMBERS])
    steps: dict[Norm, NormSteps] = {}
    for kind in KINDS:
        made = normalisation_steps(NUMBERS, kind, SCALE, SHIFT if kind == "layernorm" else 0.0, EPS)
        one, nothing = torch.ones(len(NUMBERS)), torch.zeros(len(NUMBERS))
        plain = call(x, one, nothing, kind, EPS)[0].detach().numpy()
        last = call(x, SCALE * one, nothing + SHIFT, kind, EPS)[0].detach().numpy()
        steps[kind] = replace(made, stages=np.stack((*made.stages[:2], plain, last)))
    layer, rms = (steps[kind].stages[2] for kind in KINDS)
    words = (
        "The last two columns are the function's: LayerNorm leaves a mean of {mean:.2f}, RMSNorm one of {other:.2f}."
    )
    found = state("norms", words, mean=abs(float(layer.mean())), other=float(rms.mean()))
    return Picture(norm_steps_figure(steps["layernorm"], steps["rmsnorm"]), found, 660)


NORMALISE = Exercise(
    solution=normalise,
    title="LayerNorm and RMSNorm",
    asks="Both norms of a token's features, by mean, square and root.",
    papers="Layer Normalization, equations 3 and 4, arXiv:1607.06450; RMSNorm, equation 4, arXiv:1910.07467",
    formula=r"\mathrm{LN}(x) = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot \gamma + \beta, \qquad "
    r"\mathrm{RMS}(x) = \frac{x}{\sqrt{\tfrac{1}{d} \sum_i x_i^2 + \varepsilon}} \odot \gamma",
    returns=("normalised",),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty(
            "A token is normalised by itself.", "a token changes when another one does", other_tokens_do_not_matter
        ),
        ExerciseProperty(
            "x and 8 x, with 64 eps, give the same.", "x and 8 x, with 64 eps, differ", size_does_not_matter
        ),
        ExerciseProperty(
            "LayerNorm: x and x + 1 give the same.", "LayerNorm of x and of x + 1 differ", mean_is_taken_away
        ),
        ExerciseProperty(
            "With weight 1 and bias 0 the mean square is 1.", "with weight 1 the mean square is not 1", variance_is_one
        ),
    ),
    mistakes=(
        UsualMistake(over_tokens, "is the mean taken over the tokens, axis 0, in place of the features?"),
        UsualMistake(unbiased, "is the variance divided by d_model - 1, as x.var() does?"),
        UsualMistake(eps_outside, "is eps added outside of the root?"),
        UsualMistake(without_eps, "is eps missing? A token of zeros is divided by 0"),
        UsualMistake(mean_in_both, "does RMSNorm take the mean away, too?"),
        UsualMistake(bias_in_both, "does RMSNorm add the bias, too?"),
        UsualMistake(by_variance, "is the root missing?"),
        UsualMistake(without_weight, "is the weight missing?"),
    ),
    hints=(
        "Which axis is a token's own? The mean and the variance are one number for each row of x.",
        "`x.mean(-1, keepdim=True)` is (seq, 1). `x.var()` divides by d_model - 1 unless it is told `correction=0`.",
        "After the mean is taken away, the variance is the mean of the squares: from there on both kinds are alike.",
    ),
    page="normalisation",
    draw=draw,
)
