"""What is said of deep networks, against planted gradients and sizes."""

import numpy as np
import pytest

from tfcore.analysis.block import depth
from tfcore.analysis.block import depth_findings as findings
from tfcore.analysis.block.depth import Deep, DepthProbe


def planted(n_layers, seed=0):
    """A probe whose every number is another one."""
    random = np.random.default_rng(seed)
    return DepthProbe(random.random(n_layers), random.random(n_layers + 1), np.full(n_layers + 1, 0.5), 3.0)


NAMES = ("pre-LN", "post-LN", "sandwich")


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0123, "0.012"), (99.4, "99"), (99.9, "100"), (150.4, "150"), (12_345.6, "12,346"), (2e7, "2.0e+07")],
)
def test_a_number_of_any_size_in_few_characters(value, words):
    assert findings.few_digits(value) == words


def test_the_last_layer_is_the_last():
    probes = {name: planted(7, seed) for seed, name in enumerate(NAMES)}
    gradients, sizes = findings.last_gradients(probes), findings.last_sizes(probes)
    assert gradients.n_layers == 7
    for name, probed in probes.items():
        assert gradients.gradients[name] == probed.gradient[6]
        assert sizes.sizes[name] == probed.activation[7]


def test_what_is_said_of_the_last_layer():
    found = findings.LastGradients(4, {"pre-LN": 0.25, "post-LN": 1.5})
    assert str(found) == (
        "Norm of ∂loss/∂W₂ (the feed-forward layer's second matrix) in each of 4 layers before training. Last layer: "
        "pre-LN 0.25, post-LN 1.5."
    )
    assert (found.post_norm, found.scaled_pre_norm) == ("1.500", "0.500")
    assert str(findings.LastSizes({"pre-LN": 8.0, "post-LN": 1.0})) == (
        "Root mean square of the residual stream. After the last layer: pre-LN 8, post-LN 1."
    )


def test_the_fall_is_from_the_shallow_to_the_deep():
    pairs = {name: (planted(2, seed), planted(32, seed + 9)) for seed, name in enumerate(NAMES)}
    found = findings.gradient_fall(pairs, "rmsnorm", "gpt2")
    assert found.falls == {name: one.gradient[1] / other.gradient[31] for name, (one, other) in pairs.items()}
    assert (found.shallow, found.deep, found.root, found.norm, found.init) == (2, 32, 4.0, "RMSNorm", "GPT-2")
    said = findings.GradientFall(1, 64, {"post-LN": 1.04, "pre-LN": 12.96}, "LayerNorm", "Xavier")
    assert str(said) == (
        "From 1 layer to 64 the last layer's gradient becomes 1.0 times smaller with post-LN and 13.0 times smaller "
        "with pre-LN (LayerNorm, Xavier); the root of the depth would be 8 times."
    )


def test_the_first_gradients_are_those_of_the_deepest_networks():
    probes = {name: [planted(n, seed + n) for n in (1, 2, 5)] for seed, name in enumerate(NAMES)}
    found = findings.first_gradients(probes)
    assert (found.count, found.shallowest, found.deepest) == (9, 1, 5)
    assert found.gradients == {name: probed[2].gradient[0] for name, probed in probes.items()}
    said = findings.FirstGradients(12, 1, 64, {"pre-LN": 0.5, "no skip": 1e-30})
    assert str(said) == (
        "Norm of ∂loss/∂W₂ in the first layer of 12 networks, each built with 1 to 64 layers. At 64: pre-LN 0.5; no "
        "skip 1.0e-30."
    )
    assert said.at_the_deepest == "Gradient of the first layer at 64 layers: pre-LN 0.5; no skip 1.0e-30."
    assert said.number("no skip") == "1.0e-30"


def test_tokens_are_alike_from_the_first_layer_above_the_limit():
    def likeness(*cosines):
        return DepthProbe(np.ones(len(cosines) - 1), np.ones(len(cosines)), np.array(cosines), 0.0)

    found = findings.rank_collapse(
        {
            "pre-LN": likeness(0.1, 0.99, 0.5),
            "no skip": likeness(0.1, 0.5, 0.991, 0.3),
            "gone": likeness(0.999, 1.0),
            "unknown": likeness(np.nan, np.nan),
        }
    )
    assert found.layers == {"pre-LN": None, "no skip": 2, "gone": 0, "unknown": None}
    assert str(found) == (
        "All tokens alike (mean cosine above 0.99): pre-LN never; no skip from layer 2; gone from layer 0; unknown "
        "never."
    )


def test_growth_is_the_last_size_over_the_first():
    sizes = {"std 1": np.array([2.0, 3.0, 8.0]), "GPT-2: 0.02": np.array([4.0, 9.0, 2.0])}
    found = findings.stream_growth(sizes, "no norm")
    assert found.sizes == {"std 1": (2.0, 8.0), "GPT-2: 0.02": (4.0, 2.0)}
    assert (found.n_layers, found.d_model) == (2, depth.D_MODEL)
    assert [found.growth(start) for start in sizes] == ["× 4", "× 0.5"]
    assert str(findings.StreamGrowth(2, "no norm", 32, found.sizes)) == (
        "Standard deviation (about zero) of the stream of 2 layers, no norm, width 32. After the last layer: std 1 8, "
        "GPT-2 2."
    )


def test_probes_and_sizes_are_those_of_the_networks_that_are_named(monkeypatch):
    monkeypatch.setattr(depth, "D_MODEL", 8)
    placements = depth.probe_placements(2, "gpt2", "rmsnorm")
    for name, placement in (("pre-LN", "pre"), ("post-LN", "post"), ("sandwich", "sandwich"), ("no norm", "none")):
        alone = depth.probe(Deep(n_layers=2, placement=placement, norm="rmsnorm", init="gpt2"))
        assert np.array_equal(placements[name].gradient, alone.gradient)
    depths = depth.probe_depths([1, 3], "normal")
    assert list(depths) == ["pre-LN", "post-LN", "no skip", "no skip, no norm"]
    for probed, n in zip(depths["no skip, no norm"], (1, 3), strict=True):
        alone = depth.probe(Deep(n_layers=n, placement="none", skip=False, init="normal"))
        assert np.array_equal(probed.gradient, alone.gradient)
    sizes = depth.stream_sizes(Deep(n_layers=2, placement="none", skip=False, init="normal", init_std=1.0))
    assert np.array_equal(depth.start_sizes(2, "no skip, no norm")["std 1"], sizes)
    starts = depth.start_networks(2, "pre-LN")
    assert [(one.init, one.init_std) for one in starts.values()] == [
        ("normal", 1.0),
        ("xavier", 0.02),
        ("normal", 0.02),
        ("gpt2", 0.02),
    ]


@pytest.mark.parametrize(("deepest", "depths"), [(1, [1]), (4, [1, 2, 4]), (6, [1, 2, 4, 6])])
def test_depths_double_up_to_the_deepest(deepest, depths):
    assert depth.powers_of_two(deepest) == depths
