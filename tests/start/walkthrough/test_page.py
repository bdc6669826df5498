"""The walk: every stop of every shipped model, true numbers, any text, and addresses that lead to the same view."""

import inspect
import re
from functools import partial

import numpy as np
import pytest
import torch

from pages.ui import cache, controls, head_links, page
from pages.ui import text as text_of_pages
from pages.ui.components import scene
from tests import small
from tests.nightly import often
from tests.pages import visits
from tests.pages.figures import array, figures, scenes
from tests.pages.visits import run
from tfcore import shipped
from tfcore.attention import EachNorm, WholeNorm
from tfcore.norms import rms_norm
from tfcore.part_configs import ExpertsConfig
from tfcore.views import sources
from tfcore.views.start.walkthrough.code import functions
from tfcore.views.start.walkthrough.measure.tensors import stage_tensors
from tfcore.views.start.walkthrough.measure.walk import walk, walk_stages
from tfcore.views.start.walkthrough.say.stages import stage_finding
from tfcore.views.start.walkthrough.say.words import SAID, WORDS, words

opened = partial(visits.opened, "start/walkthrough/page.py")
TEXT = "The little dog lost the red ball. The little"


def path(name):
    config = cache.model(name)[0].config
    return [stage.name for stage in walk_stages(config, config.n_layers - 1)]


def shown(test, name):
    """The numbers of the last heatmap of a figure."""
    data = [trace for trace in figures(test)[name][1]["data"] if trace["type"] == "heatmap"]
    return array(data[-1]["z"])


@pytest.mark.parametrize("name", often(shipped("decoder", "encoder"), ["stories", "fill"]))
def test_every_stop_is_reached_and_says_what_it_did(name, monkeypatch):
    given, original = [], page.drawer
    monkeypatch.setattr(page, "drawer", lambda name, *more: given.append(name) or original(name, *more))
    test = opened(model=name)
    for stage in path(name):
        test.select_slider(key="stage").set_value(stage)
        run(test)
        drawn = figures(test)
        assert all(head["alt"] for head, _ in drawn.values())
        if stage not in ("characters", "tokens", "ids", "top-5"):
            assert {"before", "after"} <= set(drawn), stage
            assert f"stage {stage}:" in drawn["after"][0]["alt"]
        assert "**What to see.**" in visits.said(test, "markdown")
        assert any(caption.value.startswith("`tfcore.") for caption in test.caption), stage
        assert len(test.metric) == 2
        of_text = stage in ("characters", "tokens", "ids", "top-5")
        assert given[-1] == f"walkthrough-{'answer' if of_text else 'stage'}", stage


def listening(monkeypatch, module, **address):
    """Opens the page; returns what tells it an event of a scene of it, as the browser does."""
    given = {}
    monkeypatch.setattr(scene, "_component", lambda **one: given.update({one["data"]["module"]: one}))
    opened(model="stories", **address)

    def tell(name, value):
        monkeypatch.setattr(scene.st, "session_state", {given[module]["key"]: {"told": [name, value]}})
        given[module]["on_told_change"]()

    return tell


def test_the_stage_of_attention_shows_the_head_that_is_chosen():
    test = opened(model="stories", stage="softmax", layer="2", head="5")
    said, model = scenes(test, "stage")[0], cache.model("stories")[0]
    ids = cache.model("stories")[1].encode(TEXT)
    kept = model(torch.tensor([ids]), capture=["blocks.2.attn.pattern", "blocks.2.attn.rot_q", "blocks.2.attn.z"])
    weights, q, z = (kept.activations[f"blocks.2.attn.{name}"][0, 5].numpy() for name in ("pattern", "rot_q", "z"))
    np.testing.assert_allclose(np.reshape(said["weights"], weights.shape), weights, atol=6e-4)
    for name, vectors in (("queries", q), ("output", z)):
        shown = np.array(said[name][-1] if name == "queries" else said[name]).reshape(vectors.shape)
        inside = np.abs(shown) < 99
        assert inside.mean() > 0.9
        step = np.abs(vectors[inside]).max() / np.abs(shown[inside]).max()
        np.testing.assert_allclose(shown[inside] * step, vectors[inside], atol=1.2 * step)
    assert said["steps"] == ["heads", "rotation", "scores", "scaled", "mask", "softmax", "values"]
    assert (said["steps"][said["at"]], said["tokens"][-1]) == ("softmax", "·little")
    assert said["label"] == "Attention of head 5 in layer 2, softmax"
    assert said["stories"][-1].startswith("'·little' attends most to '")


@pytest.mark.parametrize(("to", "stage"), [(0, "heads"), (6, "weighted sum of values"), (7, None), ("x", None)])
def test_the_stage_of_attention_is_scrubbed_by_the_browser(to, stage, monkeypatch):
    tell, sent = listening(monkeypatch, "stage", stage="softmax"), []
    monkeypatch.setattr(controls, "set_values", lambda **values: sent.append(values))
    tell("to", to)
    assert [SAID.get(one["stage"], one["stage"]) for one in sent] == ([stage] if stage else [])


def test_a_score_that_is_clicked_leads_to_why_the_head_looks_there(monkeypatch):
    text, led = "Once upon a time", []
    tell = listening(monkeypatch, "stage", stage="softmax", text=text)
    monkeypatch.setattr(head_links.HeadOfText, "open", lambda _, *place: led.append(place))
    n = len(cache.model("stories")[1].encode(text))
    for query, key in ([0, 0], [n - 1, 0], [1, 1], [n, 0], [1, n], [-1, 0], [1, -1], [0, 1], ["1", 0], [1, None]):
        tell("cell", {"query": query, "key": key})
    for cell in ({"query": 1}, [1, 0], 1, "x", None):
        tell("cell", cell)
    assert led == [(0, 0), (n - 1, 0), (1, 1)]


def test_of_a_long_text_the_last_tokens_are_walked():
    test = opened(model="stories", stage="mask", text=f"{'a dog ' * 40}{TEXT}")
    assert scenes(test, "stage")[0]["tokens"][-3:] == [".", "·The", "·little"]
    assert len(scenes(test, "stage")[0]["tokens"]) == 32
    assert "the last 32 are used here" in visits.said(test, "caption")


@pytest.mark.parametrize(("name", "said"), [("stories", "the next"), ("fill", "masked one"), ("minilm", "a vector")])
def test_the_first_stage_says_what_comes_out_of_this_model(name, said, request):
    if name == "minilm":
        request.getfixturevalue("real_models")
    assert said in words(cache.model(name)[0].config, "characters", 0, "").see


def test_every_stage_has_one_name_of_its_own_and_a_link_may_say_either():
    said = {stage: SAID.get(stage, stage) for stage in WORDS}
    assert len({name.casefold() for name in [*said.values(), *SAID]}) == len(said.values()) + len(SAID)
    for link in ("qkv", "Q K V"):
        test = opened(stage=link)
        assert test.select_slider(key="stage").value == "qkv"
        assert "Corrected" not in visits.said(test, "caption")
    assert "Q K V" in test.select_slider(key="stage").options


def test_the_first_view_shows_what_goes_in_and_what_comes_out():
    test = opened()
    head, _ = figures(test)["next"]
    assert head["alt"].startswith("The 5 most likely tokens: '·dog' 95")
    assert "44 characters go in" in visits.said(test, "markdown")


def test_the_numbers_are_the_models_own():
    model, tokenizer = cache.model("stories")
    ids = torch.tensor([tokenizer.encode(TEXT)])
    found = model(ids, capture=("blocks.2.attn.pattern", "blocks.2.ln2.normalized", "blocks.2.mlp_out"))
    activations = found.activations
    weights = shown(opened(stage="softmax", layer="2", head="3"), "after")
    expected = activations["blocks.2.attn.pattern"][0, 3].numpy()
    np.testing.assert_allclose(np.nan_to_num(weights), expected, atol=1e-6)
    normed = shown(opened(stage="norm-2", layer="2"), "after")
    np.testing.assert_allclose(normed, activations["blocks.2.ln2.normalized"][0].numpy(), atol=1e-5)
    added = shown(opened(stage="down", layer="2"), "after")
    np.testing.assert_allclose(added, activations["blocks.2.mlp_out"][0].numpy(), atol=1e-5)
    test = opened(stage="top-5")
    best = found.logits[0, -1].softmax(-1).topk(5)
    assert [float(p) for p in array(figures(test)["next"][1]["data"][0]["x"])] == pytest.approx(
        best.values.tolist(), rel=1e-4
    )


def test_the_cost_is_that_of_the_matrices():
    test = opened(stage="qkv")
    assert [metric.value for metric in test.metric] == [f"{192 * 576:,}", f"{2 * 10 * 192 * 576 / 1e6:.2f} M"]
    tied = opened(stage="logits")
    assert tied.metric[0].delta == "the embedding table again"
    untied = opened(stage="logits", model="induction")
    assert "%" in untied.metric[0].delta


def test_a_model_without_a_feed_forward_layer_has_no_such_stops():
    test = opened(model="induction", stage="activation")
    assert test.select_slider(key="stage").value == "characters"
    assert "stage activation" in visits.said(test, "caption")
    assert not {"up", "activation", "down", "norm-2"} & set(path("induction"))


def test_a_layer_is_kept_where_the_stage_stays():
    test = opened(stage="softmax", layer="1", head="4")
    test.select_slider(key="stage").set_value("scores")
    run(test)
    assert (test.slider(key="layer").value, test.slider(key="head").value) == (1, 4)
    assert "layer 1, one of 4 · head 4, one of 6" in visits.said(test, "markdown")


@pytest.mark.parametrize("text", ["a", " ", "\n\n", "<b>$x$</b> :red[a] *b* %{x}", "😀👩‍👩‍👧‍👦", "שלום", "a\0b\u202ec"])
@pytest.mark.parametrize("stage", ["tokens", "values"])
def test_any_text_is_walked(text, stage):
    test = opened(stage=stage)
    test.text_area(key="text").set_value(text)
    run(test)
    assert figures(test)


def test_no_text_and_too_much():
    test = opened()
    test.text_area(key="text").set_value("")
    assert "no text yet" in run(test).info[0].value
    test.text_area(key="text").set_value("A cat sat. " * 900)
    said = visits.said(run(test), "caption")
    assert "2,000" in said
    assert "the last 32 are used" in said


def test_the_widest_view_stays_small():
    text = "one two three four five six seven eight " * 5
    test = opened(stage="activation", text=text)
    sent = sum(len(e.proto.bytes) for e in test.main if getattr(e, "type", "") == "bidi_component")
    assert 100_000 < sent < 250_000


MODELS = {
    "2017": {
        "positions": "sinusoidal",
        "norm": "layernorm",
        "norm_placement": "post",
        "scale_embeddings": True,
        "bias": True,
        "activation": "relu",
    },
    "sandwich": {"norm_placement": "sandwich", "embed_norm": True, "qk_norm": True, "positions": "alibi"},
    "experts": {"experts": ExpertsConfig(n_experts=4)},
    "relative": {"positions": "relative", "attn_scale": 1.0, "tie_embeddings": False},
    "scores by layer": {"attn_scale_by_layer": True},
    "soft caps": {"attn_softcap": 50.0, "logit_softcap": 30.0},
    "cut off, ALiBi by key": {"attn_clip": 6.0, "positions": "alibi", "alibi_by_key": True, "qk_norm": "each"},
    "like Phi": small.WIRINGS["like Phi"],
    "encoder": {"architecture": "encoder", "head": "mlm", "positions": "learned", "norm": "layernorm", "n_segments": 2},
    "like ELECTRA": {"architecture": "encoder", "head": "mlm", "d_embed": 10},
    "like DeBERTa v2-xlarge": small.CONVOLVED,
}


def test_every_stage_of_every_kind_of_model_has_words():
    seen = set()
    for values in ({}, *MODELS.values()):
        config = small.config(**values)
        for layer, stage in [(at, stage) for at in range(2) for stage in walk_stages(config, at)]:
            said = words(config, stage.name, layer, "'dog'")
            seen.add(stage.name)
            for part in (said.label, said.title, said.sentence, said.equation, said.arrow, said.see):
                assert part
                assert not re.search(r"\$\w", part)
    assert seen == set(WORDS)


def test_what_is_done_to_logits_is_said_and_stands_in_their_formula():
    def said(**values):
        return words(small.config(**values), "logits", 1, "'dog'")

    assert said().equation == r"\ell = x\,E^\top"
    assert said().sentence.endswith("is that token's logit, its score.")
    one = said(**MODELS["like Phi"])
    assert one.equation == r"\ell = 0.5\,x\,W_U^\top + b"
    assert one.sentence.endswith("score. All are multiplied by 0.5. Each token has a learned bias, which is added.")
    one = said(**MODELS["soft caps"])
    assert one.equation == r"\ell = 30\tanh\big((x\,E^\top) / 30\big)"
    assert one.sentence.endswith("A soft cap bends them, so that none is above 30.")


@pytest.mark.parametrize("name", ["stories", "stories-moe", "stories-learned"])
def test_the_share_it_states_is_this_models(name):
    """Not two thirds for every model: counted from the weights of the block."""
    model = cache.model(name)[0]
    inside = {part: weight.numel() for part, weight in model.named_parameters() if ".blocks.1." in part}
    fed = sum(count for part, count in inside.items() if ".mlp." in part)
    said = words(model.config, "down", 1, "'dog'").see
    assert f"has {fed / sum(inside.values()):.0%} of this block's parameters" in said


@pytest.mark.parametrize(("activation", "without"), [("swiglu", "bilinear"), ("gelu", "no more than one")])
def test_what_a_layer_would_be_without_its_activation(activation, without):
    assert without in words(small.config(activation=activation), "activation", 0, "'dog'").sentence


@pytest.mark.parametrize("kind", MODELS)
def test_every_stage_of_every_kind_of_model_names_code_of_ours(kind):
    model = small.model(**MODELS[kind])
    walked = walk(model, [1, 2, 3], 0)
    for stage in walk_stages(model.config, 0):
        for function in functions(walked, stage.name, cache.model("stories")[1]):
            assert inspect.getsource(inspect.unwrap(function))


@pytest.mark.parametrize(
    ("norm", "runs"), [("width", [WholeNorm, rms_norm]), ("head", [rms_norm]), ("each", [EachNorm])]
)
def test_the_code_of_qk_norm_is_that_of_its_kind(norm, runs):
    walked = walk(small.model(qk_norm=norm), [1, 2, 3], 1)
    shown = functions(walked, "qk-norm", cache.model("stories")[1])
    assert {WholeNorm, rms_norm, EachNorm} & {*shown} == {*runs}


@pytest.mark.parametrize(("kind", "stage"), [("2017", "positions"), ("experts", "router"), ("encoder", "top-5")])
def test_other_kinds_of_models_can_be_walked(kind, stage, monkeypatch):
    tokenizer = cache.model("stories")[1]
    model = small.model(vocab_size=tokenizer.vocab_size + 1, **MODELS[kind])
    monkeypatch.setattr(cache, "model", lambda _: (model, tokenizer))
    monkeypatch.setattr(sources, "_opener", [lambda _: (model, tokenizer)])
    test = opened(text=f"cat {kind}", stage=stage)
    assert test.select_slider(key="stage").value == stage
    assert bool([slider for slider in test.slider if slider.key == "hidden"]) == (kind == "encoder")


@pytest.mark.parametrize("damage", ["nan", "17", "<script>alert(1)</script>", "%00😀", "", "9" * 400])
def test_a_stage_that_is_none_becomes_the_first(damage):
    assert opened(stage=damage).select_slider(key="stage").value == "characters"


def test_a_stage_is_found_in_capitals_too():
    assert opened(stage="SoftMax").select_slider(key="stage").value == "softmax"


@pytest.mark.parametrize("place", [0, 11, 24, 25, -1, "x", {"to": 1}])
def test_a_click_on_the_map_goes_to_that_stage(place, monkeypatch):
    tell, chosen = listening(monkeypatch, "line_map", stage="mask"), []
    monkeypatch.setattr(controls, "set_values", lambda **values: chosen.append(values["stage"]))
    tell("to", place)
    tell("other", 0)
    assert chosen == [stage for at, stage in enumerate(path("stories")) if at == place]


def test_the_last_stage_marks_the_token_that_is_new(monkeypatch):
    rows = {}
    monkeypatch.setattr(text_of_pages, "chips", lambda tokens, *, key, **more: rows.update({key: (tokens, more)}))
    opened(stage="top-5")
    tokens, more = rows["chips after"]
    assert tokens[-1] == " dog"
    assert [hue == 4 for hue in more["hues"]] == [False] * (len(tokens) - 1) + [True]


def test_both_pictures_have_one_range_where_sizes_are_compared():
    for stage, alike in (("norm-1", True), ("add-1", True), ("down", False)):
        drawn = figures(opened(stage=stage, layer="2"))
        ranges = [drawn[when][1]["data"][0]["zmax"] for when in ("before", "after")]
        assert (ranges[0] == ranges[1]) == alike, stage


def test_what_is_said_of_a_stage_is_of_its_head_and_stands_under_its_pictures():
    model, tokenizer = cache.model("stories")
    walked = walk(model, tokenizer.encode(TEXT), 2)
    tokens = tokenizer.tokens(tokenizer.encode(TEXT))
    test = opened(stage="scores", layer="2", head="4")
    found = str(stage_finding(walked, stage_tensors(walked, "scores", 4), "scores", tokens))
    assert f"**{text_of_pages.escape(found)}**" in [words.value for words in test.markdown]
    for when in ("before", "after"):
        head, _ = figures(test)[when]
        assert head["alt"].startswith(f"{when.capitalize()} stage scores:")
        assert head["alt"].endswith(found)
    np.testing.assert_allclose(shown(test, "after"), walked.tensors["products"][4], rtol=1e-5)


def test_the_ends_of_the_sliders():
    sliders = {slider.key: (slider.min, slider.max) for slider in opened(stage="softmax").slider}
    assert sliders == {"layer": (0, 3), "head": (0, 5)}


def test_of_the_norms_of_a_post_norm_model_the_first_alone_has_other_words():
    pre, post = (small.config(norm_placement=placement) for placement in ("pre", "post"))
    apart = [
        stage
        for stage in ("norm-1", "norm-2", "qkv", "add-1")
        if words(pre, stage, 0, "a") != words(post, stage, 0, "a")
    ]
    assert apart == ["norm-1"]
    assert ["before attention" in words(config, "norm-1", 0, "a").sentence for config in (pre, post)] == [True, False]


def test_a_masked_token_is_predicted_by_the_last_stage_of_an_encoder_alone():
    for values, masked in (({}, []), (MODELS["encoder"], ["top-5"])):
        config = small.config(**values)
        titles = {stage.name: words(config, stage.name, 1, "'dog'").title for stage in walk_stages(config, 1)}
        assert [name for name, title in titles.items() if title == "The predicted masked token"] == masked
