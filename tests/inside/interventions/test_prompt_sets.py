"""Sets of prompts: tables read and refused, effects against full runs, intervals against scipy's and by hand."""

import copy

import numpy as np
import pytest
import torch

from tests import small
from tests.nightly import often_named
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import load
from tfcore.measures.attribution_patching import estimate_effects
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.interventions import Part, parts_of
from tfcore.views.inside.interventions import say
from tfcore.views.inside.interventions.measure import prompt_sets
from tfcore.views.inside.interventions.measure.prompt_means import (
    Means,
    board_means,
    board_names,
    means_of,
    part_values,
)
from tfcore.views.inside.interventions.measure.prompt_sets import (
    EXACT,
    EncodedPrompt,
    ExactEffects,
    PromptEffects,
    encode_prompts,
    exact_patches,
    pair_prompts,
    pairable_templates,
)
from tfcore.views.inside.interventions.measure.prompt_tables import (
    TEMPLATES,
    PromptRow,
    filled,
    read_prompts,
    written_prompts,
)

TEXTS = small.ids(6, 9).tolist()
SET = tuple(  # of 9, 6 and 9 tokens: the second has padding behind it
    EncodedPrompt(tuple(a[:n]), tuple(b[:n]), Quantity("difference", 7, 30))
    for a, b, n in zip(TEXTS[:3], TEXTS[3:], (9, 6, 9), strict=True)
)


def measure_set(*given, **more) -> list[PromptEffects | ExactEffects]:
    return [one for one in prompt_sets.measure_set(*given, **more) if one is not None]


def difference(model, ids, *edits) -> float:
    logits = model(torch.tensor([list(ids)]), edits=edits).logits[0, -1].double()
    return float(logits[7] - logits[30])


@pytest.mark.parametrize("values", often_named(small.WIRINGS, "like GPT-2"))
def test_every_effect_is_that_of_full_runs(values):
    model = small.model(**values)
    every = parts_of(model.config)
    flat = [part for layer in every for part in layer]
    found = measure_set(model, SET, exact=len(flat))
    first, exact = found[:3], found[3:]
    assert all(isinstance(one, PromptEffects) for one in first)
    for prompt, one, more in zip(SET, first, exact, strict=True):
        whole = difference(model, prompt.clean)
        assert one.clean == pytest.approx(whole, abs=2e-5)
        assert one.corrupted == pytest.approx(difference(model, prompt.corrupted), abs=2e-5)
        estimate = estimate_effects(model, prompt.clean, prompt.quantity, "zero")
        np.testing.assert_allclose(one.estimate, estimate, atol=3e-5)
        assert isinstance(more, ExactEffects)
        assert set(more.parts) == set(flat)
        for part, effect in zip(more.parts, more.effects, strict=True):
            name = f"blocks.{part.layer}.{'attn.z' if part.is_head else 'mlp_out'}"
            off = Edit.zero(name, heads=None if part.head == "ff" else [part.head])
            assert effect == pytest.approx(whole - difference(model, prompt.clean, off), abs=3e-5)
        for layer in range(2):
            for kind, name in enumerate((f"blocks.{layer}.attn_out", f"blocks.{layer}.mlp_out")):
                if kind and every[layer][-1].head != "ff":
                    assert one.patched[layer, 1] == more.patched[layer, 1] == 0
                    continue
                value = model(torch.tensor([list(prompt.corrupted)]), capture=[name]).activations[name][0]
                now = difference(model, prompt.clean, Edit.replace(name, value))
                assert more.patched[layer, kind] == pytest.approx(whole - now, abs=3e-5)
                slope = gradient(model, prompt.clean, name, value)
                assert one.patched[layer, kind] == pytest.approx(slope, abs=1e-3)


def gradient(model, ids, name, value, step: float = 1e-6) -> float:
    """The fall to first order when an activation moves towards a value, by finite differences in float64, which are so
    small that no router chooses other experts on the way."""
    double = copy.deepcopy(model).double()
    now = double(torch.tensor([list(ids)]), capture=[name]).activations[name][0]
    ends = [now + sign * step * (value.double() - now) for sign in (-1, 1)]
    back, on = (difference(double, ids, Edit.replace(name, end)) for end in ends)
    return (back - on) / (2 * step)


def test_prompts_share_passes_within_a_bound(monkeypatch):
    """With as many tokens in a pass as one prompt has: the same results."""
    model = small.model()
    together = measure_set(model, SET)
    monkeypatch.setattr(prompt_sets, "TOGETHER", 9)
    for one, other in zip(together, measure_set(model, SET), strict=True):
        for a, b in zip(one, other, strict=True):
            if not isinstance(a, tuple):
                np.testing.assert_allclose(np.asarray(a), np.asarray(b), atol=3e-5)
    for most, batches in ((27, 1), (26, 2), (18, 2), (17, 3)):  # None after each of two layers; padding counts
        monkeypatch.setattr(prompt_sets, "TOGETHER", most)
        assert list(prompt_sets.measure_set(model, SET)).count(None) == 2 * batches


def test_of_a_large_set_the_outputs_with_the_largest_estimates_are_patched_exactly(monkeypatch):
    model = small.model()
    assert exact_patches(model, SET) is None
    monkeypatch.setattr(prompt_sets, "MOST_EXACT", 2 * 24)  # layers times tokens
    assert exact_patches(model, SET) is None
    monkeypatch.setattr(prompt_sets, "MOST_EXACT", 2 * 24 - 1)
    assert exact_patches(model, SET) == EXACT
    every, some = measure_set(model, SET), measure_set(model, SET, patches=1)
    estimates = np.mean([one.patched for one in some[:3]], axis=0)
    place = np.unravel_index(abs(estimates).argmax(), estimates.shape)
    for one, other in zip(every[3:], some[3:], strict=True):
        assert np.argwhere(~np.isnan(other.patched)).tolist() == [list(place)]
        assert other.patched[place] == pytest.approx(one.patched[place], abs=3e-5)
    both = board_means(some, True)
    means, exact = both
    assert np.argwhere(exact).tolist() == [list(place)]
    assert means.mean[place] == pytest.approx(np.mean([one.patched[place] for one in every[3:]]), abs=3e-5)
    np.testing.assert_allclose(means.mean[~exact], estimates[~exact], rtol=1e-5)
    assert both.how == "exact for 1 of 4 outputs, estimated for the others"
    assert (board_means(every, True).how, board_means(every, False).how) == ("exact", "estimated")


def test_the_largest_estimates_are_measured_exactly():
    model = small.model()
    found = measure_set(model, SET, exact=2)
    mean = np.mean([one.estimate for one in found[:3]], axis=0)
    flat = [part for layer in parts_of(model.config) for part in layer]
    assert found[3].parts == tuple(flat[i] for i in np.argsort(-abs(mean).ravel(), kind="stable")[:2])
    assert found[3].effects.shape == (2,)


# ---- intervals ----


def test_an_interval_is_its_formula_and_covers_as_often_as_it_says():
    values = np.array([[1.0, -1.0], [2.0, 1.0], [4.0, 0.5]])
    found = means_of(values)
    by_hand = [4.3027 * np.sqrt(sum((v - c.mean()) ** 2 for v in c) / 2 / 3) for c in values.T]
    np.testing.assert_allclose(found.high - found.mean, by_hand, rtol=1e-4)
    np.testing.assert_allclose(found.mean - found.low, by_hand, rtol=1e-4)
    drawn = means_of(np.random.default_rng(0).normal(1.0, 3.0, size=(6, 4000)))
    assert ((drawn.low < 1.0) & (drawn.high > 1.0)).mean() == pytest.approx(0.95, abs=0.012)
    with pytest.raises(ValueError, match="at least 2 prompts"):
        means_of(values[:1])


def test_what_is_said_of_means():
    means = Means(
        np.array([[0.5, -2.0], [1.0, 0.0]]), np.array([[-0.1, -2.5], [0.5, -1.0]]), np.array([[1.1, -1.5], [1.5, 1.0]])
    )
    np.testing.assert_array_equal(means.unsure, [[True, False], [False, True]])
    found = say.largest_means(means, ["a", "b", "c", "d"], "Zero ablation")
    assert str(found) == (
        "Zero ablation: mean fall of the metric with 95% interval, in logits. Largest: b -2.00 (-2.50 to -1.50); "
        "c +1.00 (+0.50 to +1.50); a +0.50 (-0.10 to +1.10). 2 of 4 intervals include 0."
    )
    nothing = np.zeros((1, 1), np.float32)
    metric = say.set_metric([PromptEffects(clean, -clean, nothing, nothing) for clean in (1.0, 3.0, -1.0)])
    said = metric.values
    assert [said[name] for name in ("prompts", "right", "mean", "spread", "corrupted")] == [3, 2, 1.0, 2.0, -1.0]
    few = say.set_metric([PromptEffects(clean, 0.0, nothing, nothing) for clean in (0.0, -0.5, 0.5)])
    assert few.values["right"] == 1
    assert said["high"] - said["mean"] == pytest.approx(4.3027 * 2 / np.sqrt(3), abs=1e-3)
    assert (said["corrupted_low"], said["corrupted_high"]) == pytest.approx((-said["high"], -said["low"]))
    assert str(metric) == (
        "Logit of the answer less that of the wrong one, over 3 prompts: +1.00 (95% interval -3.97 to +5.97, standard "
        "deviation 2.00); the answer leads on 2. On the corrupted texts: -1.00 (-5.97 to +3.97)."
    )


# ---- tables ----


def test_a_table_is_read_as_it_is_written():
    for prompts in TEMPLATES.values():
        assert read_prompts(written_prompts(prompts)) == prompts
    hostile = (PromptRow('a "b", c', "x\ny", " $x$", " :red[y]"), PromptRow("=1+1", "<b>", " é", " 😀"))
    assert read_prompts(written_prompts(hostile)) == hostile
    signs = tuple(PromptRow(f"a{sign}b", f"{sign}c", f"d{sign}", f"{sign}e{sign}") for sign in map(chr, range(32)))
    assert read_prompts(written_prompts(signs)) == signs
    assert read_prompts("\ufeffClean, corrupted ,ANSWER,wrong\r\na,b, c, d\r\n\r\ne,f, g, h\r\n")[1] == PromptRow(
        "e", "f", " g", " h"
    )


HEAD = "clean,corrupted,answer,wrong\n"


def test_a_table_may_be_as_large_as_that():
    assert len(read_prompts(HEAD + "a,b,c,d\n" * 64)) == 64
    longest = PromptRow("a" * 400, "b" * 400, "c" * 40, "d" * 40)
    assert read_prompts(written_prompts([longest] * 2)) == (longest,) * 2


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("", "the first row must name the columns: clean,corrupted,answer,wrong"),
        ("a,b,c,d\n", "the first row must name"),
        (f"{HEAD}a,b,c,d", "1 prompts; it needs 2 to 64"),
        (HEAD + "a,b,c,d\n" * 65, "65 prompts"),
        (f"{HEAD}a,b,c,d\na,b,c", "row 2 has 3 columns"),
        (f"{HEAD}a,b,c,d\na,,c,d", "row 2 has nothing under 'corrupted'"),
        (f"{HEAD}a,b,c,d\na,{'b' * 401},c,d", "401 characters under 'corrupted'; 400"),
        (f"{HEAD}a,b,{'c' * 41},d\na,b,c,d", "row 1 has 41 characters under 'answer'; 40"),
        (f'{HEAD}a,b,c,d\n"a,b,c,d', "no CSV table"),
    ],
)
def test_a_table_that_cannot_be_used_gets_one_sentence(table, says):
    with pytest.raises(ValueError, match=says):
        read_prompts(table)


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        (
            PromptRow("a cat", "a big cat sat", " he", " she"),
            "row 1: the clean text has .* patching needs equally many",
        ),
        (PromptRow("a cat " * 60, "a cat " * 60, " he", " she"), "64 are possible"),
        (PromptRow("a cat", "a dog", " he", " he"), "both answers begin with the same token"),
        (PromptRow(" cat" * 65, " cat" * 65, " he", " she"), "row 1 has 65 tokens; 64 are possible"),
    ],
)
def test_a_prompt_that_a_model_cannot_use_gets_one_sentence(prompt, says):
    with pytest.raises(ValueError, match=says):
        encode_prompts(*load("stories"), [prompt])


def test_a_text_may_have_as_many_tokens_as_that():
    (found,) = encode_prompts(*load("stories"), [PromptRow(" cat" * 64, " dog" * 64, " he", " she")])
    assert len(found.clean) == 64


def test_a_slot_that_nothing_fills_is_named():
    with pytest.raises(ValueError, match="no slot 'b'"):
        filled("{a} {b}", "", "", "", [{"a": "x"}])


@pytest.mark.parametrize("name", ["genders", "copies"])
def test_the_templates_for_stories_find_its_heads(name):
    """The head that the page on interventions names for one sentence is the one over the whole set."""
    model, tokenizer = load("stories")
    prompts = encode_prompts(model, tokenizer, TEMPLATES[name])
    found = measure_set(model, prompts, exact=28)
    n = len(prompts)
    said = say.set_metric([one for one in found[:n] if isinstance(one, PromptEffects)]).values
    assert said["low"] > 0
    assert said["right"] >= 0.75 * n
    exact = [one for one in found[n:] if isinstance(one, ExactEffects)]
    means = means_of(np.stack([one.effects for one in exact]))
    heads = {part: place for place, part in enumerate(exact[0].parts) if part.is_head}
    if name == "genders":
        assert means.low[heads[Part(2, 5)]] > 0


# ---- what a model can pair, and what is shown ----


def test_rows_that_cannot_be_paired_are_left_out_with_the_reason():
    model, tokenizer = load("stories")
    good = TEMPLATES["genders"][:2]
    bad = good[0]._replace(corrupted="A cat"), good[0]._replace(wrong=good[0].answer)
    found = pair_prompts(model, tokenizer, (bad[0], *good, bad[1]))
    assert found.prompts == good
    assert found.encoded == encode_prompts(model, tokenizer, good)
    assert found.left_out[0].startswith("row 1: the clean text has ")
    assert found.left_out[1].startswith("row 4: both answers begin with the same token")
    said = str(say.left_out(found.left_out))
    assert said.startswith("2 rows are left out. Row 1: the clean text has ")
    assert str(say.left_out(["row 9 is odd"])) == "1 row is left out. Row 9 is odd."
    with pytest.raises(ValueError, match=r"1 of 3 rows can be used, and an interval needs 2; row 2: the clean"):
        pair_prompts(model, tokenizer, (good[0], bad[0], bad[1]))
    names = pairable_templates(model, tokenizer)
    assert names == ("genders", "copies")
    for name in TEMPLATES.keys() - set(names):
        with pytest.raises(ValueError, match="needs equally many"):
            encode_prompts(model, tokenizer, TEMPLATES[name])


def test_estimates_are_shown_until_two_prompts_are_exact():
    model = small.model()
    found = measure_set(model, SET, exact=3)
    flat = [part for layer in parts_of(model.config) for part in layer]
    estimates = np.stack([one.estimate.ravel() for one in found[:3]])
    for there in (3, 4):
        early = part_values(model, found[:there])
        assert not early.exact
        for part, values in zip(early.parts, early.values.T, strict=True):
            np.testing.assert_array_equal(values, estimates[:, flat.index(part)])
    assert part_values(model, found[:5]).exact, "two prompts"
    late = part_values(model, found)
    assert late.exact
    sizes = [abs(sum(one.effects[one.parts.index(part)] for one in found[3:]) / 3) for part in late.parts]
    assert sizes == sorted(sizes, reverse=True)
    np.testing.assert_array_equal(late.values[1], [found[4].effects[found[4].parts.index(p)] for p in late.parts])


def test_the_board_has_a_mean_and_a_name_for_each_field():
    model = small.model()
    found = measure_set(model, SET, exact=1)
    for patched, there in ((False, 6), (True, 3), (True, 4), (True, 5), (True, 6)):
        means, exact = board_means(found[:there], patched)
        measured = patched and there > 4  # two prompts
        assert exact.tolist() == np.full(exact.shape, measured).tolist()
        field = "patched" if patched else "estimate"
        used = [getattr(one, field) for one in (found[3:there] if measured else found[:3])]
        np.testing.assert_allclose(means.mean, np.mean(used, axis=0), rtol=1e-5)
        names = board_names(model, patched)
        assert (len(names), len(names[0])) == means.mean.shape
        assert means.columns["low"].tolist() == means.low.ravel().tolist()
    quick = measure_set(model, SET, exact=1, patches=0)
    assert all(np.isnan(one.patched).all() for one in quick)
    for one, other in zip(found, quick, strict=True):
        np.testing.assert_allclose(one[-2], other[-2], atol=3e-5)
    assert board_names(model, True)[1] == ["attention 1", "feed-forward 1"]
    assert board_names(model, False)[1][0] == "head 1.0"
