"""The arithmetic of mixtures against models that are built, and against what papers say."""

import math
import re

import pytest

from tests import small
from tests.one_property import told
from tfcore import presets
from tfcore.measures.parameter_count import parameters
from tfcore.part_configs import ExpertsConfig
from tfcore.views.experts.routing.measure.sizes import ExpertSizes, expert_sizes, finer
from tfcore.views.experts.routing.say.sizes import (
    ActiveParameters,
    BatchUse,
    LayerOfExperts,
    active_parameters,
    batch_use,
    count_latex,
)


def test_published_models_are_what_their_papers_say():
    mixtral, deepseek = expert_sizes(presets.mixtral_8x7b()), expert_sizes(presets.deepseek_moe_16b())
    assert mixtral.count.total == pytest.approx(46.7e9, rel=0.001)
    assert mixtral.count.active == pytest.approx(12.9e9, rel=0.002)
    assert mixtral.one == 3 * 4096 * 14_336
    assert mixtral.combinations == 28
    assert deepseek.count.total == pytest.approx(16.4e9, rel=0.005)
    assert deepseek.count.active == pytest.approx(2.8e9, rel=0.02)
    assert (deepseek.n_experts, deepseek.top_k, deepseek.n_shared, deepseek.layers) == (64, 6, 2, 27)


@pytest.mark.parametrize("name", ["mixtral_8x7b", "deepseek_moe_16b"])
@pytest.mark.parametrize(("parts", "shared"), [(1, 0), (2, 1), (8, 3)])
def test_the_sums_give_the_count(name, parts, shared):
    found = expert_sizes(finer(presets.PRESETS[name](), parts, shared))
    n, k, s = found.n_experts, found.top_k, found.n_shared
    assert found.rest + found.layers * (n + s) * found.one == found.count.total
    assert found.rest + found.layers * (k + s) * found.one == found.count.active


def test_cutting_finer_keeps_all_weights_and_those_at_work_but_for_the_router():
    config = small.config(d_model=24, experts=ExpertsConfig(n_experts=4, top_k=2, d_expert=16))
    cut = finer(config, 4, 3)
    assert (cut.experts.n_experts, cut.experts.top_k, cut.experts.n_shared, cut.experts.d_expert) == (13, 5, 3, 4)
    before, after = parameters(config), parameters(cut)
    router = config.n_layers * config.d_model * (13 - 4)
    assert after.total == before.total + router
    assert after.active == before.active + router
    built = small.model(experts=cut.experts)
    assert sum(p.numel() for p in built.parameters()) == after.total


def test_the_paper_s_own_example_of_combinations():
    config = small.config(experts=ExpertsConfig(n_experts=16, top_k=2, d_expert=16))  # arXiv:2401.06066, section 3.1
    assert expert_sizes(config).combinations == 120
    assert expert_sizes(finer(config, 4, 0)).combinations == 4_426_165_368


def test_operations_are_two_for_each_weight_at_work_and_attention():
    config = small.config(experts=ExpertsConfig(n_experts=4, top_k=2, d_expert=16))
    found = expert_sizes(config)
    saved = config.n_layers * 2 * 3 * config.d_model * 16 * 2  # two experts less, 2 operations a weight
    assert found.all_at_work - found.forward == pytest.approx(saved)


def test_experts_that_a_batch_needs():
    found = expert_sizes(presets.mixtral_8x7b())
    assert found.used_by(1) == pytest.approx(2)
    assert found.used_by(2) == pytest.approx(8 * (1 - (6 / 8) ** 2))
    assert math.isclose(found.used_by(10_000), 8)


def test_the_findings_of_a_mixture_and_its_parts():
    plain = expert_sizes(presets.mixtral_8x7b())
    cut = expert_sizes(finer(presets.mixtral_8x7b(), 4, 1))
    found = active_parameters(cut, plain)
    assert (found.total, found.active) == (cut.count.total, cut.count.active)
    assert found.published == (plain.count.total, plain.count.active)
    assert active_parameters(plain, plain).published is None
    assert cut.active_words == f"{100 * found.active / found.total:.1f}%"
    operations = plain.all_at_work / plain.forward
    assert 3 < operations < 4
    assert plain.saving_words == f"{operations:.1f} times less than all experts"
    used = batch_use(plain, (1, 8))
    assert used == BatchUse(8, ((1, pytest.approx(2)), (8, pytest.approx(8 * (1 - 0.75**8)))))


def test_sentences():
    assert str(ActiveParameters(4_000, 1_500, None)) == (
        "4,000 parameters, of which 1,500 are active per token: 37.5%."
    )
    assert str(ActiveParameters(4_000, 1_500, (3_900, 1_400))) == (
        "4,000 parameters, of which 1,500 are active per token: 37.5%. As published: 3,900 and 1,400."
    )
    assert ActiveParameters(4_000, 1_480, None).share_words == "37%"
    plain, cut = (expert_sizes(finer(presets.mixtral_8x7b(), *parts)) for parts in ((1, 0), (4, 1)))
    assert str(LayerOfExperts("Mixtral", (("as published", plain), ("cut finer", cut)))) == (
        "One layer of Mixtral, as published: 8 routed experts of width 14,336, 2 per token, 0 shared, 28 possible "
        "sets; cut finer: 31 routed experts of width 3,584, 7 per token, 1 shared, 2,629,575 possible sets."
    )
    assert expert_sizes(finer(presets.mixtral_8x7b(), 8, 0)).combination_words == "4.9 × 10¹⁴"
    assert str(BatchUse(8, ((1, 2.0), (64, 7.95)))) == (
        "Of the 8 routed experts of a layer, a batch of so many tokens uses, with uniform routing, 1: 2.0, 64: 8.0."
    )


def test_the_formulas_of_the_count_are_right():
    config = finer(presets.mixtral_8x7b(), 4, 1)
    sizes = expert_sizes(config)
    words = count_latex(config, sizes).replace("{,}", "").replace(r"\cdot", "*")
    sums = re.findall(r"= ([\d *+()]+\d) = (\d+)", words.replace(r"3\, d\, d_e = ", ""))
    assert [int(result) for _, result in sums] == [sizes.one, sizes.count.total, sizes.count.active]
    for terms, result in sums:
        assert eval(terms) == int(result)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: finer(presets.mixtral_8x7b(), 3, 0), "cannot be cut into 3"),
        (lambda: finer(presets.mixtral_8x7b(), 1, 2), "at most 1"),
        (lambda: expert_sizes(small.config()), "no experts"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.usefixtures("unchecked")
def test_a_million_million_sets_are_a_power():
    words = [told(ExpertSizes, "combination_words", combinations=n) for n in (10**12 - 1, 10**12)]
    assert words == ["999,999,999,999", "10¹²"]
