"""The experiments of the page on probing."""

from tfcore.analysis.inside.probing.by_layer import Probed, class_read, probe_each, probed, readable, wilson
from tfcore.analysis.inside.probing.kept import kept_layers
from tfcore.analysis.token_text import plotly_escape
from tfcore.figures.inside.probing import accuracy_figure, classes_figure
from tfcore.figures.shown import Shown
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def every_layer(model: Transformer, tokenizer: Tokenizer, name: str, target: str) -> Probed:
    """A property read after every layer: as measured once for the models that come with the app, else now."""
    layers = kept_layers(name, target) or list(probe_each(model, tokenizer, target))
    return probed(model, tokenizer, name, target, layers)


def by_layer(found: Probed, layer: int, layers: int) -> Shown:
    """How well a linear probe reads a property after each layer, beside the control task (arXiv:1909.03368)."""
    total, said = len(found.words), readable(found)
    intervals = [wilson(found.right(i), total) for i in range(len(found.layers))]
    baseline = said.majority, "most frequent class"
    figure = accuracy_figure(found.accuracy(), intervals, found.control(), baseline, layers, layer, height=340)
    return Shown(figure, (said,))


def by_class(found: Probed, layer: int) -> Shown:
    """How many words of each class are read correctly after one layer."""
    said = class_read(found, layer)
    pairs = list(zip(said.right, said.counts, strict=True))
    labels = [plotly_escape(f"{name} ({count})") for name, count in zip(said.classes, said.counts, strict=True)]
    figure = classes_figure(labels, [a / b for a, b in pairs], [wilson(a, b) for a, b in pairs], height=340)
    return Shown(figure, (said,))
