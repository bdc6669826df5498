"""Ablation against a loop with a hook, ranks against numpy, and the bootstrap against its formula."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.measures.atlas.ablation import ablate_heads, interval, sampled
from tfcore.measures.atlas.ranks import effective_rank, head_ranks
from tfcore.measures.heads.compositions import head_weights

IDS = small.ids(1, 12)[0].tolist()


def hooked(model, means, layer, head, first):
    """The model's output when a head writes its mean from a position on, by a hook before W_O."""
    size = model.config.value_size

    def replaced(_, given):
        (z,) = given  # (row, seq, heads side by side)
        z = z.clone()
        z[:, first:, head * size : (head + 1) * size] = torch.tensor(means[layer, head])
        return (z,)

    handle = model.stack.blocks[layer].attn.out.register_forward_pre_hook(replaced)
    try:
        return model(torch.tensor([IDS]))
    finally:
        handle.remove()


@pytest.mark.parametrize("architecture", ["decoder", "encoder"])
def test_ablation_is_that_of_a_hook(architecture):
    head = "lm" if architecture == "decoder" else "none"
    model = small.model(architecture=architecture, head=head, n_heads=3)
    means = torch.randn(2, 3, model.config.value_size, generator=torch.Generator().manual_seed(0)).numpy()
    found = ablate_heads(model, IDS, means)
    plain = model(torch.tensor([IDS]))
    for layer, one in np.ndindex(2, 3):
        output = hooked(model, means, layer, one, 1 if architecture == "decoder" else 0)
        if architecture == "decoder":
            losses = [-run.logits[0, i].log_softmax(-1)[IDS[i + 1]] for run in (plain, output) for i in range(11)]
            expected = (sum(losses[11:]) - sum(losses[:11])) / 11
        else:
            a, b = plain.hidden[0].mean(0), output.hidden[0].mean(0)
            expected = 1 - a @ b / (a.norm() * b.norm())
        assert found[layer, one] == pytest.approx(float(expected), abs=2e-6)


def test_an_interval_holds_most_means_of_draws():
    by_text = np.random.default_rng(1).normal(1.0, 2.0, (1, 1, 400))
    low, high = interval(by_text)
    error = by_text.std() / 20  # of the mean of 400
    assert float(low[0, 0]) == pytest.approx(by_text.mean() - 1.96 * error, abs=0.15 * error)
    assert float(high[0, 0]) == pytest.approx(by_text.mean() + 1.96 * error, abs=0.15 * error)


def test_the_first_texts_of_a_sample_are_spread_like_all():
    found = list(sampled([[0]] * 1_000, 50))
    assert sorted(found) == sorted({round(i * 999 / 49) for i in range(50)})
    assert 300 < np.mean(found[:20]) < 700


@pytest.mark.parametrize("settings", [{"n_kv_heads": 3}, {"architecture": "encoder", "norm_placement": "post"}])
def test_ranks_are_those_of_the_whole_matrices(settings):
    model = small.model(**settings)
    found = head_ranks(model)
    for layer in range(2):
        weights = head_weights(model, layer)
        for head in range(6):
            whole = {
                "ov_rank": weights.o[head].double().numpy() @ weights.v[head].double().numpy(),
                "qk_rank": weights.q[head].double().numpy().T @ weights.k[head].double().numpy(),
            }
            for name, matrix in whole.items():
                values = np.linalg.svd(matrix, compute_uv=False)
                shares = values[values > 1e-12] / values.sum()
                expected = np.exp(-(shares * np.log(shares)).sum())
                assert found[name][layer, head] == pytest.approx(expected, rel=1e-5)


def test_a_matrix_of_equal_directions_has_their_number_as_rank():
    basis = torch.linalg.qr(torch.randn(9, 4, generator=torch.Generator().manual_seed(0))).Q
    assert float(effective_rank(basis, basis.mT)) == pytest.approx(4, rel=1e-5)


def test_where_heads_have_no_matrices_there_is_no_rank():
    model = small.model(**small.WIRINGS["like DeepSeek-V3"])
    assert np.isnan(head_ranks(model)["ov_rank"]).all()
