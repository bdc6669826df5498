"""The page on the KV cache: the figures it quotes, both ways to the end, what fits, and memory in blocks."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from pages.inference.kv_cache import choices
from pages.ui import cache
from pages.ui.work import jobs
from tests.nightly import nightly
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.own_models import brought
from tests.pages.visits import run, said
from tfcore import presets
from tfcore.measures.kv_bytes import DEEPSEEK_V2, CacheShape, cache_bytes, cache_shape, shared
from tfcore.measures.parameter_count import parameters
from tfcore.views.inference import kv_cache as views
from tfcore.views.inference.kv_cache.measure.generation import cache_work
from tfcore.views.inference.kv_cache.measure.paging import NEVER, TOKEN, Traffic, compare

opened = partial(visits.opened, "inference/kv_cache/page.py")
sized = partial(opened, part="Cache size")
budgeted = partial(opened, part="Does it fit?")
paged = partial(opened, part="Paged cache")


def metrics(test):
    return {metric.label: (metric.value, metric.delta) for metric in test.metric}


def finished(test):
    """The page once its job is over."""
    (key,) = jobs.JOBS.registry.records
    jobs.JOBS.wait(key, 10**9, 120)
    return run(test)


def test_both_ways_run_to_their_end_and_agree():
    test = finished(opened(steps="16", text=choices.TEXT))
    found = metrics(test)
    difference, same = found["Largest difference of a logit"]
    assert 0 < float(difference) < 1e-3
    assert same == "same token 16 of 16"
    assert said(test, "code").count(choices.TEXT) == 1
    assert test.button(key="again:button").label == "Another seed"
    alt = figures(test)["steps"][0]["alt"]
    prompt = cache.model("stories")[1].encode(choices.TEXT)
    assert alt.startswith(f"At {len(prompt) + 15} tokens each step costs")
    assert alt.endswith("Measured for 16 steps.")
    held = (len(prompt) + 15) * 2 * 4 * 6 * 32 * 4  # layers, heads, width, bytes of float32
    assert f"the cache holds {held / 1e3:.0f} kB" in alt
    other = opened(steps="16", text=choices.TEXT)
    assert metrics(other) == found, "another visitor sees the same measurement"


def test_a_stored_run_is_shown_at_once_and_this_machine_measured_where_a_button_asks_for_it(monkeypatch):
    ((config, stored),) = views.stored_runs().items()
    monkeypatch.setattr(choices, "MOST", 232)
    monkeypatch.setattr(choices, "STEPS", config.steps)
    test = opened()
    assert not jobs.JOBS.registry.records
    assert (config.text, config.steps) == (choices.TEXT, len(stored))
    assert metrics(test)["Largest difference of a logit"][1] == f"same token {len(stored)} of {len(stored)}"
    assert "of another machine" in said(test, "caption")
    test.button(key="here:button").click()
    run(test)
    assert config in jobs.JOBS.registry.records
    assert "of another machine" not in said(test, "caption")
    test.button(key="stop:button").click()
    run(test)


def test_a_copy_that_is_too_large_is_not_made_and_the_page_says_so(monkeypatch):
    monkeypatch.setenv("TFCORE_MODEL_GB", "0.01")
    test = finished(opened(steps="8", exact="float64"))
    assert "stories takes" in said(test, "caption")
    assert "Shown instead: float32" in said(test, "caption")
    assert float(metrics(test)["Largest difference of a logit"][0]) > 1e-11


def test_in_float64_the_difference_all_but_vanishes():
    value, _ = metrics(finished(opened(steps="8", exact="float64")))["Largest difference of a logit"]
    assert float(value) < 1e-11


def test_it_can_be_stopped_and_begun_again(monkeypatch):
    monkeypatch.setattr(choices, "MOST", 232)
    test = opened(steps="232")
    test.button(key="stop:button").click()
    assert run(test).button(key="anew:button").label == "Begin again"
    test.button(key="anew:button").click()
    assert run(test).button(key="stop:button").label == "Stop"


@pytest.mark.parametrize("pasted", ["", " ", "\0", "😀 $x$ <b> :red[y]", "xyzzy! " * 140])
def test_any_prompt(pasted):
    test = opened(steps="8")
    test.text_area(key="text").set_value(pasted)
    run(test)
    assert bool(test.info) == (pasted == "")
    assert ("are used here" in said(test, "caption")) == (len(pasted) > 900)


def test_the_figures_that_everybody_quotes():
    test = sized(of="your own, by sliders")
    assert metrics(test)["KV cache per sequence"] == ("85.9 GB", "80.0 GiB")
    assert "85{,}899{,}345{,}920" in test.latex[0].value
    test.selectbox(key="kv_heads").set_value(8)
    assert metrics(run(test))["KV cache per sequence"] == ("10.7 GB", "10.0 GiB")
    test.segmented_control(key="unit").set_value("binary")
    assert metrics(run(test))["KV cache per sequence"] == ("10.0 GiB", "10.7 GB")


@pytest.mark.parametrize(
    ("address", "factors"),
    [
        ({}, [2, 80, 8, 128, 32_768, 2, 1]),
        ({"of": "DeepSeek-V2", "precision": "int4", "batch": "5"}, [60, 576, 32_768, 0.5, 5]),
        ({"of": "Mistral 7B"}, [2, 32, 8, 128, 4_095, 2, 1]),
    ],
)
def test_the_product_is_written_out(address, factors):
    left, right = sized(**address).latex[0].value.strip("$\n").replace("{,}", "").split(" = ")
    written = [float(factor) for factor in left.split(r"\cdot")]
    assert written == factors
    assert int(right.removesuffix(r"\ \text{bytes}")) == np.prod(factors)


def test_every_way_to_share_and_every_model():
    found = figures(sized())
    assert "MHA: 64 KV heads 85.9 GB (80.0 GiB)" in found["ways"][0]["alt"]
    assert "GQA: 8 KV heads, as built 10.7 GB (10.0 GiB)" in found["ways"][0]["alt"]
    assert "MLA: 576 values 3.02 GB" in found["ways"][0]["alt"]
    names = found["models"][1]["layout"]["yaxis"]["ticktext"]
    assert {"DeepSeek-V2", "<b>LLaMA 3 70B</b>", "GPT-2 small", "stories (ours)"} <= set(names)
    assert "BERT base" not in names


def test_sixteen_users_do_not_fit_until_heads_are_shared():
    test = budgeted()
    found = metrics(test)
    full, gpu = 85_899_345_920, 80 * 2**30  # cache of one sequence; what is sold as 80 GB
    weights = parameters(presets.llama3_70b().changed(n_kv_heads=64)).total * 2
    lacks = f"{(weights / 4 + 8 * full / 4 + 0.05 * gpu - gpu) / 1e9:.0f} GB too much"
    assert found["It does not fit"] == (lacks, "on the fullest GPU")
    assert found["KV cache of a full sequence"] == ("85.9 GB", "80.0 GiB")
    rows = test.dataframe[0].value.set_index("remedy")
    assert rows.loc["8 KV heads", "fits"] == "yes"
    assert rows.loc["8 KV heads", "weights on it"] == f"{parameters(presets.llama3_70b()).total / 2 / 1e9:.1f} GB"
    assert rows.loc["cache in int8", "left over"] == rows.loc["paged cache", "left over"]
    assert rows.loc["tensor parallelism 8", "weights on it"] == f"{weights / 8 / 1e9:.1f} GB"
    assert rows.loc["all of these", "fits"] == "yes"
    caption = figures(test)["budget"][0]["caption"]
    assert lacks in caption
    assert "had it been built with MHA: 64 KV heads (it has GQA: 8 KV heads; its weights 79,948,947,456" in caption
    assert "had it been built" not in figures(budgeted(sharing="as built"))["budget"][0]["caption"]


def test_the_sentences_on_sizes_are_true_of_the_models_they_name():
    seven, seventy = presets.llama2_7b(), presets.llama3_70b()
    of_a_token = [cache_bytes(cache_shape(config), 1) for config in (seven, seventy)]
    assert of_a_token[0] > of_a_token[1]
    assert parameters(seventy).total / parameters(seven).total == pytest.approx(10, rel=0.05)
    assert DEEPSEEK_V2.numbers / shared(DEEPSEEK_V2, "mha").numbers < 0.02
    assert cache_bytes(CacheShape(layers=80, heads=64, kv_heads=64, d_head=128), 4_096) == 10 * 2**30
    work = cache_work(replace(presets.gpt2_small(), max_seq_len=64), 16, 32, "float32")
    assert work.with_cache.sum() == pytest.approx(work.without[-1], rel=0.01), "all steps cost the last pass"


def test_most_users_is_the_last_that_fits():
    most = budgeted(sharing="as built").dataframe[0].value.set_index("remedy").loc["as set above", "most users"]
    assert "It fits" in metrics(budgeted(sharing="as built", users=most))
    assert "It does not fit" in metrics(budgeted(sharing="as built", users=str(int(most) + 1)))


def test_groups_follow_the_number_of_gpus():
    test = budgeted(gpus="2", parallel="8")
    assert "parallel 8" in said(test, "caption")
    assert test.selectbox(key="parallel").value == 2


def test_the_bars_are_those_of_the_simulation():
    test = paged(trace="3", block="64")
    runs = compare(Traffic(seed=3), 2_048, 64)
    traces = figures(test)["shares"][1]["data"]
    for trace, state in ((traces[0], TOKEN), (traces[2], NEVER)):
        assert trace["x"] == pytest.approx([run.share(state) for run in runs.values()])
    maps = figures(test)["memory"][1]["data"]
    assert np.array_equal(array(maps[2]["z"]), runs["paged"].picture)
    assert test.dataframe[0].value["steps"].tolist() == [run.steps for run in runs.values()]


def test_blocks_of_one_token_waste_nothing():
    rows = paged(block="1").dataframe[0].value.set_index("memory")
    assert rows.loc["paged, blocks on demand", "tokens"] == "100.0%"
    assert rows.loc["contiguous, maximum length reserved", "internal fragmentation"] == "52.3%"


def test_what_latent_attention_keeps_is_drawn_of_it_alone():
    assert "latents" in figures(opened(part="large", of="deepseek_v2"))
    assert "latents" not in figures(opened(part="large", of="llama3_70b"))


@nightly
def test_a_model_of_ones_own_with_latents_holds_no_keys(allowed):
    brought("./deepseek")
    shown = figures(opened(model="./deepseek", steps="8"))
    assert "latents" in shown
    names = {trace["name"] for trace in shown["steps"][1]["data"] if trace["type"] == "bar"}
    assert names == {"latents", "rotated keys"}
