"""LayerNorm and RMSNorm step by step on a few numbers, and what a norm over the wrong axis mixes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.checks import check_place
from tfcore.measures.leaks import replacement_for
from tfcore.measures.one_text import piece_of, pieces_of
from tfcore.model import Transformer
from tfcore.part_configs import Norm
from tfcore.tokenizers.tokenizer import Tokenizer

NORM_NAMES: dict[Norm, str] = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}
Axis = Literal["features", "tokens", "texts", "everything"]
AXES: dict[Axis, tuple[int, ...]] = {"features": (2,), "tokens": (1,), "texts": (0,), "everything": (0, 1, 2)}


def normalise(
    x: Float[Tensor, "*shape"], dims: Sequence[int] = (-1,), centre: bool = True, eps: float = 1e-5
) -> Float[Tensor, "*shape"]:
    """(x - mean) / sqrt(variance + eps) with mean and variance over `dims`; LayerNorm before its scale and shift.

    Args:
        x: for a Transformer of shape (batch, seq, d_model), where `dims` must be the last alone.
        centre: take the mean away first (LayerNorm, arXiv:1607.06450, eq. 3). Without, it is RMSNorm
            (arXiv:1910.07467, eq. 4): x / sqrt(mean(x^2) + eps).
        eps: keeps a vector of equal numbers from being divided by zero.
    """
    if centre:
        x = x - x.mean(dim=list(dims), keepdim=True)
    variance = x.pow(2).mean(dim=list(dims), keepdim=True)  # divided by n, not by n - 1
    return x / torch.sqrt(variance + eps)


@dataclass(frozen=True, slots=True)
class NormSteps:
    """A few numbers through one normalisation, in float64.

    Args:
        mean: what was taken away; 0 for RMSNorm, which takes nothing away.
        variance: mean square of what is left.
        divisor: sqrt(variance + eps).
        stages: the numbers as they came, less the mean, divided, scaled and shifted.
        torch: what torch's own module makes of them.
    """

    mean: float
    variance: float
    divisor: float
    stages: Float[ndarray, "4 feature"]
    torch: Float[ndarray, " feature"]

    @property
    def difference(self) -> float:
        """Largest difference from torch's module."""
        return float(abs(self.stages[3] - self.torch).max())


def normalisation_steps(
    numbers: tuple[float, ...], kind: Norm, scale: float = 1.0, shift: float = 0.0, eps: float = 1e-5
) -> NormSteps:
    """Normalise some numbers step by step, and once more by torch's own module.

    Args:
        numbers: the features of one token.
        kind: "layernorm", or "rmsnorm", which has no mean and no shift.
        scale, shift: gamma and beta, here the same for every feature.

    Raises:
        ValueError: no number.
    """
    if not numbers:
        raise ValueError("there is nothing to normalise; give at least one number")
    x = torch.tensor(numbers, dtype=torch.float64)
    layer = kind == "layernorm"
    mean = x.mean() if layer else torch.zeros((), dtype=x.dtype)
    centred = x - mean
    variance = centred.pow(2).mean()
    divisor = torch.sqrt(variance + eps)
    divided = normalise(x, centre=layer, eps=eps)
    done = divided * scale + (shift if layer else 0.0)
    stages = torch.stack((x, centred, divided, done))
    return NormSteps(
        float(mean), float(variance), float(divisor), stages.numpy(), _by_torch(x, kind, scale, shift, eps)
    )


def _by_torch(x: Tensor, kind: Norm, scale: float, shift: float, eps: float) -> Float[ndarray, " feature"]:
    """The result of nn.LayerNorm or nn.RMSNorm, in float64."""
    module = torch.nn.LayerNorm if kind == "layernorm" else torch.nn.RMSNorm
    norm = module(len(x), eps=eps, dtype=x.dtype).requires_grad_(False)
    norm.weight.fill_(scale)
    if isinstance(norm, torch.nn.LayerNorm):
        norm.bias.fill_(shift)
    return norm(x).numpy()


@dataclass(frozen=True, slots=True)
class AxisLeak:
    """The changes of the normalised vectors of a batch when one of its tokens is replaced.

    Args:
        change: per axis, the largest |difference| of any feature of each token's normalised vector.
        spread: per axis, how far the root mean square of a token's normalised vector is from 1, for the worst token.
    """

    change: dict[Axis, Float[ndarray, "batch seq"]]
    spread: dict[Axis, float]

    def others(self, axis: Axis, row: int, position: int) -> tuple[int, float]:
        """How many of the other tokens changed, and the largest change among them."""
        change = self.change[axis].copy()
        change[row, position] = 0
        return int((change > 0).sum()), float(change.max())


@torch.no_grad()
def axis_leak(
    model: Transformer, rows: Sequence[Sequence[int]], row: int, position: int, replacement: int, kind: Norm
) -> AxisLeak:
    """The changes of all normalised embeddings of a small batch when one token is replaced, for each axis.

    Of embeddings, because there every vector depends on one token alone: other vectors change through the norm only.

    Args:
        rows: texts of the same length, as ids.
        row, position: the token to replace.
        replacement: its new id.

    Raises:
        ValueError: texts of different lengths, a place outside of them, or a replacement that changes nothing.
    """
    lengths = {len(ids) for ids in rows}
    if len(lengths) != 1:
        raise ValueError(f"the rows have {', '.join(str(len(ids)) for ids in rows)} tokens; give equally many")
    (length,) = lengths
    check_place(row=(row, len(rows)), position=(position, length))
    if rows[row][position] == replacement:
        raise ValueError(f"replacement={replacement} is the token that stands there already")
    ids = torch.tensor([list(row) for row in rows], device=model.device)
    changed = ids.clone()
    changed[row, position] = replacement
    # Unit size on average, as a stream has it: eps would count for much beside raw embeddings.
    table = model.embed.weight
    before, after = ((F.embedding(i, table) / table.std()).double().cpu() for i in (ids, changed))
    change: dict[Axis, ndarray] = {}
    spread: dict[Axis, float] = {}
    for axis, dims in AXES.items():
        first, second = (normalise(x, dims, centre=kind == "layernorm") for x in (before, after))
        change[axis] = (second - first).abs().amax(-1).numpy()
        spread[axis] = float((first.pow(2).mean(-1).sqrt() - 1).abs().max())
    return AxisLeak(change, spread)


@dataclass(frozen=True, slots=True)
class ReplacedToken:
    """A token of a batch replaced by another.

    Args:
        tokens: of the batch, a row a text.
        new: the token that takes its place.
        leak: whose vectors change.
    """

    tokens: list[list[str]]
    new: str
    leak: AxisLeak


def batch(model: Transformer, tokenizer: Tokenizer, texts: Sequence[str], limit: int) -> list[list[int]]:  # noqa: ARG001
    """The first tokens of each text as ids, as many as the shortest has; nothing where one has none."""
    rows = [tokenizer.encode(text) for text in texts]
    n = min([limit, *map(len, rows)])
    return [ids[:n] for ids in rows] if n else []


def replace_token(
    model: Transformer, tokenizer: Tokenizer, texts: Sequence[str], limit: int, row: int, position: int, kind: Norm
) -> ReplacedToken:
    """Replace one token of a batch, see `batch` and `axis_leak`."""
    rows = batch(model, tokenizer, texts, limit)
    other = replacement_for(tokenizer.encode, rows[row][position])
    leak = axis_leak(model, rows, row, position, other, kind)
    return ReplacedToken([pieces_of(tokenizer, ids) for ids in rows], piece_of(tokenizer, other), leak)
