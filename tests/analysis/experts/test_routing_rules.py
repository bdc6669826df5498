"""Other routing rules: a sweep is its runs, and what is said of a change is what loops find."""

from tests import small
from tfcore.analysis.experts.routing_rules import sweep
from tfcore.analysis.experts.text_routing import RouterChange, route
from tfcore.part_configs import ExpertsConfig

IDS = small.ids(batch=1, seq=19).flatten().tolist()


def mixture(**values):
    return small.model(experts=ExpertsConfig(**({"n_experts": 5, "top_k": 2, "d_expert": 12} | values)), vocab_size=61)


def test_a_sweep_is_its_runs():
    model = mixture()
    found = sweep(model, IDS, (0.5, 1.0), (1.0,), seed=2)
    assert found.top_k == (1, 2, 3, 4)
    assert found.tokens[1] == route(model, IDS).loss
    assert found.experts[2] == route(model, IDS, RouterChange(top_k=3, routing="experts")).loss
    assert found.cut == tuple(route(model, IDS, RouterChange(capacity=factor)).loss for factor in (0.5, 1.0))
    assert found.noisy == (route(model, IDS, RouterChange(noise=1.0, seed=2)).loss,)
