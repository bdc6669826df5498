"""Labels of features beside a loop over every place: which rule fits best, and its balanced accuracy elsewhere."""

import numpy as np
import pytest
import torch

from tfcore.files import CheckpointError
from tfcore.inspection.transcoders import Transcoder, TranscoderConfig
from tfcore.loading.checkpoints import load
from tfcore.loading.transcoders import Transcoders
from tfcore.measures.atlas.token_kinds import KINDS, PARTITION, token_kinds
from tfcore.measures.dictionaries import labels
from tfcore.measures.dictionaries.feature_scan import find_firings
from tfcore.measures.dictionaries.labels import LEAST_FIRES, PROPERTIES, label_features, promoted_tokens, read_places
from tfcore.measures.neuron_scan import PADDING_ID, SETTLED

TEXTS = (
    "Once upon a time, there was a little girl named Lily. She loved to play with her dog in the park.",
    "Tom had a red ball. One day the ball was lost, and Tom was very sad. His mom said it was late.",
    "The big cat saw a bird in the tree. It wanted to eat it, but the bird flew away to the sky.",
    "Sam and Ann went to the shop to buy some bread. They had 2 coins. The man said no, not today!",
)


@pytest.fixture(scope="module")
def made():
    """A random dictionary of the last layer of stories, and what fires in two sets of windows."""
    model, tokenizer = load("stories")
    config = TranscoderConfig.of_mlp(3, d_model=model.config.d_model, n_features=60, top_k=12)
    one = Transcoder(config, 3).requires_grad_(False).to(model.device)
    windows = np.full((4, 28), PADDING_ID, np.uint16)
    for row, text in zip(windows, TEXTS, strict=True):
        ids = tokenizer.encode(text)[:28]
        row[: len(ids)] = ids
    parts = windows[:2], windows[2:]
    dictionaries = Transcoders((one,))
    found = [find_firings(model, dictionaries, part) for part in parts]
    places = [read_places(tokenizer, part) for part in parts]
    promoted = promoted_tokens(model, one)
    said = label_features(dictionaries, [promoted], (places[0], found[0]), (places[1], found[1]))
    return model, tokenizer, one, parts, promoted, said


def value_at(tokenizer, ids, place, name):
    """What a property is at a place, by itself; None where there is none."""
    which = {"before": -1, "kind before": -1, "after": 1, "kind after": 1, "promoted": 1}.get(name, 0)
    there = place + which
    if name == "position":
        return place // 8
    if not 0 <= there < len(ids):
        return None
    if name.startswith("kind"):
        row = token_kinds(tokenizer, ids)[there]
        return next(i for i, kind in enumerate(PARTITION) if row[KINDS.index(kind)])
    return ids[there]


def places_of(model, tokenizer, one, windows):
    """(ids, place, features that fire there) of all that are counted."""
    for row in windows:
        ids = row[row != PADDING_ID].tolist()
        x = model.activations(torch.tensor([ids]), one.config.reads)[one.config.reads][0]
        for place in range(SETTLED, len(ids)):
            yield ids, place, set(np.flatnonzero(one.encode(x[place]).cpu().numpy()).tolist())


def balanced(seen, tokenizer, feature, name, rule):
    """Both shares of a rule, counted place by place."""
    hit = wrong = fires = others = 0
    for ids, place, on in seen:
        marked = value_at(tokenizer, ids, place, name) in rule
        fires, others = fires + (feature in on), others + (feature not in on)
        hit, wrong = hit + (marked and feature in on), wrong + (marked and feature not in on)
    return hit / max(fires, 1), wrong / max(others, 1), fires


def test_a_rule_has_the_score_of_a_loop_on_the_other_texts(made):
    model, tokenizer, one, parts, _, said = made
    seen = list(places_of(model, tokenizer, one, parts[1]))
    assert said.read.item() == len(seen)
    checked = 0
    for feature in range(60):
        if said.rule[0, feature] == labels.NOTHING:
            continue
        rule = {int(value) for value in said.values[0, feature] if value != labels.NOTHING}
        found, marked, fires = balanced(seen, tokenizer, feature, PROPERTIES[said.rule[0, feature]], rule)
        assert said.fires[0, feature] == fires
        if fires < LEAST_FIRES:
            assert np.isnan(said.score[0, feature])
            continue
        assert (said.found[0, feature], said.marked[0, feature]) == pytest.approx((found, marked))
        assert said.score[0, feature] == pytest.approx((found + 1 - marked) / 2)
        checked += 1
    assert checked > 5


def test_the_rule_is_the_one_that_fits_best_where_it_is_found(made):
    model, tokenizer, one, parts, promoted, said = made
    seen = list(places_of(model, tokenizer, one, parts[0]))
    labelled = np.flatnonzero(said.rule[0] != labels.NOTHING)[:6]
    assert len(labelled)
    for feature in labelled:
        fits = {}
        for name in PROPERTIES:
            if name == "promoted":
                rule = promoted[feature].tolist()
            else:
                rule = best_values(seen, tokenizer, feature, name)
            found, marked, fires = balanced(seen, tokenizer, feature, name, rule)
            fits[name] = found - marked
        assert fires >= LEAST_FIRES
        assert fits[PROPERTIES[said.rule[0, feature]]] == pytest.approx(max(fits.values()))


def best_values(seen, tokenizer, feature, name):
    """The values of a property whose share among the feature's places exceeds that among the others most."""
    on = [value_at(tokenizer, ids, place, name) for ids, place, found in seen if feature in found]
    off = [value_at(tokenizer, ids, place, name) for ids, place, found in seen if feature not in found]
    gain = {value: on.count(value) / len(on) - off.count(value) / len(off) for value in set(on) - {None}}
    most = labels.FEW_CHOICES if "kind" in name or name == "position" else labels.CHOICES
    return [value for value in sorted(gain, key=lambda one: -gain[one]) if gain[value] > 0][:most]


def test_what_is_promoted_has_the_largest_products(made):
    model, _, one, _, promoted, _ = made
    direct = model.embed.weight @ (one.W_dec[7] * model.decoder.ln_final.weight)
    assert promoted[7].tolist() == direct.topk(labels.CHOICES).indices.tolist()


def test_they_are_kept_and_damaged_ones_are_one_sentence(made, tmp_path, monkeypatch):
    said = made[-1]
    labels.save_labels(tmp_path / "m" / "transcoders", said)
    monkeypatch.setattr(labels, "PRETRAINED", tmp_path)
    labels.load_labels.cache_clear()
    again = labels.load_labels("m")
    assert (again.values == said.values).all()
    assert np.nanmax(np.abs(again.score - said.score)) < 1e-3
    with pytest.raises(CheckpointError, match="cannot be read"):
        labels.load_labels("none")
