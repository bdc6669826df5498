"""Many edits in one batch, each in its own row: the same as one pass for each, and nobody else's business."""

import threading

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests import small
from tfcore.analysis.inside.interventions import divergence, effect, run_each, skip_each, skip_edits, skips
from tfcore.inspection.edits import Edit
from tfcore.part_configs import ExpertsConfig

TEXT = small.ids(1, 9)[0].tolist()
SETS = [
    [],
    [Edit.zero("blocks.0.attn.z", heads=[2])],
    [Edit.mean("blocks.1.attn.z", heads=[0, 5]), Edit.scale("blocks.0.mlp_out", 2.0)],
    [Edit.mean("blocks.0.mlp_out", positions=[3])],
]


@pytest.mark.parametrize("values", [{}, {"experts": ExpertsConfig(n_experts=4, capacity_factor=0.5)}])
def test_rows_of_a_batch_are_passes_of_their_own(values):
    model = small.model(**values)
    together = torch.cat(list(run_each(model, TEXT, SETS)))
    for row, edits in zip(together, SETS, strict=True):
        alone = model(torch.tensor([TEXT]), edits=edits).logits[0]
        torch.testing.assert_close(row, alone, atol=2e-5, rtol=1e-4)


def test_more_sets_than_fit_in_one_pass(monkeypatch):
    monkeypatch.setattr("tfcore.analysis.inside.interventions.ROWS", 3)
    parts = list(run_each(small.model(), TEXT, SETS))
    assert [len(part) for part in parts] == [3, 1]


def test_an_effect_has_the_numbers_of_two_passes():
    model = small.model()
    found = effect(model, TEXT, SETS[2], 4)
    plain, edited = (model(torch.tensor([TEXT]), edits=edits).logits[0] for edits in (SETS[0], SETS[2]))
    np.testing.assert_allclose(found.before, plain[4].softmax(-1), atol=1e-6)
    np.testing.assert_allclose(found.after, edited[4].softmax(-1), atol=1e-6)
    np.testing.assert_allclose(
        found.losses_after, F.cross_entropy(edited[:-1], torch.tensor(TEXT[1:]), reduction="none"), atol=1e-5
    )
    p, q = (logits[4].double().softmax(-1) for logits in (plain, edited))
    assert found.bits == pytest.approx(float((p * (p / q).log2()).sum()), rel=1e-3)
    assert effect(model, TEXT, [], 4).bits == 0


def test_divergence_of_certain_predictions():
    sure, fair = torch.tensor([1.0, 0.0]).log(), torch.tensor([0.5, 0.5]).log()
    assert float(divergence(sure, fair)) == pytest.approx(1)
    assert float(divergence(sure, sure)) == 0


def test_skips_are_edits_one_by_one():
    model = small.model()
    found = skip_each(model, TEXT)
    a, m = "blocks.{}.attn_out", "blocks.{}.mlp_out"
    assert found.skipped == tuple(
        names for i in range(2) for names in ((a.format(i),), (m.format(i),), (a.format(i), m.format(i)))
    )
    for row, names in enumerate(found.skipped):
        one = effect(model, TEXT, skip_edits(names), 6)
        np.testing.assert_allclose(found.loss_increase[row], one.losses_after - one.losses_before, atol=1e-5)
        assert found.bits[row, 6] == pytest.approx(one.bits, abs=1e-4)
    assert skips(small.config(d_ff=0)) == (("blocks.0.attn_out",), ("blocks.1.attn_out",))


def test_a_block_left_out_is_a_stream_that_runs_past_it():
    model, name = small.model(), "blocks.1.resid_pre"
    before = model(torch.tensor([TEXT]), capture=(name,)).activations[name]
    after = model.decoder.ln_final(before) @ model.embed.weight.T
    found = effect(model, TEXT, skip_edits(("blocks.1.attn_out", "blocks.1.mlp_out")), 8)
    np.testing.assert_allclose(found.after, after[0, 8].softmax(-1), atol=1e-6)


def test_two_threads_with_edits_of_their_own_disturb_nobody():
    """A model shared by all visitors: each sees its own edits and no others, and the weights stay as they were."""
    model = small.model()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    alone = [effect(model, TEXT, edits, 5).after for edits in SETS]
    seen: dict[int, list[np.ndarray]] = {i: [] for i in range(len(SETS))}

    def visitor(i):
        for _ in range(20):
            seen[i].append(effect(model, TEXT, SETS[i], 5).after)

    threads = [threading.Thread(target=visitor, args=(i,)) for i in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, found in seen.items():
        assert len(found) == 20
        assert all(np.array_equal(one, alone[i]) for one in found)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
