"""Which tokens experts prefer, against counting by hand; the file; the recipe; the shipped scan and its model."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from tests import small
from tfcore import shipped
from tfcore.files import CheckpointError
from tfcore.loading.checkpoints import PRETRAINED, load
from tfcore.measures import expert_scan
from tfcore.measures.expert_scan import PADDING, load_scan, routing_accuracy, save_scan, scan
from tfcore.part_configs import ExpertsConfig
from tfcore.training import measures
from tfcore.training.recipes import RECIPES, experts
from tfcore.training.recipes.neurons import LICENCE
from tfcore.views.experts.routing.measure.text_routing import route
from tfcore.views.experts.routing.measure.tokens import ExpertTokens, Preferred, count_text, preferred
from tfcore.views.experts.routing.say.tokens import (
    Specialisation,
    TokenDecides,
    excerpt_title,
    scanned_share,
    specialisation,
    token_decides,
)

recipe = sys.modules[experts.__module__]
TEXTS = [small.ids(batch=1, seq=length, vocab=9, seed=length).flatten().tolist() for length in (30, 12, 45, 1)]


@pytest.fixture(scope="module")
def model():
    return small.model(experts=ExpertsConfig(n_experts=4, top_k=2, d_expert=8))


@pytest.fixture(scope="module")
def found(model):
    return scan(model, TEXTS, kept=3, least=8)


def test_counts_are_those_of_a_loop(model, found):
    rows = [ids[: model.config.max_seq_len] for ids in TEXTS]
    seen, sent, best = {}, {}, {}
    for ids in rows:
        result = route(model, ids)
        for place, token in enumerate(ids):
            seen[token] = seen.get(token, 0) + 1
            for at in range(2):
                for expert in result.chosen[at, place].nonzero()[0].tolist():
                    sent[at, token, expert] = sent.get((at, token, expert), 0) + 1
                    key = at, expert, token
                    best[key] = max(best.get(key, 0.0), float(result.probs[at, place, expert]))
    assert found.tokens == sum(seen.values())
    assert dict(zip(found.ids.tolist(), found.seen.tolist(), strict=True)) == {t: n for t, n in seen.items() if n >= 8}
    assert (np.diff(found.seen) <= 0).all()
    for at, row, expert in np.ndindex(found.sent.shape):
        assert found.sent[at, row, expert] == sent.get((at, int(found.ids[row]), expert), 0)
    assert (found.load.sum(-1) == 2 * found.tokens).all()
    assert found.choices.sum(-1) == pytest.approx(1)
    for at, expert in np.ndindex(2, 4):
        of_it = {t: p for (a, e, t), p in best.items() if (a, e) == (at, expert) and seen[t] >= 8}
        wanted = sorted(of_it.values(), reverse=True)[:3]
        assert found.prob[at, expert, : len(wanted)] == pytest.approx(wanted)
        for rank in range(len(wanted)):
            ids, place = found.excerpt(at, expert, rank), int(found.place[at, expert, rank])
            assert of_it[ids[place]] == pytest.approx(wanted[rank])
            assert any(str(ids)[1:-1] in str(row) for row in rows)


def test_an_expert_has_no_excerpt_of_a_token_it_never_took(model):
    found = scan(model, [[1, 2, 1, 2, 3]], kept=9, least=1)
    for at, expert in np.ndindex(2, 4):
        taken = int((found.sent[at, :, expert] > 0).sum())
        assert [bool(found.excerpt(at, expert, rank)) for rank in range(9)] == [True] * taken + [False] * (9 - taken)


def test_orders_of_liking():
    ids, sent, seen = np.array([5, 6, 7, 8, 9]), np.array([10, 90, 20, 0, 1]), np.array([10, 100, 20, 50, 50])
    by_share = preferred(ids, sent, seen, 200, "share", 2)
    assert by_share.ids.tolist() == [7, 5]
    by_work = preferred(ids, sent, seen, 200, "work", 9)
    assert by_work.ids.tolist() == [6, 7, 5, 9]
    assert by_work.work == pytest.approx([0.45, 0.1, 0.05, 0.005])
    assert by_work.share == pytest.approx([0.9, 1, 1, 0.02])


def test_a_text_counted_alone(model):
    taken = route(model, TEXTS[0]).taken[0]
    ids, seen, sent = count_text(TEXTS[0], taken)
    for row, token in enumerate(ids.tolist()):
        assert seen[row] == TEXTS[0].count(token)
        assert sent[row].tolist() == sum(taken[i] for i, t in enumerate(TEXTS[0]) if t == token).tolist()


def test_naming_experts_by_the_token(found):
    known = routing_accuracy(found)
    right = sum(sorted(row)[-1] + sorted(row)[-2] for row in found.sent[0].tolist())
    assert known.by_token[0] == pytest.approx(right / (2 * found.seen.sum()))
    assert (known.by_load <= known.by_token + 1e-9).all()
    assert (known.by_token <= 1).all()


def test_the_share_of_one_token(found):
    token = int(found.ids[2])
    for at in range(2):
        shares = found.share_of(at, token)
        assert shares.tolist() == [found.sent[at, 2, expert] / found.seen[2] for expert in range(4)]
    assert found.share_of(0, 60) is None


@pytest.mark.parametrize("by", ["share", "work"])
def test_what_is_typical_of_an_expert(by):
    sent, seen = np.array([990, 4, 70, 1, 2, 3]), np.array([1000, 4, 100, 9, 9, 9])
    counts = Preferred(np.arange(6), sent, seen, sent / 2000)
    found = specialisation(ExpertTokens(counts, list("abcdef")), 3, 1, by)
    shares = [s / n for s, n in zip(sent, seen, strict=True)] if by == "share" else [s / 2000 for s in sent]
    assert found.best == tuple(zip("abcde", map(pytest.approx, shares), strict=False))
    assert (found.layer, found.expert, found.sent, found.seen) == (3, 1, 990, 1000)
    assert (found.always, found.shown) == (2, 6)


def test_sentences():
    assert str(Specialisation(2, 6, "share", ((" a", 0.5), ("b", 0.25)), 1_500, 3_000, 0, 2)) == (
        "Expert 7 of layer 2: '·a' 50% of its occurrences, 'b' 25% of its occurrences. '·a' goes to this expert 1,500 "
        "of 3,000 times. 0 of the 2 tokens shown go to it at least 99 times in 100."
    )
    assert "'b' 25% of this expert's load." in str(Specialisation(2, 6, "work", (("b", 0.25),), 1, 3, 0, 1))
    assert str(TokenDecides(1, 2, 0.75, 0.5, ((0, 0.875), (1, 0.75)))) == (
        "Predicting, for each token, the 2 experts it went to most often is right for 75% of the choices in layer 1; "
        "predicting always the busiest, for 50%. By token it is right for 88% in layer 0, 75% in layer 1."
    )


def test_what_the_token_decides_in_the_chosen_layer(found):
    known = token_decides(found, (4, 5), 1, 2)
    counts = found.sent[1].tolist()
    busiest = sorted(sum(row[e] for row in counts) for e in range(4))[-2:]
    total = 2 * sum(found.seen.tolist())
    assert (known.layer, known.top_k) == (5, 2)
    assert known.by_token == pytest.approx(sum(sum(sorted(row)[-2:]) for row in counts) / total)
    assert known.by_load == pytest.approx(sum(busiest) / total)
    assert [layer for layer, _ in known.layers] == [4, 5]
    assert known.layers[1][1] == known.by_token != known.layers[0][1]


def test_words_of_a_scan(found):
    share = found.load[1, 2] / sum(found.load[1].tolist())
    assert scanned_share(found, 1, 2) == (f"over {found.tokens} tokens of held-out stories; {share:.0%} of all choices")
    probability = float(found.prob[0, 3, 1])
    assert excerpt_title(found, 0, 3, 1) == f"Piece 2: probability {probability:.3f} at the shaded token"


def test_the_file_gives_the_scan_back_and_is_explained_where_it_is_not(tmp_path, monkeypatch, found):
    monkeypatch.setattr(expert_scan, "PRETRAINED", tmp_path)
    with pytest.raises(CheckpointError, match=r"experts\.safetensors cannot be read.*training experts. makes it"):
        load_scan("mine")
    save_scan(tmp_path / "mine", found, "a licence")
    again = load_scan("mine")
    for name in ("ids", "seen", "sent", "load", "excerpts", "place"):
        assert np.array_equal(getattr(again, name), getattr(found, name))
    assert again.tokens == found.tokens
    assert again.prob == pytest.approx(found.prob, abs=1e-3)
    for most, kind in ((PADDING, np.uint16), (PADDING + 1, np.uint32)):
        save_scan(tmp_path / "mine", replace(found, sent=np.full_like(found.sent, most)), "a licence")
        assert load_file(tmp_path / "mine" / expert_scan.FILE)["sent"].dtype == kind, "as small as they fit"
        assert (load_scan("mine").sent == most).all()
    (tmp_path / "mine" / expert_scan.FILE).write_bytes(b"nonsense")
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_scan("mine")


class Letters:
    """A tokenizer of letters."""

    def encode(self, text):
        return [ord(c) % 61 for c in text]


def test_the_recipe_reads_the_held_out_stories_with_any_mixture(tmp_path, monkeypatch, model):
    folder = tmp_path / "corpus" / "tinystories"
    folder.mkdir(parents=True)
    (folder / "train.txt").write_text("Known.<|endoftext|>Other.", "utf-8")
    (folder / "valid.txt").write_text("Known.<|endoftext|>A cat sat.<|endoftext|>A dog ran to a cat.", "utf-8")
    monkeypatch.setattr(recipe, "with_tokenizer", lambda *_, **__: (model, Letters()))
    told_of_it = experts(tmp_path / "corpus", tmp_path / "made", print, recipe.ExpertsRecipe(kept=2, least=1))
    assert told_of_it["tokens read"] == len("A cat sat.") + len("A dog ran to a cat.")
    monkeypatch.setattr(expert_scan, "PRETRAINED", tmp_path)
    made = load_scan("made")
    assert made.tokens == told_of_it["tokens read"]
    assert "CDLA" in LICENCE
    monkeypatch.setattr(measures, "_shipped", lambda _: (model, Letters()))
    monkeypatch.setattr(measures, "load_expert_scan", lambda _: made)
    again = measures.of_expert_scan("made", tmp_path / "corpus")
    assert (again["tokens"], again["largest_difference"]) == (made.tokens, 0)
    assert RECIPES["experts"].recipe.model == "stories-moe"


@pytest.mark.parametrize(
    ("texts", "network", "message"),
    [([[1]], small.model(), "no experts"), ([[]], small.model(experts=ExpertsConfig(d_expert=4)), "no tokens")],
)
def test_nothing_to_scan_is_said(texts, network, message):
    with pytest.raises(ValueError, match=message):
        scan(network, texts, 2, 1)


SHIPPED = PRETRAINED / "stories-moe" / expert_scan.FILE


@pytest.mark.skipif("stories-moe" not in shipped() or not SHIPPED.is_file(), reason="stories-moe is not shipped yet")
def test_the_shipped_scan_belongs_to_the_shipped_model():
    model, _ = load("stories-moe", device="cpu")
    kept = load_scan("stories-moe")
    assert SHIPPED.stat().st_size < 300_000
    assert kept.load.shape == (4, 8)
    assert (kept.load.sum(-1) == 2 * kept.tokens).all()
    for at, expert in ((0, 2), (3, 5)):  # an excerpt read alone begins without what stood before: a first layer is near
        ids, place = kept.excerpt(at, expert, 0), int(kept.place[at, expert, 0])
        if not ids:
            continue
        probs = route(model, ids).probs[at, place, expert]
        assert float(probs) > 0.2 if at else float(probs) == pytest.approx(float(kept.prob[at, expert, 0]), abs=0.25)
    known = routing_accuracy(kept)
    assert (known.by_token > known.by_load).all()
    assert torch.is_grad_enabled()
