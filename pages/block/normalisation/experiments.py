"""The experiments of the page on normalisation."""

import numpy as np

from tfcore import load
from tfcore.analysis.block.depth import Deep, probe
from tfcore.analysis.block.first_steps import STEPS, VOCAB, chance_loss, race
from tfcore.analysis.block.normalising import axis_leak, normalisation_steps
from tfcore.analysis.foundations.masks import replacement_for
from tfcore.config import Init, Norm
from tfcore.figures.block.depth import Line, curves_figure, race_figure
from tfcore.figures.block.normalising import axis_figure, steps_figure
from tfcore.figures.theme import Figure


def by_hand(numbers: tuple[float, ...], scale: float, shift: float, eps: float) -> Figure:
    """LayerNorm (arXiv:1607.06450) and RMSNorm (arXiv:1910.07467) on a few numbers, step by step."""
    layer, rms = (normalisation_steps(numbers, kind, scale, shift, eps) for kind in ("layernorm", "rmsnorm"))
    print(f"mean {layer.mean:.4g}, variance {layer.variance:.4g}")
    for name, steps in (("LayerNorm", layer), ("RMSNorm", rms)):
        # The last stage is the result; torch's own module computes the same.
        print(f"{name} divides by {steps.divisor:.4g}: {steps.stages[-1].round(4)}, torch {steps.torch.round(4)}")

    return steps_figure(layer, rms)


def which_axis(model_name: str, texts: list[str], tokens: int, row: int, position: int, kind: Norm) -> Figure:
    """Over which axis a norm may look: replace one token of a batch, and see whose vectors change."""
    model, tokenizer = load(model_name)
    rows = [tokenizer.encode(text) for text in texts]
    n = min(tokens, *(len(ids) for ids in rows))
    rows = [ids[:n] for ids in rows]  # a batch is as long as its shortest text
    other = replacement_for(tokenizer.encode, rows[row][position])
    leak = axis_leak(model, rows, row, position, other, kind)
    for axis in leak.change:
        count, most = leak.others(axis, row, position)
        print(f"over the {axis}: {count} other tokens change, by up to {most:.2g}")
    names = {axis: f"over the {axis}" for axis in leak.change}

    return axis_figure(leak, [tokenizer.tokens(ids) for ids in rows], (row, position), names, 400)


def placements(n_layers: int, init: Init, norm: Norm) -> Figure:
    """Where the norm stands: gradients by layer before training (arXiv:2002.04745, theorem 1)."""
    lines = []
    for i, placement in enumerate(("pre", "post", "sandwich", "none")):
        network = Deep(n_layers=n_layers, placement=placement, norm=norm, init=init)
        gradient = probe(network).gradient
        print(f"{placement}: gradient of W2 {gradient[0]:.3g} in the first layer, {gradient[-1]:.3g} in the last")
        lines.append(Line(placement, f"@cat{i}", np.arange(1, n_layers + 1), gradient))

    return curves_figure(lines, x_title="layer", y_title="gradient of W₂", height=330)


def first_steps(n_layers: int, peak: float, warmup: int, seed: int) -> Figure:
    """The first steps of training, with warm-up and without, for each place of the norm (arXiv:2002.04745)."""
    placements = ("pre", "post", "sandwich", "none")
    networks = {p: Deep(n_layers=n_layers, placement=p, vocab_size=VOCAB) for p in placements}
    runs = {f"{p} {steps}": (networks[p], steps) for p in placements for steps in (warmup, 0)}
    # Trains all eight side by side, a step each at a time.
    losses = [step for step in race(runs, peak, seed) if step is not None]
    curves = {p: [[step[f"{p} {steps}"] for step in losses] for steps in (warmup, 0)] for p in placements}
    print(f"uniform guess: {chance_loss():.2f}")
    for p, (warm, cold) in curves.items():
        print(f"{p}: {np.mean(warm[-5:]):.2f} with warm-up, {np.mean(cold[-5:]):.2f} without")

    return race_figure({p: (f"@cat{i}", curves[p]) for i, p in enumerate(curves)}, STEPS, chance_loss(), 380)
