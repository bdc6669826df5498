"""One way at a time closed: in a circuit wired by hand only the keys matter, and closing all is switching off."""

import pytest
import torch

from tests import small
from tests.analysis.foundations.test_heads import wired
from tfcore.analysis.inside.circuits import edits_without_senders, patch_paths
from tfcore.analysis.inside.induction_heads import copying, random_rows, twice


def test_only_the_keys_carry_what_the_previous_token_head_wrote():
    model, ids = wired(), twice(random_rows(200, 12, 4, 0))
    by = {one.door: one for one in patch_paths(model, ids, 12, [(0, 0)], [(1, 0)])}
    assert by["none"].induction > 0.85
    assert by["none"].second_loss < 0.3 * by["none"].first_loss
    for open_way in ("query", "value"):
        assert by[open_way].induction == pytest.approx(by["none"].induction, abs=0.02)
    for closed in ("key", "all"):
        assert by[closed].induction < 0.3
        assert by[closed].second_loss > 2 * by["none"].second_loss


def test_ends_are_the_whole_model_and_the_model_without_the_heads():
    model, ids = small.model(n_kv_heads=3), twice(random_rows(61, 8, 2, 0))
    found = patch_paths(model, ids, 8, [(0, 1), (0, 2)], [(1, 3)])
    assert [one.door for one in found] == ["none", "query", "key", "value", "all"]
    assert found[0].second_loss == copying(model, ids, 8).second_loss
    assert found[-1].second_loss == copying(model, ids, 8, [(0, 1), (0, 2)]).second_loss


def test_a_deaf_receiver_has_the_queries_of_a_run_without_the_senders():
    model, ids = small.model(n_kv_heads=3), small.ids(2, 9)
    edits = edits_without_senders(model, ids, [(0, 4)], [(1, 3)])
    assert {edit.name for edit in edits} == {f"blocks.1.attn.{part}" for part in "qkv"}
    without_sender = [edit for edit in edits if edit.name.endswith(".q")]
    w = model.decoder.blocks[0].attn.out.weight
    kept = w[:, 16:20].clone()
    w[:, 16:20] = 0
    expected = model(ids, capture=("blocks.1.attn.q",)).activations["blocks.1.attn.q"][:, 3]
    w[:, 16:20] = kept
    got = model(ids, capture=("blocks.1.attn.q",), edits=without_sender).activations["blocks.1.attn.q"][:, 3]
    torch.testing.assert_close(got, expected)


def test_nobody_to_hear_nobody_to_speak():
    model, ids = small.model(), twice(random_rows(61, 6, 1, 0))
    found = patch_paths(model, ids, 6, [], [])
    assert len({one.second_loss for one in found}) == 1
    assert found[0].induction == 0
