"""What is said of the curves of a mistake, against planted curves."""

import pytest

from tfcore.analysis.block import pitfalls
from tfcore.analysis.block.pitfall_findings import (
    SYMPTOMS,
    Compared,
    HalfPrecision,
    compare_losses,
    compare_symptoms,
    finding,
    half_precision,
    without_places,
)
from tfcore.analysis.block.pitfalls import KINDS, Look, PitfallConfig
from tfcore.training import pitfall_tasks as tasks

FLOOR, LETTERS = tasks.sentence_floor(), tasks.letter_loss()


def found(kind, *rows):
    """Rows of (step, losses, symptoms)."""
    return finding(PitfallConfig(kind=kind), [Look(*row) for row in rows])


FIRST = (0, (3.2, 3.1), (0.72, 0.02))
LAST = (100, (2.4, 0.9), (8.0, 0.5))


@pytest.mark.parametrize(
    ("kind", "symptom", "text"),
    [
        ("mask", (8.0, 0.5), "with the mask on, as in generation: 8.00"),
        ("axis", (8.0, 0.5), "each text by itself, as in use: 8.00"),
        ("skip", (2e-7, 0.5), "gradient at the first block: 2e-07, 2e+06 times less than the baseline's"),
        ("skip", (0.0, 0.5), "gradient at the first block: 0e+00, infinitely many times less than the baseline's"),
        ("final", (36.0, 0.5), "the stream had to grow 50 times"),
        ("positions", (0.36, 0.99), "36% of the symbols right, the baseline 99%"),
        ("rate", (8.0, 2.0), "weights 4.0 times as large as the baseline's"),
        ("half", (0.85, 0.012), "85% of the gradients have become 0, with loss scaling 1.2%"),
    ],
)
def test_the_remark_on_the_symptom_is_of_the_last_look(kind, symptom, text):
    note = found(kind, FIRST, (100, (2.4, 0.9), symptom)).symptom
    assert (note.step, note.value, note.text) == (100, symptom[0], text)


def test_a_saturated_softmax_is_remarked_at_the_start():
    note = found("scale", FIRST, LAST).symptom
    assert (note.step, note.value, note.text) == (0, 0.72, "from the start one key gets 72% of the attention")


@pytest.mark.parametrize(
    ("kind", "rows", "step", "value", "text"),
    [
        ("mask", [FIRST, (60, (0.05, 0.9), (1.0, 1.0))], 60, 0.05, f"0.05: below the {FLOOR:.2f} that a causal model"),
        ("mask", [FIRST, (20, (2.0, 1.9), (1.0, 1.0))], 20, 2.0, "2.00 beside 1.90 of the baseline"),
        ("axis", [FIRST, LAST], 100, 2.4, "2.40 in the batch: nothing seems wrong"),
        ("positions", [FIRST, LAST], 100, 2.4, "2.40: has the symbols, not their order"),
        ("rate", [FIRST, (10, (9.0, 2.0), (1.0, 1.0)), LAST], 10, 9.0, "leaps to 9.0, ends at 2.40"),
        ("rate", [FIRST, (20, (4.1, 4.0), (1.0, 1.0))], 20, 4.1, "4.10 beside 4.00 of the baseline"),  # 1.3 x 3.1 < 4.1
        ("rate", [(0, (10.0, 9.0), (1.0, 1.0)), (20, (13.0, 9.0), (1.0, 1.0))], 20, 13.0, "13.00 beside 9.00"),
        ("rate", [(0, (10.0, 9.0), (1.0, 1.0)), (20, (14.0, 9.0), (1.0, 1.0))], 20, 14.0, "leaps to 14.0"),
        ("mask", [FIRST, (60, (FLOOR, FLOOR), (1.0, 1.0))], 60, FLOOR, f"{FLOOR:.2f} beside {FLOOR:.2f}"),
        ("half", [FIRST, (39, (1.9, 0.9), (1.0, 1.0))], 39, 1.9, "1.90 beside 0.90 of the baseline"),
        ("half", [FIRST, (40, (1.9, 0.9), (1.0, 1.0))], 40, 1.9, "1.90, where the baseline was at step 40"),
        ("skip", [FIRST, (60, (LETTERS - 0.15, 0.9), (1.0, 1.0))], 60, LETTERS - 0.15, "where the baseline was at"),
        ("half", [FIRST, (100, (1.0, 0.9), (1.0, 1.0))], 100, 1.0, "1.00 beside 0.90 of the baseline"),
        (
            "skip",
            [FIRST, (100, (LETTERS, 0.9), (1.0, 1.0))],
            100,
            LETTERS,
            f"no better than a unigram model ({LETTERS:.2f}",
        ),
        (
            "final",
            [FIRST, (20, (3.0, 1.9), (1.0, 1.0)), (40, (2.5, 1.2), (1.0, 1.0)), (60, (2.0, 0.9), (1.0, 1.0))],
            60,
            2.0,
            "2.00, where the baseline was at step 20",
        ),
    ],
)
def test_the_remark_on_the_loss(kind, rows, step, value, text):
    note = found(kind, *rows).loss
    assert (note.step, note.value) == (step, value)
    assert text in note.text


def test_what_is_said_is_both_remarks():
    assert str(found("axis", FIRST, LAST)) == (
        "Loss of the broken model 2.40 in the batch: nothing seems wrong; each text by itself, as in use: 8.00."
    )


def test_losses_to_compare_with():
    assert found("skip", FIRST).marks == ((LETTERS, "unigram model"), (FLOOR, "best causal model"))
    assert found("positions", FIRST).marks == ((without_places(), "best without positions"),)


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_numbers_of_both_models(kind):
    looks = [Look(*FIRST), Look(50, (2.8, 2.0), (4.0, 0.2)), Look(*LAST)]
    shown = finding(PitfallConfig(kind=kind), looks)
    loss, symptom = compare_losses(shown, looks, "a mistake"), compare_symptoms(shown, looks, kind, "a mistake")
    assert (loss.step, loss.broken, loss.baseline, loss.remark) == (100, 2.4, 0.9, shown.loss.text)
    assert (symptom.step, symptom.broken, symptom.baseline) == (100, 8.0, 0.5)
    assert symptom.remark == shown.symptom.text
    assert symptom.what.lower() == SYMPTOMS[kind].title.lower()


def test_what_is_said_of_both_models():
    assert str(Compared("Training loss", "no mask", 40, 0.05, 1.2345, "below the floor")) == (
        "Training loss after 40 steps, no mask: 0.05 with the mistake, 1.23 without. Below the floor."
    )


def test_float16_is_emulated_with_the_batches_of_the_dose(monkeypatch):
    monkeypatch.setattr(pitfalls, "ROWS", 4)
    monkeypatch.setattr(pitfalls, "SEQ", 10)
    assert half_precision(PitfallConfig(kind="half", dose=16)) == HalfPrecision(40, 16, 65_536.0)
    assert str(HalfPrecision(768, 4096, 65_536.0)).endswith(
        "One batch of 768 letters stands for each of the 4,096 of a step (3,145,728 letters), so the loss is divided "
        "by 4,096 before the backward pass and the weights' gradients are multiplied by it afterwards, as if all of "
        "them had been summed. The baseline multiplies the loss by 65,536 first."
    )


def test_a_training_to_the_end_has_all_looks():
    config = PitfallConfig(kind="positions", steps=6)
    looks = pitfalls.train_to_the_end(config)
    assert [look.step for look in looks] == [0, 5, 6]
    assert looks == [look for look in pitfalls.train_twins(config) if look is not None]
