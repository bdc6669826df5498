"""Sublayer ablation, every set of sublayers left out (arXiv:1605.06431), and dropout (arXiv:1207.0580)."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.attention import AttentionMask
from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.generation.generate import generate
from tfcore.inspection.capture import ActivationRecorder
from tfcore.inspection.edits import Edit
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer
from tfcore.positions import rope_angles, rotation

SUBSETS_AT_ONCE = 32  # streams whose scores are held at once


@dataclass(frozen=True, slots=True)
class SubsetLosses:
    """The loss of a text with every set of sublayers left out.

    Bit s of a row's number says whether sublayer s is kept; sublayer 2 i is the attention of block i, 2 i + 1 its
    feed-forward layer. Row 0 keeps none, the last row all.

    Args:
        losses: nats, of every next token of the text.
        removed: how many sublayers are left out.
    """

    losses: Float[ndarray, "subset token"]
    removed: Int[ndarray, " subset"]

    @property
    def loss(self) -> Float[ndarray, " subset"]:
        """Mean over the text."""
        return self.losses.mean(1)

    @property
    def sublayers(self) -> tuple[str, ...]:
        """What each sublayer is called."""
        return tuple(sublayer_name(s) for s in range(len(self.losses).bit_length() - 1))

    def row(self, without: Collection[int]) -> int:
        """The row in which these sublayers are left out."""
        return len(self.losses) - 1 - sum(1 << sublayer for sublayer in without)


def sublayer_name(sublayer: int) -> str:
    """5 -> "feed-forward 2"."""
    return f"{'feed-forward' if sublayer % 2 else 'attention'} {sublayer // 2}"


def sublayer_outputs(n_layers: int) -> list[str]:
    """The names of what each sublayer adds to the stream, in the vocabulary of tfcore.inspection.capture."""
    return [f"blocks.{i}.{part}" for i in range(n_layers) for part in ("attn_out", "mlp_out")]


def single_rises(result: SubsetLosses) -> list[float]:
    """The loss increase when one sublayer alone is left out, nats per token, in the order of the sublayers."""
    whole = float(result.loss[-1])
    count = len(result.loss).bit_length() - 1
    return [float(result.loss[result.row((sublayer,))]) - whole for sublayer in range(count)]


@torch.no_grad()
def every_subset(model: Transformer, ids: Sequence[int]) -> SubsetLosses:
    """The losses of a text with each of the 2^N sets of sublayers left out; what sets share is computed once.

    After sublayer k there are 2^k streams; the next one doubles them: without it, and with it.

    Raises:
        ValueError: fewer than two tokens, or a model of another kind than a pre-norm decoder.
    """
    if len(ids) < 2:
        raise ValueError("a loss needs a token and the one after it; give at least two")
    x = doubled_streams(model, one_text(model, ids))
    targets = torch.tensor(list(ids[1:]), device=x.device)
    losses = torch.cat([_losses(model, part, targets) for part in x.split(SUBSETS_AT_ONCE)])
    sublayers = torch.arange(2 * model.config.n_layers)
    kept = (torch.arange(len(x))[:, None] >> sublayers) & 1  # (subset, sublayer)
    return SubsetLosses(losses.cpu().numpy(), (1 - kept).sum(1).numpy())


def doubled_streams(model: Transformer, ids: Int[Tensor, "1 seq"]) -> Float[Tensor, "subset seq d_model"]:
    """The stream after the last block for every set of sublayers left out (arXiv:1605.06431, figure 1)."""
    config, decoder, recorder = model.config, model.decoder, ActivationRecorder()
    if config.norm_placement != "pre" or config.positions != "rope" or config.parallel:
        raise ValueError(f"sublayers are left out of pre-norm models with rope, not of {config}")
    places = torch.arange(ids.shape[1])
    angles = rope_angles(places, config.head_size, config.rope_base, config.rope_scaling).to(ids.device)
    turned, n = rotation(angles), len(places)
    mask = AttentionMask(mask=None, is_causal=True, bias=None, rotation=turned, n_query=n, device=ids.device)
    x = model.embed(ids)  # (1, seq, d_model)
    for block in cast("Iterable[Block]", decoder.blocks):
        x = torch.cat((x, x + block.attn(block.ln1(x), mask, recorder)))
        x = torch.cat((x, x + block.mlp(block.ln2(x), recorder)))
    return x


def _losses(model: Transformer, x: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of each next token, (subset, token)."""
    logits = F.linear(model.decoder.ln_final(x[:, :-1]), model.embed.weight)
    return F.cross_entropy(logits.mT, targets.expand(len(x), -1), reduction="none")


def continue_without(model: Transformer, ids: Sequence[int], without: Collection[int], new_tokens: int) -> list[int]:
    """The greedy continuation of a text by the model without these sublayers: what they add is set to zero."""
    every = sublayer_outputs(model.config.n_layers)
    edits = [Edit.zero(every[sublayer]) for sublayer in without]
    return generate(model, ids, max_new_tokens=new_tokens, temperature=0, edits=edits)


DRAWS = 4_000  # of a dropout mask, for the distribution of the mean


def dropout(
    x: Float[Tensor, "*shape"], p: float, training: bool, generator: torch.Generator
) -> Float[Tensor, "*shape"]:
    """Set each number to zero with probability p and divide the others by 1 - p; at inference, x as it is.

    Each number's mean over many draws is then what it was: (1 - p) * x / (1 - p) = x. Source: arXiv:1207.0580, and
    the division at training time ("inverted dropout"), as torch's own module has it.
    """
    if not training or p == 0:
        return x
    keep = torch.rand(x.shape, generator=generator) >= p
    return x * keep / (1 - p)


@dataclass(frozen=True, slots=True)
class DropoutDraws:
    """The output of a sublayer for one token before and after dropout, and the means of many draws.

    Args:
        before, after: one draw.
        kept: False where it set a number to zero.
        mean: of the numbers before.
        means: mean of the numbers after, for each of DRAWS draws.
        spread: standard deviation of these means by theory, sqrt(p / (1 - p) * mean(x^2) / n).
    """

    before: Float[ndarray, " feature"]
    after: Float[ndarray, " feature"]
    kept: Bool[ndarray, " feature"]
    mean: float
    means: Float[ndarray, " draw"]
    spread: float


@torch.no_grad()
def draw_dropout(
    model: Transformer, ids: Sequence[int], name: str, p: float, training: bool, seed: int
) -> DropoutDraws:
    """Apply dropout to a real activation of a text's last token.

    Args:
        name: of the activation, (batch, seq, feature).
        p: the share that is dropped, below 1.
        training: False is inference, where dropout does nothing.
        seed: of the draw that is shown; the many draws have seeds of their own.
    """
    (found,) = model.activations(one_text(model, ids), name)[name]
    x = found[-1].float().cpu()  # (feature,)
    after = dropout(x, p, training, torch.Generator().manual_seed(seed))
    means = dropout(x.expand(DRAWS, -1), p, training, torch.Generator().manual_seed(DRAWS + seed)).mean(1)
    spread = math.sqrt(p / (1 - p) * float(x.pow(2).mean()) / len(x)) if training else 0.0
    return DropoutDraws(x.numpy(), after.numpy(), (after != 0).numpy(), float(x.mean()), means.numpy(), spread)


def two_passes(p: float, training: bool, seed: int = 0) -> float:
    """The largest difference of a logit between two passes of one network with dropout, on the same tokens."""
    config = ModelConfig(vocab_size=64, d_model=64, n_layers=2, n_heads=4, max_seq_len=16, dropout=p, init="xavier")
    model = Transformer(config, seed).train(training).requires_grad_(False)
    ids = torch.arange(16)[None]
    with torch.random.fork_rng(devices=[]):  # nn.Dropout draws from torch's global generator
        torch.manual_seed(seed)
        first, second = model(ids).logits, model(ids).logits
    return float((first - second).abs().max())


@dataclass(frozen=True, slots=True)
class ChosenSubset(Finding):
    """The loss without some sublayers, beside those of all sets.

    Args:
        sets, tokens: number of sets of sublayers, and of tokens of the text.
        without: names of the sublayers left out.
        loss, whole: loss without them, and of the whole model, nats per token.
        means: number of sublayers left out -> mean loss of all sets of that size.
    """

    sets: int
    tokens: int
    without: tuple[str, ...]
    loss: float
    whole: float
    means: dict[int, float]

    @property
    def words(self) -> str:
        """As in "without attention 2"."""
        return f"without {', '.join(self.without)}" if self.without else "with nothing left out"

    @property
    def sentence(self) -> str:
        words = f"{self.words[0].upper()}{self.words[1:]}"
        counts = ", ".join(map(str, self.means))
        means = ", ".join(f"{mean:.2f}" for mean in self.means.values())
        return (
            f"All 2^{self.sets.bit_length() - 1} = {self.sets} ways to leave out sublayers, on {self.tokens} tokens. "
            f"{words}: {self.chosen_loss} nats, whole model {self.whole_loss}; mean with {counts} left out: {means}."
        )

    @property
    def whole_loss(self) -> str:
        """Two places after the point."""
        return f"{self.whole:.2f}"

    @property
    def chosen_loss(self) -> str:
        """Two places after the point."""
        return f"{self.loss:.2f}"

    @property
    def increase(self) -> str:
        """The loss without these sublayers less that of the whole model."""
        return f"{self.loss - self.whole:+.2f}"


def chosen_subset(result: SubsetLosses, without: Collection[int]) -> ChosenSubset:
    """The loss without these sublayers; means for 1, 2, 4, ... left out."""
    loss, most = result.loss, int(result.removed.max())
    sizes = [2**i for i in range(most.bit_length())]
    return ChosenSubset(
        sets=len(loss),
        tokens=result.losses.shape[1] + 1,  # the first is not predicted
        without=tuple(sublayer_name(sublayer) for sublayer in sorted(without)),
        loss=float(loss[result.row(without)]),
        whole=float(loss[-1]),
        means={size: float(loss[result.removed == size].mean()) for size in sizes},
    )


@dataclass(frozen=True, slots=True)
class SingleAblations(Finding):
    """The smallest and the largest loss increase when one sublayer alone is left out, nats per token."""

    least: str
    least_rise: float
    most: str
    most_rise: float

    @property
    def sentence(self) -> str:
        return (
            "Loss increase on this text when one sublayer alone is left out: from "
            f"{self.least_rise:+.2f} ({self.least}) to {self.most_rise:+.2f} nats ({self.most})."
        )


def single_ablations(result: SubsetLosses) -> SingleAblations:
    """The sublayers with the smallest and with the largest loss increase."""
    rises = single_rises(result)
    least, most = rises.index(min(rises)), rises.index(max(rises))
    return SingleAblations(sublayer_name(least), rises[least], sublayer_name(most), rises[most])


@dataclass(frozen=True, slots=True)
class DropoutCount(Finding):
    """How many numbers one draw of dropout sets to zero.

    Args:
        layer, model: whose feed-forward layer gave the numbers.
        dropped, kept: how many are set to zero, and how many are not.
        factor: by which the others are multiplied.
    """

    layer: int
    model: str
    dropped: int
    kept: int
    factor: float

    @property
    def sentence(self) -> str:
        return (
            f"What feed-forward layer {self.layer} of {self.model} adds for the last token of a text, "
            f"{self.dropped + self.kept} numbers: {self.dropped} dropped, {self.kept} multiplied by {self.factor:.3g}."
        )


def dropout_count(result: DropoutDraws, p: float, training: bool, layer: int, model: str) -> DropoutCount:
    """How many numbers the draw that is shown sets to zero."""
    kept = int(result.kept.sum())
    return DropoutCount(layer, model, len(result.kept) - kept, kept, 1 / (1 - p) if training else 1.0)


@dataclass(frozen=True, slots=True)
class DropoutMeans(Finding):
    """The means of many draws beside the mean before, and their spread beside that of the theory.

    Args:
        draws: how many.
        measured, before: the average of their means, and the mean without dropout.
        spread, theory: standard deviation of the means, and the one that the theory gives.
    """

    draws: int
    measured: float
    before: float
    spread: float
    theory: float

    @property
    def sentence(self) -> str:
        return (
            f"{self.draws:,} draws: their means average {self.measured:.5f} (before: {self.before:.5f}), with "
            f"standard deviation {self.spread:.5f}; theory says {self.theory:.5f}."
        )


def dropout_means(result: DropoutDraws) -> DropoutMeans:
    """The average and the spread of the means of all draws."""
    means = result.means
    return DropoutMeans(len(means), float(means.mean()), result.mean, float(means.std()), result.spread)


@dataclass(frozen=True, slots=True)
class TwoPasses(Finding):
    """The largest difference between two passes on the same tokens."""

    largest: float

    @property
    def sentence(self) -> str:
        return f"Two passes differ by up to {self.number}: {self.why}."

    @property
    def number(self) -> str:
        return f"{self.largest:.2g}" if self.largest else "0.0"

    @property
    def why(self) -> str:
        return "dropout is on" if self.largest else "equal to the last bit"
