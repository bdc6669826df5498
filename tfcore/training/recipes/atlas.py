"""The recipe of the atlases of heads: what each head of `stories`, `minilm` and `smollm2` does over mixed texts. Trains
nothing."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Integer
from numpy import ndarray
from safetensors.numpy import load_file, save_file

from tfcore import files
from tfcore.measures.atlas.ablation import ablate_heads, sampled
from tfcore.measures.atlas.atlas import Atlas, atlas_of, load_atlas, save_atlas
from tfcore.measures.atlas.ranks import head_ranks
from tfcore.measures.atlas.sums import ExamplePlaces, HeadSums, cut_windows, joined
from tfcore.measures.one_text import shortened
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training import data, pairs
from tfcore.training.loop import Processes, Progress
from tfcore.training.recipes.neurons import with_tokenizer
from tfcore.training.written_texts import articles, programs, written_texts

Report = Callable[[Progress], None]
WRITTEN: dict[str, Callable[[], Iterator[str]]] = {"programs": programs, "articles": articles}
EXCERPT = 1_500  # characters of a book that are read in one piece
SAVED_EVERY = 10  # passes, after which the sums are kept
SAID = ("first", "activity", "entropy", "distance", "effect")  # means over all heads, on the card
COMPARED = ("first", "activity", "previous", "same", "after_same", "entropy", "qk_rank")  # when it is measured again


@dataclass(frozen=True, slots=True, kw_only=True)
class AtlasRecipe:
    """How to make the atlases.

    Args:
        models: their names.
        windows: source -> windows read from it, at most.
        least: windows in all, where the last source has what the others lack of them: a tokenizer with larger pieces
            fills fewer.
        length: tokens of a window.
        rows: windows that share a pass.
        places: at which examples are taken, for each window.
        ablated: windows on whose beginnings each head is ablated.
        ablated_length: tokens of such a beginning.
        writer: the model that writes programs and articles.
        written: source -> texts that it writes, all in one batch.
        seed: of all that is drawn.
    """

    models: tuple[str, ...] = ("stories", "minilm", "smollm2")
    windows: Mapping[str, int] = field(
        default_factory=lambda: {
            "stories": 480,
            "English sentences": 320,
            "French sentences": 320,
            "programs": 128,
            "articles": 192,
            "classics": 1_000,
        }
    )
    least: int = 2_400
    length: int = 128
    rows: int = 8
    places: float = 0.5
    ablated: int = 160
    ablated_length: int = 64
    writer: str = "smollm2"
    written: Mapping[str, int] = field(default_factory=lambda: {"programs": 64, "articles": 96})
    seed: int = 0


ATLAS = AtlasRecipe()


def atlas(corpus: Path, out: Path, report: Report, recipe: AtlasRecipe = ATLAS) -> dict[str, float]:
    """Read the texts with each model and write its atlas into a folder of its name; a run that was stopped goes on.

    Raises:
        CorpusError: when a text below `corpus` is missing.
    """
    if Processes.join().rank > 0:  # one process does it
        return {}
    texts = {name: list(texts_of(name, corpus, out, recipe)) for name in recipe.windows}
    said: dict[str, float] = {}
    for name in recipe.models:
        made = atlas_of_model(name, texts, out / name, report, recipe)
        save_atlas(out / name, made, {**asdict(recipe), "models": [name]})
        said |= {f"{name} {key}": value for key, value in said_of(made).items()}
    return said


def texts_of(source: str, corpus: Path, out: Path, recipe: AtlasRecipe) -> Iterator[str]:
    """The texts of a source, in an order that the seed decides."""
    if source in WRITTEN:
        yield from _written(source, out / "texts" / f"{source}.npy", recipe)
        return
    if source.endswith("sentences"):
        side = "english" if source == "English sentences" else "french"
        documents = sorted({getattr(pair, side) for pair in pairs.read_pairs(corpus)})
    elif source == "stories":
        documents = data.held_out(corpus)
    else:
        books = data.read_source(corpus, data.STORY_SOURCES[source])
        documents = [piece for book in books for piece in _pieces(book)]
    order = np.random.default_rng(recipe.seed).permutation(len(documents))
    yield from (documents[i] for i in order)


def _pieces(book: str) -> list[str]:
    """A book in pieces of EXCERPT characters that begin with a paragraph."""
    found: list[str] = []
    for paragraph in book.split("\n"):
        if found and len(found[-1]) < EXCERPT:
            found[-1] += f"\n{paragraph}"
        else:
            found.append(paragraph)
    return [piece for piece in found if len(piece) >= EXCERPT]


def _written(source: str, path: Path, recipe: AtlasRecipe) -> list[str]:
    """Texts that a model writes, kept in a file."""
    _, tokenizer = with_tokenizer(recipe.writer)
    return [tokenizer.decode(row) for row in written_ids(source, path, recipe).tolist()]


def written_ids(source: str, path: Path, recipe: AtlasRecipe = ATLAS) -> Integer[ndarray, "row seq"]:
    """The ids of texts that a model writes, kept in a file."""
    if not path.is_file():
        (model, tokenizer), rows, starts = with_tokenizer(recipe.writer), recipe.written[source], WRITTEN[source]()
        parts = written_texts(model, tokenizer, rows, 2 * recipe.length + 1, recipe.seed, starts=starts)
        files.write_array(path, torch.cat(list(parts)).numpy().astype(np.uint16))
    return np.load(path, allow_pickle=False)


def atlas_of_model(
    name: str, texts: Mapping[str, Sequence[str]], out: Path, report: Report, recipe: AtlasRecipe
) -> Atlas:
    """The atlas of one model; `out` keeps the sums of each source and the effects of each text."""
    model, tokenizer = with_tokenizer(name)
    windows = _windows(tokenizer, texts, recipe)
    parts = [
        _read(model, tokenizer, own, out / f"sums-{source}.safetensors", report, recipe)
        for source, own in windows.items()
    ]
    every = [ids for own in windows.values() for ids in own]
    made = atlas_of(
        joined(parts, model.config),
        every,
        model=name,
        architecture=model.config.architecture,
        sources={source: sum(map(len, own)) for source, own in windows.items()},
        ranks=head_ranks(model),
    )
    chosen = [shortened(tokenizer, every[i], recipe.ablated_length) for i in sampled(every, recipe.ablated)]
    return made.with_effects(_effects(model, chosen, made.means, out / "effects.safetensors", report), chosen)


def _windows(
    tokenizer: Tokenizer, texts: Mapping[str, Sequence[str]], recipe: AtlasRecipe
) -> dict[str, list[list[int]]]:
    """source -> its windows."""
    *sources, last = recipe.windows
    found = {name: cut_windows(tokenizer, texts[name], recipe.length, recipe.windows[name]) for name in sources}
    most = max(recipe.windows[last], recipe.least - sum(map(len, found.values())))
    return {**found, last: cut_windows(tokenizer, texts[last], recipe.length, most)}


def _read(
    model: Transformer,
    tokenizer: Tokenizer,
    windows: Sequence[Sequence[int]],
    path: Path,
    report: Report,
    recipe: AtlasRecipe,
) -> HeadSums:
    """The sums over the windows of one source, kept in a file."""
    places = ExamplePlaces.drawn(windows, round(recipe.places * len(windows)), recipe.seed)
    sums = HeadSums(model.config, recipe.length, places)
    if path.is_file():
        sums.go_on(load_file(path))
    began, before = time.monotonic(), sums.windows
    while sums.windows < len(windows):
        for _ in range(SAVED_EVERY):
            if part := windows[sums.windows : sums.windows + recipe.rows]:
                sums.add(model, tokenizer, part)
        _keep(path, sums.state())
        report(_progress(sums.windows, len(windows), before, began, recipe.length))
    return sums


def _effects(
    model: Transformer, windows: Sequence[Sequence[int]], means: ndarray, path: Path, report: Report
) -> Float[ndarray, "layer head text"]:
    """What mean ablation does on each window, kept in a file."""
    done = list(load_file(path)["by_text"]) if path.is_file() else []
    began, before = time.monotonic(), len(done)
    for ids in windows[before:]:
        done.append(ablate_heads(model, ids, means))
        _keep(path, {"by_text": np.stack(done)})
        report(_progress(len(done), len(windows), before, began, len(ids)))
    return np.stack(done, axis=-1)


def _keep(path: Path, arrays: Mapping[str, ndarray]) -> None:
    """Write a file as a whole or not at all."""
    with files.as_a_whole(path) as beside:
        save_file(dict(arrays), beside)


def _progress(done: int, total: int, before: int, began: float, tokens: int) -> Progress:
    """The progress of a pass: nothing is trained, so there is no loss."""
    seconds = (time.monotonic() - began) / max(1, done - before)
    return Progress(done, total, 0.0, 0.0, 0.0, tokens / max(seconds, 1e-9), seconds * (total - done))


def said_of(made: Atlas) -> dict[str, float]:
    """The numbers of a card that sum an atlas up."""
    measures = made.measures
    said: dict[str, float] = {"tokens": made.tokens, "tokens ablated": made.sample.size}
    said |= {f"mean {name}": round(float(np.nanmean(measures[name])), 4) for name in SAID}
    return said


def of_atlas(recipe: AtlasRecipe) -> dict[str, float]:
    """The shipped atlases, and what their samples give when they are read again: the correlation over all heads of each
    measure with the atlas, and the largest difference of an effect on the first text.

    Raises:
        CheckpointError: an atlas is not there.
    """
    said: dict[str, float] = {}
    for name in recipe.models:
        shipped, (model, tokenizer) = load_atlas(name), with_tokenizer(name)
        texts = shipped.sample.tolist()
        again = read_again(model, tokenizer, texts, recipe)
        effects = ablate_heads(model, texts[0], shipped.means)
        found = said_of(shipped) | {
            "effect difference": round(float(np.abs(effects - shipped.by_text[..., 0]).max()), 5)
        }
        for key in COMPARED:
            both = np.corrcoef(shipped.measures[key].ravel(), again.measures[key].ravel())
            found[f"correlation {key}"] = round(float(both[0, 1]), 3)
        said |= {f"{name} {key}": value for key, value in found.items()}
    return said


def read_again(model: Transformer, tokenizer: Tokenizer, texts: Sequence[Sequence[int]], recipe: AtlasRecipe) -> Atlas:
    """An atlas of some texts of one length, without effects."""
    sums = HeadSums(model.config, len(texts[0]), ExamplePlaces.drawn(texts, len(texts), recipe.seed))
    while sums.windows < len(texts):
        sums.add(model, tokenizer, texts[sums.windows : sums.windows + recipe.rows])
    architecture, sources = model.config.architecture, {"sample": sum(map(len, texts))}
    return atlas_of(sums, texts, model="", architecture=architecture, sources=sources, ranks=head_ranks(model))
