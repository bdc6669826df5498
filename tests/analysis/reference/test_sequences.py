"""What is said of sequences, against counts by hand."""

import pytest

from tfcore.analysis.foundations.token_counts import SEQUENCES
from tfcore.analysis.reference.history import length_range, sequence_length


def test_an_image_is_counted_by_hand():
    found = sequence_length("image", {"side": 224, "patch": 16})
    assert (found.tokens, found.scores, found.is_published) == (197, 197 * 197, True)
    d, layers, n = 768, 12, 197
    assert found.quadratic_share == pytest.approx(4 * n * d / (4 * n * d + 24 * d * d), rel=1e-6), layers
    assert str(found) == f"{found.name} as in {found.model}: 197 tokens, so 38,809 scores per head."
    assert (found.tokens_text, found.scores_text) == ("197", "38,809")
    small = sequence_length("image", {"side": 224, "patch": 8})
    assert str(small) == (f"{small.name}, cut your way ({small.model}: 197): 785 tokens, so 616,225 scores per head.")
    assert small.share_text == f"{100 * small.quadratic_share:.1f}%"


def test_the_range_is_that_of_a_loop():
    lengths = sorted((one.published(), one.name, one.model) for one in SEQUENCES.values())
    found = length_range()
    assert (found.shortest, found.longest) == (lengths[0], lengths[-1])
    (low, first, reads), (high, last, other) = lengths[0], lengths[-1]
    assert str(found) == (
        f"From the {low:,} tokens of “{first}” ({reads}) to the {high:,} tokens of “{last}” ({other}) is a factor of "
        f"{high / low:.0f}."
    )
