"""A router in training: the same batches for all, numbers counted again by hand, remedies that do their work."""

from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tfcore.analysis.block import pitfall_tasks
from tfcore.analysis.experts import balance
from tfcore.analysis.experts.balance import (
    REMEDIES,
    BalanceConfig,
    Look,
    fact_floor,
    fact_stream,
    facts,
    load_entropy,
    over,
    texts,
    train_run,
    train_together,
)
from tfcore.analysis.experts.balance_findings import ending, finding
from tfcore.model import Transformer
from tfcore.routing import importance_loss

SHORT = 6


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(balance, "ROWS", 4)
    monkeypatch.setattr(balance, "HELD_OUT", 2)
    monkeypatch.setattr(balance, "SEQ", 12)


def looks(**values) -> list[Look]:
    return [look for look in train_run(BalanceConfig(**values)) if look is not None]


# ---- the language ----


def test_the_first_two_words_decide_the_others():
    text = pitfall_tasks.decode(fact_stream(300, torch.Generator().manual_seed(3)))
    said = {}
    for sentence in text.split(". ")[:-1]:
        first = tuple(sentence.split()[1:3])
        assert said.setdefault(first, sentence) == sentence
    assert len(facts()) == 64
    assert len(said) > 55


def test_the_floor_is_the_entropy_of_the_pairs_over_the_letters_they_take():
    text = pitfall_tasks.decode(fact_stream(20_000, torch.Generator().manual_seed(0)))
    assert fact_floor() == pytest.approx(np.log(64) / (len(text) / 20_000), rel=0.01)


def test_held_out_texts_are_others():
    found = texts(torch.Generator().manual_seed(0), 50, 50)
    assert not torch.equal(found.train[:500], found.held_out[:500])


# ---- the numbers ----


def test_entropy_and_overflow_by_hand():
    assert load_entropy(np.full(8, 1 / 8)) == pytest.approx(1)
    assert load_entropy(np.eye(8)[2]) == 0
    assert load_entropy(np.array([0.5, 0.5, 0, 0])) == pytest.approx(0.5)
    assert over(np.array([0.7, 0.3, 0, 0])) == pytest.approx(0.7 - 1.25 / 4)
    assert over(np.full(4, 1 / 4)) == 0


def test_the_importance_loss_is_that_of_a_sheet_of_paper():
    weights, indices = torch.tensor([[[0.6], [0.8], [0.4]]]), torch.tensor([[[0], [1], [0]]])
    importance = np.array([1.0, 0.8, 0.0])
    wanted = 0.1 * (importance.std() / importance.mean()) ** 2
    assert float(importance_loss(weights, indices, 3, 0.1)) == pytest.approx(wanted)
    even = importance_loss(torch.full((1, 3, 1), 0.5), torch.tensor([[[0], [1], [2]]]), 3, 0.1)
    assert float(even) == pytest.approx(0)


@pytest.mark.parametrize("remedy", ["none", *REMEDIES])
def test_shares_add_up_and_only_what_can_be_lost_is(small, remedy):
    for look in looks(remedy=remedy, steps=SHORT):
        assert look.load.sum() == pytest.approx(1)
        assert (look.refused <= look.load + 1e-9).all()
        assert look.refused.any() == (remedy == "capacity")
        if remedy == "capacity":
            assert look.lost == pytest.approx(look.refused.sum())
            assert (look.load - look.refused).max() <= 1.25 / 8 + 1e-6
        elif remedy != "experts":
            assert look.lost == 0
        else:
            assert np.ptp(look.load) == pytest.approx(0)
            assert 0 < look.lost < 1


def test_the_first_loss_is_that_of_the_untrained_model_on_the_first_batch(small):
    config = BalanceConfig(seed=3, steps=1)
    generator = torch.Generator().manual_seed(3)
    data = texts(generator)
    held_out = pitfall_tasks.text_batch(data.held_out, balance.HELD_OUT, balance.SEQ, generator)
    batch = pitfall_tasks.text_batch(data.train, balance.ROWS, balance.SEQ, generator)
    assert not torch.equal(held_out.ids[:2], batch.ids[:2])
    with torch.no_grad():
        output = Transformer(config.model, 3)(batch.ids, capture="blocks.0.mlp.router.probs")
    [look] = looks(seed=3, steps=1)
    assert look.loss == pytest.approx(float(F.cross_entropy(output.logits.flatten(0, 1), batch.targets.flatten())))
    chosen = output.activations["blocks.0.mlp.router.probs"].argmax(-1).flatten().bincount(minlength=8)
    assert look.load == pytest.approx((chosen / chosen.sum()).numpy())


def test_letter_by_letter_is_the_same_loss_unless_the_letters_of_a_batch_meet(small):
    for remedy in ("none", "loss", "bias"):
        last = looks(remedy=remedy, steps=SHORT)[-1]
        assert last.written == pytest.approx(last.held_out, abs=2e-6)
    for remedy in ("capacity", "experts"):
        last = looks(remedy=remedy, steps=SHORT)[-1]
        assert abs(last.written - last.held_out) > 1e-5


def test_noise_is_of_its_own_generator_so_that_a_run_can_be_had_again(small):
    first = looks(remedy="noise", steps=SHORT)
    torch.manual_seed(99)
    torch.rand(3)
    again = looks(remedy="noise", steps=SHORT)
    assert [look.loss for look in first] == [look.loss for look in again]
    assert first[-1].loss != looks(steps=SHORT)[-1].loss


def test_a_known_training_is_not_made_again(small, monkeypatch):
    plain, cured = BalanceConfig(steps=SHORT), BalanceConfig(remedy="loss", steps=SHORT)
    pairs = [pair for pair in train_together((plain, cured)) if pair]
    known = {plain: [pair[0] for pair in pairs]}
    asked = []
    monkeypatch.setattr(balance, "train_run", lambda config: asked.append(config) or train_run(config))
    again = [pair for pair in train_together((plain, cured), known) if pair]
    assert asked == [cured]
    assert [pair[0] for pair in again] == known[plain]
    assert [pair[1].loss for pair in again] == [pair[1].loss for pair in pairs]


def test_left_alone_one_expert_takes_over_and_the_loss_keeps_it_from_doing_so(monkeypatch):
    monkeypatch.setattr(balance, "HELD_OUT", 1)  # what is measured here is the load
    pairs = [p for p in train_together((BalanceConfig(steps=30), BalanceConfig(remedy="loss", steps=30))) if p]
    plain, cured = (ending(run) for run in zip(*pairs, strict=True))
    assert plain.largest > 0.6
    assert cured.largest < 0.45
    assert plain.overflow > cured.overflow
    assert all(a.step < b.step for (a, _), (b, _) in pairwise(pairs))


def test_added_positions_make_letters_alike_for_the_router(small):
    found = {where: balance.likeness(BalanceConfig(positions=where)) for where in ("sinusoidal", "rope")}
    assert found["sinusoidal"] > 0.5 > 0.3 > found["rope"]


# ---- what is said ----


def test_the_end_is_the_mean_of_the_last_tenth_and_the_sentence_says_its_numbers():
    crowded, even = np.eye(8)[4], np.full(8, 1 / 8)
    run = [Look(step, even if step <= 90 else crowded, 0 * even, 0.0, 0.0, 1.0, 0.9) for step in range(10, 101, 10)]
    end = ending(run)
    assert (end.expert, end.largest, end.idle, end.step) == (4, 1.0, 7, 100)
    cure = ending([Look(100, even, 0 * even, 0.2, 0.0, 1.0, 0.7, 1.1)])
    words = finding(end, cure, "with it")
    for part in ("Expert 5 takes 100%", "7 of the others", "busiest takes 12%", "even", "20%", "0.90", "0.70", "1.10"):
        assert part in words
    assert "no cure" in finding(end, end, "with it")


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"steps": 3_000}, "steps=3000"),
        ({"strength": 0.1}, "strength=0.1"),
        ({"remedy": "experts", "strength": 1.5}, "1.5"),
        ({"remedy": "loss", "importance": 0.1}, "importance=0.1"),
        ({"steps": 0}, "steps=0"),
        ({"remedy": "loss", "strength": float("nan")}, "nan"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(values, word):
    with pytest.raises(ValueError, match=word):
        BalanceConfig(**values)
