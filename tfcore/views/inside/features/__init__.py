"""Features: what sparse dictionaries find in a text, and a small dictionary in training beside the shipped one."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts.before_after import before_after
from tfcore.charts.promoted import promoted_figure
from tfcore.inspection.transcoders import Transcoder
from tfcore.loading.transcoders import chosen_dictionary, load_transcoders
from tfcore.measures.dictionaries import growth
from tfcore.measures.dictionaries import quality as measure_quality
from tfcore.measures.dictionaries.feature_scan import load_feature_scan
from tfcore.measures.dictionaries.growth import DictionaryMoment
from tfcore.measures.dictionaries.labels import label_features, load_labels
from tfcore.measures.interventions import compared_tokens
from tfcore.measures.neuron_scan import PADDING_ID, Snippet
from tfcore.measures.one_text import UsedTokens, last_tokens
from tfcore.measures.token_text import plotly_escape, shorten, tick_labels, visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training import growing_dictionaries as growing
from tfcore.training.dictionaries import InTraining
from tfcore.training.growing_dictionaries import GrowDictionaryConfig, Grown, grow_dictionary
from tfcore.views.finding import Statement
from tfcore.views.inside.changes import prediction_change
from tfcore.views.inside.features import say
from tfcore.views.inside.features.draw import (
    cosine_figure,
    feature_map,
    histogram_figure,
    map_height,
    map_width,
    neighbours_figure,
    quality_figure,
)
from tfcore.views.inside.features.measure import held_feature, of_text, one_feature, ratings
from tfcore.views.inside.features.measure.held_feature import Held
from tfcore.views.inside.features.measure.of_text import feature_title
from tfcore.views.inside.features.measure.one_feature import FeaturePromotion
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View, view

MODEL = "stories"  # whose dictionaries are trained anew
TOKENS = 64  # of a text
NEW_TOKENS = 14
STREAM = 4  # index of the autoencoder of stories
OF_TEXTS = {
    "stories": "excerpts of TinyStories' validation split (arXiv:2305.07759, CDLA-Sharing-1.0)",
    "smollm2": "excerpts of TinyStories, of books in the public domain, of sentences of tatoeba.org and of texts that "
    "SmolLM2 wrote itself",
}

TERMS = ("transcoder", "sparse autoencoder")


def tokenizer_of(name: str) -> Tokenizer:
    """The tokenizer of a model."""
    return cast("Tokenizer", opened(name)[1])


def dictionaries_of(name: str) -> dict[int, str]:
    """What the dictionaries of a model are of, by their index, as in {0: "layer 0", 1: "layer 4"}."""
    each = load_transcoders(name).each
    return {
        i: "stream" if one.config.is_autoencoder else f"layer {of_text.dictionary_layer(one)}"
        for i, one in enumerate(each)
    }


def first_dictionary(name: str) -> int:
    """The autoencoder of a model, or the middle one of its transcoders."""
    all_of_it = load_transcoders(name)
    return len(all_of_it.of_mlps) if all_of_it.of_stream is not None else len(all_of_it.of_mlps) // 2


# ---- the features of a text ----


def read_of(reading: Reading) -> UsedTokens:
    """The last TOKENS tokens of a text."""
    model, tokenizer = opened(reading.model)
    return last_tokens(model, tokenizer, reading.text, TOKENS)


def _activations(reading: Reading, dictionary: int) -> Float[ndarray, "seq feature"]:
    of = chosen_dictionary(str(reading.model), dictionary)
    return of_text.feature_activations(opened(reading.model)[0], of, read_of(reading).ids)


def _words(name: str, dictionary: int) -> list[str]:
    """For each feature of a dictionary, the tokens it is active on most often."""
    return one_feature.token_words(load_feature_scan(name), dictionary, tokenizer_of(name))


activations_of = kept(_activations, entries=32)
words_of = kept(_words, entries=5)


def telling_feature(reading: Reading, dictionary: int) -> int | None:
    """The feature of a text that tells most, None where there is none that can be read: of those whose token here is
    the one they are active on most often, and stands at the peaks of all their strongest texts, the one with the
    largest share of its largest activation times the surprise of its token in the held-out texts."""
    scan, values = load_feature_scan(str(reading.model)), activations_of(reading, dictionary)
    at = np.array(read_of(reading).ids)[values.argmax(0)]
    plain = (scan.token[dictionary, :, 0] == at) & (scan.peaks(dictionary) == at[:, None]).all(1)
    read = scan.windows[scan.windows != PADDING_ID].astype(np.int64)
    surprise = -np.log(np.bincount(read, minlength=at.max() + 1)[at].clip(1) / len(read))
    telling = np.where(plain, values.max(0) / scan.record(dictionary) * surprise, 0)
    return int(telling.argmax()) if telling.any() else None


def names_of(features: Sequence[int], own: Sequence[str]) -> list[str]:
    """Numbers of features, each with its most frequent tokens; safe for plotly."""
    return [plotly_escape(shorten(f"{one} {own[one]}", 24)) for one in features]


def rows_of(values: Float[ndarray, "seq feature"], chosen: int, count: int, asked: Sequence[int] = ()) -> list[int]:
    """The features that are asked for, else the strongest of a text; below them the chosen one, where it is not among
    them."""
    rows: list[int] = list(asked) or of_text.strongest_features(values, count).tolist()
    return rows if chosen in rows else [*rows, chosen]


@view
def features_of_text(reading: Reading, dictionary: int, chosen: int, count: int, asked: tuple[int, ...] = ()) -> View:
    """The strongest features of a text, or those that are asked for, token by token (arXiv:2406.11944).

    Args:
        reading: the last TOKENS tokens of a text; its model is one with dictionaries.
        dictionary: which of them, as in `dictionaries_of`.
        chosen: the feature whose row is framed; it comes last where it is not among the others.
        count: of the strongest.
        asked: features; none: the strongest.
    """
    name, tokens, values = str(reading.model), read_of(reading).tokens, activations_of(reading, dictionary)
    rows, labels = rows_of(values, chosen, count, asked), tick_labels(tokens, 10)
    names = names_of(rows, words_of(name, dictionary))
    return View(
        key="map",
        title="The features of the text",
        result=values,
        chart=feature_map(values[:, rows].T, rows, names, labels, chosen, map_height(count + 1, labels)),
        min_width=map_width(len(tokens), names),
        findings=(say.strongest_feature(chosen_dictionary(name, dictionary), values, tokens),),
        note="Beside its number: where it is active most often.",
        table=lambda: pd.DataFrame(values[:, rows], columns=[str(row) for row in rows]).assign(token=tokens),
        formula=(
            r"\begin{gathered} a = \mathrm{TopK}(\mathrm{ReLU}(W_{enc}\,x + b_{enc})), \qquad "
            r"\hat y = \sum_i a_i\, d_i + b_{dec} \\ \text{held at } c: \quad y \leftarrow y + (c - a_i)\, d_i "
            r"\qquad \text{promotes: } W_U\,(\gamma \odot d_i)\; a_i / \mathrm{rms} \end{gathered}"
        ),
        papers=(
            "Transcoders: arXiv:2406.11944, section 3.1. TopK features: arXiv:2406.04093, section 2.3. Sparse "
            "autoencoders of the stream: arXiv:2309.08600, section 2. Layers are those of the feed-forward layers' "
            "transcoders; the stream is that after block 2. Held-out texts are windows of 48 tokens, of which the "
            f"first 8 are not counted: {OF_TEXTS[name]}. {readable(name, dictionary)}"
        ),
        terms=TERMS,
        code=(
            Transcoder,
            of_text.feature_activations,
            one_feature.feature_promotion,
            held_feature.hold_feature,
            say.readability,
            say.rated_sample,
            say.phrases_elsewhere,
            label_features,
        ),
    )


# ---- one feature ----


def _promotion(model: Transformer, tokenizer: Tokenizer, name: str, dictionary: int, feature: int) -> FeaturePromotion:
    return one_feature.feature_promotion(model, tokenizer, name, dictionary, feature)


def _texts(name: str, dictionary: int, feature: int) -> list[Snippet]:
    return one_feature.feature_texts(opened(name)[0], name, dictionary, feature)


promotion_of = kept(_promotion, entries=128)
texts_of = kept(_texts, entries=64)


@view
def fires(model: str, dictionary: int, feature: int) -> View:
    """How often and how strongly one feature is active in held-out texts.

    Args:
        model: one with dictionaries.
        dictionary: which of them, as in `dictionaries_of`.
        feature: its number.
    """
    scan, of = load_feature_scan(model), chosen_dictionary(model, dictionary)
    shares, largest = scan.histogram[dictionary, feature], float(scan.value[dictionary, feature, 0])
    return View(
        key="histogram",
        title="Its activations",
        result=shares,
        chart=histogram_figure(shares, largest, height=230),
        findings=(say.feature_fires(scan, of, dictionary, feature, tokenizer_of(model)),),
        table=lambda: pd.DataFrame({"share": shares}),
    )


@view
def promoted(model: str, dictionary: int, feature: int) -> View:
    """The tokens whose logits a feature raises and lowers most; arguments as of `fires`."""
    promotes = promotion_of(model, model, dictionary, feature)
    return View(
        key="promoted",
        title="What it promotes",
        result=promotes,
        chart=promoted_figure(tick_labels(promotes.tokens), promotes.lifts, None, height=330),
        findings=(say.promotes(promotes),),
        table=lambda: pd.DataFrame({"token": promotes.tokens, "logits": promotes.lifts}),
    )


@view
def neighbours(model: str, dictionary: int, feature: int) -> View:
    """The features that write most nearly the same, with the tokens they are active on most often.

    Arguments as of `fires`.
    """
    of = chosen_dictionary(model, dictionary)
    nearest = one_feature.feature_neighbours(of, feature)
    names = names_of(nearest.features, words_of(model, dictionary))
    return View(
        key="neighbours",
        title="Its neighbours",
        result=nearest,
        chart=neighbours_figure(nearest.features, names, nearest.cosines, height=280),
        findings=(say.nearest(of, feature, nearest),),
        table=lambda: pd.DataFrame({"feature": nearest.features, "cosine": nearest.cosines}),
    )


def label_of(model: str, dictionary: int, feature: int) -> Statement:
    """The rule of a feature, and how well it says where the feature fires in texts that it was not found in."""
    own, title = load_labels(model), feature_title(chosen_dictionary(model, dictionary), feature)
    return say.label(own, dictionary, feature, title, tokenizer_of(model))


def _phrases(name: str) -> Statement | None:
    writes = [one.config.writes for one in load_transcoders(name).each]
    return say.phrases_elsewhere(ratings_of(name), load_feature_scan(name), writes, tokenizer_of(name))


ratings_of = kept(ratings.load_ratings, entries=1)
phrases_of = kept(_phrases, entries=1)


def readable(model: str, dictionary: int) -> str:
    """How well a dictionary's features can be read: by a rule, as rated, and whether the ratings hold elsewhere."""
    of = chosen_dictionary(model, dictionary)
    name = of_text.dictionary_name(of)
    read = say.readability(load_feature_scan(model), dictionary, name)
    rated = say.rated_sample(ratings_of(model), of.config.writes, name)
    labelled = say.labels_of(load_labels(model), dictionary, name)
    return f"{read} {labelled} {rated or ''} {phrases_of(model) or ''}"


# ---- off, or forced on ----


def _held(reading: Reading, dictionary: int, feature: int, factor: float) -> Held:
    model, ids = opened(reading.model)[0], read_of(reading).ids
    return held_feature.held_feature(model, str(reading.model), ids, dictionary, feature, factor, NEW_TOKENS)


held_of = kept(_held, entries=64)


@view
def next_token(reading: Reading, dictionary: int, feature: int, factor: float) -> View:
    """The next token's probabilities without and with a feature held.

    Args:
        reading, dictionary: see features_of_text.
        feature: its number.
        factor: times its largest activation in held-out texts; 0 is off.
    """
    held, read, tokenizer = held_of(reading, dictionary, feature, factor), read_of(reading), opened(reading.model)[1]
    effect = held.effect
    token = int(abs(effect.after - effect.before).argmax())
    ids = compared_tokens(effect, token, 6)
    before, after = (probability[ids].tolist() for probability in (effect.before, effect.after))
    labels, names = tick_labels(tokenizer.tokens(ids)), ("as it is", "with the feature held")
    change = prediction_change(effect, read.tokens[-1], len(read.tokens) - 1, held.what, token, tokenizer)
    return View(
        key="next",
        title="Off or forced on",
        result=held,
        chart=before_after(labels, before, after, names),
        findings=(change,),
        table=lambda: pd.DataFrame({"as it is": effect.before, "held": effect.after}),
    )


# ---- a small dictionary in training ----


def _trained(config: GrowDictionaryConfig) -> tuple[DictionaryMoment, ...]:
    return tuple(grown.moment for grown in grow_dictionary(config) if grown is not None)


moments_of = kept(_trained, entries=2)


@view
def quality(config: GrowDictionaryConfig, *, so_far: Sequence[DictionaryMoment] | None = None) -> View:
    """A small dictionary in training on held-out text, beside the shipped one (measures: arXiv:2406.04093, section 4).

    Args:
        config: of the training.
        so_far: measured until now; None trains to the end.
    """
    moments = moments_of(config) if so_far is None else so_far
    return View(
        key="quality",
        title="Its quality",
        result=moments,
        chart=quality_figure(moments, config.steps, height=360),
        min_width=340,
        findings=(say.grown_quality(moments),),
        table=lambda: pd.DataFrame(
            [
                (m.step, m.quality.loss_recovered, m.quality.explained_variance, m.quality.l0, m.quality.dead)
                for m in moments
            ],
            columns=["step", "loss recovered", "explained variance", "features a token", "never fire"],
        ),
        formula=(
            r"\mathcal{L} = \frac{\lVert y - \hat y \rVert^2}{\mathrm{Var}(y)} + \frac{1}{32}\,\mathcal{L}_{aux} "
            r"\qquad \text{loss recovered} = \frac{L_{zeros} - L_{\hat y}}{L_{zeros} - L}"
        ),
        papers=(
            "TopK features and the auxiliary loss, which revives features that no longer fire: arXiv:2406.04093, "
            f"section 2.3 and appendix A.2. {growing.BATCHES} batches of {growing.ROWS} windows of 48 tokens, again "
            f"and again, with Adam; measured on {growing.HELD_OUT} windows of other stories, the features named on "
            f"{growing.NAMED_ON}, of which the former are a part. All are from the validation split of TinyStories "
            "(arXiv:2305.07759), windows in which features of the shipped dictionaries are strongest; those were "
            "trained on other text, and also on the divergence of predictions (arXiv:2405.12241)."
        ),
        terms=TERMS,
        code=(grow_dictionary, InTraining, measure_quality.dictionary_quality, growth.closest_features),
    )


@view
def cosines(config: GrowDictionaryConfig, *, so_far: Sequence[DictionaryMoment] | None = None) -> View:
    """How nearly each feature in training writes what a shipped one writes; arguments as of `quality`."""
    moments = moments_of(config) if so_far is None else so_far
    return View(
        key="cosines",
        title="Beside the shipped one",
        result=moments,
        chart=cosine_figure(moments, height=240),
        min_width=340,
        findings=(say.shared_features(moments),),
        table=lambda: pd.DataFrame({"cosine": moments[-1].cosine, "closest": moments[-1].closest}),
    )


def feature_table(last: Grown, dictionary: int) -> pd.DataFrame:
    """Each feature that fires at the end of a training, its tokens, and the shipped one that writes most nearly the
    same.

    Raises:
        ValueError: the training has not ended.
    """
    features, moment, shipped = last.features, last.moment, words_of(MODEL, dictionary)
    if features is None:
        raise ValueError("features are named at the end of a training")
    tokenizer = tokenizer_of(MODEL)
    order = [int(i) for i in np.argsort(-moment.cosine, kind="stable") if features.fires[i]]

    def named(feature: int) -> str:
        ids = [int(id_) for id_ in features.tokens[feature] if id_ >= 0]
        return " ".join(visible(token) for token in tokenizer.tokens(ids))

    return pd.DataFrame(
        {
            "feature": order,
            "its tokens": [named(i) for i in order],
            "fires at": features.fires[order],
            "share on the first": [f"{features.share[i]:.0%}" for i in order],
            "closest shipped": [f"{moment.closest[i]} {shipped[moment.closest[i]]}" for i in order],
            "cosine": moment.cosine[order].round(2),
        }
    )
