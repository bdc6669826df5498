"""What is said of deep networks, against planted gradients and sizes."""

import numpy as np

from tfcore.measures import deep_networks as depth
from tfcore.measures.deep_networks import DepthProbe
from tfcore.views.block.residuals import say as findings


def planted(n_layers, seed=0):
    """A probe whose every number is another one."""
    random = np.random.default_rng(seed)
    return DepthProbe(random.random(n_layers), random.random(n_layers + 1), np.full(n_layers + 1, 0.5), 3.0)


NAMES = ("pre-LN", "post-LN", "sandwich")


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
    assert said.number("no skip") == "1.0e-30"


def gradients(no_skip):
    return findings.FirstGradients(12, 1, 64, {"no skip, no norm": 5e-40, "pre-LN": 0.07, "no skip": no_skip})


def test_skips_are_set_against_none():
    assert gradients(0.4).with_and_without == (
        "At 64 layers a gradient of 5.0e-40 reaches the first layer without skips and norms, and 0.07 with them "
        "(pre-LN)."
    )


def test_norms_without_skips_keep_the_gradient_and_lose_the_tokens():
    lost, never = findings.RankCollapse({"no skip": 4}), findings.RankCollapse({"no skip": None})
    kept = str(findings.norms_alone(gradients(0.4), never))
    assert kept.startswith("Norms alone (“no skip”) keep it at 0.4: each divides by the size of its input")
    whole = str(findings.norms_alone(gradients(0.4), lost))
    assert whole == kept + " But it teaches little: from layer 4 on all tokens are the same vector (lowest row)."
    gone = str(findings.norms_alone(gradients(6.3e-59), lost))
    assert gone == "Norms alone (“no skip”) do not save it here: 6.3e-59 arrives."


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
