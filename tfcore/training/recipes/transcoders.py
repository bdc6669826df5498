"""The recipe of the transcoders of `stories`: one for each feed-forward layer, and an autoencoder of the stream."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from tfcore.inspection.transcoders import TranscoderConfig
from tfcore.loading.transcoders import Transcoders, load_transcoders, save_transcoders
from tfcore.measures.dictionaries.feature_scan import save_feature_scan, scan_features
from tfcore.measures.dictionaries.quality import dictionary_quality, loss_recovered_together
from tfcore.measures.neuron_scan import cut_documents
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training import data, story_texts
from tfcore.training.dictionaries import Revival, train_dictionaries
from tfcore.training.loop import Processes, Progress, TrainingSettings
from tfcore.training.recipes.neurons import LICENCE, NEURONS, with_tokenizer

MEASURED = 8  # every so many-th held-out story is measured


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscodersRecipe:
    """How to train the dictionaries of a shipped model.

    Args:
        model: its name.
        n_features, top_k: of each dictionary.
        stream_after: the block after which the stream has an autoencoder.
        seq: tokens of a row.
        settings: rows of text a step, and the schedule of Adam.
        tuning: the same of the second part, in which the divergence of the model's predictions counts as well.
        divergence, stream_divergence: how much a nat a token of it counts beside the share of variance that is
            unexplained, of transcoders and of the autoencoder.
    """

    model: str = "stories"
    n_features: int = 1_536
    top_k: int = 32
    stream_after: int = 2
    seq: int = 128
    seed: int = 0
    settings: TrainingSettings = field(
        default_factory=lambda: TrainingSettings(
            steps=14_400, rows=4, lr=4e-3, lr_min=4e-5, warmup=200, betas=(0.9, 0.99), save_every=400
        )
    )
    tuning: TrainingSettings = field(
        default_factory=lambda: TrainingSettings(
            steps=7_200, rows=4, lr=2e-3, lr_min=4e-5, warmup=60, betas=(0.9, 0.99), save_every=200, bfloat16=True
        )
    )
    divergence: float = 1.0
    stream_divergence: float = 0.25
    revival: Revival = field(default_factory=Revival)


TRANSCODERS = TranscodersRecipe()


def configs_of(recipe: TranscodersRecipe, d_model: int, n_layers: int) -> list[TranscoderConfig]:
    """One transcoder for each feed-forward layer, the autoencoder last."""
    shape = {"d_model": d_model, "n_features": recipe.n_features, "top_k": recipe.top_k}
    of_mlps = [TranscoderConfig.of_mlp(layer, **shape) for layer in range(n_layers)]
    return [*of_mlps, TranscoderConfig.of_stream(recipe.stream_after, **shape)]


def transcoders(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: TranscodersRecipe = TRANSCODERS
) -> dict[str, float]:
    """Train all dictionaries on the texts the model was trained on, and write them to `out`.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    if Processes.join().rank > 0:  # one process does it
        return {}
    model, tokenizer = with_tokenizer(recipe.model)
    if not isinstance(tokenizer, BPETokenizer):
        raise ValueError(f"{recipe.model} has no tokenizer of byte pairs")
    streams = {
        name: data.encode_documents(tokenizer, data.read_source(corpus, data.STORY_SOURCES[name]))
        for name in story_texts.WEIGHTS
    }

    def batches(step: int, rows: int = recipe.settings.rows, seed: int = recipe.seed) -> data.Batch:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        return data.text_windows(streams, story_texts.WEIGHTS, rows, recipe.seq, generator)

    def fresh(step: int) -> data.Batch:  # other rows than those of the first part
        return batches(step, recipe.tuning.rows, recipe.seed + 1)

    configs = configs_of(recipe, model.config.d_model, model.config.n_layers)
    weights = [recipe.stream_divergence if one.is_autoencoder else recipe.divergence for one in configs]
    first = train_dictionaries(model, configs, batches, recipe.settings, out / "run", report, recipe.revival)
    second = train_dictionaries(
        model, configs, fresh, recipe.tuning, out / "tuning", report, recipe.revival, first, weights
    )
    save_transcoders(out, second)
    shipped = load_transcoders(out, device="cpu")  # as they ship, in half precision
    stories = [tokenizer.encode(story) for story in data.held_out(corpus)]
    windows = cut_documents(stories[:: NEURONS.every], NEURONS.length, NEURONS.stride)
    save_feature_scan(out, scan_features(model, shipped, windows), LICENCE)
    return measured(model, shipped, stories)


def measured(model: Transformer, trained: Transcoders, stories: list[list[int]]) -> dict[str, float]:
    """The numbers of the card: measures of each dictionary over every MEASURED-th story, at most a context of each."""
    texts = [ids[: model.config.max_seq_len] for ids in stories[::MEASURED] if len(ids) > 1]
    said: dict[str, float] = {}
    for one in trained.each:
        quality = dictionary_quality(model, one, texts)
        values = {
            "l0": quality.l0,
            "explained_variance": quality.explained_variance,
            "loss_recovered": quality.loss_recovered,
            "loss_increase": quality.loss_substituted - quality.loss_as_is,
        }
        said |= {f"{one.config.writes} {name}": round(value, 4) for name, value in values.items()}
        said |= {f"{one.config.writes} dead": quality.dead, "tokens": quality.tokens}
    as_is, substituted, zeroed = loss_recovered_together(model, trained.of_mlps, texts)
    together = {
        "loss": as_is,
        "loss_with_all_transcoders": substituted,
        "loss_recovered_by_all": (zeroed - substituted) / (zeroed - as_is),
    }
    return said | {name: round(value, 4) for name, value in together.items()}


def of_transcoders(recipe: TranscodersRecipe, corpus: Path) -> dict[str, float]:
    """The shipped dictionaries of a model, measured again.

    Raises:
        CorpusError: when a text below `corpus` is missing.
    """
    model, tokenizer = with_tokenizer(recipe.model)
    stories = [tokenizer.encode(story) for story in data.held_out(corpus)]
    return measured(model, load_transcoders(recipe.model, device="cpu"), stories)
