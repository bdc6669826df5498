"""A small sparse dictionary of `stories` trained while somebody watches, on the windows of text that ship with it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.checks import check_number, check_whole
from tfcore.inspection.transcoders import Transcoder, TranscoderConfig
from tfcore.loading.checkpoints import load
from tfcore.loading.transcoders import chosen_dictionary
from tfcore.measures.dictionaries.feature_scan import load_feature_scan
from tfcore.measures.dictionaries.growth import (
    DictionaryMoment,
    GrownFeatures,
    chance_cosine,
    closest_features,
    grown_features,
)
from tfcore.measures.dictionaries.quality import Quality, dictionary_quality
from tfcore.measures.neuron_scan import PADDING_ID, SETTLED
from tfcore.model import Transformer
from tfcore.training.dictionaries import InTraining, Revival, read_and_written
from tfcore.training.optim import warmup_cosine

MODEL = "stories"
ROWS = 32  # windows of a step
BATCHES = 48  # that the training goes round in: what the dictionary reads and writes is kept, 57 MB at most
HELD_OUT = 48  # windows that a moment is measured on
NAMED_ON = 256  # windows that the features are named on
WARMUP = 20  # steps
LOWEST = 0.02  # of the learning rate, at the end
EVERY = 25  # steps between two moments
SEED = 1_000  # added to the seed: no dictionary begins with the directions that a shipped one began with
REVIVAL = Revival(after=50, top_k=48)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowDictionaryConfig:
    """A smaller version of the recipe of the shipped dictionaries, which takes less than a minute on two cores.

    Args:
        dictionary: which of the shipped ones it is to be like, counted as in `Transcoders.each`.
        n_features, top_k: of the dictionary.
        steps: of Adam.
        rate: highest learning rate.
        seed: of the initial weights and the order of the batches.

    Raises:
        ValueError: naming the value and what would do.
    """

    dictionary: int = 4
    n_features: int = 512
    top_k: int = 16
    steps: int = 300
    rate: float = 5e-3
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self, dictionary=(0, 4), n_features=(64, 2_048), top_k=(1, 64), steps=(1, 1_000), seed=(0, 1_000))
        check_number(self, rate=(1e-5, 0.1))

    @property
    def shipped(self) -> Transcoder:
        """The dictionary that stands between the same activations."""
        return chosen_dictionary(MODEL, self.dictionary)

    @property
    def shape(self) -> TranscoderConfig:
        """The shape of the dictionary that is trained."""
        like = self.shipped.config
        return TranscoderConfig(
            d_model=like.d_model, n_features=self.n_features, top_k=self.top_k, reads=like.reads, writes=like.writes
        )


@dataclass(frozen=True, slots=True)
class Grown:
    """A dictionary in training, as it is shown.

    Args:
        moment: its measures.
        features: on what each feature fires; None before the end.
    """

    moment: DictionaryMoment
    features: GrownFeatures | None = None


@dataclass(frozen=True, slots=True)
class StoryWindows:
    """Held-out stories of TinyStories in windows of equal length; the parts are of different stories.

    Args:
        trained: windows to train on, from the first stories.
        held_out, named: of the last stories: to measure, and to name features on; the first among the second.
    """

    trained: Int[Tensor, "window seq"]
    held_out: list[list[int]]
    named: Int[np.ndarray, "window seq"]


def shipped_windows() -> StoryWindows:
    """The windows beside the shipped dictionaries, in the order of their stories, without those that end early."""
    every = load_feature_scan(MODEL).windows
    whole = every[(every != PADDING_ID).all(1)].astype(np.int64)
    named = whole[-NAMED_ON:]
    held_out = named[:: max(1, NAMED_ON // HELD_OUT)][:HELD_OUT]
    # windows of one story overlap: a few are left out between the parts
    return StoryWindows(torch.from_numpy(whole[: BATCHES * ROWS]), held_out.tolist(), named)


def grow_dictionary(config: GrowDictionaryConfig) -> Iterator[Grown | None]:
    """Train a dictionary and measure it every few steps.

    Yields:
        a Grown every EVERY steps and at the end, None after each other step.
    """
    model, windows, shipped = load(MODEL)[0], shipped_windows(), config.shipped
    beside = dictionary_quality(model, shipped, windows.held_out)
    chance = chance_cosine(shipped, config.n_features)
    one = InTraining(config.shape, SEED + config.seed).to(model.device)
    optimizer = torch.optim.Adam(one.parameters(), lr=config.rate, betas=(0.9, 0.999))
    read = Activations(model, config.shape, windows.trained)
    order = torch.Generator().manual_seed(config.seed)
    for step in range(config.steps + 1):
        if step % len(read.batches) == 0:
            turns = torch.randperm(len(read.batches), generator=order).tolist()
        x, y = read.of_batch(turns[step % len(turns)])
        if step == 0:
            one.settle_(x, y)
        if step % EVERY == 0 or step == config.steps:
            yield _measured(config, model, one.folded(), step, windows, beside, chance)
        else:
            yield None
        if step < config.steps:
            optimizer.param_groups[0]["lr"] = warmup_cosine(
                step, config.steps, WARMUP, config.rate, LOWEST * config.rate
            )
            error, auxiliary, _ = one.losses(x, y, REVIVAL)
            optimizer.zero_grad()
            (error + auxiliary).backward()
            optimizer.step()
            one.lengths_to_one_()


class Activations:
    """Inputs and targets of a dictionary on each batch: computed when it is first asked for, kept in half precision."""

    def __init__(self, model: Transformer, shape: TranscoderConfig, windows: Int[Tensor, "window seq"]) -> None:
        self.model, self.shape, self.batches = model, shape, windows.to(model.device).split(ROWS)
        self.kept: dict[int, tuple[Tensor, Tensor]] = {}

    def of_batch(self, index: int) -> tuple[Float[Tensor, "token d_model"], Float[Tensor, "token d_model"]]:
        """Inputs and targets of one batch."""
        if index not in self.kept:
            x, y = read_and_written(self.model, [self.shape], self.batches[index])[0]
            x = x.half()
            self.kept[index] = (x, x if self.shape.is_autoencoder else y.half())
        x, y = self.kept[index]
        return x.float(), y.float()


def _measured(
    config: GrowDictionaryConfig,
    model: Transformer,
    now: Transcoder,
    step: int,
    windows: StoryWindows,
    beside: Quality,
    chance: float,
) -> Grown:
    cosine, closest = closest_features(now, config.shipped)
    quality = dictionary_quality(model, now, windows.held_out)
    moment = DictionaryMoment(step, quality, beside, cosine, closest, chance)
    last = step == config.steps
    return Grown(moment, grown_features(model, now, windows.named, SETTLED) if last else None)
