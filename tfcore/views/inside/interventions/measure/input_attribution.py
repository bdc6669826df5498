"""Input attribution: what each token of a text adds to a quantity, by occlusion and by gradients of its embedding."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.inspection.edits import Edit
from tfcore.measures.effect_metric import Quantity, measured
from tfcore.measures.one_text import one_text
from tfcore.measures.shared_layers import BATCH, rows_at_once, weights_of_blocks
from tfcore.model import NO_LOGITS, Transformer

Occlusion = Literal["left out", "replaced"]
Constant = Literal["mean", "zero"]  # a baseline that is the same vector at every token
CONSTANTS: dict[Constant, str] = {"mean": "the average token", "zero": "zero vectors"}
STEPS = 32  # points on the way from the baseline to the text; 16 leave a gap of 11 % in smollm2, from the average token
TOLERATED = 0.1  # gap of integrated gradients, of the difference that they explain, up to which they are shown
SMALL = 0.01  # nats or logits: no gap below is one
ROUNDING = 1e-5  # of the largest attribution: what is smaller is rounding error of float32
AT_ONCE = 256  # tokens of one pass with gradients: about 400 MB of activations in SmolLM2-135M


@dataclass(frozen=True, slots=True)
class InputAttribution:
    """Shares of the tokens of a text in a quantity, in its unit, by several methods; NaN where it is not known yet.

    Args:
        left_out: the quantity of the text less that of the text without the token; exact. Of the text's own tokens
            (Quantity "text") that of the tokens which are left.
        replaced: less that of the text with the baseline's embedding in the place of this token's; exact.
        integrated: integrated gradients from the baseline, whatever their gap is.
        gradient: (embedding - baseline) . gradient at the text: gradient times input, where the baseline is zero.
        value, baseline: the quantity of the text, and with all embeddings those of the baseline.
        steps: points of the integral.
    """

    left_out: Float[ndarray, " token"]
    replaced: Float[ndarray, " token"]
    integrated: Float[ndarray, " token"]
    gradient: Float[ndarray, " token"]
    value: float
    baseline: float
    steps: int

    @property
    def complete(self) -> bool:
        """Whether every method is there for every token: integrated gradients come last."""
        return not np.isnan(self.integrated).any()

    @property
    def difference(self) -> float:
        """The quantity of the text less that of the baseline, which integrated gradients explain."""
        return self.value - self.baseline

    @property
    def gap(self) -> float:
        """The difference between the sum of integrated gradients and `difference`."""
        return float(self.integrated.sum()) - self.difference

    @property
    def withheld(self) -> bool:
        """Whether integrated gradients are there and miss it by more than a tenth: then they say nothing of a token."""
        return self.complete and abs(self.gap) > max(TOLERATED * abs(self.difference), SMALL)

    def methods(self, occlusion: Occlusion) -> dict[str, Float[ndarray, " token"]]:
        """Name -> attributions of the three methods, with one of the two occlusions; without integrated gradients where
        they are withheld."""
        return {
            f"occlusion ({occlusion})": self.left_out if occlusion == "left out" else self.replaced,
            **({} if self.withheld else {"integrated gradients": self.integrated}),
            "gradient × input": self.gradient,
        }


def attribute_by_steps(
    model: Transformer,
    ids: Sequence[int],
    quantity: Quantity,
    other: Sequence[int] | Constant = "mean",
    steps: int = STEPS,
) -> Iterator[InputAttribution]:
    """Occlusion, integrated gradients and gradient times input of every token of a text, as far as they are known after
    each group of runs: gradient times input first, then both occlusions, a few tokens at a time, and integrated
    gradients last. What is not yet known is NaN.

    Args:
        other: the baseline: a counterfactual text of equally many tokens, or see constant_baseline.
        steps: see integrals.

    Raises:
        ValueError: fewer than two tokens, or texts of different lengths.
    """
    _check(ids, other)
    text = embeddings(model, ids)
    baseline = constant_baseline(text, other) if isinstance(other, str) else embeddings(model, other)
    value, start = (float(of_embeddings(model, ids, quantity, one[None])) for one in (text, baseline))
    (slope,) = gradients(model, ids, quantity, text[None])
    unknown = np.full(len(ids), np.nan, dtype=np.float32)
    gradient = ((text - baseline) * slope).sum(1).cpu().numpy()
    known = InputAttribution(unknown, unknown, unknown, gradient, value, start, steps)
    yield known
    differs = (text != baseline).any(1).tolist()
    for places in _groups(model, len(ids)):
        replaced, left_out = known.replaced.copy(), known.left_out.copy()
        replaced[places] = 0.0  # of a token that is its own baseline
        if some := [i for i in places if differs[i]]:
            swapped = torch.stack([torch.where(_only(i, len(ids), text.device), baseline, text) for i in some])
            replaced[some] = value - of_embeddings(model, ids, quantity, swapped).cpu().numpy()
        left_out[places] = value - without_each(model, ids, quantity, places)
        known = replace(known, replaced=replaced, left_out=left_out)
        yield known
    for integrated in integrals(model, ids, quantity, text, baseline, steps):
        if integrated is not None:
            known = replace(known, integrated=integrated)
        yield known


def constant_baseline(text: Float[Tensor, "seq d_model"], constant: Constant) -> Float[Tensor, "seq d_model"]:
    """Zero vectors; or at every token but the first the mean of the text's own embeddings.

    The first token stays, as heads rest their attention on it (arXiv:2309.17453): with something else in its place the
    quantity changes so steeply on the way to the text that no affordable number of points adds up. Zero vectors are as
    bad, as the norms make the way out of zero steep.
    """
    if constant == "zero":
        return torch.zeros_like(text)
    baseline = text.mean(0, keepdim=True).repeat(len(text), 1)
    baseline[0] = text[0]
    return baseline


def count_steps(model: Transformer, tokens: int, steps: int = STEPS) -> int:
    """How many results attribute_by_steps yields for a text of so many tokens."""
    return 1 + len(_groups(model, tokens)) + math.ceil(steps / _points_at_once(model, tokens))


def operations(model: Transformer, tokens: int, steps: int = STEPS) -> float:
    """About how many floating-point operations the methods take: a run for each token left out and each replaced, two
    for the texts, and three times as many for each gradient; of each, two for each weight and token."""
    unembedding = model.config.d_model * model.config.vocab_size
    return 2.0 * ((2 * tokens + 2 + 3 * (steps + 1)) * (weights_of_blocks(model) * tokens + unembedding))


def _check(ids: Sequence[int], other: Sequence[int] | Constant) -> None:
    if len(ids) < 2:
        raise ValueError(f"the text has {len(ids)} token; leaving one out needs at least two")
    if not isinstance(other, str) and len(other) != len(ids):
        raise ValueError(f"the texts have {len(ids)} and {len(other)} tokens; a baseline needs equally many")


def _groups(model: Transformer, tokens: int) -> list[list[int]]:
    """The tokens that are occluded in one pass, a row each."""
    size = rows_at_once(model.config, min(BATCH, AT_ONCE // tokens))
    return [list(range(start, min(start + size, tokens))) for start in range(0, tokens, size)]


def _points_at_once(model: Transformer, tokens: int) -> int:
    """Points of the integral whose gradients are taken in one pass."""
    return rows_at_once(model.config, AT_ONCE // tokens)


def integrals(
    model: Transformer,
    ids: Sequence[int],
    quantity: Quantity,
    text: Float[Tensor, "seq d_model"],
    baseline: Float[Tensor, "seq d_model"],
    steps: int,
) -> Iterator[Float[ndarray, " token"] | None]:
    """Integrated gradients: (x_i - b_i) . integral from 0 to 1 of the gradient at b + t (x - b), of every token
    (arXiv:1703.01365, equation 1, summed over the components of the embedding). Yields None after each pass but the
    last.

    The sum over the tokens would be the quantity's difference between text and baseline (completeness, proposition 1
    there) if the integral were exact. It is a Gauss-Legendre sum over `steps` points, where the paper takes a Riemann
    sum (equation 3); how far it is from exact depends on the baseline far more than on either.
    """
    nodes, weights = np.polynomial.legendre.leggauss(steps)  # on -1 .. 1
    total = torch.zeros_like(text)
    size = _points_at_once(model, len(ids))
    for start in range(0, steps, size):
        t = torch.as_tensor((nodes[start : start + size] + 1) / 2).to(text)
        weight = torch.as_tensor(weights[start : start + size] / 2).to(text)
        points = baseline + t[:, None, None] * (text - baseline)  # (point, seq, d_model)
        total += torch.einsum("p,psd->sd", weight, gradients(model, ids, quantity, points))
        yield ((text - baseline) * total).sum(1).cpu().numpy() if start + size >= steps else None


@torch.enable_grad()
def gradients(
    model: Transformer, ids: Sequence[int], quantity: Quantity, points: Float[Tensor, "point seq d_model"]
) -> Float[Tensor, "point seq d_model"]:
    """The gradient of the quantity at some values of the embeddings. The model stays as it is: gradients flow to these
    values alone."""
    points = points.detach().requires_grad_()
    quantities = measured(model, _hidden(model, ids, points), ids, quantity)
    (slope,) = torch.autograd.grad(quantities.sum(), points)
    return slope


@torch.no_grad()
def of_embeddings(
    model: Transformer, ids: Sequence[int], quantity: Quantity, points: Float[Tensor, "point seq d_model"]
) -> Float[Tensor, " point"]:
    """The quantity at some values of the embeddings of a text."""
    parts = points.split(rows_at_once(model.config, BATCH))
    return torch.cat([measured(model, _hidden(model, ids, part), ids, quantity) for part in parts])


@torch.no_grad()
def without_each(
    model: Transformer, ids: Sequence[int], quantity: Quantity, places: Sequence[int]
) -> Float[ndarray, " token"]:
    """The quantity of the text without the token at each of these places, one pass for all."""
    rows = [[*ids[:i], *ids[i + 1 :]] for i in places]
    hidden = model(torch.tensor(rows, device=model.device), logits_to_keep=NO_LOGITS).hidden
    quantities = [measured(model, one[None], row, quantity) for one, row in zip(hidden, rows, strict=True)]
    return torch.cat(quantities).cpu().numpy()


@torch.no_grad()
def embeddings(model: Transformer, ids: Sequence[int]) -> Float[Tensor, "seq d_model"]:
    """The embeddings of the tokens of a text, before positions."""
    name = "encoder.embed" if model.config.reads_twice else "embed"
    return model.activations(one_text(model, ids), name)[name].squeeze(0)


def _hidden(model: Transformer, ids: Sequence[int], points: Tensor) -> Float[Tensor, "point seq d_model"]:
    """The last hidden states with these embeddings, in both stacks where the decoder reads the same text."""
    put = [Edit("embed", lambda _: points)]
    if model.config.reads_twice:  # there one place further on
        again = Edit("decoder.embed", lambda own: torch.cat((own[:, :1], points[:, :-1]), 1))
        put = [Edit("encoder.embed", lambda _: points), again]
    return model(one_text(model, ids).expand(len(points), -1), edits=put, logits_to_keep=NO_LOGITS).hidden


def _only(i: int, n: int, device: torch.device) -> Tensor:
    """True at position i alone, (seq, 1)."""
    return (torch.arange(n, device=device) == i)[:, None]


def without_rounding(values: Float[ndarray, " token"]) -> Float[ndarray, " token"]:
    """Set to 0 what is below ROUNDING of the largest by size: tokens that both texts share get no attribution, and the
    rounding errors in its place have no order."""
    return np.where(np.abs(values) < ROUNDING * np.abs(values).max(), 0, values)


def most_named(attribution: InputAttribution) -> int:
    """The position to which integrated gradients give most, by size; where they are not there yet, or withheld,
    gradient times input."""
    return int(
        np.abs(
            attribution.integrated if attribution.complete and not attribution.withheld else attribution.gradient
        ).argmax()
    )
