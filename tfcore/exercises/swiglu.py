"""SwiGLU."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.feedforward import activated
from tfcore.part_configs import FeedForwardConfig
from tfcore.views.block.feedforward.draw.layers import unit_figure
from tfcore.views.block.feedforward.measure.layers import GatedUnit
from tfcore.views.finding import state

POINTS, LIMIT, UP = 81, 4.0, 2.0


def swiglu(
    x: Float[Tensor, "seq d_model"],
    w_gate: Float[Tensor, "d_ff d_model"],
    w_up: Float[Tensor, "d_ff d_model"],
    w_down: Float[Tensor, "d_model d_ff"],
) -> Float[Tensor, "seq d_model"]:
    """A gated feed-forward layer, with SiLU written out: silu(z) = z * sigmoid(z).

    The gate goes through SiLU and multiplies the up-projection; the down-projection leads back to d_model.

    Args:
        x: one row a token.
        w_gate, w_up, w_down: as torch's Linear keeps them, (d_out, d_in): a product is x @ w.T.

    Returns:
        output: of the shape of x.
    """
    gate = x @ w_gate.T  # (seq, d_ff)
    return (gate * torch.sigmoid(gate) * (x @ w_up.T)) @ w_down.T


def by_tfcore(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    layer = FeedForwardConfig(activation="swiglu")
    return F.linear(activated(layer, F.linear(x, w_gate), F.linear(x, w_up)), w_down)


def exchanged(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    return swiglu(x, w_up, w_gate, w_down)


def sigmoid_alone(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    return (torch.sigmoid(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T


def with_gelu(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    return (F.gelu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T


def with_relu(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    return (F.relu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T


def after_product(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    return F.silu((x @ w_gate.T) * (x @ w_up.T)) @ w_down.T


def summed(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    return (F.silu(x @ w_gate.T) + x @ w_up.T) @ w_down.T


def not_gated(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    return F.silu(x @ w_gate.T) @ w_down.T


def cases(generator: torch.Generator) -> list[Inputs]:
    sizes = ((4, 6, 16), (1, 3, 3), (5, 8, 12))
    return [
        (
            normal(generator, seq, d),
            *(normal(generator, d_ff, d) for _ in range(2)),
            normal(generator, d, d_ff) / d_ff**0.5,
        )
        for seq, d, d_ff in sizes
    ]


def up_is_linear(call: Function, x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> bool:
    return torch.allclose(call(x, w_gate, 3 * w_up, w_down), 3 * call(x, w_gate, w_up, w_down), rtol=1e-3, atol=1e-4)


def closed_gate_gives_nothing(call: Function, x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> bool:
    return not bool(call(x, 0 * w_gate, w_up, w_down).any())


def gate_dips_below_zero(call: Function, x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> bool:
    one = torch.ones(1, 1)
    return abs(float(call(one, -one, one, one)) + 0.26894143) < 1e-4  # -1 / (1 + e)


def draw(call: Function) -> Picture:
    values = LIMIT * torch.linspace(-1, 1, POINTS)
    gate_row, up_row, down = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([[1.0], [0.0]])
    pairs = torch.cartesian_prod(values, values)[:, [1, 0]]  # (gate, up), the gate changing fastest
    gated = call(pairs, gate_row, up_row, down)[:, 0].view(POINTS, POINTS).detach().numpy()
    at_two = torch.stack((values, torch.full_like(values, UP)), dim=1)
    row = call(at_two, gate_row, up_row, down)[:, 0].detach()
    least = int(row.argmin())
    words = (
        "One unit of the function by its gate and up: with up at {up:g} it is lowest at a gate of "
        "{gate:.1f}: {low:.2f}."
    )
    found = state("unit", words, up=UP, gate=float(values[least]), low=float(row[least]))
    axis = values.numpy()
    return Picture(unit_figure(GatedUnit(axis, axis, gated, row.numpy() / UP), UP, 380), found, 560)


SWIGLU = Exercise(
    solution=swiglu,
    title="SwiGLU",
    asks="The gated feed-forward layer of today's models.",
    papers="GLU Variants Improve Transformer, equation 6, arXiv:2002.05202",
    formula=r"\left(\mathrm{silu}(x W_{gate}^\top) \odot x W_{up}^\top\right) W_{down}^\top, \qquad "
    r"\mathrm{silu}(z) = z\, \sigma(z)",
    returns=("output",),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty(
            "Three times the up-projection gives three times the output.",
            "three times w_up does not give three times the output",
            up_is_linear,
        ),
        ExerciseProperty(
            "A gate of 0 lets nothing through.", "a gate of 0 lets something through", closed_gate_gives_nothing
        ),
        ExerciseProperty(
            "A gate of -1 lets -1 / (1 + e) through.",
            "a gate of -1 does not let -1 / (1 + e) = -0.269 through",
            gate_dips_below_zero,
        ),
    ),
    mistakes=(
        UsualMistake(exchanged, "are gate and up exchanged?"),
        UsualMistake(sigmoid_alone, "is it the sigmoid alone (GLU)? SiLU is z * sigmoid(z)"),
        UsualMistake(with_gelu, "is it GELU (GEGLU) in place of SiLU?"),
        UsualMistake(with_relu, "is it ReLU (ReGLU) in place of SiLU?"),
        UsualMistake(after_product, "does SiLU come after the product? It belongs to the gate alone"),
        UsualMistake(summed, "are gate and up added? They are multiplied"),
        UsualMistake(not_gated, "is the up-projection missing?"),
    ),
    hints=(
        "Two products lead from d_model to d_ff; one leads back.",
        "`torch.sigmoid` is all that SiLU needs.",
        "Only the gate goes through SiLU; the other factor stays linear.",
    ),
    page="feedforward?panel=gates",
    draw=draw,
)
