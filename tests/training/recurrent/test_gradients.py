"""Gradients in recurrent networks: by hand, by finite differences, and beside autograd on torch's own cells."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tfcore.training.alike_loop import logits_of
from tfcore.training.recurrent import gradients, networks, recall
from tfcore.training.recurrent.gradients import Arriving, GradientConfig
from tfcore.training.recurrent.networks import KINDS, NetworkConfig
from tfcore.views.foundations.recurrence import say

SMALL = NetworkConfig(vocab_size=recall.VOCABULARY, d_model=8, n_layers=1, n_heads=2, forget_bias=2.0, seed=3)
SEQ = 9


@pytest.fixture(scope="module")
def rows():
    return recall.recall_rows(3, SEQ, torch.Generator().manual_seed(1))[:2]


def of(kind):
    return networks.network(SMALL, kind).double()


@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_the_product_of_jacobians_is_what_autograd_finds(kind, rows):
    model, (ids, answer) = of(kind), rows
    if kind == "rnn":
        found = gradients.rnn_steps_back(model, ids, answer)
    else:
        found = gradients.lstm_steps_back(model, gradients.lstm_states(model, ids), answer)[0]
    assert torch.allclose(found, gradients.embedding_gradients(model, ids, answer), rtol=1e-10, atol=1e-18)


def test_the_product_of_an_rnn_is_a_product_of_whole_matrices(rows):
    """Written apart: every Jacobian as a matrix, multiplied from the output back to each token."""
    model, (ids, answer) = of("rnn"), rows
    layer, states, h = model.layer, [], torch.zeros(model.embed.embedding_dim, dtype=torch.double)
    for token in ids[0]:
        inside = layer.weight_ih_l0 @ model.embed.weight[token] + layer.bias_ih_l0 + layer.bias_hh_l0
        h = torch.tanh(inside + layer.weight_hh_l0 @ h)
        states.append(h)
    logits = model.unembed.weight @ h + model.unembed.bias
    top = logits.softmax(0) - torch.eye(recall.VOCABULARY, dtype=torch.double)[answer[0]]
    top = top / top.norm() @ model.unembed.weight
    found = gradients.rnn_steps_back(model, ids, answer)[0]
    for distance in range(SEQ):
        product = torch.eye(len(h), dtype=torch.double)
        for k in range(distance):
            product = product @ torch.diag(1 - states[SEQ - 1 - k] ** 2) @ layer.weight_hh_l0
        here = SEQ - 1 - distance
        expected = top @ product @ torch.diag(1 - states[here] ** 2) @ layer.weight_ih_l0
        assert torch.allclose(found[here], expected, rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_the_slope_of_the_loss(kind, rows):
    """By finite differences of one token's embedding, moved along its gradient."""
    model, (ids, answer) = of(kind), (rows[0][:1], rows[1][:1])
    gradient, place, small = gradients.embedding_gradients(model, ids, answer), 4, 1e-5
    direction = gradient[0, place] / gradient[0, place].norm()
    top = gradients.output_gradient(logits_of(model, ids)[:, -1].detach(), answer)

    def along(step):
        shift = torch.zeros_like(gradient)
        shift[0, place] = step * direction
        hook = model.embed.register_forward_hook(lambda *given: given[2] + shift)
        with torch.no_grad():
            value = (logits_of(model, ids)[:, -1] * top).sum()
        hook.remove()
        return float(value)

    slope = (along(small) - along(-small)) / (2 * small)
    assert slope == pytest.approx(float(gradient[0, place].norm()), rel=1e-4)


def test_the_cell_state_alone_is_multiplied_by_forget_gates(rows):
    """Between two tokens, what goes back along the cell state changes by the forget gates and nothing else."""
    model, (ids, answer) = of("lstm"), rows
    with torch.no_grad():  # all gates saturated open but the input gate: nothing is forgotten
        width = model.embed.embedding_dim
        model.layer.weight_ih_l0[width : 2 * width] = 0
        model.layer.weight_hh_l0[width : 2 * width] = 0
        model.layer.bias_ih_l0[width : 2 * width] = 0
        model.layer.bias_hh_l0[width : 2 * width] = 0  # forget gates of exactly 1/2
        model.layer.weight_ih_l0[:width] = 0
        model.layer.weight_hh_l0[:width] = 0
        model.layer.weight_ih_l0[2 * width : 3 * width] = torch.eye(width)
        model.layer.weight_hh_l0[2 * width : 3 * width] = 0
        model.layer.bias_ih_l0[2 * width : 3 * width] = 0
        model.layer.bias_hh_l0[2 * width : 3 * width] = 0
        model.embed.weight[:] = 0  # every g is 0, and its slope 1
    found = gradients.lstm_steps_back(model, gradients.lstm_states(model, ids), answer)[1]
    assert torch.allclose(found[:, 0], found[:, SEQ - 2] / 2 ** (SEQ - 2), rtol=1e-9)


def test_rows_ask_for_the_marked_letter():
    ids, answer, distance = recall.recall_rows(200, 12, torch.Generator().manual_seed(0))
    for row, letter, back in zip(ids.tolist(), answer.tolist(), distance.tolist(), strict=True):
        assert row.count(recall.MARK) == 1
        assert row[-1] == recall.ASK
        assert row[row.index(recall.MARK) + 1] == letter
        assert row[len(row) - 1 - back] == letter
    assert set(distance.tolist()) == set(range(1, 11))
    assert recall.recall_rows(1, 4, torch.Generator())[0].shape == (1, 4)
    with pytest.raises(ValueError, match="seq=3 is too short for a mark, a letter and a question; take 4 or more"):
        recall.recall_rows(1, 3, torch.Generator())


def test_networks_are_of_equal_size():
    for vocab_size in (28, 33, 97):
        found = say.equal_sizes(NetworkConfig(vocab_size=vocab_size))
        assert found.values["spread"] < 0.02
        counted = [
            sum(p.numel() for p in networks.network(NetworkConfig(vocab_size=vocab_size), kind).parameters())
            for kind in KINDS
        ]
        assert found.values["parameters"] == counted
    assert "differ by" in str(found)


def test_what_concerns_another_network_changes_nothing():
    config = GradientConfig(seq=6, gain=2.0, forget_bias=3.0)
    for kind in KINDS:
        one = gradients.arriving_in(config, kind)
        alone = gradients.arriving_in(gradients.relevant(config, kind), kind)
        assert np.allclose(one.measured, alone.measured, rtol=1e-12)
    assert gradients.relevant(config, "rnn") == GradientConfig(seq=6, gain=2.0)


def test_findings_are_read_off_the_curves():
    falling = np.array([1.0, 0.5, 0.25, 0.125])
    found = (
        Arriving("rnn", falling, falling * (1 + 1e-9), largest=0.9),
        Arriving("lstm", falling * 4, falling * 4, cell=falling),
        Arriving("transformer", np.full(4, 0.3)),
    )
    reach = say.gradient_reach(found)
    assert reach.values["norms"] == {"rnn": 0.125, "lstm": 0.5, "transformer": 0.3}
    assert str(reach) == (
        "Of a gradient of norm 1 at the output arrives, 3 tokens back: 0.125 in the RNN, 0.500 in the LSTM and 0.300 "
        "in the Transformer."
    )
    products = say.jacobian_products(found)
    assert products.rates == (("rnn", pytest.approx(0.5)), ("lstm", pytest.approx(0.5)))
    assert products.cell_share == 0.25
    assert products.difference == pytest.approx(1e-9, rel=1e-3)
    assert str(products).endswith("agree within 10⁻⁹ of the norm.")
    assert "0.90: below 1, so that every step must shrink the gradient" in str(products)
    assert "above 1" in str(say.jacobian_products((Arriving("rnn", falling, falling, largest=1.2), *found[1:])))

    assert "above 1" in str(replace(products, largest=1.0)), "no step has to shrink it"
    for lacking in ((replace(found[0], largest=None), found[1]), (found[0], replace(found[1], cell=None))):
        with pytest.raises(ValueError, match="are missing"):
            say.jacobian_products(lacking)


def test_a_singular_value_below_one_bounds_every_step():
    """arXiv:1211.5063, equation 6, at initialisation."""
    found = gradients.arriving_in(GradientConfig(seq=12, gain=0.6), "rnn")
    assert found.largest < 1
    assert (found.product[2:] < found.product[1:-1]).all()


@pytest.mark.parametrize(
    ("values", "problem"), [({"seq": 2}, "seq=2 must be between 4"), ({"gain": 9.0}, "gain=9.0 must be between")]
)
def test_what_cannot_be_is_refused(values, problem):
    with pytest.raises(ValueError, match=problem):
        GradientConfig(**values)


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ({"vocab_size": 1}, "2 and 256"),
        ({"d_model": 7}, "8 and 256"),
        ({"n_layers": 5}, "1 and 4"),
        ({"n_heads": 9}, "1 and 8"),
        ({"seed": -1}, "0 and 9,999"),
        ({"context": 0}, "1 and 8,192"),
        ({"gain": -0.1}, "0.0 and 4.0"),
        ({"forget_bias": 10.5}, "-10.0 and 10.0"),
    ],
)
def test_networks_that_cannot_be_are_refused(values, limits):
    with pytest.raises(ValueError, match=f"{next(iter(values))}=.* must be between {limits}"):
        replace(SMALL, **values)


def test_the_feed_forward_layers_are_four_times_as_wide():
    assert SMALL.transformer.ff_size == 4 * SMALL.d_model
