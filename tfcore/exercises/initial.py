"""How weights start."""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from tfcore.charts.depth_curves import Line, depth_figure
from tfcore.config import ModelConfig
from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake
from tfcore.measures.deep_networks import Deep, build_deep, stream_sizes
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig, NormConfig, PositionsConfig
from tfcore.views.finding import state

STD = 0.02
DRAWN_LAYERS = 24
NAMES = {  # name in a model of WIDTH -> its shape
    "embed.weight": (512, 64),
    "decoder.blocks.1.attn.qkv.weight": (192, 64),
    "decoder.blocks.1.attn.out.weight": (64, 64),
    "decoder.blocks.1.mlp.up.weight": (256, 64),
    "decoder.blocks.1.mlp.down.weight": (64, 256),
    "decoder.blocks.1.mlp.down.bias": (64,),
    "decoder.blocks.1.ln1.weight": (64,),
    "decoder.blocks.1.ln1.bias": (64,),
}
WIDTH = 64


def initial_weight(name: str, shape: tuple[int, ...], n_layers: int, generator: torch.Generator) -> torch.Tensor:
    """The initial values of one parameter, as in GPT-2.

    Matrices are drawn from a normal distribution of standard deviation 0.02. Those that write to the residual stream
    (their names end in "attn.out.weight" and "mlp.down.weight") are divided by sqrt(2 n_layers), as two sublayers a
    block add to it. Biases, whose names end in "bias", are 0. The weights of norms, which have one axis, are 1.

    Args:
        name: as "decoder.blocks.3.mlp.down.weight".
        shape: of the parameter.
        n_layers: blocks of the model.
        generator: all chance comes from it: torch.randn(shape, generator=generator).

    Returns:
        values: of this shape.
    """
    if name.endswith("bias"):
        return torch.zeros(shape)
    if len(shape) == 1:
        return torch.ones(shape)
    std = 0.02
    if name.endswith(("attn.out.weight", "mlp.down.weight")):
        std /= (2 * n_layers) ** 0.5
    return std * torch.randn(shape, generator=generator)


def by_tfcore(name: str, shape: tuple[int, ...], n_layers: int, generator: torch.Generator) -> Tensor:
    return _started(n_layers, generator.initial_seed()).get_parameter(name).detach()


@lru_cache(maxsize=8)
def _started(n_layers: int, seed: int) -> Transformer:
    config = ModelConfig(
        vocab_size=512,
        d_model=WIDTH,
        n_layers=n_layers,
        attention=AttentionConfig(n_heads=4),
        feed_forward=FeedForwardConfig(d_ff=4 * WIDTH, activation="gelu"),
        norm=NormConfig(kind="layernorm"),
        positions=PositionsConfig(kind="learned"),
        max_seq_len=8,
        bias=True,
        init="gpt2",
    )
    return Transformer(config, seed)


def standard_normal(name: str, shape: tuple[int, ...], n_layers: int, generator: torch.Generator) -> Tensor:
    if len(shape) > 1:
        return torch.randn(shape, generator=generator)
    return initial_weight(name, shape, n_layers, generator)


def all_alike(name: str, shape: tuple[int, ...], n_layers: int, generator: torch.Generator) -> Tensor:
    if len(shape) > 1:
        return 0.02 * torch.randn(shape, generator=generator)
    return initial_weight(name, shape, n_layers, generator)


def by_layers(name: str, shape: tuple[int, ...], n_layers: int, generator: torch.Generator) -> Tensor:
    made = initial_weight(name, shape, n_layers, generator)
    writes = name.endswith(("attn.out.weight", "mlp.down.weight"))
    return made * 2**0.5 if writes else made


def no_root(name: str, shape: tuple[int, ...], n_layers: int, generator: torch.Generator) -> Tensor:
    made = initial_weight(name, shape, n_layers, generator)
    writes = name.endswith(("attn.out.weight", "mlp.down.weight"))
    return made / (2 * n_layers) ** 0.5 if writes else made


def all_divided(name: str, shape: tuple[int, ...], n_layers: int, generator: torch.Generator) -> Tensor:
    made = initial_weight(name, shape, n_layers, generator)
    writes = name.endswith(("attn.out.weight", "mlp.down.weight"))
    return made if writes or len(shape) == 1 else made / (2 * n_layers) ** 0.5


def even(name: str, shape: tuple[int, ...], n_layers: int, generator: torch.Generator) -> Tensor:
    if len(shape) == 1:
        return initial_weight(name, shape, n_layers, generator)
    std = float(initial_weight(name, (256, 256), n_layers, torch.Generator().manual_seed(0)).std())
    return std * (2 * torch.rand(shape, generator=generator) - 1)


def zero_matrices(name: str, shape: tuple[int, ...], n_layers: int, generator: torch.Generator) -> Tensor:
    return torch.zeros(shape) if len(shape) > 1 else initial_weight(name, shape, n_layers, generator)


def zero_norms(name: str, shape: tuple[int, ...], n_layers: int, generator: torch.Generator) -> Tensor:
    return torch.zeros(shape) if len(shape) == 1 else initial_weight(name, shape, n_layers, generator)


def unseeded(name: str, shape: tuple[int, ...], n_layers: int, generator: torch.Generator) -> Tensor:
    return initial_weight(name, shape, n_layers, torch.Generator().manual_seed(torch.seed() % 2**32))


def cases(generator: torch.Generator) -> list[Inputs]:
    seed = int(torch.randint(2**31, (), generator=generator))
    return [(name, shape, n, torch.Generator().manual_seed(seed + n)) for n in (2, 8) for name, shape in NAMES.items()]


def biases_are_zero(call: Function, name: str, *rest: object) -> bool:
    return not name.endswith("bias") or not bool(call(name, *rest).any())


def norms_are_one(call: Function, name: str, *rest: object) -> bool:
    return not name.endswith("ln1.weight") or bool((call(name, *rest) == 1).all())


def matrices_are_random(call: Function, name: str, shape: tuple[int, ...], *rest: object) -> bool:
    return len(shape) == 1 or len(call(name, shape, *rest).unique()) > shape[0]


def readers_have_std(call: Function, name: str, *rest: object) -> bool:
    reads = name.endswith(("embed.weight", "qkv.weight", "up.weight"))
    return not reads or abs(float(call(name, *rest).std()) / STD - 1) < 0.05


def writers_have_less(call: Function, name: str, shape: tuple[int, ...], n_layers: int, *rest: object) -> bool:
    wanted = STD / (2 * n_layers) ** 0.5
    return not name.endswith(("out.weight", "down.weight")) or (
        abs(float(call(name, shape, n_layers, *rest).std()) / wanted - 1) < 0.05
    )


def spread(values: Tensor) -> Tensor:
    """What is compared of drawn numbers: mean, standard deviation, and the share of them within one of it."""
    mean, std = values.mean(), values.std(correction=0)
    within = ((values - mean).abs() <= std).float().mean() if std > 0 else torch.ones(())
    return torch.stack((mean, std / STD, within))


def draw(call: Function) -> Picture:
    deep = Deep(n_layers=DRAWN_LAYERS, init="gpt2")
    places, lines = np.arange(DRAWN_LAYERS + 1), {}
    for name, init in (("the function", call), ("all 0.02", all_alike)):
        model = build_deep(deep)
        _start(model, init, torch.Generator().manual_seed(0))
        lines[name] = stream_sizes(deep, model=model)
    drawn = [Line(name, f"@cat{i}", places, values) for i, (name, values) in enumerate(lines.items())]
    chart = depth_figure(drawn, x_title="after layer", y_title="std of the stream", height=380)
    words = (
        "The stream of a new network of {layers} layers: by the function it grows {times:.1f} times from end to end."
    )
    found = state(
        "stream", words, layers=DRAWN_LAYERS, times=float(lines["the function"][-1] / lines["the function"][0])
    )
    return Picture(chart, found)


@torch.no_grad()
def _start(model: nn.Module, init: Function, generator: torch.Generator) -> None:
    for name, parameter in model.named_parameters():
        parameter.copy_(init(name, tuple(parameter.shape), DRAWN_LAYERS, generator))


INITIAL_WEIGHT = Exercise(
    solution=initial_weight,
    title="Initial weights",
    asks="A parameter as it starts, by its name, its shape and the depth of the model.",
    papers="Language Models are Unsupervised Multitask Learners (GPT-2 report, Radford et al. 2019), section 2.3",
    formula=r"W \sim \mathcal N(0,\, 0.02^2), \qquad W_{out} \sim \mathcal N\!\left(0,\, \tfrac{0.02^2}{2N}\right)",
    returns=("values",),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty("Biases are 0.", "a bias is not 0", biases_are_zero),
        ExerciseProperty("The weights of norms are 1.", "the weight of a norm is not 1", norms_are_one),
        ExerciseProperty("Matrices are drawn at random.", "numbers of a matrix are alike", matrices_are_random),
        ExerciseProperty(
            "Matrices that read from the stream have a standard deviation of 0.02.",
            "a matrix that reads from the stream has a standard deviation other than 0.02",
            readers_have_std,
        ),
        ExerciseProperty(
            "Matrices that write to the stream have one of 0.02 / sqrt(2 n_layers).",
            "a matrix that writes to the stream has a standard deviation other than 0.02 / sqrt(2 n_layers)",
            writers_have_less,
        ),
    ),
    mistakes=(
        UsualMistake(standard_normal, "is randn not multiplied by anything?"),
        UsualMistake(all_alike, "do the matrices that write to the stream start like all others?"),
        UsualMistake(by_layers, "is the divisor sqrt(n_layers)? Each block adds twice"),
        UsualMistake(no_root, "is the divisor 2 n_layers in place of its root? It is the variances that add up"),
        UsualMistake(all_divided, "are all other matrices divided in place of those that write to the stream?"),
        UsualMistake(even, "is it a uniform distribution?"),
        UsualMistake(zero_matrices, "are matrices 0? Then all their rows learn the same"),
        UsualMistake(zero_norms, "are the weights of norms 0? They multiply: 1 changes nothing"),
        UsualMistake(unseeded, "is the generator used? All chance comes from it"),
    ),
    hints=(
        "Three kinds: what has a name that ends in `bias`, what has one axis, and matrices.",
        "`std * torch.randn(shape, generator=generator)` has the standard deviation `std`.",
        '`name.endswith(("attn.out.weight", "mlp.down.weight"))` finds what writes to the stream.',
    ),
    page="residuals?part=Initial+weights",
    draw=draw,
    compared=spread,
    tolerance=0.05,
)
