"""What is said of the curves of a mistake, against planted curves."""

import pytest

from tfcore.training import pitfall_tasks as tasks
from tfcore.training.pitfalls import PitfallConfig, PitfallEvaluation
from tfcore.views.pitfall_remarks import _times, remarks, without_places

FLOOR, LETTERS = tasks.sentence_floor(), tasks.letter_loss()


def found(kind, *rows):
    """Rows of (step, losses, symptoms)."""
    return remarks(PitfallConfig(kind=kind), [PitfallEvaluation(*row) for row in rows])


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


def test_many_times_are_said_in_few_digits():
    words = ["9.9 times", "10 times", "99,999 times", "1e+05 times"]
    assert [_times(ratio, 1) for ratio in (9.9, 10, 99_999, 1e5)] == words
