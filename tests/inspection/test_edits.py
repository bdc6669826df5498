"""Every kind of edit does what it says, to the part it names, in one pass."""

import re

import pytest
import torch

from tests.small import difference, ids, model
from tfcore.inspection.edits import Edit
from tfcore.kv_cache import KVCache


def activation(name, *edits, **options):
    subject = model(**options)
    return subject(ids(), capture=[name], edits=edits).activations[name]


NAME = "blocks.1.resid_pre"


def test_the_kinds_of_edit():
    before = activation(NAME)
    assert activation(NAME, Edit.zero(NAME)).count_nonzero() == 0
    assert difference(activation(NAME, Edit.scale(NAME, -2.0)), -2 * before) < 1e-6
    assert difference(activation(NAME, Edit.add(NAME, torch.ones(24))), before + 1) < 1e-6
    assert difference(activation(NAME, Edit.replace(NAME, before.flip(0))), before.flip(0)) == 0
    assert difference(activation(NAME, Edit(NAME, torch.abs)), before.abs()) == 0
    mean = before.mean((0, 1)).expand_as(before)
    assert difference(activation(NAME, Edit.mean(NAME)), mean) < 1e-6


def test_edits_follow_one_another_in_the_order_given():
    before = activation(NAME)
    edits = Edit.add(NAME, 1.0), Edit.scale(NAME, 3.0)
    assert difference(activation(NAME, *edits), 3 * (before + 1)) < 1e-5
    assert difference(activation(NAME, *edits[::-1]), 3 * before + 1) < 1e-5


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("blocks.0.attn.z", (slice(None), 4)),
        ("blocks.0.attn.k", (slice(None), 1)),
        ("blocks.0.attn.pattern", (slice(None), 4)),
        ("blocks.0.attn.result", (slice(None), slice(None), 4)),
    ],
)
def test_only_the_heads_named_are_changed(name, place):
    changed = activation(name, Edit.add(name, 7.0, heads=[1 if name.endswith("k") else 4]), n_kv_heads=3)
    expected = activation(name, n_kv_heads=3).clone()
    expected[place] += 7
    assert difference(changed, expected) < 1e-5


@pytest.mark.parametrize("name", ["blocks.0.attn.pattern", "blocks.0.attn.q", "blocks.0.attn.v"])
def test_heads_positions_and_rows_together_name_one_slice(name):
    edit = Edit.scale(name, 0.5, heads=(0, 5), positions=(2, 12), rows=(1,))
    expected = activation(name, n_kv_heads=6).clone()
    for head in (0, 5):
        for position in (2, 12):
            expected[1, head, position] *= 0.5
    assert difference(activation(name, edit, n_kv_heads=6), expected) < 1e-6


def test_the_mean_of_a_slice_is_over_its_own_rows_and_positions():
    name = "blocks.0.attn.z"
    before = activation(name)
    after = activation(name, Edit.mean(name, heads=(2,), positions=(0, 3)))
    mean = before[:, 2, [0, 3]].mean((0, 1))
    assert difference(after[:, 2, [0, 3]], mean.expand(2, 2, -1)) < 1e-6
    assert torch.equal(after[:, 3], before[:, 3])
    assert torch.equal(after[:, 2, 4:], before[:, 2, 4:])


REFUSED = {
    "pos_embed has no rows (seq d_model); leave rows=(0,) out of its edit": Edit.zero("pos_embed", rows=(0,)),
    "positions=(13,) of 'blocks.1.resid_pre' must be between 0 and 12": Edit.zero(NAME, positions=(13,)),
    "rows=(-1,) of 'blocks.1.resid_pre' must be between 0 and 1": Edit.zero(NAME, rows=(-1,)),
}


@pytest.mark.parametrize(("message", "edit"), REFUSED.items(), ids=list(REFUSED))
def test_a_slice_that_is_not_there_is_refused(message, edit):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model(positions="learned")(ids(), edits=[edit])


@pytest.mark.parametrize("window", [None, 4])
@pytest.mark.parametrize("name", ["resid_pre", "attn.k", "attn.v", "attn.z", "mlp.post"])
def test_edits_compose_with_the_cache(name, window):
    subject = model(window=window)
    edits = [Edit.scale(f"blocks.0.{name}", -1.0, positions=(3, 8, 9)), Edit.zero("blocks.1.attn.z", heads=(2,))]
    whole = subject(ids(), edits=edits).logits
    cache, parts = KVCache(subject.config, batch=2, device=subject.device), []
    for start, end in ((0, 5), (5, 9), (9, 10), (10, 13)):
        parts.append(subject(ids()[:, start:end], cache=cache, edits=edits).logits)
    assert difference(torch.cat(parts, 1), whole) < 1e-5
    assert difference(whole, subject(ids()).logits) > 1e-3
