"""The page on the residual stream: the sum it shows is the model's logit, guesses and skips are the model's own."""

import re
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from safetensors.torch import load_file

from pages.inside.stream import choices, lens, parts, skip
from pages.inside.stream.choices import TEXT, TOKENS
from pages.inside.stream.facts import FACTS
from pages.ui import cache, controls
from tests import own_folders
from tests.nightly import nightly, often
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.own_models import brought
from tests.pages.visits import run
from tests.parity.checkpoints import written
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import PRETRAINED
from tfcore.measures import lenses
from tfcore.measures.interventions import effect
from tfcore.measures.logit_attribution import contributions, stream_parts
from tfcore.measures.one_text import begin_of, first_tokens
from tfcore.views.inside.stream.measure import skip as skipping
from tfcore.views.inside.stream.measure.lens import lens_of
from tfcore.views.sources import Reading

opened = partial(visits.opened, "inside/stream/page.py")
HE = "There was a little boy. One day, Sam said that"


def words(test) -> str:
    return visits.said(test, "markdown", "caption")


def logits(text: str, *edits: Edit) -> torch.Tensor:
    model, tokenizer = cache.model("stories")
    return model(torch.tensor([tokenizer.encode(text)]), edits=edits).logits[0]


def token(text: str) -> int:
    (found,) = cache.model("stories")[1].encode(text)
    return found


@pytest.mark.parametrize("against", ["the mean of all logits", "nothing: the raw logit", "3"])
def test_the_parts_shown_add_up_to_the_logit_of_the_model(against):
    test = opened(text=HE, against=against)
    said = re.search(r"\*\*(-?\d+\.\d+)\*\*\. Sum of the 29 parts: \*\*(-?\d+\.\d+)\*\* \(off by (\S+)\)", words(test))
    row = logits(HE)[-1]
    minus = {"3": float(row.topk(4).values[3]), "nothing: the raw logit": 0.0}.get(against, float(row.mean()))
    assert float(said[1]) == pytest.approx(float(row[token(" he")]) - minus, abs=2e-4)
    assert said[1] == said[2] or abs(float(said[1]) - float(said[2])) < 1.01e-4
    assert float(said[3]) < 1e-4
    bars = figures(test)["sum"][1]["data"][0]
    shares = np.array(bars["x"])
    assert shares[:-1].sum() == pytest.approx(shares[-1]) == pytest.approx(float(said[2]), abs=1e-4)
    fields = array(figures(test)["board"][1]["data"][0]["z"])
    assert fields.shape == (4, 7)
    np.testing.assert_allclose(fields[:, :6].sum(1), shares[1:-1:2], atol=1e-4)  # the heads of each layer
    np.testing.assert_allclose(fields[:, 6], shares[2:-1:2], atol=1e-4)


@pytest.mark.parametrize("show", ["Direct logit attribution", "Logit lens", "Norm and cosine", "Skip a layer"])
def test_with_the_bos_token_every_section_reads_it_first(show):
    model, tokenizer = cache.model("stories")
    begin = begin_of(model, tokenizer).id
    row = model(torch.tensor([[begin, *tokenizer.encode(HE)]])).logits[0, -1]
    test = opened(text=HE, bos="with", show=show, against="nothing: the raw logit", skip="attention 0")
    assert test.slider(key="position").max == len(tokenizer.encode(HE))  # the last position
    if show == "Direct logit attribution":
        assert f"**{float(row.max()):.4f}**" in words(test)
        assert float(row.max()) != pytest.approx(float(logits(HE)[-1].max()), abs=1e-2)
    if show == "Logit lens":
        probabilities = array(figures(test)["climb"][1]["data"][0]["y"])
        assert probabilities[-1] == pytest.approx(float(row.softmax(-1).max()), abs=1e-5)
    if show == "Skip a layer":
        increase = array(figures(test)["increase"][1]["data"][0]["z"])
        assert increase.shape[1] == len(tokenizer.encode(HE))


def test_the_head_that_finds_the_ball_is_named():
    head, _ = figures(opened())["board"]
    assert "the largest is head 0 of layer 3" in head["alt"]
    assert "·ball by 5.59" in figures(opened())["writes"][0]["alt"]


def test_a_token_of_the_visitors_own_is_explained():
    test = opened(text=HE, token="another token", own=" dog", against="nothing: the raw logit")
    said = re.search(r"as it is: \*\*(-?\d+\.\d+)", words(test))
    assert float(said[1]) == pytest.approx(float(logits(HE)[-1, token(" dog")]), abs=2e-4)
    test.text_area(key="own").set_value(" unbelievable dogs")
    assert "the first is explained" in words(run(test))
    test.text_area(key="own").set_value("")
    run(test)


def test_the_token_that_follows_is_explained_and_where_nothing_follows_the_best_guess():
    option = "what follows in the text: ·boy"
    test = opened(text=HE, position="3", token=option)
    assert "“·boy”" in words(test)
    test.slider(key="position").set_value(11)
    assert "“·he”" in words(run(test))


def test_the_grid_ends_with_what_the_model_says_and_frames_what_is_right():
    test = opened(show="Logit lens", text=HE)
    head, figure = figures(test)["lens"]
    cells = figure["data"][0]
    tokenizer = cache.model("stories")[1]
    ids, found = tokenizer.encode(HE), logits(HE)
    chance = array(cells["z"])
    assert chance.shape == (len(ids), 9)
    np.testing.assert_allclose(chance[:, -1], found.softmax(-1).amax(-1), atol=1e-5)
    said = [tokenizer.decode([int(i)]).strip() for i in found.argmax(-1)]
    assert [row[-1].replace("·", "").rstrip("…") for row in cells["text"]] == [word.strip()[:8] for word in said]
    right = int((found[:-1].argmax(-1) == torch.tensor(ids[1:])).sum())
    assert f"{right} after FF 3." in head["caption"]
    assert [row[0] for row in cells["text"]][1:4] == ["·was", "·a", "·little"]  # tied: the embedding says itself


def test_the_tuned_lens_translates_every_state_but_the_last():
    model, tokenizer = cache.model("stories")
    ids, weights = tokenizer.encode(HE), load_file(PRETRAINED / "stories" / "tuned_lens" / "lens.safetensors")
    x = model(torch.tensor([ids]), capture=("blocks.1.resid_post",)).activations["blocks.1.resid_post"][0]
    a, b = (weights[f"blocks.1.resid_post.{part}"].float() for part in ("weight", "bias"))
    moved = x + x @ a.T + b
    size = (moved.square().mean(-1, keepdim=True) + model.config.norm.eps).sqrt()
    read = (moved / size * model.decoder.ln_final.weight @ model.embed.weight.T).log_softmax(-1)
    test = opened(show="Logit lens", text=HE, by_lens="tuned lens")
    drawn = figures(test)
    chance = array(drawn["lens"][1]["data"][0]["z"])
    np.testing.assert_allclose(chance[:, 4], read.exp().amax(-1), atol=1e-5)
    np.testing.assert_allclose(chance[:, -1], logits(HE).softmax(-1).amax(-1), atol=1e-5)
    best = logits(HE)[-1].argmax()
    assert array(drawn["climb"][1]["data"][0]["y"])[4] == pytest.approx(float(read[-1, best].exp()), abs=1e-5)
    own = logits(HE).log_softmax(-1)
    divergence = float((own.exp() * (own - read)).sum(-1).mean())
    assert drawn["lenses"][1]["data"][1]["y"][4] == pytest.approx(divergence, abs=1e-4)
    assert f", {divergence:.2f} and" in drawn["lenses"][0]["caption"]
    plain = figures(opened(show="Logit lens", text=HE))
    assert plain["lenses"][1]["data"] == drawn["lenses"][1]["data"]
    assert plain["lens"][1]["data"][0]["text"] != drawn["lens"][1]["data"][0]["text"]


def test_a_model_without_a_tuned_lens_offers_none_and_says_which_do():
    test = opened(model="induction", show="Logit lens", text="red ball. a red", by_lens="tuned lens")
    (choice,) = (control for control in test.get("button_group") if control.key == "by_lens")
    assert choice.options == ["logit lens", "Patchscope"]
    assert [line["name"] for line in figures(test)["lenses"][1]["data"]] == choice.options
    assert "stories-learned have one here" in words(test)


@nightly
def test_lenses_of_smollm2_have_the_columns_that_they_were_made_for(real_models):
    text = {"model": "smollm2", "show": "Logit lens", "text": "The old lighthouse"}
    drawn = figures(opened(**text, by_lens="Jacobian lens"))
    columns = ["embed", *(f"block {i}" for i in range(2, 30, 3))]
    assert drawn["lens"][1]["layout"]["xaxis"]["ticktext"] == columns
    names = ["logit lens", "tuned lens", "Jacobian lens", "Patchscope"]
    lines = {line["name"]: np.array(line["y"][:-1], dtype=float) for line in drawn["lenses"][1]["data"]}
    assert list(lines) == names
    assert (lines["tuned lens"] < lines["Jacobian lens"]).all()


def test_a_patchscope_reads_the_states_between_blocks():
    test = opened(show="Logit lens", text=HE, by_lens="Patchscope")
    drawn = figures(test)
    assert drawn["lens"][1]["layout"]["xaxis"]["ticktext"] == ["embed", *(f"block {i}" for i in range(4))]
    np.testing.assert_allclose(
        array(drawn["lens"][1]["data"][0]["z"])[:, -1], logits(HE).softmax(-1).amax(-1), atol=1e-5
    )
    assert "takes the place of the last token's" in words(test)
    assert [line["name"] for line in drawn["lenses"][1]["data"]] == ["logit lens", "tuned lens", "Patchscope"]


def test_lengths_are_those_of_the_captured_stream():
    test = opened(show="Norm and cosine", text=HE)
    model, tokenizer = cache.model("stories")
    kept = model(torch.tensor([tokenizer.encode(HE)]), capture=("*.resid_post",)).activations
    drawn = array(figures(test)["norm"][1]["data"][2]["y"])
    lengths = [float(state[0, -1].norm()) for state in kept.values()]
    np.testing.assert_allclose(drawn[2::2], lengths, rtol=1e-4)
    assert array(figures(test)["cosine"][1]["data"][2]["y"])[-1] == pytest.approx(1)


def test_a_layer_left_out_is_the_model_with_what_it_adds_set_to_zero():
    test = opened(show="Skip a layer", text=HE, skip="feed-forward 1")
    after = logits(HE, Edit.zero("blocks.1.mlp_out"))[-1].softmax(-1)
    assert test.metric[0].value == f"{float(after[token(' he')]):.1%}"
    cells = array(figures(test)["increase"][1]["data"][0]["z"])
    assert cells.shape == (12, len(cache.model("stories")[1].encode(HE)) - 1)
    whole, without = (
        torch.nn.functional.cross_entropy(
            logits(HE, *edits)[:-1], torch.tensor(cache.model("stories")[1].encode(HE)[1:])
        )
        for edits in ((), (Edit.zero("blocks.1.mlp_out"),))
    )
    assert cells[4].mean() == pytest.approx(float(without - whole), abs=1e-4)


@pytest.mark.parametrize("show", ["Direct logit attribution", "Logit lens", "Norm and cosine", "Skip a layer"])
@pytest.mark.parametrize("text", ["a", "😀שלום\u202e <b>$x$ %{y} :red[a]</b>\0" + "word " * 200])
def test_any_text_in_every_section(show, text):
    test = opened(show=show)
    test.text_area(key="text").set_value(text)
    run(test)
    assert figures(test)
    assert ("the last 128 are used" in words(test)) == (len(text) > 900)


def test_a_model_without_feed_forward_layers():
    for show in ("Direct logit attribution", "Logit lens", "Norm and cosine", "Skip a layer"):
        test = opened(model="induction", show=show, text="red ball. a red")
        assert figures(test)
    assert list(test.selectbox(key="skip").options) == ["attention 0", "attention 1"]


def test_no_text_gets_a_sentence():
    test = opened()
    test.text_area(key="text").set_value("")
    assert "no text yet" in run(test).info[0].value


@pytest.fixture
def chosen(monkeypatch) -> dict[str, object]:
    """The values that clicks have set."""
    found: dict[str, object] = {}
    monkeypatch.setattr(controls, "set_values", lambda **values: found.update(values))
    return found


def test_a_click_on_a_row_of_the_lens_chooses_its_position(chosen):
    lens.choose_row({"curve": 0, "point": [3, 2], "x": 2, "y": 3, "customdata": "x"})
    assert chosen == {"position": 3}
    chosen.clear()
    for hostile in (-1, choices.TOKENS, 1e9, "3", None, [1]):
        lens.choose_row({"curve": 0, "point": 0, "x": 1, "y": hostile, "customdata": None})
    assert not chosen


def test_a_click_on_the_board_chooses_its_layer_and_part(chosen):
    names = ["head 0", "head 1", "feed-forward"]
    parts.choose_part(names, 4, {"curve": 0, "point": [3, 2], "x": 2, "y": 3, "customdata": [3, 2]})
    assert chosen == {"layer": 3, "part": "feed-forward"}
    parts.choose_part(names, 4, {"curve": 0, "point": 0, "x": 0, "y": 0, "customdata": [0, 1]})
    assert chosen == {"layer": 0, "part": "head 1"}
    chosen.clear()
    for hostile in ([4, 0], [0, 3], [-1, 0], [0, -1], ["0", 1], [0], None, 3):
        parts.choose_part(names, 4, {"curve": 0, "point": 0, "x": 0, "y": 0, "customdata": hostile})
    assert not chosen


def test_a_click_on_a_loss_increase_chooses_the_skip_and_the_position(chosen):
    titles = ["attention 0", "feed-forward 0", "block 0"]
    skip.choose_cell(titles, 5, {"curve": 0, "point": [1, 4], "x": 4, "y": 1, "customdata": None})
    assert chosen == {"skip": "feed-forward 0", "position": 4}
    chosen.clear()
    for hostile in ([3, 0], [0, 5], 7, None):
        skip.choose_cell(titles, 5, {"curve": 0, "point": hostile, "x": 0, "y": 0, "customdata": None})
    assert not chosen


def test_of_a_long_text_a_part_is_shown_with_its_last_position_in_view():
    test = opened(show="Logit lens", text="Lily had a red ball. " * 9)
    n = len(cache.model("stories")[1].encode("Lily had a red ball. " * 9))
    cells = figures(test)["lens"][1]["data"][0]
    assert list(cells["y"]) == list(range(n - lens.ROWS, n))
    whole = logits("Lily had a red ball. " * 9).softmax(-1).amax(-1)
    np.testing.assert_allclose(array(cells["z"])[:, -1], whole[n - lens.ROWS :], atol=1e-5)
    test.slider(key="from").set_value(3)
    cells = figures(run(test))["lens"][1]["data"][0]
    assert list(cells["y"]) == list(range(3, 3 + lens.ROWS))
    np.testing.assert_allclose(array(cells["z"])[:, -1], whole[3 : 3 + lens.ROWS], atol=1e-5)


@nightly
def test_a_model_of_many_layers_is_shown_in_parts(real_models):
    """The twelve largest shares, some stages of the lens, skips of one kind: what fits on a page."""
    text = {"model": "smollm2", "text": "When Mary and John went to the store, John gave a drink to"}
    test = opened(**text)
    bars = figures(test)["sum"][1]
    assert len(bars["data"][0]["x"]) == 12 + 2
    assert bars["layout"]["height"] < 900
    total = float(bars["data"][0]["x"][-1])
    test.toggle(key="whole").set_value(True)
    bars = figures(run(test))["sum"][1]
    assert len(bars["data"][0]["x"]) == 61 + 1
    assert float(bars["data"][0]["x"][-1]) == pytest.approx(total, abs=1e-4)
    assert bars["layout"]["height"] < 950
    test = opened(**text, show="Logit lens")
    assert array(figures(test)["lens"][1]["data"][0]["z"]).shape[1] == lens.COLUMNS
    test = opened(**text, show="Logit lens", from_layer="24", to_layer="27")
    assert figures(test)["lens"][1]["layout"]["xaxis"]["ticktext"] == [f"block {i}" for i in range(24, 28)]
    test = opened(**text, show="Norm and cosine")
    assert figures(test)["norm"][1]["layout"]["yaxis"]["type"] == "log"
    assert figures(opened(show="Norm and cosine"))["norm"][1]["layout"]["yaxis"]["type"] == "linear"


def test_after_a_sentence_the_surest_prediction_is_explained_at_first():
    text = "Once upon a time there was a little dog."
    ids = cache.model("stories")[1].encode(text)
    sure = cache.model("stories")[0](torch.tensor([ids])).logits[0].softmax(-1).amax(-1)
    assert opened(text=text).slider(key="position").value == int(sure.argmax())
    assert opened(text=text, v="1").slider(key="position").value == len(ids) - 1


@pytest.fixture(scope="module")
def stories() -> Any:
    return cache.model("stories")


def test_from_which_stage_on_stories_predicts_the_ball_again(stories):
    found, pieces = lens_of(Reading("stories", TEXT), lenses.stages(stories[0].config), "logit")
    first = {stage: guesses[-1][0] for stage, guesses in zip(found.stages, pieces, strict=True)}
    assert [first[f"blocks.{stage}"] for stage in ("0.resid_post", "1.resid_mid")] == [" red", " ball"]
    assert set(list(first.values())[3:]) == {" ball"}
    assert found.probability[found.stages.index("blocks.3.resid_mid"), -1, 0] == pytest.approx(0.999, abs=5e-4)


def test_the_largest_share_is_not_the_largest_effect_of_skipping_it(stories):
    model, tokenizer = stories
    ids, (ball,) = first_tokens(model, tokenizer, TEXT, TOKENS).ids, tokenizer.encode(" ball")
    shares = contributions(model, stream_parts(model, ids, len(ids) - 1), ball, "mean")
    attention = np.asarray(shares.heads).sum(1)
    assert attention.argmax() == 3
    assert attention[3] > np.asarray(shares.feedforward).max()
    assert attention[0] / attention[3] == pytest.approx(1 / 3, abs=0.03)

    def without(layer: int) -> float:
        edits = skipping.skip_edits((f"blocks.{layer}.attn_out",))
        return float(effect(model, ids, edits, len(ids) - 1).after[ball])

    assert [round(100 * without(layer)) for layer in (3, 0)] == [57, 3]


@pytest.mark.parametrize("section", often(FACTS.sections.names.values(), ["Logit lens"]))
def test_a_model_that_tells_classes_apart_names_them(allowed, section):
    kind, (_, settings, tokenizer) = hf.LlamaForSequenceClassification, own_folders.FAMILIES["llama"]
    labels = {"id2label": {0: "sad", 1: "calm", 2: "glad"}}
    written(kind, settings | labels | {"pad_token_id": 0}, allowed / "moods")
    tokenizer().save(str(allowed / "moods" / "tokenizer.json"))
    brought("./moods")
    test = opened(model="./moods", text="The dog sat.", show=section)
    words = visits.said(test, "info", "caption", "markdown")
    assert "Shown instead" not in words
    assert set(test.segmented_control(key="by").options) == {"the class", "two classes"}
    assert test.selectbox(key="word").options[0].split(": ")[1] in ("sad", "calm", "glad")
    position = next(one for one in test.slider if one.key == "position")
    assert position.value == position.max  # where the class of the text is read
    assert ("no loss of each token" in words) == (section == "Skip a layer")
