"""Training of sparse dictionaries: transcoders and autoencoders of one model.

All together on fresh text each step: no activations are kept, so a run needs no disk and sees no text twice. Or one
after the other on activations that were kept, where the model is what takes long. Both go on after a stop.

Two losses: the square error of what is predicted, and, to finish with, the divergence of the model's predictions with
it from those without (arXiv:2405.12241, section 2; as a short last part of the training: arXiv:2503.17272).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfcore.inspection.edits import Edit
from tfcore.inspection.transcoders import Transcoder, TranscoderConfig, module_of
from tfcore.measures.lenses import divergence
from tfcore.model import Output, Transformer
from tfcore.training.data import Batch
from tfcore.training.loop import Progress, TrainingSettings, train_beside

SETTLED_BY = 16_384  # vectors whose mean and scale are taken, where they are kept
Pairs: TypeAlias = list[tuple[Float[Tensor, "token d_model"], Float[Tensor, "token d_model"]]]  # read, and to predict


@dataclass(frozen=True, slots=True, kw_only=True)
class Revival:
    """How features that no longer fire are brought back (arXiv:2406.04093, appendix A.2: the auxiliary loss).

    Args:
        after: steps without firing after which a feature counts as dead.
        top_k: dead features a token gets, to predict what the others leave over.
        weight: of that loss.
    """

    after: int = 100
    top_k: int = 96
    weight: float = 1 / 32


class InTraining(nn.Module):
    """A dictionary between activations of mean 0 and mean square 1, and the numbers that make them so."""

    mean_read: Tensor
    mean_written: Tensor
    scale_read: Tensor
    scale_written: Tensor
    idle: Tensor

    def __init__(self, config: TranscoderConfig, seed: int = 0) -> None:
        super().__init__()
        self.dictionary = module_of(config, seed)
        for name in ("mean_read", "mean_written"):
            self.register_buffer(name, torch.zeros(config.d_model))
        for name in ("scale_read", "scale_written"):
            self.register_buffer(name, torch.ones(()))
        self.register_buffer("idle", torch.zeros(config.n_features))  # steps since each feature fired

    @torch.no_grad()
    def settle_(self, x: Float[Tensor, "token d_model"], y: Float[Tensor, "token d_model"]) -> None:
        """Take means and scales from one batch."""
        for name, value in (("read", x), ("written", y)):
            mean = value.mean(0)
            getattr(self, f"mean_{name}").copy_(mean)
            getattr(self, f"scale_{name}").copy_((value - mean).square().mean().sqrt())

    @torch.no_grad()
    def begin_with_(self, given: Transcoder) -> None:
        """Take the weights of a dictionary between the activations as they are: `folded` the other way round."""
        one = self.dictionary
        one.W_enc.copy_(given.W_enc * (self.scale_read / self.scale_written))
        one.b_enc.copy_((given.b_enc + given.W_enc @ self.mean_read) / self.scale_written)
        one.W_dec.copy_(given.W_dec)
        one.b_dec.copy_((given.b_dec - self.mean_written) / self.scale_written)

    def losses(
        self, x: Float[Tensor, "token d_model"], y: Float[Tensor, "token d_model"], revival: Revival
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""], Float[Tensor, "token d_model"]]:
        """Mean square error in units of the variance of y, the weighted auxiliary loss (0 where no feature is dead),
        and the prediction of y."""
        one = self.dictionary
        x, y = (x - self.mean_read) / self.scale_read, (y - self.mean_written) / self.scale_written
        before = one.before_top_k(x).float()
        values, indices = before.topk(one.config.top_k, dim=-1, sorted=False)
        written = summed_rows(one.W_dec, values.relu(), indices) + one.b_dec
        fired = torch.zeros_like(self.idle).index_add_(0, indices.flatten(), (values > 0).float().flatten())
        self.idle = torch.where(fired > 0, 0, self.idle + 1)
        error, predicted = (written - y).square().mean(), written * self.scale_written + self.mean_written
        dead = self.idle > revival.after
        on_cpu = dead.device.type == "cpu"
        if revival.weight == 0 or (on_cpu and not dead.any()):
            return error, torch.zeros_like(error), predicted
        rest = summed_rows(one.W_dec, *largest_of(before, dead, revival.top_k, waits=on_cpu))
        auxiliary = (rest - (y - written).detach()).square().mean() * dead.any()
        return error, revival.weight * auxiliary, predicted

    @torch.no_grad()
    def lengths_to_one_(self) -> None:
        """Each row of W_dec back to length 1."""
        rows = self.dictionary.W_dec
        rows.div_(rows.norm(dim=-1, keepdim=True))

    @torch.no_grad()
    def folded(self) -> Transcoder:
        """The dictionary between the activations as they are: means and scales become part of its weights."""
        plain = module_of(self.dictionary.config).to(self.mean_read.device)
        reads = self.dictionary.W_enc * (self.scale_written / self.scale_read)
        plain.W_enc.copy_(reads)
        plain.b_enc.copy_(self.dictionary.b_enc * self.scale_written - reads @ self.mean_read)
        plain.W_dec.copy_(self.dictionary.W_dec)
        plain.b_dec.copy_(self.dictionary.b_dec * self.scale_written + self.mean_written)
        return plain.eval().requires_grad_(False)


def largest_of(
    before: Float[Tensor, "token feature"], among: Bool[Tensor, " feature"], count: int, *, waits: bool
) -> tuple[Float[Tensor, "token choice"], Int[Tensor, "token choice"]]:
    """The largest values of each token among some features, 0 where they are below, and which features they are of.

    Args:
        waits: for the number of those features; a GPU, which would have to, looks at all of them.
    """
    if waits:
        some = among.nonzero()[:, 0]
        values, chosen = before[:, some].topk(min(count, len(some)), dim=-1, sorted=False)
        return values.relu(), some[chosen]
    values, chosen = before.masked_fill(~among, -torch.inf).topk(min(count, len(among)), dim=-1, sorted=False)
    return values.relu(), chosen


def summed_rows(
    rows: Float[Tensor, "feature d_model"], values: Float[Tensor, "token choice"], indices: Int[Tensor, "token choice"]
) -> Float[Tensor, "token d_model"]:
    """The sum of the chosen rows of each token, each times its value: features @ rows.

    A CPU multiplies with the chosen rows alone, a tenth of the time for 32 of 1,536; a GPU is faster with all of them.
    """
    if rows.device.type == "cpu":
        return F.embedding_bag(indices, rows, per_sample_weights=values, mode="sum")
    return values.new_zeros(len(values), len(rows)).scatter(-1, indices, values) @ rows


def train_dictionaries(
    model: Transformer,
    configs: Sequence[TranscoderConfig],
    batches: Callable[[int], Batch],
    settings: TrainingSettings,
    folder: Path | None = None,
    report: Callable[[Progress], None] = lambda _: None,
    revival: Revival = Revival(),
    start: Sequence[Transcoder] = (),
    divergences: Sequence[float] = (),
    at_once: int = 1,
) -> list[Transcoder]:
    """Train dictionaries of one model with Adam; goes on where an earlier run in the same folder was stopped.

    Args:
        batches: step -> the ids that the model reads.
        folder: where state.safetensors is kept; None keeps nothing.
        report: called after every step; its loss is the mean share of variance that is left unexplained.
        start: dictionaries to begin with, one for each config; none: random directions.
        divergences: for each dictionary, how much a nat a token of KL(model || model with its prediction) counts,
            beside the share of variance; none: not at all.
        at_once: steps whose texts the model reads in one pass, where it needs no divergences: on a GPU a pass of a
            small model takes as long for many tokens as for few.
    """
    of_each = [InTraining(config, settings.seed + i).to(model.device) for i, config in enumerate(configs)]
    ahead: dict[int, Pairs] = {}  # step -> what was read for it

    def pairs_of(step: int, batch: Batch) -> Pairs:
        if step not in ahead:
            read = [batch.ids, *(batches(later).ids for later in range(step + 1, min(step + at_once, settings.steps)))]
            each = read_and_written(model, configs, torch.cat(read).to(model.device))
            parts = [[value.chunk(len(read)) for value in pair] for pair in each]
            ahead.update({step + i: [(x[i], y[i]) for x, y in parts] for i in range(len(read))})
        return ahead.pop(step)

    def gradients(step: int, batch: Batch) -> float:
        total = torch.zeros((), device=model.device)
        ids = batch.ids.to(model.device)
        with torch.autocast(model.device.type, torch.bfloat16, enabled=settings.bfloat16):
            output = seen(model, configs, ids) if divergences else None
            pairs = pairs_of(step, batch) if output is None else _pairs(output.activations, configs)
            for i, (one, (x, y)) in enumerate(zip(of_each, pairs, strict=True)):
                if step == 0:
                    one.settle_(x, y)
                    if start:
                        one.begin_with_(start[i])
                error, auxiliary, predicted = one.losses(x, y, revival)
                loss = error + auxiliary
                if output is not None:
                    loss = loss + divergences[i] * divergence_of(model, ids, output, configs[i], predicted)
                loss.backward()
                total += error.detach()
        return float(total) / len(of_each)

    def after() -> None:
        for one in of_each:
            one.lengths_to_one_()

    train_beside(nn.ModuleList(of_each), gradients, batches, settings, folder, report, after)
    return [one.folded() for one in of_each]


def train_on_kept(
    config: TranscoderConfig,
    kept: tuple[Float[Tensor, "vector d_model"], Float[Tensor, "vector d_model"]],
    settings: TrainingSettings,
    folder: Path | None = None,
    report: Callable[[Progress], None] = lambda _: None,
    revival: Revival = Revival(),
    vectors: int = 256,
) -> Transcoder:
    """Train one dictionary on activations that were read before, in an order that is drawn anew for each pass over
    them; goes on where an earlier run in the same folder was stopped.

    Args:
        kept: what it reads and what it is to predict.
        settings: its seed is of the initial weights and of the order.
        vectors: of a step, at most as many as there are.
    """
    one, count = InTraining(config, settings.seed), len(kept[0])
    a_pass = count // vectors  # steps

    @lru_cache(maxsize=1)
    def order(number: int) -> Int[Tensor, " vector"]:
        return torch.randperm(count, generator=torch.Generator().manual_seed(settings.seed * 1_000_003 + number))

    def batches(step: int) -> Batch:
        places = order(step // a_pass)[step % a_pass * vectors :][:vectors]
        return Batch(places, places)

    def gradients(step: int, batch: Batch) -> float:
        x, y = kept
        if step == 0:
            some = slice(None, None, max(1, count // SETTLED_BY))
            one.settle_(x[some].float(), y[some].float())
        error, auxiliary, _ = one.losses(x[batch.ids].float(), y[batch.ids].float(), revival)
        (error + auxiliary).backward()
        return float(error.detach())

    train_beside(one, gradients, batches, settings, folder, report, one.lengths_to_one_)
    return one.folded()


@torch.no_grad()
def read_and_written(model: Transformer, configs: Sequence[TranscoderConfig], ids: Tensor) -> Pairs:
    """The input of each dictionary and what it is to predict, over the tokens of a batch from its first position on."""
    return _pairs(model.activations(ids, names_of(configs)), configs)


@torch.no_grad()
def seen(model: Transformer, configs: Sequence[TranscoderConfig], ids: Tensor) -> Output:
    """One reading of a batch to its logits, with all that the dictionaries read and write."""
    return model(ids, capture=names_of(configs))


def names_of(configs: Sequence[TranscoderConfig]) -> list[str]:
    """The activations that dictionaries read and predict."""
    return sorted({name for config in configs for name in (config.reads, config.writes)})


def _pairs(activations: Mapping[str, Tensor], configs: Sequence[TranscoderConfig]) -> Pairs:
    def flat(name: str, first: int) -> Tensor:
        return activations[name][:, first:].flatten(0, 1).float()

    return [(flat(one.reads, one.first), flat(one.writes, one.first)) for one in configs]


def divergence_of(
    model: Transformer, ids: Tensor, output: Output, config: TranscoderConfig, predicted: Tensor
) -> Float[Tensor, ""]:
    """KL(model || model with the prediction in the place of the activation), in nats a token."""
    before, as_is = output.activations[config.writes].tensor_split([config.first], dim=1)
    whole = torch.cat((before, predicted.view_as(as_is)), dim=1)
    changed = model(ids, edits=[Edit.replace(config.writes, whole)]).logits
    return divergence(output.logits, changed).mean()
