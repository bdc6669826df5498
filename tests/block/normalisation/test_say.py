"""What is said of where the norm stands, against planted gradients and sizes."""

from dataclasses import replace

import numpy as np
import pytest

from tests.one_property import told
from tfcore.measures.deep_networks import DepthProbe
from tfcore.views.block.normalisation import say
from tfcore.views.block.normalisation.say import GradientFall

NAMES = ("pre-LN", "post-LN", "sandwich")


def planted(n_layers, seed=0):
    """A probe whose every number is another one."""
    random = np.random.default_rng(seed)
    return DepthProbe(random.random(n_layers), random.random(n_layers + 1), np.full(n_layers + 1, 0.5), 3.0)


def test_the_last_layer_is_the_last():
    probes = {name: planted(7, seed) for seed, name in enumerate(NAMES)}
    gradients, sizes = say.last_gradients(probes), say.last_sizes(probes)
    assert gradients.n_layers == 7
    for name, probed in probes.items():
        assert gradients.gradients[name] == probed.gradient[6]
        assert f"{name} {probed.activation[7]:.2g}" in str(sizes)


def test_what_is_said_of_the_last_layer():
    found = say.LastGradients(4, {"pre-LN": 0.25, "post-LN": 1.5})
    assert str(found) == (
        "Norm of ∂loss/∂W₂ (the feed-forward layer's second matrix) in each of 4 layers before training. Last layer: "
        "pre-LN 0.25, post-LN 1.5."
    )
    assert (found.post_norm, found.scaled_pre_norm) == ("1.500", "0.500")
    probed = planted(2, 0)
    sizes = {"a": replace(probed, activation=np.array([0, 1, 8.0])), "b": replace(probed, activation=np.ones(3))}
    assert str(say.last_sizes(sizes)) == "Root mean square of the residual stream. After the last layer: a 8, b 1."


def test_the_fall_is_from_the_shallow_to_the_deep():
    pairs = {name: (planted(2, seed), planted(32, seed + 9)) for seed, name in enumerate(NAMES)}
    found = say.gradient_fall(pairs, "rmsnorm", "gpt2")
    assert found.falls == {name: one.gradient[1] / other.gradient[31] for name, (one, other) in pairs.items()}
    assert (found.shallow, found.deep, found.root, found.norm, found.init) == (2, 32, 4.0, "RMSNorm", "GPT-2")
    said = say.GradientFall(1, 64, {"post-LN": 1.04, "pre-LN": 12.96}, "LayerNorm", "Xavier")
    assert str(said) == (
        "From 1 layer to 64 the last layer's gradient becomes 1.0 times smaller with post-LN and 13.0 times smaller "
        "with pre-LN (LayerNorm, Xavier); the root of the depth would be 8 times."
    )


@pytest.mark.usefixtures("unchecked")
def test_the_root_of_a_ratio_of_depths():
    assert told(GradientFall, "root", deep=64, shallow=4) == 4.0
