"""That the leak test tells a leak from none, to the last bit."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.measures.leaks import Leak, leak_test, masked_outputs, replacement_for
from tfcore.measures.mask_patterns import MaskConfig

N = 13
CAUSAL_KINDS = ["causal", "window", "window_global", "dilated", "blocks"]


def text(n=N):
    return small.ids(1, n)[0].tolist()


def other(ids, position):
    return (ids[position] + 1) % small.BASE["vocab_size"]


@pytest.mark.parametrize("kind", CAUSAL_KINDS)
@pytest.mark.parametrize("position", [1, 6, N - 1])
def test_causal_masks_leak_nothing_to_the_last_bit(kind, position):
    ids = text()
    leak = leak_test(small.model(), ids, MaskConfig(kind=kind, window=3), position, other(ids, position))
    assert leak.equal
    assert leak.before == 0.0
    assert leak.reached == 0
    assert (leak.difference[:position] == 0).all()
    assert leak.difference[position] > 1e-3


@pytest.mark.parametrize("kind", ["causal", "bidirectional"])
def test_outputs_that_are_kept_serve_every_position(kind):
    ids, mask = text(), MaskConfig(kind=kind)
    kept = masked_outputs(small.model(), ids, mask)
    for position in (1, 6):
        args = small.model(), ids, mask, position, other(ids, position)
        again, anew = leak_test(*args, kept), leak_test(*args)
        np.testing.assert_array_equal(again.difference, anew.difference)
        assert (again.equal, again.reached, again.before) == (anew.equal, anew.reached, anew.before)


@pytest.mark.parametrize("kind", ["bidirectional", "padding"])
def test_without_causality_everything_before_changes(kind):
    ids = text()
    leak = leak_test(small.model(), ids, MaskConfig(kind=kind, padded=2), 6, other(ids, 6))
    assert not leak.equal
    assert leak.before > 1e-3
    assert leak.reached == 6


def test_prefix_lm_leaks_inside_the_prefix_only():
    ids, config = text(), MaskConfig(kind="prefix", prefix=6)
    assert leak_test(small.model(), ids, config, 5, other(ids, 5)).reached == 5
    assert leak_test(small.model(), ids, config, 6, other(ids, 6)).equal


def test_padding_itself_reaches_nobody():
    ids, config = text(), MaskConfig(kind="padding", padded=3)
    leak = leak_test(small.model(), ids, config, N - 2, other(ids, N - 2))
    assert leak.equal
    assert leak.difference[N - 1] == 0
    assert leak_test(small.model(), ids, MaskConfig(kind="padding", and_causal=True), 4, other(ids, 4)).equal


def test_the_step_by_step_path_leaks_nothing_either():
    model, ids = small.model(), small.ids(1, N)
    changed = ids.clone()
    changed[0, 7] = other(ids[0].tolist(), 7)
    first, second = (model(row, capture=small.ALL_PATTERNS).logits[0, :7] for row in (ids, changed))
    assert torch.equal(first, second)


@pytest.mark.parametrize(("position", "replacement", "named"), [(0, 1, "position=0"), (N, 1, f"position={N}")])
def test_positions_without_a_before_are_refused(position, replacement, named):
    with pytest.raises(ValueError, match=f"{named} must be between 1 and {N - 1}, with a token before it"):
        leak_test(small.model(), text(), MaskConfig(), position, replacement)


def test_a_replacement_that_changes_nothing_is_refused():
    ids = text()
    with pytest.raises(ValueError, match="stands at 4"):
        leak_test(small.model(), ids, MaskConfig(), 4, ids[4])


def test_replacement_is_never_the_token_itself():
    table = {" dragon": [7], " red": [3, 4], " she": [9]}
    encode = lambda word: table.get(word, [1, 2])  # noqa: E731
    assert replacement_for(encode, 5) == 7
    assert replacement_for(encode, 7) == 9
    bytes_only = lambda word: list(word.encode())  # noqa: E731
    assert all(replacement_for(bytes_only, i) != i for i in range(256))


def test_a_leak_is_told_from_none():
    none, some = Leak(20, np.zeros(30), 0.0, True, 0), Leak(20, np.zeros(30), 0.01234, False, 7)
    assert (none.before_text, none.verdict) == ("0.0", "equal to the last bit")
    assert (some.before_text, some.verdict) == ("0.0123", "7 of 20 earlier positions changed")
