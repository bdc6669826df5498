"""A router in training: the same batches for all, numbers counted again by hand, remedies that do their work."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.nightly import nightly
from tests.one_property import told
from tfcore.model import Transformer
from tfcore.routing import importance_loss
from tfcore.training import pitfall_tasks
from tfcore.views.experts.balance import measure as balance
from tfcore.views.experts.balance.measure import (
    IDLE,
    N_EXPERTS,
    REMEDIES,
    BalanceConfig,
    BalanceEvaluation,
    ending,
    fact_floor,
    fact_stream,
    facts,
    load_entropy,
    over,
    texts,
    train_run,
    train_together,
)
from tfcore.views.experts.balance.say import (
    CROWDED,
    EVEN,
    NAMED,
    RemedyEffect,
    input_cosines,
    last_load,
    remedy_effect,
    run_ends,
)

SHORT = 6


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(balance, "ROWS", 4)
    monkeypatch.setattr(balance, "HELD_OUT", 2)
    monkeypatch.setattr(balance, "SEQ", 12)


def looks(**values) -> list[BalanceEvaluation]:
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


@nightly
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


@pytest.mark.usefixtures("unchecked")  # a training
def test_left_alone_one_expert_takes_over_and_the_loss_keeps_it_from_doing_so(monkeypatch):
    monkeypatch.setattr(balance, "HELD_OUT", 1)  # what is measured here is the load
    pairs = [p for p in train_together((BalanceConfig(steps=30), BalanceConfig(remedy="loss", steps=30))) if p]
    plain, cured = (ending(run) for run in zip(*pairs, strict=True))
    assert plain.largest > 0.6
    assert cured.largest < 0.45
    assert plain.overflow > cured.overflow
    assert all(a.step < b.step for (a, _), (b, _) in pairwise(pairs))


def test_added_positions_make_letters_alike_for_the_router(small):
    found = {where: balance.router_input_cosine(BalanceConfig(positions=where)) for where in ("sinusoidal", "rope")}
    assert found["sinusoidal"] > 0.5 > 0.3 > found["rope"]


def test_the_cosine_of_the_routers_inputs_is_a_mean_over_pairs(monkeypatch):
    monkeypatch.setattr(balance, "ROWS", 1)
    read = []
    original = F.normalize
    monkeypatch.setattr(F, "normalize", lambda x, dim: read.append(x) or original(x, dim=dim))
    found = balance.router_input_cosine(BalanceConfig())
    rows = original(read[0], dim=-1)
    n = len(rows)
    cosines = [float(rows[i] @ rows[j]) for i in range(n) for j in range(n) if i != j]
    assert found == pytest.approx(sum(cosines) / len(cosines), abs=1e-5)


# ---- findings ----


def random_run(rng: np.random.Generator, steps: range, written: float | None = None) -> list[BalanceEvaluation]:
    """Looks with random loads and losses."""
    looks = []
    for step in steps:
        load = rng.dirichlet(np.full(8, 0.15))
        lost, overflow, loss, held_out = rng.random(4).tolist()
        looks.append(BalanceEvaluation(step, load, 0.3 * load, lost, overflow, loss, held_out, written))
    return looks


def test_the_end_is_the_mean_of_the_last_tenth_of_the_steps():
    run = random_run(np.random.default_rng(0), range(10, 201, 5), 0.7)
    late = [look for look in run if look.step > 180]
    assert [look.step for look in late] == [185, 190, 195, 200]
    loads = [sum(float(look.load[i]) for look in late) / 4 for i in range(8)]
    end = ending(run)
    assert (end.step, end.expert, end.largest) == (200, loads.index(max(loads)), pytest.approx(max(loads)))
    assert end.idle == sum(share < 0.01 for share in loads) > 0
    for name in ("entropy", "lost", "overflow", "loss"):
        assert getattr(end, name) == pytest.approx(sum(getattr(look, name) for look in late) / 4)
    assert (end.held_out, end.written) == (run[-1].held_out, 0.7)


def test_the_sentences_of_a_training_with_and_without_a_remedy():
    crowded, even = np.eye(8)[4], np.full(8, 1 / 8)
    plain, cured = BalanceConfig(), BalanceConfig(remedy="loss")
    runs = {
        plain: [
            BalanceEvaluation(step, even if step <= 90 else crowded, 0 * even, 0.0, 0.0, 1.0, 0.9)
            for step in range(10, 101, 10)
        ],
        cured: [BalanceEvaluation(100, even, 0 * even, 0.2, 0.0, 1.0, 0.7, 1.1)],
    }
    assert str(remedy_effect(runs, cured)) == (
        "Expert 5 takes 100% of the characters without a remedy, and 7 of the others get next to nothing; with the "
        "auxiliary loss the busiest takes 12%: the load is even. 20% of its characters reach no expert. Held-out "
        "loss: 0.90 without, 0.70 with, and 1.10 character by character, as in generation."
    )
    assert str(last_load(cured, runs[cured])) == (
        "Load of 8 experts, auxiliary loss, α = 0.03: after 100 steps expert 1 takes 12% of the characters, 0 experts "
        "get less than 1 %, 20% of the characters reach no expert."
    )
    assert str(run_ends(runs)) == (
        "After 100 steps, no remedy: largest share 100%, entropy 0.00, held-out loss 0.90; auxiliary loss, α = 0.03: "
        "largest share 12%, entropy 1.00, held-out loss 0.70."
    )
    assert str(input_cosines({"rope": 0.125, "sinusoidal": 0.96})) == (
        "The mean cosine of the inputs of an untrained router at two positions is 0.96, with RoPE 0.12."
    )


@pytest.mark.parametrize(
    ("plain", "cured", "verdict"),
    [
        (0.9, 0.6, "that is no cure"),
        (0.9, 0.59, "better, not even"),
        (0.2, 0.2, "there was little to cure"),
        (0.25, 0.13, "the load is even"),
    ],
)
def test_verdicts(plain, cured, verdict):
    def end(share):
        load = np.full(8, (1 - share) / 7)
        load[3] = share
        return ending([BalanceEvaluation(10, load, 0 * load, 0.0, 0.0, 1.0, 1.0)])

    assert RemedyEffect(end(plain), end(cured), "with it").verdict == verdict


def test_what_is_exactly_at_a_limit_is_not_named():
    load = np.array([IDLE, 0.9 * IDLE, *6 * [0.1635]])

    def end(written, held_out=0.0):
        return ending([BalanceEvaluation(10, load, 0 * load, 0.0, 0.0, 1.0, held_out, written)])

    assert end(None).idle == 1
    at, above = (BalanceEvaluation(10, load, 0 * load, lost, 0.0, 1.0, 0.0) for lost in (NAMED, 1.1 * NAMED))
    assert "no expert" not in str(last_load(BalanceConfig(), [at]))
    assert "1% of the characters reach no expert" in str(last_load(BalanceConfig(), [above]))
    for written, named in ((0.01, False), (0.02, True), (-0.02, True)):
        assert ("in generation" in str(RemedyEffect(end(None), end(written), "with it"))) == named
    said = str(RemedyEffect(end(None), end(0.7, held_out=0.7), "with it"))
    assert said.endswith("little to cure. Held-out loss: 0.00 without, 0.70 with.")


def test_experts_choose_for_one_to_four_of_them_a_token():
    assert [BalanceConfig(remedy="experts", strength=k).experts.top_k for k in (1.0, 2.0, 3.0, 4.0)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"steps": 3_000}, "steps=3000"),
        ({"remedy": "experts", "strength": 5.0}, "must be 1, 2, 3 or 4 experts"),
        ({"strength": 0.1}, "strength=0.1"),
        ({"remedy": "experts", "strength": 1.5}, "1.5"),
        ({"remedy": "loss", "importance": 0.1}, "importance=0.1"),
        ({"steps": 0}, "steps=0"),
        ({"remedy": "loss", "strength": 100.5}, "strength=100.5"),
        ({"remedy": "loss", "strength": float("nan")}, "nan"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(values, word):
    with pytest.raises(ValueError, match=word):
        BalanceConfig(**values)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("plain", "largest", "entropy", "verdict"),
    [
        (0.9, CROWDED, 1.0, "that is no cure"),
        (1.9 / N_EXPERTS, 0.1, 1.0, "there was little to cure"),
        (2 / N_EXPERTS, 0.1, EVEN, "better, not even"),
        (2 / N_EXPERTS, 0.1, EVEN + 0.01, "the load is even"),
    ],
)
def test_what_a_remedy_did_to_the_load(plain, largest, entropy, verdict):
    ends = {"plain": SimpleNamespace(largest=plain), "cured": SimpleNamespace(largest=largest, entropy=entropy)}
    assert told(RemedyEffect, "verdict", **ends) == verdict
