"""Published models: dated, sourced, filtered as asked, and what is said of them."""

from dataclasses import replace

import pytest

from tfcore.measures.scaling_laws import LAWS
from tfcore.views.training.scaling.measure.compute_budget import Training, optimum
from tfcore.views.training.scaling.measure.known_models import MODELS, KnownModel, select
from tfcore.views.training.scaling.say.known_models import ModelFacts, model_facts, ratio_range, size_range


def test_published_models_are_dated_sourced_and_of_known_ratio():
    by_name = {model.name: model for model in MODELS}
    assert len(by_name) == len(MODELS) > 45
    assert by_name["Chinchilla"].ratio == pytest.approx(20)
    assert by_name["GPT-3"].flops == pytest.approx(3.15e23)
    assert by_name["DeepSeek-V3"].flops == pytest.approx(6 * 37e9 * 14.8e12), "only what a token uses"
    assert by_name["Llama 3 8B"].ratio == pytest.approx(1875)
    for model in MODELS:
        assert 2013 < model.year < 2026
        assert model.source
        assert (model.active is not None) <= (model.kind == "mixture")
        assert model.used <= model.parameters
        assert model.tokens is None or 1e9 < model.tokens < 1e14
    assert by_name["Chinchilla"].year == pytest.approx(2022 + 2.5 / 12)
    with pytest.raises(ValueError, match="carries no date"):
        _ = KnownModel("x", "dense", 1.0, None, "a letter").year


@pytest.mark.parametrize("kind", ["all", "recurrent", "dense", "mixture"])
@pytest.mark.parametrize("until", [2013, 2021, 2025])
@pytest.mark.parametrize("least", [0, 20, 1000])
def test_models_are_selected_by_kind_year_and_ratio(kind, until, least):
    expected = []
    for model in MODELS:
        right_kind = kind == "all" or kind == model.kind
        if (
            right_kind
            and int(model.year) <= until
            and (least == 0 or (model.ratio is not None and model.ratio >= least))
        ):
            expected.append(model)
    assert select(kind, until, least) == expected


def test_a_ratio_at_the_limit_is_selected():
    assert "Chinchilla" in {model.name for model in select("all", 2025, 20)}


def test_what_is_said_of_one_model():
    found = model_facts("DeepSeek-V3")
    assert found.model.name == "DeepSeek-V3"
    assert found.best == optimum(LAWS["refit"], 6 * 37e9 * 14.8e12)
    mixture = KnownModel("M", "mixture", 671e9, 14.8e12, "arXiv:2412.19437", 37e9)
    assert str(ModelFacts(mixture, Training(3.29e24, 167e9, 3.27e12, 1.9))) == (
        "**M**: 671 B parameters, 37 B active per token, 14.8 T tokens, **400** per parameter, 3.3 × 10²⁴ operations. "
        "arXiv:2412.19437. By the refitted law that budget is best spent on 167 B parameters and 3.27 T tokens."
    )
    assert str(model_facts("GShard")) == "**GShard**: 600 B parameters; its tokens are not given. arXiv:2006.16668"


def plain(name, parameters, tokens, active=None):
    return KnownModel(name, "mixture" if active else "dense", parameters, tokens, "arXiv:2001.00001", active)


LISTED = [
    plain("a", 10.0, 200.0),
    plain("b", 5.0, 5.0),
    plain("c", 100.0, None),
    plain("d", 50.0, 3000.0, 1.0),
    plain("e", 2.0, 38.0),
]


def test_the_range_of_ratios_against_a_loop():
    low = high = None
    many = 0
    for model in LISTED:
        if model.tokens is None:
            continue
        ratio = model.tokens / (model.active or model.parameters)
        many += ratio >= 20
        low = (model.name, ratio) if low is None or ratio < low[1] else low
        high = (model.name, ratio) if high is None or ratio > high[1] else high
    assert (many, low, high) == (2, ("b", 1.0), ("d", 3000.0))
    assert str(ratio_range(LISTED)) == (
        "4 models: 2 of 4 read 20 tokens per parameter or more; from b with 1 to d with 3,000."
    )


def test_the_range_of_sizes_counts_all_experts():
    assert str(size_range(LISTED)) == "5 models, from e with 2 to c with 100."
    assert size_range(LISTED[3:]).values["large"] == "d"
    large = replace(LISTED[0], name="Switch-C", parameters=1.571e12)
    assert str(size_range([large])) == "1 models, from Switch-C with 1.57 T to Switch-C with 1.57 T."


def test_what_the_page_says_of_the_years_is_so():
    """The largest dense model has stayed near 540 B since 2022; three of 2020 to 2022 lie on about 300 B tokens."""
    dense = {model.name: model for model in MODELS if model.kind == "dense"}
    assert max(dense.values(), key=lambda model: model.parameters).name == "PaLM"
    assert dense["PaLM"].parameters == 540e9
    assert all(250e9 < dense[name].tokens < 320e9 and dense[name].ratio < 4 for name in ("GPT-3", "Gopher", "MT-NLG"))
    assert dense["Chinchilla"].parameters == dense["Gopher"].parameters / 4
