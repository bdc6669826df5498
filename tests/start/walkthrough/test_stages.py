"""What is said of each stage of a walk, against loops over planted tensors."""

import numpy as np
import pytest

from tests import small
from tfcore.views.start.walkthrough.measure.tensors import ShownTensor, StageTensors
from tfcore.views.start.walkthrough.measure.walk import walk
from tfcore.views.start.walkthrough.say import stages as findings
from tfcore.views.start.walkthrough.say.stages import SizeRange, stage_finding

TOKENS = ["a", " b", "c", " d"]
RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def walked():
    return walk(small.model(n_kv_heads=3), [1, 2, 3, 4], 1, position=2)


def tensor(values, **more):
    values = np.asarray(values, dtype=float)
    return ShownTensor(title="x", role="norm", values=values, axes=("seq", "d_model"), shape=values.shape, **more)


def said(walked, stage, before, after):
    before, after = (part if isinstance(part, tuple) else (part,) for part in (before, after))
    return stage_finding(walked, StageTensors(before=before, after=after), stage, TOKENS)


def sizes(values):
    rows = [(sum(v * v for v in row) / len(row)) ** 0.5 for row in values.tolist()]
    return pytest.approx((min(rows), max(rows)))


def test_rows_of_the_table_and_their_sizes(walked):
    values = RANDOM.normal(size=(4, 5))
    found = said(walked, "embedding", tensor(np.ones((4, 1))), tensor(values))
    assert tuple(found.values["sizes"]) == sizes(values)
    least, most = found.values["sizes"]
    assert str(found) == (
        f"4 rows of a table of {walked.config.vocab_size:,} were read, {walked.config.d_model} numbers each; their "
        f"size (root mean square) is {least:.2f} to {most:.2f}."
    )


@pytest.mark.parametrize("stage", ["norm-1", "norm-2-after", "final-norm", "qk-norm", "scaling"])
def test_sizes_before_and_after(walked, stage):
    before, after = RANDOM.normal(size=(4, 5)), RANDOM.normal(size=(4, 5))
    found = said(walked, stage, tensor(before), tensor(after))
    assert tuple(found.values["before"]) == sizes(before)
    assert tuple(found.values["after"]) == sizes(after)
    small, large = (f"{size:.2f}" for size in found.values["before"])
    assert str(found).startswith(f"Size of a token's vector (root mean square): {small} to {large} before, ")
    assert str(SizeRange(0.5, 2.0)) == "0.50 to 2.00"


@pytest.mark.parametrize("stage", ["positions", "add-1", "add-2"])
def test_what_is_added_is_compared_with_the_stream(walked, stage):
    found = said(walked, stage, (tensor(np.full((4, 5), 4.0)), tensor(np.full((4, 5), -1.0))), tensor(np.ones((4, 5))))
    assert str(found) == "What is added has 25% of the stream's size (root mean square 1.00 and 4.00)."


def test_numbers_of_each_token_are_counted_over_all_pieces(walked):
    found = said(walked, "up", tensor(np.ones((4, 5))), (tensor(np.ones((4, 7))), tensor(np.ones((4, 7)))))
    assert str(found) == "Each token's 5 numbers became 14."


def test_columns_of_a_head(walked):
    config = walked.config
    split = said(walked, "heads", tensor(np.ones((4, 48)), framed=(8, 16)), tensor(np.ones((4, 8))))
    assert str(split) == (
        f"{config.attention.n_heads} heads of {config.head_size} numbers each, of which 3 pairs of K and V are shared; "
        "this one took columns 8 to 15 of Q."
    )
    alike = walk(small.model(), [1, 2], 1)
    assert "shared" not in str(said(alike, "heads", tensor(np.ones((4, 48)), framed=(8, 16)), tensor(np.ones((4, 8)))))
    joined = said(walked, "concat", tensor(np.ones((4, 8))), tensor(np.ones((4, 48)), framed=(8, 16)))
    assert str(joined) == (
        f"{config.attention.n_heads} heads of {config.head_size} numbers make 48; this head's are 8 to 15."
    )


def test_how_far_the_first_and_the_last_position_moved(walked):
    before = np.zeros((4, 2))
    before[:, 0] = 1.0
    after = before.copy()
    after[0], after[3] = (0.9, 0.0), (0.6, 0.8)
    found = said(walked, "rotation", tensor(before), tensor(after))
    assert (
        str(found) == "Position 0 moved by 0.10 at most, position 3 by up to 0.80; the lengths stayed, to within 1e-01."
    )
    after[0] = (1.0, 0.0)
    turned = said(walked, "rotation", tensor(before), tensor(after))
    assert str(turned).endswith("the lengths stayed, but for rounding.")


def test_the_largest_score_is_of_its_query_and_key(walked):
    scores = RANDOM.normal(size=(4, 4))
    scores[1, 2] = 9.5
    found = said(walked, "scores", tensor(scores), tensor(scores, columns="key"))
    assert str(found) == "16 scores, one for each pair; the largest is that of '·b' (1) for 'c' (2): 9.50."


@pytest.mark.parametrize("stage", ["scaled", "bias"])
def test_the_spread_before_and_after(walked, stage):
    found = said(walked, stage, tensor([[1.0, 3.0]]), tensor([[1.0, 2.0]]))
    assert str(found) == "Standard deviation of this head's scores: 1.00 before, 0.50 after."


def test_masked_scores_are_counted(walked):
    blocked = np.triu(np.ones((4, 4), dtype=bool), 1)
    found = said(walked, "mask", tensor(np.ones((4, 4))), tensor(np.ones((4, 4)), blocked=blocked))
    assert str(found) == "6 of 16 scores became minus infinity."


def test_the_last_token_and_what_it_attends_to(walked):
    weights = np.full((4, 4), 0.1)
    weights[3, 1], weights[0, 2] = 0.7, 0.9
    softmax = said(walked, "softmax", tensor(np.ones((4, 4))), tensor(weights))
    assert str(softmax) == "The last token, '·d', attends most to '·b' (1), with the weight 0.70; each row sums to 1."
    values = said(walked, "values", (tensor(weights), tensor(np.ones((4, 8)))), tensor(np.ones((4, 8))))
    assert str(values) == (
        "Each row is an average of rows of V; that of '·d' mixes 4 of them, '·b' with the weight 0.70."
    )


def test_a_window_lets_fewer_values_through():
    windowed = walk(small.model(window=2), [1, 2, 3, 4], 1)
    weights = windowed.tensors["attn.pattern"][0]
    found = said(windowed, "values", (tensor(weights), tensor(np.ones((4, 8)))), tensor(np.ones((4, 8))))
    assert found.values["mixed"] == (weights[3] > 0).sum() == 2


def test_what_is_said_of_an_activation(walked):
    found = said(walked, "activation", tensor([[1.0, -1.0, -2.0, -3.0]]), tensor([[2.0, 0.0, 0.0, 0.1]]))
    assert str(found) == (
        "25% of the values were above 0 before; afterwards 75% are near 0 (below a tenth of their root mean square) "
        "and 25% exceed the root mean square."
    )


def test_an_activation_of_nothing_is_nothing():
    found = findings.activity(np.zeros(3), np.zeros(3))
    assert (found.values["positive"], found.values["near_zero"], found.values["large"]) == (0, 0, 0)


def test_the_expert_of_the_last_token(walked):
    shares = np.array([[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.25, 0.55]])
    found = said(walked, "router", tensor(np.ones((4, 5))), tensor(shares))
    assert str(found) == "For the last token, '·d', expert 2 has the highest probability: 0.55."


def test_what_a_picture_shows_and_how_its_colours_are_read():
    signed, shares = tensor(np.ones((4, 5))), tensor(np.ones((4, 4)), weights=True, columns="key")
    found = findings.stage_picture("before", "values", (shares, signed), 1.5)
    assert str(found) == (
        "Before stage values: x (seq, d_model) = (4, 4), x (seq, d_model) = (4, 5). Red above 0, blue below, full "
        "colour from ±1.5. Violet: a weight from 0 to 1."
    )
    assert "Red" not in str(findings.stage_picture("after", "softmax", (shares,), 1.0))
    ids = tensor(np.ones((4, 1)), columns="id")
    assert str(findings.stage_picture("before", "embedding", (ids,), 1.0)) == (
        "Before stage embedding: x (seq, d_model) = (4, 1)."
    )
