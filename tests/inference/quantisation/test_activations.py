"""Rounded activations, beside loops over tokens; outlier channels planted by hand."""

import numpy as np
import pytest
import torch

from tests.small import model
from tfcore.loading.checkpoints import load
from tfcore.measures.quantisation.rounded_activations import (
    INPUTS,
    ActivationScheme,
    activation_edits,
    outlier_channels,
    rounded_activations,
)
from tfcore.views.inference.quantisation import say
from tfcore.views.inference.quantisation.measure.activations import (
    WAYS,
    ActivationScan,
    matrix_inputs,
    scan_inputs,
    token_error,
)

IDS = [3, 14, 15, 9, 2, 6]


def inputs(outlier=40.0):
    x = torch.randn(5, 12, generator=torch.Generator().manual_seed(1))
    x[2, 7] = outlier
    return x


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("scale", ["tensor", "token"])
@pytest.mark.parametrize("apart", [False, True])
def test_rounding_is_a_loop_over_tokens(bits, scale, apart):
    x = inputs()
    found = rounded_activations(x, ActivationScheme(bits=bits, scale=scale, outliers_apart=apart)).numpy()
    kept = {7} if apart else set()
    most, rest = 2 ** (bits - 1) - 1, [c for c in range(12) if c not in kept]
    for token in range(5):
        shared = x[:, rest] if scale == "tensor" else x[token, rest]
        step = float(shared.abs().max()) / most
        for channel in range(12):
            value = float(x[token, channel])
            expected = value if channel in kept else round(value / step) * step
            assert found[token, channel] == pytest.approx(expected, abs=1e-3 * abs(value) + 1e-3)


def test_a_scheme_says_itself():
    assert str(ActivationScheme(bits=6, scale="tensor")) == "int6, one scale per text"
    assert str(ActivationScheme(outliers_apart=True)) == "int8, one scale per token, outliers apart"


def test_a_channel_at_the_limit_is_an_outlier_and_nothing_has_no_error():
    assert outlier_channels(torch.tensor([[6.0, -6.0, 5.9], [0.0, 1.0, 5.9]]), 6.0).tolist() == [True, True, False]
    assert token_error(torch.zeros(1, 2), torch.zeros(1, 2)) == 0


def test_one_outlier_costs_the_other_tokens_everything():
    x = inputs(400.0)
    after = rounded_activations(x, ActivationScheme(bits=8, scale="tensor"))
    assert (after[[0, 1, 3, 4]] == 0).float().mean() > 0.6
    assert token_error(x, rounded_activations(x, ActivationScheme(bits=8, scale="token"))) < 0.25
    assert token_error(x, rounded_activations(x, ActivationScheme(bits=8, scale="tensor", outliers_apart=True))) < 0.02
    assert outlier_channels(x).nonzero().flatten().tolist() == [7]


def test_inputs_are_what_the_matrices_are_multiplied_with():
    of = model(activation="gelu")
    found = matrix_inputs(of, IDS)
    assert set(found) == set(INPUTS)
    record = of(torch.tensor([IDS]), capture="blocks.*").activations
    for layer, block in enumerate(of.decoder.blocks):
        q = record[f"blocks.{layer}.attn.q"][0].transpose(0, 1).flatten(1)
        torch.testing.assert_close((found["qkv"][layer] @ block.attn.qkv.weight.T)[:, : q.shape[1]], q)
        written = found["out"][layer] @ block.attn.out.weight.T
        torch.testing.assert_close(written, record[f"blocks.{layer}.attn_out"][0])
        torch.testing.assert_close(found["up"][layer] @ block.mlp.up.weight.T, record[f"blocks.{layer}.mlp.pre"][0])
        torch.testing.assert_close(found["down"][layer] @ block.mlp.down.weight.T, record[f"blocks.{layer}.mlp_out"][0])


def test_edits_round_each_text_by_itself_before_every_matrix():
    """The same pass with rounding put in front of each linear layer by hand."""
    of, by_hand, scheme = model(), model(), ActivationScheme(bits=6, scale="tensor")
    for block in by_hand.decoder.blocks:
        for linear in (block.attn.qkv, block.attn.out, block.mlp.up, block.mlp.down):
            linear.register_forward_pre_hook(
                lambda _, given: torch.stack([rounded_activations(x, scheme) for x in given[0]])
            )
    ids = torch.tensor([IDS, IDS[::-1]])
    found = of(ids, edits=activation_edits(scheme)).logits
    torch.testing.assert_close(found, by_hand(ids).logits, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(found, of(ids).logits, atol=1e-4)


@pytest.fixture(scope="module")
def scan():
    of, tokenizer = load("stories")
    ids = tokenizer.encode("Once upon a time there was a dog.")
    return scan_inputs(matrix_inputs(of.eval(), ids)["down"], "down")


def test_a_scan_has_every_way_at_every_layer(scan):
    of, tokenizer = load("stories")
    ids = tokenizer.encode("Once upon a time there was a dog.")
    x = matrix_inputs(of.eval(), ids)["down"]
    assert scan.tokens == len(ids)
    assert np.array_equal(scan.largest, x.abs().amax(1).numpy())
    assert np.array_equal(scan.without_first, x[:, 1:].abs().amax(1).numpy())
    assert set(scan.errors) == {8, 6, 4}
    for way, (scale, apart) in WAYS.items():
        after = rounded_activations(x[2], ActivationScheme(bits=4, scale=scale, outliers_apart=apart))
        expected = np.mean([float((b - a).norm() / a.norm()) for a, b in zip(x[2], after, strict=True)])
        assert scan.errors[4][way][2] == pytest.approx(expected, rel=1e-5)


def test_a_text_of_one_token_has_no_rest():
    x = torch.randn(2, 1, 6, generator=torch.Generator().manual_seed(0))
    found = scan_inputs(x, "down")
    assert np.array_equal(found.largest, found.without_first)


def test_what_is_said_of_channels_and_errors():
    largest = np.array([[1.0, 3.0, 60.0, 2.0, 8.0]])
    errors = {8: {"one scale per text": np.array([0.5]), "one scale per token": np.array([0.012])}}
    scan = ActivationScan("down", largest, largest / 10, errors, 9)
    assert str(say.outliers("small", scan, 0, True)) == (
        "What W_down of layer 0 of small is multiplied with: channel 2 reaches 60.0, 20 times the median channel "
        "(3.00); 2 of 5 channels reach 6."
    )
    said = say.outliers("small", scan, 0, False)
    assert (said.channel, said.largest, said.outliers) == (2, 6.0, 1)
    assert ", the first token left out:" in str(said)
    assert str(say.rounding_errors(scan, 0, 8)) == (
        "Rounded to int8, the input of W_down in layer 0 is off by: one scale per text 50 %; one scale per token 1.2 %."
    )
