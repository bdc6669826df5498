"""Accuracies of a linear probe on the residual stream after each layer, beside a control task (arXiv:1909.03368)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.probing.measure.logistic import fit_probe
from tfcore.views.inside.probing.measure.properties import label_words
from tfcore.views.inside.probing.measure.tagged_text import TaggedWord, TokenizedWords, tokenize_words

FOLDS = 3  # of the sentences, each held out once


@dataclass(frozen=True, slots=True)
class ProbedLayer:
    """The stream at one place.

    Args:
        predicted: the class of each word, by probes that have not seen its sentence.
        control: words whose label in the control task is predicted.
    """

    predicted: Int[ndarray, " word"]
    control: int


@dataclass(frozen=True, slots=True)
class Probed:
    """A property by layer.

    Args:
        target: a key of PROPERTIES, what is read.
        classes: names of the labels.
        words: those that have a label, and labels: what it is.
        majority: words whose label is the most frequent one of the sentences that were not held out.
        layers: of the embedding, then after each layer; fewer while more are to come.
    """

    target: str
    classes: tuple[str, ...]
    words: tuple[TaggedWord, ...]
    labels: Int[ndarray, " word"]
    majority: int
    layers: tuple[ProbedLayer, ...]

    def right(self, layer: int) -> int:
        """Words that are read correctly."""
        return int((self.layers[layer].predicted == self.labels).sum())

    def accuracy(self) -> Float[ndarray, " layer"]:
        """Share of the words that are read correctly."""
        return np.array([self.right(i) / len(self.words) for i in range(len(self.layers))])

    def control(self) -> Float[ndarray, " layer"]:
        """The accuracy in the control task."""
        return np.array([one.control / len(self.words) for one in self.layers])


def stream_names(config: ModelConfig) -> tuple[str, ...]:
    """The stream before the first layer and after each."""
    return "blocks.0.resid_pre", *(f"blocks.{i}.resid_post" for i in range(config.n_layers))


def layer_name(index: int) -> str:
    """The name of a layer, as in "the embedding" or "layer 3"; `index` as in stream_names."""
    return f"layer {index - 1}" if index else "the embedding"


def why_no_probe(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why a model's words cannot be probed, or None: for the choice of models."""
    if config.architecture == "encoder-decoder":
        return "it has two streams, and one is read here."
    tokens = len(tokenizer.encode("the")) - len(tokenizer.encode(""))
    if tokens > 1:
        return "its tokens are letters or bytes, and what is read here are properties of words."
    if tokens < 1:
        return "it has no token for an English word, and what is read here are properties of these."
    return None


@torch.no_grad()
def word_states(model: Transformer, text: TokenizedWords) -> Float[Tensor, "layer word d_model"]:
    """The stream at the last token of each word, before the first layer and after each; every state divided by its
    root mean square, as a norm does before it is read: in some models a few states are a hundred times as long as the
    others."""
    names = stream_names(model.config)
    longest = max(map(len, text.rows))
    mask = torch.tensor([[i < len(row) for i in range(longest)] for row in text.rows])
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in text.rows])
    device = model.device
    kept = model.activations(ids.to(device), names, padding_mask=mask.to(device))
    rows, places = [word.passage for word in text.words], list(text.last)
    states = torch.stack([kept[name][rows, places].float().cpu() for name in names])
    return states / states.square().mean(-1, keepdim=True).sqrt().clamp(min=1e-12)


def probe_each(model: Transformer, tokenizer: Tokenizer, target: str) -> Iterator[ProbedLayer]:
    """Probes of a property (`target`, a key of PROPERTIES) at the embedding and after each layer, by cross-validation:
    each third of the sentences is read by probes that were fitted to the other two."""
    text = tokenize_words(tokenizer, model.config.max_seq_len)
    own = label_words(text, target)
    labels, control = torch.tensor(own.labels), torch.tensor(own.control)
    fold = torch.tensor(folds([text.words[i] for i in own.index]))
    for x in word_states(model, text)[:, torch.tensor(own.index)]:
        yield ProbedLayer(
            held_out(x, labels, fold, len(own.classes)).numpy(),
            int((held_out(x, control, fold, len(own.classes)) == control).sum()),
        )


def folds(words: Sequence[TaggedWord]) -> Int[ndarray, " word"]:
    """The part of the text that each word is held out with: its sentence's."""
    return np.array([word.sentence % FOLDS for word in words], dtype=np.int64)


def held_out(
    x: Float[Tensor, "word d"], labels: Int[Tensor, " word"], fold: Int[Tensor, " word"], classes: int
) -> Int[Tensor, " word"]:
    """The class of each word as predicted by the probe that was fitted to all other folds."""
    predicted = torch.zeros_like(labels)
    for one in range(FOLDS):
        held = fold == one
        predicted[held] = fit_probe(x[~held], labels[~held], classes).predict(x[held])
    return predicted


def probed(model: Transformer, tokenizer: Tokenizer, target: str, layers: Sequence[ProbedLayer]) -> Probed:
    """A property as it is read after the layers that have been probed."""
    text = tokenize_words(tokenizer, model.config.max_seq_len)
    own = label_words(text, target)
    words = tuple(text.words[i] for i in own.index)
    fold = folds(words)
    most = [np.bincount(own.labels[fold != one]).argmax() for one in range(FOLDS)]
    majority = sum(int((own.labels[fold == one] == most[one]).sum()) for one in range(FOLDS))
    return Probed(target, own.classes, words, own.labels, majority, tuple(layers))


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """The classes as they are read at one layer.

    Args:
        layer: index, see layer_name.
        classes: names, counts: words of each, right: those of them read correctly.
        confused: the class taken most often for another one, that other one, and how often; None where all is right.
    """

    layer: int
    classes: tuple[str, ...]
    counts: tuple[int, ...]
    right: tuple[int, ...]
    confused: tuple[str, str, int] | None


def class_counts(result: Probed, layer: int) -> ClassCounts:
    """How many words of each class are read correctly."""
    n = len(result.classes)
    table = np.zeros((n, n), dtype=np.int64)  # (true, predicted)
    np.add.at(table, (result.labels, result.layers[layer].predicted), 1)
    wrong = table - np.diag(np.diag(table))
    true, taken = divmod(int(wrong.argmax()), n)
    most = int(wrong.max())
    return ClassCounts(
        layer,
        result.classes,
        tuple(table.sum(1).tolist()),
        tuple(np.diag(table).tolist()),
        (result.classes[true], result.classes[taken], most) if most else None,
    )
