"""Attention over an encoder's states: its formula in loops, what it is given, and findings read off a look."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tfcore.training.recurrent import alignment
from tfcore.training.recurrent.alignment import LENGTHS, AlignmentConfig, AlignmentEvaluation, EncoderDecoder, Side
from tfcore.views.foundations.recurrence import say


def test_additive_attention_is_its_formula():
    generator = torch.Generator().manual_seed(0)
    query, v = torch.randn(1, 3, generator=generator), torch.randn(3, generator=generator)
    keys, values = torch.randn(1, 4, 3, generator=generator), torch.randn(1, 4, 2, generator=generator)
    scores = [sum(float(v[k]) * math.tanh(float(query[0, k] + keys[0, j, k])) for k in range(3)) for j in range(4)]
    powers = [math.exp(score) for score in scores]
    weights = [power / sum(powers) for power in powers]
    context, found = alignment.additive_attention(query, keys, values, v)
    assert found[0].tolist() == pytest.approx(weights, rel=1e-5)
    expected = [sum(weights[j] * float(values[0, j, i]) for j in range(4)) for i in range(2)]
    assert context[0].tolist() == pytest.approx(expected, rel=1e-5)


def test_both_networks_are_the_same_but_for_the_alignment():
    plain, attending = EncoderDecoder(6, attention=False, seed=1), EncoderDecoder(6, attention=True, seed=1)
    shared, more = plain.state_dict(), attending.state_dict()
    assert set(more) - set(shared) == {"query.weight", "key.weight", "v"}
    assert all(torch.equal(shared[name], more[name]) for name in shared)
    ids = alignment.letters(2, 5, 0)
    assert plain(ids)[1].shape == (2, 0, 5)
    logits, weights = attending(ids)
    assert (logits.shape, weights.shape) == ((2, 5, 26), (2, 5, 5))
    assert torch.allclose(weights.sum(-1), torch.ones(2, 5))


def test_free_running_reads_what_it_wrote():
    """Given as the right letters, its own letters change nothing."""
    model, ids = EncoderDecoder(6, attention=True, seed=2), alignment.letters(3, 6, 1)
    free, _ = model(ids)
    assert torch.allclose(model(ids, free.argmax(-1))[0], free, atol=1e-6)
    assert not torch.allclose(model(ids, (free.argmax(-1) + 1) % 26)[0], free, atol=1e-6)


def test_what_is_wanted():
    ids = torch.tensor([[1, 2, 3]])
    assert alignment.wanted(ids, "copy").tolist() == [[1, 2, 3]]
    assert alignment.wanted(ids, "reverse").tolist() == [[3, 2, 1]]
    assert alignment.sources(3, "reverse").tolist() == [2, 1, 0]


def test_right_letters_are_counted_at_every_length(monkeypatch):
    monkeypatch.setattr(alignment, "TESTED", 4)
    model = EncoderDecoder(6, attention=False)
    monkeypatch.setattr(model, "forward", lambda ids: (torch.nn.functional.one_hot(ids, 26), None))
    assert alignment.right_letters(model, "copy") == (1.0,) * len(LENGTHS)
    assert max(alignment.right_letters(model, "reverse")) < 0.5


def test_a_place_is_followed_where_the_largest_weight_is_at_most_one_letter_off(monkeypatch):
    monkeypatch.setattr(alignment, "TESTED", 4)
    length, written = LENGTHS[-1], 5
    looked_at = torch.arange(length).expand(4, -1).clone()
    looked_at[:, written] += torch.tensor([0, 1, -1, 2])
    model = EncoderDecoder(6, attention=True)
    monkeypatch.setattr(model, "forward", lambda *_: (None, torch.nn.functional.one_hot(looked_at, length)))
    followed = alignment.followed_places(model, "copy")
    assert followed[written] == 0.75
    assert {*followed[:written], *followed[written + 1 :]} == {1.0}


def test_a_training_goes_down_and_looks_come(monkeypatch):
    monkeypatch.setattr(alignment, "LENGTHS", (2, 3))
    monkeypatch.setattr(alignment, "TRAINED", (2, 3))
    monkeypatch.setattr(alignment, "ROWS", 16)
    monkeypatch.setattr(alignment, "TESTED", 2)
    monkeypatch.setattr(alignment, "LOOKS", 1)
    looks = [look for look in alignment.align(AlignmentConfig(width=24, steps=30)) if look is not None]
    assert [looks[0].step, looks[-1].step] == [1, 30]
    assert looks[-1].attending.loss < looks[0].attending.loss - 0.1
    assert looks[-1].plain.loss < looks[0].plain.loss - 0.1
    assert len(looks[-1].followed) == 3
    back = alignment.from_json(alignment.to_json(looks[-1]))
    assert back.plain == looks[-1].plain
    assert np.abs(back.alignment - looks[-1].alignment).max() < 1e-4


@pytest.mark.parametrize(("steps", "looks", "expected"), [(4, 5, [1, 2, 3, 4]), (5, 2, [1, 2, 4, 5])])
def test_looks_come_at_the_first_step_every_few_and_at_the_last(steps, looks, expected, monkeypatch):
    for name, value in {"LENGTHS": (2,), "TRAINED": (2, 2), "ROWS": 1, "TESTED": 1, "LOOKS": looks}.items():
        monkeypatch.setattr(alignment, name, value)
    config = AlignmentConfig(width=4, steps=steps)
    assert alignment.aligned(config).step == steps
    found = list(alignment.align(config))
    assert [look and look.step for look in found] == [i if i in expected else None for i in range(1, steps + 1)]


def made(read=(5, 6, 7), wrote=(7, 6, 0), **changes):
    weights = np.array([[0.0, 0.1, 0.9], [0.6, 0.4, 0.0], [0.0, 0.0, 1.0]])
    side = Side(loss=1.0, by_length=tuple(n / 100 for n in LENGTHS), seconds=1.0)
    look = AlignmentEvaluation(
        step=9,
        plain=side,
        attending=replace(side, by_length=tuple(1 - n / 100 for n in LENGTHS)),
        read=read,
        wrote=wrote,
        alignment=weights,
        followed=(1.0,) * 10 + (0.5,) * 10,
    )
    return replace(look, **changes)


def test_findings_are_read_off_a_look():
    said = say.right_by_length(made())
    assert str(said) == (
        "After 9 steps, free-running: of 10 letters 10% are right from one vector and 90% with attention; of 20 "
        "letters 20% are right from one vector and 80% with attention. The longest rows in training have 10 letters."
    )
    letters = say.aligned_letters(made(), "reverse")
    assert letters.values == {"letters": 3, "right": 2, "near": 2, "exact": 1}
    assert str(letters).startswith("Of 3 letters written 2 are right. 2 have their largest weight on the letter")
    assert say.aligned_letters(made(), "copy").values == {"letters": 3, "right": 1, "near": 2, "exact": 1}
    followed = (made().followed, (1.0,) * 10 + (0.9,) * 10)
    some = tuple(made().attending.by_length for _ in followed)
    repeats = alignment.AlignmentRepeats((0, 1), (made().plain.by_length, some[0]), some, followed)
    place = say.place_kept(repeats)
    assert (place.trained, place.letters, place.first, place.rest) == (10, 20, (1.0, 1.0), (0.5, pytest.approx(0.9)))
    assert str(place).startswith("The alignment loses its place with 1 of 2 seeds. In rows of 20 letters")
    assert "for 100% of the first 10 written, and for 50% to 90% of those after (over 2 seeds)" in str(place)
    limit = say.LOST
    assert [replace(place, first=(share,), rest=(0.0,)).lost for share in (limit, 2 * limit)] == [0, 1]
    every = say.place_kept(replace(repeats, followed=followed[:1]))
    assert str(every).startswith("The alignment loses its place, with each of 1 seeds.")
    assert say.alignment_spread(repeats).sentence == (
        "Over 2 seeds, of 10 letters 50% (10% to 90%) are right from one vector and 90% (90%) with attention, which is "
        "more with 1 of 2 seeds."
    )


@pytest.mark.parametrize("order", alignment.ORDERS)
def test_what_ships_shows_what_the_page_says(order):
    kept = alignment.kept_alignment(order)
    assert kept.step == AlignmentConfig().steps
    said = say.right_by_length(kept).values
    assert said["attending"] > 0.9 > 0.6 > said["plain"]  # attention helps most where one vector has to hold much
    assert kept.plain.by_length[0] > 0.95
    assert say.aligned_letters(kept, order).values["near"] >= 8  # a diagonal
    repeats = alignment.kept_alignment_repeats(order)
    assert repeats.seeds == (0, 1, 2)
    assert repeats.attending[0] == pytest.approx(kept.attending.by_length, abs=1e-4)  # the one that is shown
    assert repeats.followed[0] == pytest.approx(kept.followed, abs=1e-4)
    spread = say.alignment_spread(repeats).values
    assert spread["more"] == 3
    assert min(spread["attending"]) > 0.85 > 0.5 > max(spread["plain"])
    place = say.place_kept(repeats)
    assert place.lost == {"copy": 1, "reverse": 3}[order]
    for row, first, rest in zip(repeats.followed, place.first, place.rest, strict=True):
        assert (first, rest) == (pytest.approx(np.mean(row[:10])), pytest.approx(np.mean(row[10:])))


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="steps=5000 must be between 2 and 1,200"):
        AlignmentConfig(steps=5_000)
