"""Runs that share layers: each layer runs as often as it must and no oftener, and the states are those of own runs."""

import pytest
import torch

from tests import small
from tfcore.inspection.edits import Edit
from tfcore.measures import shared_layers
from tfcore.measures.shared_layers import (
    in_rows,
    plain_run,
    prefix_cache,
    rows_at_once,
    run_above,
    run_joined,
    runs_by_layer,
)
from tfcore.part_configs import ExpertsConfig

TEXT = small.ids(1, 9)[0].tolist()
SETS = [[[Edit.zero(f"blocks.{layer}.{part}")] for part in ("attn_out", "mlp_out")] for layer in range(3)]


@pytest.fixture
def watched():
    """A model of three blocks, and (block, rows, tokens) of each of their passes."""
    model, passes = small.model(n_layers=3), []
    for i, block in enumerate(model.decoder.blocks):
        block.register_forward_pre_hook(lambda _, given, i=i: passes.append((i, *given[0].shape[:2])))
    return model, passes


def alone(model, edits):
    return model(torch.tensor([TEXT]), edits=edits).hidden


def test_runs_that_begin_at_different_layers_go_on_together(watched):
    model, passes = watched
    run = plain_run(model, TEXT)
    end = model.resume(run.streams[2], 2, until=3)
    passes.clear()
    two = run.streams[0].expand(2, -1, -1)
    found = run_joined(model, [(0, two), (2, run.streams[2]), (2, run.streams[2]), (3, end)])
    assert passes == [(0, 2, 9), (1, 2, 9), (2, 4, 9)]
    torch.testing.assert_close(found, run.hidden.expand(5, -1, -1), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        (6, [(0, 2), (1, 2), (2, 2), (1, 2), (2, 4)]),  # all layers: each below, then what has begun goes on
        (4, [(0, 2), (1, 2), (1, 2), (2, 4), (2, 2)]),  # two layers, and one
        (3, [(0, 2), (1, 2), (2, 2), (1, 2), (2, 2), (2, 2)]),  # one at a time
        (
            1,
            [
                *((layer, 1) for layer in (0, 1, 2)),
                *((layer, 1) for layer in (0, 1, 2)),
                *[(1, 1), (2, 1)] * 2,
                (2, 1),
                (2, 1),
            ],
        ),
    ],
)
def test_neighbouring_layers_share_those_above_them(watched, monkeypatch, batch, expected):
    model, passes = watched
    run = plain_run(model, TEXT)
    monkeypatch.setattr(shared_layers, "BATCH", batch)
    passes.clear()
    found = list(runs_by_layer(model, run, SETS))
    assert sorted((block, rows) for block, rows, _ in passes) == sorted(expected)
    assert [layer for layer, _ in found] == [0, 1, 2]
    for layer, hidden in found:
        for row, edits in zip(hidden, SETS[layer], strict=True):
            torch.testing.assert_close(row[None], alone(model, edits), atol=1e-5, rtol=1e-4)


def test_no_layer_below_the_edits_runs(watched, monkeypatch):
    model, passes = watched
    run = plain_run(model, TEXT)
    monkeypatch.setattr(shared_layers, "BATCH", 2)
    passes.clear()
    parts = list(run_above(model, run, 1, [*SETS[1], *SETS[2]]))
    assert passes == [(1, 2, 9), (2, 2, 9)] * 2
    for row, edits in zip(torch.cat(parts), [*SETS[1], *SETS[2]], strict=True):
        torch.testing.assert_close(row[None], alone(model, edits), atol=1e-5, rtol=1e-4)
    assert [edit.rows for edit in in_rows(SETS[0])] == [[0], [1]]


def test_tokens_before_are_read_once(watched):
    model, passes = watched
    cache = prefix_cache(model, TEXT, 6, 3)
    assert passes == [(layer, 1, 6) for layer in range(3)]
    assert cache.length == 6
    later = model(torch.tensor([TEXT[6:]] * 3), cache=cache).hidden
    torch.testing.assert_close(later, alone(model, [])[:, 6:].expand(3, -1, -1), atol=1e-5, rtol=1e-4)
    passes.clear()
    assert prefix_cache(model, TEXT, 0, 3).length == 0
    assert not passes


def test_tokens_that_compete_are_alone():
    experts = ExpertsConfig(n_experts=4)
    assert [rows_at_once(small.config(experts=one), 7) for one in (None, experts)] == [7, 7]
    assert rows_at_once(small.config(), 0) == 1
    for more in ({"capacity_factor": 0.5}, {"routing": "experts"}):
        assert rows_at_once(small.config(experts=ExpertsConfig(n_experts=4, **more)), 7) == 1
