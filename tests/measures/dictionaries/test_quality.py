"""Measures of dictionaries beside plain loops; the scan beside a plain search; the shipped ones beside their card."""

import math

import numpy as np
import pytest
import torch

from tests.cards import STORIES, measured
from tests.nightly import nightly
from tests.small import ids, model
from tfcore.files import CheckpointError
from tfcore.inspection.edits import Edit
from tfcore.inspection.transcoders import SparseAutoencoder, Transcoder, TranscoderConfig
from tfcore.loading.checkpoints import PRETRAINED, load
from tfcore.loading.transcoders import Transcoders, load_transcoders
from tfcore.measures.dictionaries.feature_scan import TEXTS, load_feature_scan, save_feature_scan, scan_features
from tfcore.measures.dictionaries.quality import dictionary_quality, loss_recovered_together
from tfcore.measures.neuron_scan import SETTLED, cut_documents

SHAPE = {"d_model": 24, "n_features": 50, "top_k": 5}


def dictionaries():
    of_mlps = tuple(Transcoder(TranscoderConfig.of_mlp(i, **SHAPE), i).requires_grad_(False) for i in (0, 1))
    stream = TranscoderConfig.of_stream(0, **{**SHAPE, "top_k": 40})  # more than are above 0
    return Transcoders(of_mlps, SparseAutoencoder(stream, 2).requires_grad_(False))


TEXT = [ids(1, n, seed=n)[0].tolist() for n in (9, 14, 12)]


def loss_of(subject, edits):
    total, count = 0.0, 0
    for row in TEXT:
        logits = subject(torch.tensor([row]), edits=edits).logits[0].double()
        for place in range(len(row) - 1):
            total -= float(logits[place, row[place + 1]] - logits[place].logsumexp(0))
            count += 1
    return total / count


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_measures_are_those_of_a_plain_loop(which):
    subject, one = model(), dictionaries().each[which]
    found = dictionary_quality(subject, one, TEXT)
    active, fired, rows, wanted = 0, set(), [], []
    for row in TEXT:
        seen = subject(torch.tensor([row]), capture=(one.config.reads, one.config.writes)).activations
        for x, y in zip(seen[one.config.reads][0], seen[one.config.writes][0], strict=True):
            values = one.encode(x).tolist()
            on = [i for i, value in enumerate(values) if value > 0]
            active += len(on)
            fired |= set(on)
            rows.append(one(x).tolist())
            wanted.append(y.tolist())
    mean = [math.fsum(column) / len(wanted) for column in zip(*wanted, strict=True)]
    error = math.fsum((a - b) ** 2 for p, y in zip(rows, wanted, strict=True) for a, b in zip(p, y, strict=True))
    spread = math.fsum((b - m) ** 2 for y in wanted for b, m in zip(y, mean, strict=True))
    assert found.l0 == pytest.approx(active / len(rows))
    assert found.dead == 50 - len(fired)
    assert found.tokens == len(rows)
    assert found.explained_variance == pytest.approx(1 - error / spread, abs=1e-4)
    put_in = Edit(
        one.config.writes, lambda _: one(subject(held[0], capture=(one.config.reads,)).activations[one.config.reads])
    )
    held = [torch.tensor([TEXT[0]])]
    substituted, count = 0.0, 0
    for row in TEXT:
        held[0] = torch.tensor([row])
        logits = subject(held[0], edits=[put_in]).logits[0].double()
        for place in range(len(row) - 1):
            substituted -= float(logits[place, row[place + 1]] - logits[place].logsumexp(0))
            count += 1
    as_is, zeroed = loss_of(subject, []), loss_of(subject, [Edit.zero(one.config.writes)])
    assert found.loss_substituted == pytest.approx(substituted / count, abs=1e-4)
    assert found.loss_recovered == pytest.approx((zeroed - substituted / count) / (zeroed - as_is), abs=1e-3)


def test_all_layers_at_once():
    subject, both = model(), dictionaries().of_mlps
    as_is, substituted, zeroed = loss_recovered_together(subject, both, TEXT)
    assert as_is == pytest.approx(loss_of(subject, []), abs=1e-4)
    assert zeroed == pytest.approx(loss_of(subject, [Edit.zero("blocks.*.mlp_out")]), abs=1e-4)
    assert substituted not in (as_is, zeroed)


@pytest.fixture(scope="module")
def scanned():
    documents = [ids(1, n, seed=n)[0].tolist() for n in (20, 31, 14, 17, 26, 30)]
    windows = cut_documents(documents, length=16, stride=10)
    return windows, scan_features(model(), dictionaries(), windows, rows=3)


def test_the_scan_finds_what_a_plain_search_finds(scanned):
    windows, found = scanned
    for d, one in enumerate(dictionaries().each):
        fires = np.zeros(50, dtype=int)
        best, tokens = [], [[] for _ in range(50)]
        for row in windows:
            own = row[row != 65_535].astype(int).tolist()
            x = model()(torch.tensor([own]), capture=(one.config.reads,)).activations[one.config.reads][0]
            values = one.encode(x).numpy()[SETTLED:]
            fires += (values > 0).sum(0)
            best.append(values.max(0) if len(values) else np.zeros(50))
            for place, feature in zip(*np.nonzero(values), strict=True):
                tokens[feature].append(own[SETTLED + place])
        np.testing.assert_array_equal(found.fires[d], fires)
        largest = np.sort(np.stack(best), axis=0)[::-1][:TEXTS].T
        np.testing.assert_allclose(found.value[d], largest, atol=1e-4)
        for feature, own in enumerate(tokens):
            if own:
                most = max(own.count(token) for token in own)
                assert found.token_share[d, feature, 0] == pytest.approx(most / len(own))
                assert own.count(found.token[d, feature, 0]) == most
                assert found.histogram[d, feature].sum() == pytest.approx(1, abs=1e-5)
        for feature in np.flatnonzero(fires)[::7]:
            own = torch.tensor([found.ids(int(found.window[d, feature, 0]))])
            x = model()(own, capture=(one.config.reads,)).activations[one.config.reads][0]
            value = float(one.encode(x)[int(found.position[d, feature, 0]), int(feature)])
            assert value == pytest.approx(found.value[d, feature, 0], abs=1e-4)
    assert found.read[0] == sum(max(0, int((row != 65_535).sum()) - SETTLED) for row in windows)


def test_a_kept_scan_comes_back(scanned, tmp_path, monkeypatch):
    _, found = scanned
    monkeypatch.setattr("tfcore.measures.dictionaries.feature_scan.PRETRAINED", tmp_path)
    save_feature_scan(tmp_path / "small" / "transcoders", found, "ours")
    again = load_feature_scan("small")
    np.testing.assert_array_equal(again.window, found.window)
    np.testing.assert_allclose(again.value, found.value, rtol=1e-3)
    with pytest.raises(CheckpointError, match="makes it"):
        load_feature_scan("none")


@nightly
def test_the_shipped_ones_do_what_their_card_says():
    card, (subject, tokenizer) = measured("stories/transcoders"), load("stories", device="cpu")
    texts = [tokenizer.encode(story) for story in STORIES]
    for one in load_transcoders("stories").each:
        quality = dictionary_quality(subject, one, texts)
        name = one.config.writes
        assert quality.l0 == pytest.approx(card[f"{name} l0"], abs=0.5)
        assert quality.explained_variance == pytest.approx(card[f"{name} explained_variance"], abs=0.08)
        assert quality.loss_recovered == pytest.approx(card[f"{name} loss_recovered"], abs=0.15)
    assert sum(file.stat().st_size for file in (PRETRAINED / "stories" / "transcoders").iterdir()) < 7_400_000


@pytest.mark.parametrize("dictionary", range(5))
def test_the_shipped_scan_belongs_to_the_shipped_weights(dictionary):
    subject, found = load("stories", device="cpu")[0], load_feature_scan("stories")
    one = load_transcoders("stories").each[dictionary]
    for feature in range(0, 1_536, 400):
        window, place, stored = (a[dictionary, feature, 0] for a in (found.window, found.position, found.value))
        if stored > 0:
            row = torch.tensor([found.ids(int(window))])
            x = subject(row, capture=(one.config.reads,)).activations[one.config.reads][0, int(place)]
            assert float(one.encode(x)[feature]) == pytest.approx(float(stored), rel=5e-3)
