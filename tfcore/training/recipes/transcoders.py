"""The recipe of sparse dictionaries: transcoders of feed-forward layers, and an autoencoder of the stream."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from tfcore import files
from tfcore.inspection.transcoders import Transcoder, TranscoderConfig
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.loading.transcoders import FOLDER, Transcoders, load_transcoders, save_transcoders
from tfcore.measures.dictionaries.feature_scan import find_firings, save_feature_scan, scan_of
from tfcore.measures.dictionaries.growth import chance_cosine, closest_features
from tfcore.measures.dictionaries.labels import (
    FeatureLabels,
    label_features,
    load_labels,
    promoted_tokens,
    read_places,
    save_labels,
)
from tfcore.measures.dictionaries.quality import dictionary_quality, loss_recovered_together
from tfcore.measures.neuron_scan import cut_documents
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training import data, pairs, story_texts
from tfcore.training.dictionaries import Revival, names_of, train_dictionaries, train_on_kept
from tfcore.training.kept_activations import keep_activations, kept_pair
from tfcore.training.loop import Processes, Progress, TrainingSettings
from tfcore.training.recipes.atlas import ATLAS, written_ids
from tfcore.training.recipes.neurons import LICENCE, NEURONS, with_tokenizer
from tfcore.training.written_texts import written_texts

OF_SOURCES = (
    "The windows are texts that SmolLM2-135M-Instruct (Apache 2.0) wrote, excerpts of books in the public domain, of "
    "TinyStories (arXiv:2305.07759, CDLA-Sharing-1.0), and sentences of tatoeba.org by way of manythings.org/anki (CC "
    "BY 2.0)."
)
WRITTEN, PAIRS = "written", "pairs"  # sources beside the stories: by the model itself; sentences and translations
DRAWN_TOGETHER = 1_400  # rows that are kept: more of them begin with the same
CLOSE = 0.7  # cosine from which two features count as the same
MEASURED_TEXTS = "measured.npy"  # beside the weights


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscodersRecipe:
    """How to train the dictionaries of a model.

    Args:
        model: its name.
        n_features, top_k: of each dictionary.
        layers: whose feed-forward layers have a transcoder; none: all.
        stream_after: the block after which the stream has an autoencoder; None: no autoencoder.
        first: the first position of a row that counts.
        sources: name -> how often a row is drawn from it; WRITTEN, by the model itself, last, as it takes long.
        written: rows that the model writes.
        seq: tokens of a row.
        at_once: steps for which the model reads in one pass.
        dtype: of the weights that ship.
        settings: rows of text a step, and the schedule of Adam.
        tuning: the same of the second part, in which the divergence of the model's predictions counts as well.
            None: there is none.
        divergence, stream_divergence: how much a nat a token of it counts beside the share of variance that is
            unexplained, of transcoders and of the autoencoder.
        kept: rows that the model reads once: the dictionaries are then trained one after the other, in the order of
            `layers`, on what is kept of it on disk, rows * seq vectors a step; 0: on fresh text each step.
        reseeded: the layer of a second transcoder with other initial weights and another order, of which nothing is
            kept but how many features it has in common with the first.
        held_out, held_out_rows: the last part of each source that is not trained on, where the model writes texts
            itself, and rows that are taken of them.
        measured: every so many-th held-out text is measured.
    """

    model: str = "stories"
    n_features: int = 1_536
    top_k: int = 32
    layers: tuple[int, ...] = ()
    stream_after: int | None = 2
    first: int = 0
    sources: Mapping[str, float] = field(default_factory=lambda: story_texts.WEIGHTS)
    written: int = 0
    seq: int = 128
    seed: int = 0
    at_once: int = 1
    dtype: torch.dtype = torch.float16
    settings: TrainingSettings = field(
        default_factory=lambda: TrainingSettings(
            steps=14_400, rows=4, lr=4e-3, lr_min=4e-5, warmup=200, betas=(0.9, 0.99), save_every=400
        )
    )
    tuning: TrainingSettings | None = field(
        default_factory=lambda: TrainingSettings(
            steps=7_200, rows=4, lr=2e-3, lr_min=4e-5, warmup=60, betas=(0.9, 0.99), save_every=200, bfloat16=True
        )
    )
    divergence: float = 1.0
    stream_divergence: float = 0.25
    revival: Revival = field(default_factory=Revival)
    kept: int = 0
    reseeded: int | None = None
    held_out: float = 0.02
    held_out_rows: int = 2_400
    measured: int = 8


TRANSCODERS = TranscodersRecipe()
SMOLLM2_TRANSCODERS = TranscodersRecipe(
    model="smollm2",
    n_features=4_608,
    layers=(0, 16, 24, 8, 20, 4, 12),  # spread over the depth wherever it is stopped
    stream_after=None,
    first=1,
    sources={
        "tinystories": 0.14,
        "fairytales": 0.12,
        "classics": 0.30,
        PAIRS: 0.14,
        "programs": 0.10,
        "articles": 0.12,
        WRITTEN: 0.08,
    },
    written=192,
    dtype=torch.int8,
    settings=TrainingSettings(steps=3_200, rows=2, lr=6e-3, lr_min=6e-5, warmup=100, betas=(0.9, 0.99), save_every=400),
    tuning=None,
    revival=Revival(after=200, top_k=32),
    kept=2_800,
    reseeded=16,
    held_out=0.2,
    held_out_rows=600,
    measured=24,
)


def configs_of(recipe: TranscodersRecipe, d_model: int, n_layers: int) -> list[TranscoderConfig]:
    """One transcoder for each feed-forward layer that gets one, the autoencoder last."""
    shape = {"d_model": d_model, "n_features": recipe.n_features, "top_k": recipe.top_k, "first": recipe.first}
    of_mlps = [TranscoderConfig.of_mlp(layer, **shape) for layer in recipe.layers or range(n_layers)]
    if recipe.stream_after is None:
        return of_mlps
    return [*of_mlps, TranscoderConfig.of_stream(recipe.stream_after, **shape)]


@dataclass(frozen=True, slots=True)
class StudyTexts:
    """The texts that dictionaries are trained on and measured on.

    Args:
        streams: name of a source -> its ids in one row.
        held_out: texts that are in none of them.
    """

    streams: dict[str, np.ndarray]
    held_out: list[list[int]]


def texts_of(
    recipe: TranscodersRecipe, corpus: Path, out: Path, model: Transformer, tokenizer: Tokenizer
) -> StudyTexts:
    """All texts of a recipe. What the model writes itself is kept in `out`, and read from there where it is.

    A recipe with stories alone is measured on held-out ones; else the last `held_out` of each source is cut into
    rows and trained on by nobody.

    Raises:
        CorpusError: when a text below `corpus` is missing.
    """
    if not recipe.written:
        streams = {name: _read_or_written(name, recipe, corpus, model, tokenizer) for name in recipe.sources}
        return StudyTexts(streams, [tokenizer.encode(story) for story in data.held_out(corpus)])
    streams = {name: stream_of(name, recipe, corpus, out, model, tokenizer) for name in recipe.sources}
    held_out = []
    for name, weight in recipe.sources.items():
        size = max(1, int(recipe.held_out * len(streams[name])) // recipe.seq) * recipe.seq
        streams[name], last = streams[name][:-size], streams[name][-size:]
        rows = last.reshape(-1, recipe.seq).tolist()
        count = min(len(rows), max(1, round(weight * recipe.held_out_rows)))
        held_out += rows[:: len(rows) // count][:count]
    return StudyTexts(streams, held_out)


class TextsRecipe(Protocol):
    """What is asked of a recipe whose texts are read: rows of `seq` tokens that the model writes, from a seed."""

    @property
    def written(self) -> int: ...  # rows
    @property
    def seq(self) -> int: ...
    @property
    def seed(self) -> int: ...


def stream_of(
    name: str, recipe: TextsRecipe, corpus: Path, out: Path, model: Transformer, tokenizer: Tokenizer
) -> np.ndarray:
    """One source as a row of ids, kept in `out`."""
    path = out / "texts" / f"{name}.npy"
    if name in ATLAS.written:
        return written_ids(name, path).flatten()
    if not path.is_file():
        files.write_array(path, _read_or_written(name, recipe, corpus, model, tokenizer).astype(np.uint16))
    return np.load(path, allow_pickle=False)


def _read_or_written(
    name: str, recipe: TextsRecipe, corpus: Path, model: Transformer, tokenizer: Tokenizer
) -> np.ndarray:
    if name == WRITTEN:
        writer = copy.deepcopy(model).to(torch.bfloat16) if model.device.type == "cuda" else model
        at_once = 8_192 if model.device.type == "cuda" else 192  # their keys and values: 0.9 GB with smollm2
        texts = written_texts(writer, tokenizer, recipe.written, recipe.seq, recipe.seed, at_once)
        return torch.cat(list(texts)).flatten().numpy()
    if name == PAIRS:
        sentences = [f"{pair.english}\n{pair.french}" for pair in pairs.read_pairs(corpus)]
        order = np.random.default_rng(recipe.seed).permutation(len(sentences))
        return data.encode_documents(tokenizer, [sentences[i] for i in order])
    return data.encode_documents(tokenizer, data.read_source(corpus, data.STORY_SOURCES[name]))


def transcoders(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: TranscodersRecipe = TRANSCODERS
) -> dict[str, float]:
    """Train all dictionaries, on the texts the model was trained on or on those it writes, and write them to `out`.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    if Processes.join().rank > 0:  # one process does it
        return {}
    model, tokenizer = with_tokenizer(recipe.model)
    if torch.cuda.is_available():
        model.to("cuda")
    texts = texts_of(recipe, corpus, out, model, tokenizer)
    save_transcoders(out, trained(recipe, model, texts, out, report), recipe.dtype)
    shipped = load_transcoders(out, device=str(model.device))  # as they ship, in fewer bits
    scanned, apart = (cut_documents(texts.held_out[i::2], NEURONS.length, NEURONS.stride) for i in (0, 1))
    found = find_firings(model, shipped, scanned)
    save_feature_scan(out, scan_of(shipped, scanned, found), OF_SOURCES if recipe.written else LICENCE)
    promoted = [promoted_tokens(model, one) for one in shipped.each]
    read = read_places(tokenizer, scanned), read_places(tokenizer, apart)
    labels = label_features(shipped, promoted, (read[0], found), (read[1], find_firings(model, shipped, apart)))
    save_labels(out, labels)
    if recipe.written:  # nobody has them otherwise
        np.save(out / MEASURED_TEXTS, np.array(texts.held_out[:: recipe.measured], np.uint16), allow_pickle=False)
    said = measured(model, shipped, texts.held_out[:: recipe.measured]) | said_of_labels(shipped, labels)
    return said if recipe.reseeded is None else said | _stability(recipe, shipped, model.config.d_model, out, report)


def said_of_labels(shipped: Transcoders, labels: FeatureLabels) -> dict[str, float]:
    """The median balanced accuracy of the labels of each dictionary, and how many features have one."""
    said: dict[str, float] = {}
    for one, score in zip(shipped.each, labels.score, strict=True):
        own = score[np.isfinite(score)]
        said |= {f"{one.config.writes} labels": len(own)}
        said |= {f"{one.config.writes} median label": round(float(np.median(own)), 3) if len(own) else 0.0}
    return said


def _stability(
    recipe: TranscodersRecipe, shipped: Transcoders, d_model: int, out: Path, report: Callable[[Progress], None]
) -> dict[str, float]:
    """How many features of a transcoder with another seed write nearly what one of the shipped writes."""
    other = _on_kept(recipe, int(recipe.reseeded or 0), d_model, recipe.seed + 1, out, report)
    (first,) = (one for one in shipped.of_mlps if one.config == other.config)
    cosines, _ = closest_features(other, first)
    name = f"{other.config.writes} with another seed"
    said = {"median cosine": float(np.median(cosines)), "share from 0.7": float((cosines >= CLOSE).mean())}
    said["by chance"] = chance_cosine(first, recipe.n_features)
    return {f"{name} {key}": round(value, 4) for key, value in said.items()}


def _trained_on_kept(
    recipe: TranscodersRecipe, model: Transformer, texts: StudyTexts, out: Path, report: Callable[[Progress], None]
) -> list[Transcoder]:
    """The transcoders, one after the other, on one reading of `kept` rows; the model is read no more."""
    configs = configs_of(recipe, model.config.d_model, model.config.n_layers)
    generator = torch.Generator().manual_seed(recipe.seed * 1_000_003)
    parts = [
        data.windows(texts.streams, recipe.sources, rows, recipe.seq, generator)
        for rows in _parts(recipe.kept, DRAWN_TOGETHER)
    ]
    keep_activations(model, names_of(configs), torch.cat(parts), out / "kept", report)
    made = {layer: _on_kept(recipe, layer, model.config.d_model, recipe.seed, out, report) for layer in recipe.layers}
    return [made[layer] for layer in sorted(made)]


def _parts(count: int, most: int) -> list[int]:
    """A count in parts of at most so many."""
    return [min(most, count - first) for first in range(0, count, most)]


def _on_kept(
    recipe: TranscodersRecipe, layer: int, d_model: int, seed: int, out: Path, report: Callable[[Progress], None]
) -> Transcoder:
    """One transcoder, from what is kept; each layer has a seed of its own."""
    config = configs_of(replace(recipe, layers=(layer,)), d_model, 1)[0]
    settings = replace(recipe.settings, seed=1_000 * seed + layer)
    vectors = recipe.settings.rows * recipe.seq
    pair = kept_pair(out / "kept", config)
    folder = out / "run" / f"{layer}-{seed}"
    return train_on_kept(config, pair, settings, folder, report, recipe.revival, vectors)


def trained(
    recipe: TranscodersRecipe, model: Transformer, texts: StudyTexts, out: Path, report: Callable[[Progress], None]
) -> list[Transcoder]:
    """The dictionaries after both parts; products of a GPU are rounded to 10 bits meanwhile (TF32)."""
    if recipe.kept:
        return _trained_on_kept(recipe, model, texts, out, report)

    def batches(step: int, rows: int = recipe.settings.rows, seed: int = recipe.seed) -> data.Batch:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        return data.text_windows(texts.streams, recipe.sources, rows, recipe.seq, generator)

    configs = configs_of(recipe, model.config.d_model, model.config.n_layers)
    weights = [recipe.stream_divergence if one.is_autoencoder else recipe.divergence for one in configs]
    train = partial(train_dictionaries, model, configs, report=report, revival=recipe.revival, at_once=recipe.at_once)
    precise = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        first = train(batches, recipe.settings, out / "run")
        if (after := recipe.tuning) is None:
            return first
        fresh = partial(batches, rows=after.rows, seed=recipe.seed + 1)  # other rows than those of the first part
        return train(fresh, after, out / "tuning", start=first, divergences=weights)
    finally:
        torch.set_float32_matmul_precision(precise)


def measured(model: Transformer, trained: Transcoders, texts: list[list[int]]) -> dict[str, float]:
    """The numbers of the card: measures of each dictionary over texts, at most a context of each."""
    texts = [ids[: model.config.max_seq_len] for ids in texts if len(ids) > 1]
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
        CheckpointError: they are not there.
        CorpusError: when a text below `corpus` is missing.
    """
    shipped, (model, tokenizer) = load_transcoders(recipe.model, device="cpu"), with_tokenizer(recipe.model)
    if recipe.written:
        texts = np.load(PRETRAINED / recipe.model / FOLDER / MEASURED_TEXTS, allow_pickle=False).tolist()
    else:
        texts = [tokenizer.encode(story) for story in data.held_out(corpus)][:: recipe.measured]
    return measured(model, shipped, texts) | said_of_labels(shipped, load_labels(recipe.model))
