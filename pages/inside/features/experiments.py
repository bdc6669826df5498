"""The experiments of the page on features."""

from collections.abc import Sequence

from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.inside.features.feature_edits import Held, held_feature
from tfcore.analysis.inside.features.grown import grown_quality, shared_features
from tfcore.analysis.inside.features.of_text import feature_activations, strongest_feature, strongest_features
from tfcore.analysis.inside.features.one_feature import FeaturePromotion, feature_fires, feature_neighbours, token_words
from tfcore.analysis.inside.interventions import prediction_change
from tfcore.charts.before_after import before_after
from tfcore.charts.promoted import promoted_figure
from tfcore.figures.inside.dictionary_training import cosine_figure, quality_figure
from tfcore.figures.inside.features import feature_map, histogram_figure, map_height, neighbours_figure
from tfcore.figures.shown import Shown
from tfcore.loading.transcoders import chosen_dictionary
from tfcore.measures.dictionaries.feature_scan import load_feature_scan
from tfcore.measures.dictionaries.growth import DictionaryMoment
from tfcore.measures.interventions import compared_tokens
from tfcore.measures.one_text import first_tokens
from tfcore.measures.token_text import plotly_escape, shorten, tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training.growing_dictionaries import GrowDictionaryConfig, grow_dictionary


def activations(
    model: Transformer, tokenizer: Tokenizer, name: str, text: str, limit: int, dictionary: int
) -> Float[ndarray, "seq feature"]:
    """Every feature of a dictionary at every token of a text."""
    ids = first_tokens(model, tokenizer, text, limit).ids
    return feature_activations(model, chosen_dictionary(name, dictionary), ids)


def words(tokenizer: Tokenizer, name: str, dictionary: int) -> list[str]:
    """For each feature of a dictionary, the tokens it is active on most often."""
    return token_words(load_feature_scan(name), dictionary, tokenizer)


def names_of(features: Sequence[int], own: Sequence[str]) -> list[str]:
    """Numbers of features, each with its most frequent tokens; safe for plotly."""
    return [plotly_escape(shorten(f"{one} {own[one]}", 24)) for one in features]


def rows_of(values: Float[ndarray, "seq feature"], chosen: int, count: int, asked: Sequence[int] = ()) -> list[int]:
    """The features that are asked for, else the strongest of a text; below them the chosen one, where it is not among
    them."""
    rows: list[int] = list(asked) or strongest_features(values, count).tolist()
    return rows if chosen in rows else [*rows, chosen]


def features_of_text(
    tokenizer: Tokenizer,
    name: str,
    dictionary: int,
    tokens: Sequence[str],
    values: Float[ndarray, "seq feature"],
    chosen: int,
    count: int,
    asked: Sequence[int] = (),
) -> Shown:
    """The strongest features of a text, or those that are asked for, token by token (arXiv:2406.11944)."""
    rows, labels = rows_of(values, chosen, count, asked), tick_labels(tokens, 10)
    names = names_of(rows, words(tokenizer, name, dictionary))
    figure = feature_map(values[:, rows].T, rows, names, labels, chosen, map_height(count + 1, labels))
    return Shown(figure, (strongest_feature(chosen_dictionary(name, dictionary), values, tokens),))


def fires(tokenizer: Tokenizer, name: str, dictionary: int, feature: int) -> Shown:
    """How often and how strongly one feature is active in held-out texts."""
    scan, of = load_feature_scan(name), chosen_dictionary(name, dictionary)
    said = feature_fires(scan, of, dictionary, feature, tokenizer)
    return Shown(histogram_figure(scan.histogram[dictionary, feature], said.largest, height=230), (said,))


def promoted(found: FeaturePromotion) -> Shown:
    """The tokens whose logits a feature raises and lowers most."""
    figure = promoted_figure(tick_labels(found.tokens), found.lifts, None, height=330)
    return Shown(figure, (found,))


def neighbours(tokenizer: Tokenizer, name: str, dictionary: int, feature: int) -> Shown:
    """The features that write most nearly the same, with the tokens they are active on most often."""
    found = feature_neighbours(chosen_dictionary(name, dictionary), feature)
    names = names_of(found.features, words(tokenizer, name, dictionary))
    return Shown(neighbours_figure(found.features, names, found.cosines, height=280), (found,))


def held(
    model: Transformer,
    tokenizer: Tokenizer,
    name: str,
    text: str,
    limit: int,
    dictionary: int,
    feature: int,
    factor: float,
    new_tokens: int,
) -> Held:
    """A text and its continuation with one feature held at `factor` times its largest activation; 0 is off."""
    ids = first_tokens(model, tokenizer, text, limit).ids
    return held_feature(model, name, ids, dictionary, feature, factor, new_tokens)


def next_token(tokenizer: Tokenizer, found: Held, last: str, position: int) -> Shown:
    """The next token's probabilities without and with a feature held; `last` is the token at `position`, the end."""
    token = int(abs(found.effect.after - found.effect.before).argmax())
    ids = compared_tokens(found.effect, token, 6)
    before, after = (probability[ids].tolist() for probability in (found.effect.before, found.effect.after))
    names = ("as it is", "with the feature held")
    figure = before_after(tick_labels(tokenizer.tokens(ids)), before, after, names, height=96 + 36 * len(ids))
    return Shown(figure, (prediction_change(found.effect, last, position, found.what, token, tokenizer),))


def trained(config: GrowDictionaryConfig) -> list[DictionaryMoment]:
    """A small dictionary in training, measured every few steps."""
    return [found.moment for found in grow_dictionary(config) if found is not None]


def quality(moments: Sequence[DictionaryMoment], steps: int, height: int = 360) -> Shown:
    """A dictionary in training on held-out text, beside the shipped one (measures: arXiv:2406.04093, section 4)."""
    return Shown(quality_figure(moments, steps, height), (grown_quality(moments),))


def cosines(moments: Sequence[DictionaryMoment], height: int = 240) -> Shown:
    """How nearly each feature in training writes what a shipped one writes."""
    return Shown(cosine_figure(moments, height), (shared_features(moments),))
