"""Weights in four bits, in groups."""

from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.exercises.shown import shipped_model
from tfcore.measures.quantisation.formats import Per, Scheme, codes_of, quantise_matrix
from tfcore.views.finding import state
from tfcore.views.inference.quantisation.draw.weights import row_figure
from tfcore.views.inference.quantisation.measure.weights import outlying, row_on_grid

LAYER, KIND, GROUP = 1, "down", 32  # of stories


def quantise(
    weight: Float[Tensor, "row column"], group: int
) -> tuple[Int8[Tensor, "row column"], Float[Tensor, "row group"]]:
    """A matrix in four bits, symmetric and rounded to nearest, with a scale for each group of neighbours in a row.

    The scale of a group is its largest magnitude / 7, and a weight becomes round(weight / scale), from -7 to 7. A group
    of zeros has the scale 0 and the codes 0.

    Args:
        weight: whose rows are a multiple of the group.
        group: neighbours in a row that share a scale.

    Returns:
        codes: of torch.int8; and scales: one a group. codes * scale is what is left of a weight.
    """
    groups = weight.unflatten(1, (-1, group))  # (row, group, size)
    scales = groups.abs().amax(-1) / 7
    divisor = torch.where(scales > 0, scales, 1.0)
    codes = (groups / divisor[..., None]).round().to(torch.int8)
    return codes.flatten(1), scales


def by_tfcore(weight: Tensor, group: int) -> tuple[Tensor, Tensor]:
    stored = quantise_matrix(weight, Scheme(format="int4", per=cast("Per", str(group))))
    return stored.codes.to(torch.int8).view(weight.shape), stored.scale.view(len(weight), -1)


def _by(weight: Tensor, group: int, most: float, floor: bool = False) -> tuple[Tensor, Tensor]:
    """As `quantise`, with another divisor, or with what is behind the point cut off."""
    groups = weight.unflatten(1, (-1, group))
    scales = groups.abs().amax(-1) / most
    codes = groups / torch.where(scales > 0, scales, 1.0)[..., None]
    return (codes.trunc() if floor else codes.round()).to(torch.int8).flatten(1), scales


def by_eight(weight: Tensor, group: int) -> tuple[Tensor, Tensor]:
    return _by(weight, group, 8.0)


def by_fifteen(weight: Tensor, group: int) -> tuple[Tensor, Tensor]:
    return _by(weight, group, 7.5)


def cut_off(weight: Tensor, group: int) -> tuple[Tensor, Tensor]:
    return _by(weight, group, 7.0, floor=True)


def whole_rows(weight: Tensor, group: int) -> tuple[Tensor, Tensor]:
    codes, scales = _by(weight, weight.shape[1], 7.0)
    return codes, scales.expand(-1, weight.shape[1] // group).contiguous()


def down_columns(weight: Tensor, group: int) -> tuple[Tensor, Tensor]:
    if len(weight) % group:
        return by_tfcore(weight, group)
    codes, scales = _by(weight.T.contiguous(), group, 7.0)
    return codes.T.contiguous(), scales.T.contiguous()


def largest_not_magnitude(weight: Tensor, group: int) -> tuple[Tensor, Tensor]:
    groups = weight.unflatten(1, (-1, group))
    scales = groups.amax(-1) / 7
    codes = (groups / torch.where(scales > 0, scales, 1.0)[..., None]).round()
    return codes.to(torch.int8).flatten(1), scales


def zero_by_zero(weight: Tensor, group: int) -> tuple[Tensor, Tensor]:
    groups = weight.unflatten(1, (-1, group))
    scales = groups.abs().amax(-1) / 7
    scales = torch.where(scales > 0, scales, torch.nan)
    return (groups / scales[..., None]).nan_to_num().round().to(torch.int8).flatten(1), scales


def inverse_scales(weight: Tensor, group: int) -> tuple[Tensor, Tensor]:
    codes, scales = _by(weight, group, 7.0)
    return codes, torch.where(scales > 0, 1 / scales, 0.0)


def cases(generator: torch.Generator) -> list[Inputs]:
    made: list[Inputs] = []
    for rows, columns, group in ((32, 32, 32), (4, 64, 16), (16, 64, 16)):
        weight = normal(generator, rows, columns)
        weight[0, :group] = 0
        weight[1, 0] = -6.0
        made.append((weight, group))
    return made


def codes_fit(call: Function, weight: Tensor, group: int) -> bool:
    return int(call(weight, group)[0].abs().max()) <= 7


def error_is_half_a_step(call: Function, weight: Tensor, group: int) -> bool:
    codes, scales = call(weight, group)
    steps = scales.repeat_interleave(group, 1)
    return bool(((codes * steps - weight).abs() <= 0.501 * steps + 1e-6).all())


def largest_is_kept(call: Function, weight: Tensor, group: int) -> bool:
    codes, scales = call(weight, group)
    after, before = (
        x.unflatten(1, (-1, group)).abs().amax(-1) for x in (codes * scales.repeat_interleave(group, 1), weight)
    )
    return torch.allclose(after, before, rtol=2e-3, atol=1e-5)


def groups_are_apart(call: Function, weight: Tensor, group: int) -> bool:
    changed = weight.clone()
    changed[-1, -1] = 20
    apart = torch.ones_like(weight, dtype=torch.bool)
    apart[-1, -group:] = False
    return torch.equal(call(changed, group)[0][apart], call(weight, group)[0][apart])


def draw(call: Function) -> Picture:
    model = shipped_model("stories")[0]
    row, column = outlying(model, LAYER, KIND)
    scheme = Scheme(format="int4", per="32")
    before = row_on_grid(model, LAYER, KIND, row, scheme)
    codes, scales = call(torch.tensor(before.values)[None], GROUP)
    grid = (codes_of(scheme) * scales[0][:, None]).numpy()
    left = (codes[0] * scales[0].repeat_interleave(GROUP)).numpy()
    result = replace(before, rounded=left, grid=grid)
    words = (
        "Row {row} of the {kind} matrix of layer {layer} of stories, by the function's codes and "
        "scales: error {error:percent}."
    )
    found = state("row", words, row=row, kind=KIND, layer=LAYER, error=result.error)
    return Picture(row_figure(result, max(0, column - 48) // GROUP * GROUP, 400), found, 640)


INT4 = Exercise(
    solution=quantise,
    title="Four bits in groups",
    asks="Codes and scales of a matrix, and what is left of it.",
    papers="LLM.int8(), section 2 (absmax quantization), arXiv:2208.07339; groups: Q4_0 of GGUF files",
    formula=r"s = \frac{\max |w|}{7}, \qquad c = \mathrm{round}(w / s), \qquad \hat w = c\, s",
    returns=("codes", "scales"),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty("Codes are from -7 to 7.", "a code is below -7 or above 7", codes_fit),
        ExerciseProperty(
            "A group is rounded by itself.", "a group changes when a weight of another one does", groups_are_apart
        ),
        ExerciseProperty(
            "What is left of a weight is at most half a scale away.",
            "what is left of a weight is more than half a scale away",
            error_is_half_a_step,
        ),
        ExerciseProperty(
            "The largest magnitude of a group is kept.", "the largest magnitude of a group is not kept", largest_is_kept
        ),
    ),
    mistakes=(
        UsualMistake(by_eight, "is it divided by 8? The codes from -7 to 7 have 7 steps a side"),
        UsualMistake(by_fifteen, "is the range divided by 15 steps? A symmetric grid with 0 has 14"),
        UsualMistake(cut_off, "is what is behind the point cut off in place of rounded?"),
        UsualMistake(whole_rows, "is there one scale for a whole row?"),
        UsualMistake(down_columns, "are groups down the columns? They are neighbours in a row"),
        UsualMistake(largest_not_magnitude, "is it the largest number in place of the largest magnitude?"),
        UsualMistake(zero_by_zero, "is a group of zeros divided by its scale, 0?"),
        UsualMistake(inverse_scales, "are the scales one over what they should be?"),
    ),
    hints=(
        "`weight.unflatten(1, (-1, group))` cuts each row into groups: (row, group, size).",
        "One scale a group: the largest magnitude over the last axis, divided by 7.",
        "`torch.where(scales > 0, scales, 1.0)` is safe to divide by; `.round().to(torch.int8)` makes codes.",
    ),
    page="quantisation",
    draw=draw,
    tolerance=1e-3,
)
