"""The experiments of the page on normalisation."""

from collections.abc import Mapping, Sequence

import numpy as np

from tfcore.analysis.block.depth import PLACEMENTS, RUN_STEPS, DepthProbe, curves_of, describe_first_steps, uniform_loss
from tfcore.analysis.block.depth_findings import last_gradients, last_sizes
from tfcore.analysis.block.normalisation import AxisLeak, axis_changes, axis_leak, norm_divisors, normalisation_steps
from tfcore.config import Norm
from tfcore.figures.block.depth import LARGEST_NUMBERS, WIRING_COLOURS, Line, depth_figure, first_steps_figure
from tfcore.figures.block.normalisation import axis_figure, norm_steps_figure
from tfcore.figures.shown import Shown
from tfcore.measures.leaks import replacement_for
from tfcore.measures.one_text import piece_of
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def by_hand(numbers: tuple[float, ...], scale: float, shift: float, eps: float) -> Shown:
    """LayerNorm (arXiv:1607.06450) and RMSNorm (arXiv:1910.07467) on a few numbers, step by step."""
    layer = normalisation_steps(numbers, "layernorm", scale, shift, eps)
    rms = normalisation_steps(numbers, "rmsnorm", scale, shift, eps)
    return Shown(norm_steps_figure(layer, rms), (norm_divisors(layer, rms),))


def batch_of(tokenizer: Tokenizer, texts: Sequence[str], limit: int) -> list[list[int]]:
    """The first tokens of each text, as many as the shortest has; nothing where one has none."""
    rows = [tokenizer.encode(text) for text in texts]
    n = min([limit, *map(len, rows)])
    return [ids[:n] for ids in rows] if n else []


def replace_token(
    model: Transformer, tokenizer: Tokenizer, texts: Sequence[str], limit: int, row: int, position: int, kind: Norm
) -> tuple[AxisLeak, list[list[str]], str]:
    """Replace one token of a batch: whose vectors change, the tokens of the batch, and the new one."""
    rows = batch_of(tokenizer, texts, limit)
    other = replacement_for(tokenizer.encode, rows[row][position])
    leak = axis_leak(model, rows, row, position, other, kind)
    return leak, [tokenizer.tokens(ids) for ids in rows], piece_of(tokenizer, other)


def which_axis(replaced: tuple[AxisLeak, list[list[str]], str], row: int, position: int) -> Shown:
    """Over which axis a norm may work: replace one token of a batch, and see whose vectors change."""
    leak, tokens, _ = replaced
    figure = axis_figure(leak, [tick_labels(line, 9) for line in tokens], (row, position), height=400)
    return Shown(figure, (axis_changes(leak, row, position),))


def placements(probes: Mapping[str, DepthProbe]) -> Shown:
    """Where the norm stands: gradients by layer before training (arXiv:2002.04745, theorem 1)."""
    lines = [
        Line(name, WIRING_COLOURS[name], np.arange(1, len(probed.gradient) + 1), probed.gradient)
        for name, probed in probes.items()
    ]
    figure = depth_figure(lines, x_title="layer", y_title="gradient of W₂", height=330, limits=LARGEST_NUMBERS)
    return Shown(figure, (last_gradients(probes),))


def sizes(probes: Mapping[str, DepthProbe]) -> Shown:
    """Where the norm stands: the size of the residual stream after each layer."""
    lines = [
        Line(name, WIRING_COLOURS[name], np.arange(len(probed.activation)), probed.activation)
        for name, probed in probes.items()
    ]
    figure = depth_figure(
        lines, x_title="after layer", y_title="size of the stream", height=300, limits=LARGEST_NUMBERS
    )
    return Shown(figure, (last_sizes(probes),))


def first_steps(losses: Sequence[Mapping[str, float]], n_layers: int) -> Shown:
    """The first steps of training, with warm-up and without, for each place of the norm (arXiv:2002.04745)."""
    columns = {name: (WIRING_COLOURS[name], curves_of(losses, name)) for name in PLACEMENTS}
    figure = first_steps_figure(columns, RUN_STEPS, uniform_loss(), height=380)
    return Shown(figure, (describe_first_steps(losses, n_layers),))
