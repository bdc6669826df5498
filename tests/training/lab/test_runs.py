"""What is said of a run, from planted curves and answers."""

import math

import numpy as np
import pytest
import torch

from tests import small
from tfcore.training.lab.curves import Curves, Evaluation, by_place, look
from tfcore.views.training.lab.say.runs import (
    RISEN,
    Generalisation,
    LowestLoss,
    generalisation,
    head_maps,
    last_check,
    last_gradient,
    lowest_loss,
    right_shares,
    right_tokens,
    run_ends,
    stage,
)


def curves(train_accuracy=(0, 0, 0), held_accuracy=(0, 0, 0), train_loss=(3, 2, 1), held_loss=(3, 2.5, 2), norm=(1, 2)):
    """Checks at steps 0, 100, 200 ... with these measures; steps with these norms."""
    n, steps = len(train_accuracy), len(norm)
    at = [(100 * i, train_loss[i], train_accuracy[i], held_loss[i], held_accuracy[i]) for i in range(n)]
    return Curves.of([(i + 1, 2.0, norm[i], 0.001 * (i + 1)) for i in range(steps)], at)


def a_look():
    ids = np.array([5, 6, 1, 2, 3, 4])
    share = np.array([1.0, 0.5, 0.5, 0.0], np.float32)
    patterns = np.zeros((2, 3, 5, 5), np.float32)
    forced, free = np.array([1, 2, 3, 0]), np.array([1, 0, 0, 0])
    return Evaluation(1_200, ids, 2, patterns, forced, share, free, share, share / 2)


def test_a_look_is_what_the_model_says_place_by_place():
    model, ids, start = small.model(), small.ids(3, 7), 3
    found = look(model, 5, ids, start)
    assert found.patterns.shape == (2, 6, 6, 6)
    given = ids[:1, :start]
    for place in range(4):
        p = model(ids[:1, : start + place]).logits[0, -1].softmax(-1)
        assert found.forced[place] == int(p.argmax())
        assert found.sure[place] == pytest.approx(float(p[ids[0, start + place]]), rel=1e-4)
        best = model(given).logits[:, -1:].argmax(-1)
        assert found.free[place] == int(best)
        given = torch.cat((given, best), 1)
    right = torch.tensor([[True, False], [True, True], [True, False]])
    assert by_place(right).tolist() == pytest.approx([1, 1 / 3])


def test_the_last_check_is_the_last_one():
    found = last_check(curves((0, 0.25, 0.75), (0.1, 0.2, 0.5), (3, 2, 1.5), (4, 3, 2.25)), 64)
    held, train = {"held_loss": 2.25, "held_accuracy": 0.5}, {"train_loss": 1.5, "train_accuracy": 0.75}
    assert found.values == {"step": 200, **held, **train, "vocab": 64, "uniform": pytest.approx(4.1589, abs=1e-4)}
    assert str(found) == (
        "Step 200: held-out loss 2.250 nats and accuracy 50%, on rows trained on 1.500 and 75%. A uniform guess costs "
        "ln 64 = 4.16."
    )


def test_a_text_is_judged_by_its_lowest_loss():
    rising = curves(held_loss=(3.0, 1.5, 2.0), train_loss=(3.0, 1.0, 0.25))
    found = lowest_loss(rising)
    assert (found.step, found.loss, found.held_loss, found.train_loss) == (100, 1.5, 2.0, 0.25)
    assert str(found) == (
        "The held-out loss was lowest at step 100, 1.50 nats. Since then it has risen to 2.00, while the loss on what "
        "it trains on fell to 0.25: it memorises the text."
    )
    assert stage(rising, "characters") == found
    falling = lowest_loss(curves(held_loss=(3.0, math.nan, 2.0)))
    assert str(falling) == "The held-out loss was lowest at step 200, 2.00 nats."
    assert not lowest_loss(curves(held_loss=(3.0, 1.5, 1.54))).memorises


@pytest.mark.parametrize(
    ("train", "held", "sentence"),
    [
        ((0.2, 0.5, 0.9), (0.1, 0.3, 0.94), "Not learned yet: now 94% of held-out tokens are right."),
        (
            (0.2, 0.95, 1.0),
            (0.1, 0.3, 0.5),
            "Memorised at step 100, not yet generalised: now 50% of held-out tokens are right.",
        ),
        (
            (0.2, 0.5, 0.96),
            (0.1, 0.95, 0.97),
            "Learned: 95% of held-out tokens right at step 100; now 97% of held-out tokens are right.",
        ),
        (
            (0.2, 1.0, 1.0, 1.0),
            (0.1, 0.3, 0.5, 0.99),
            "It reached 95% on training data at step 100 and on held-out data only at step 300: it memorised, then "
            "generalised (grokking).",
        ),
    ],
)
def test_when_a_run_memorised_and_when_it_generalised(train, held, sentence):
    losses = tuple(range(len(train)))
    run = curves(train, held, losses, losses)
    assert str(generalisation(run)) == sentence
    assert stage(run, "copy") == generalisation(run)


def test_grokking_is_late():
    assert "grokking" not in str(Generalisation(60, 110, 1.0))
    assert "grokking" in str(Generalisation(60, 111, 1.0))
    assert "grokking" not in str(Generalisation(200, 300, 1.0))
    assert "grokking" in str(Generalisation(200, 301, 1.0))


def test_the_answers_of_a_look():
    look = a_look()
    found = right_tokens(look)
    forced = sum(int(a == b) for a, b in zip(look.forced, look.ids[2:], strict=True))
    free = sum(int(a == b) for a, b in zip(look.free, look.ids[2:], strict=True))
    assert found.values == {"tokens": 4, "forced": forced, "free": free} == {"tokens": 4, "forced": 3, "free": 1}
    assert str(found) == "Of 4 tokens 3 are right with teacher forcing and 1 free-running."
    assert right_shares(look).values == {"forced": 0.5, "free": 0.25}
    assert str(right_shares(look)) == "50% right with teacher forcing, 25% free-running."
    assert str(head_maps(look)) == "Attention of 6 heads at step 1,200, on a held-out row of 5 tokens."


def test_the_last_step_of_a_run():
    run = curves(norm=(0.5, 3.0, 1.0, 2.0))
    found = last_gradient(run, 1.0)
    assert found.values == {"norm": 2.0, "clipped": 0.5, "lr": pytest.approx(0.004)}  # 1.0 itself is left as it is
    assert str(found) == "Gradient norm 2.00, clipped in 50% of the steps; learning rate 4.0e-03."
    assert last_gradient(run, 0.0).values["clipped"] == 0
    assert last_gradient(curves(norm=()), 1.0).values == {"norm": 0.0, "clipped": 0.0, "lr": 0.0}


def test_where_runs_end():
    named = [("seed 0", curves(held_accuracy=(0, 0.5, 0.75))), ("seed 1", curves(held_loss=(3, 1, 1.25)))]
    assert str(run_ends(named, accuracy=True)) == "Held-out accuracy: seed 0 ends at 75%; seed 1 ends at 0%."
    assert str(run_ends(named, accuracy=False)) == (
        "Held-out loss: seed 0 ends at 2.00 nats; seed 1 ends at 1.25 nats."
    )


def test_a_loss_has_risen_beyond_a_margin():
    assert [LowestLoss(1, 1.0, 1.0 + rise, 1.0).memorises for rise in (RISEN, 1.5 * RISEN)] == [False, True]
