"""The page on interventions: its numbers are the edited model's, and one visitor's edits are nobody else's."""

import re
from functools import partial
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
import transformers as hf

from pages.inside.interventions import patch as patching
from pages.inside.interventions import switch as switching
from pages.inside.interventions.inputs import BASELINES
from pages.inside.metric import NAMED
from pages.inside.reading import BOY
from pages.ui import cache, controls
from pages.ui.work import filling, jobs, live, progress
from tests import own_folders
from tests.nightly import nightly, often
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.own_models import brought
from tests.pages.visits import run
from tests.pages.waiting import wait_for_jobs
from tests.parity.checkpoints import written
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.inspection.edits import Edit
from tfcore.measures.interventions import Part
from tfcore.measures.one_text import encoded
from tfcore.views.inside.interventions import switches
from tfcore.views.inside.interventions.measure import patching as measured_patching
from tfcore.views.sources import Reading

opened = partial(visits.opened, "inside/interventions/page.py")
TEXT = "There was a little boy. One day, Sam said that"
PATCH = {"show": "Activation patching"}


def words(test) -> str:
    return visits.said(test, "markdown", "caption")


def chance(piece: str, *edits: Edit, text: str = TEXT, bos: bool | None = None) -> str:
    """Probability of a token after the text, as a metric shows it."""
    model, tokenizer = cache.model("stories")
    logits = model(torch.tensor([encoded(model, tokenizer, text, bos)]), edits=edits).logits[0, -1]
    return f"{float(logits.softmax(-1)[tokenizer.encode(piece)[0]]):.1%}"


def head(layer: int, number: int, factor: float) -> Edit:
    return Edit.scale(f"blocks.{layer}.attn.z", factor, heads=[number])


OLD = {"v": "1"}  # links of the first version began with head 2.5 times -2


def test_the_first_version_began_with_a_boy_who_becomes_a_girl():
    test = opened(**OLD)
    assert test.metric[0].value == chance(" he", head(2, 5, -2.0))
    assert "now predicts '·she'" in figures(test)["prediction"][0]["alt"]
    assert "tokens changed" in words(test)


@pytest.mark.parametrize(("action", "factor"), [("zero ablation", 0.0), ("scaling", 2.5)])
def test_the_numbers_are_those_of_the_edited_model(action, factor):
    test = opened(parts="0.3 1.ff", action=action, factor=str(factor))
    assert test.metric[0].value == chance(" he", head(0, 3, factor), Edit.scale("blocks.1.mlp_out", factor))


def test_with_the_bos_token_every_number_is_of_the_text_with_it():
    test = opened(parts="0.3", action="zero ablation", bos="with")
    assert test.metric[0].value == chance(" he", head(0, 3, 0.0), bos=True) != chance(" he", head(0, 3, 0.0))
    plain, model = chance(" he", bos=True), cache.model("stories")[0]
    assert f"goes from {plain}" in figures(test)["prediction"][0]["alt"]
    fields = array(figures(test)["board"][1]["data"][0]["z"])
    ids, best = torch.tensor([encoded(*cache.model("stories"), TEXT, True)]), cache.model("stories")[1].encode(" he")[0]
    before, off = (model(ids, edits=e).logits[0, -1].log_softmax(-1)[best] for e in ((), [head(0, 3, 0.0)]))
    assert fields[0, 3] == pytest.approx(float(before - off), abs=1e-4)


def test_a_patch_reads_both_texts_with_the_bos_token():
    test = opened(**PATCH, bos="with")
    assert test.slider(key="position").max == len(cache.model("stories")[1].encode(TEXT))
    assert "tokens" in words(test)


def test_the_continuation_is_that_of_the_edited_model():
    model, tokenizer = cache.model("stories")
    ids = generate(model, tokenizer.encode(TEXT), Sampling(temperature=0), max_new_tokens=12, edits=[head(2, 5, -2.0)])
    assert switches.continued(Reading("stories", TEXT), switches.Changes("2.5", "scale", -2.0)) == ids
    assert tokenizer.decode(ids).startswith(" she")


def test_the_board_holds_the_loss_increase_of_each_part_alone():
    test = opened(**OLD)
    fields = array(figures(test)["board"][1]["data"][0]["z"])
    assert fields.shape == (4, 7)
    assert "Most: head 0.3" in figures(test)["board"][0]["alt"]
    model, tokenizer = cache.model("stories")
    ids, best = torch.tensor([tokenizer.encode(TEXT)]), tokenizer.encode(" he")[0]
    plain, off = (model(ids, edits=e).logits[0, -1].log_softmax(-1)[best] for e in ((), [head(0, 3, 0.0)]))
    assert fields[0, 3] == pytest.approx(float(plain - off), abs=1e-4)
    other = array(figures(opened(**OLD, action="mean ablation", by="the whole text"))["board"][1]["data"][0]["z"])
    assert not np.allclose(fields, other)


def test_two_visitors_at_once_see_only_their_own_edits():
    """Both share one model. What one does is not seen by the other, and the weights stay as they were, bit by bit."""
    model = cache.model("stories")[0]
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    plain = chance(" he")
    one, two = opened(parts="2.5", action="zero ablation"), opened(**OLD, parts="", text=TEXT)
    assert one.metric[0].value == chance(" he", head(2, 5, 0.0)) != plain
    assert two.metric[0].value == plain
    one.text_area(key="parts").set_value("0.3 0.ff")
    run(one)
    two.slider(key="factor").set_value(3.0)
    assert run(two).metric[0].value == plain
    assert two.metric[1].value == "0.00 bits"
    two.text_area(key="parts").set_value("2.5")
    assert run(two).metric[0].value == chance(" he", head(2, 5, 3.0))
    assert run(one).metric[0].value == chance(" he", head(0, 3, 0.0), Edit.zero("blocks.0.mlp_out"))
    patched = opened(**PATCH)
    assert patched.metric[0].value != chance(" she")
    assert chance(" he") == plain
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert not model.training
    assert not any(module._forward_hooks for module in model.modules())


def test_a_click_on_the_board_adds_or_removes_its_part(monkeypatch):
    assert figures(opened())["board"][0]["click"]
    chosen: dict[str, object] = {}
    monkeypatch.setattr(controls, "set_values", lambda **values: chosen.update(values))
    every = [[Part(layer, head) for head in (0, 1, "ff")] for layer in range(2)]
    switching.toggle_part(every, [Part(0, 1)], {"curve": 0, "point": [1, 2], "x": 2, "y": 1, "customdata": [1, 2]})
    assert chosen == {"edit": "own", "parts": "0.1 1.ff"}
    switching.toggle_part(every, [Part(0, 1)], {"curve": 0, "point": 0, "x": 0, "y": 0, "customdata": [0, 1]})
    assert chosen == {"edit": "own", "parts": ""}
    chosen.clear()
    for hostile in ([2, 0], [0, 3], [-1, 0], [0.5, 1], "x", None):
        switching.toggle_part(every, [], {"curve": 0, "point": 0, "x": 0, "y": 0, "customdata": hostile})
    assert not chosen


def test_a_click_on_a_patch_chooses_its_row_and_position(monkeypatch):
    chosen: dict[str, object] = {}
    monkeypatch.setattr(controls, "set_values", lambda **values: chosen.update(values))
    patching.choose_cell(5, 12, {"curve": 0, "point": [4, 11], "x": 11, "y": 4, "customdata": None})
    assert chosen == {"row": 4, "position": 11}
    chosen.clear()
    for hostile in ([5, 0], [0, 12], 3, None):
        patching.choose_cell(5, 12, {"curve": 0, "point": hostile, "x": 0, "y": 0, "customdata": None})
    assert not chosen


@pytest.mark.parametrize("said", ["9.9", "<b>", "2.5;drop", "2.5 " * 90 + "x"])
def test_what_is_no_part_gets_a_sentence(said):
    test = opened(**OLD)
    test.text_area(key="parts").set_value(said)
    assert "is no part of this model; possible: 0.0" in run(test).info[0].value.replace("\\", "")
    assert test.metric[1].value == "0.00 bits"


def test_the_patch_shown_is_a_patched_run():
    test = opened(**PATCH)
    model, tokenizer = cache.model("stories")
    other = torch.tensor([tokenizer.encode(TEXT.replace("boy", "girl"))])
    name = "blocks.3.resid_pre"
    value = model(other, capture=(name,)).activations[name][:, 11:]
    assert test.metric[0].value == chance(" she", Edit.replace(name, value, positions=[11]))
    shares = array(figures(test)["patch"][1]["data"][0]["z"])
    assert shares.shape == (5, 12)
    assert (shares[:3].argmax(1) == 4).all()
    assert (shares[3:].argmax(1) == 11).all()
    for kind, rows in (("attention", 4), ("feed-forward", 4)):
        test.segmented_control(key="kind").set_value(kind)
        assert array(figures(run(test))["patch"][1]["data"][0]["z"]).shape == (rows, 12)


REFUSED = {"A cat": "needs equally many", TEXT: "are the same", "": "no other text yet"}


@pytest.mark.parametrize(("show", "key"), [("patch", "other"), ("inputs", "counter")])
def test_a_text_is_compared_with_one_of_as_many_tokens(show, key):
    """Its own with one word replaced, where the page's has another number; in a link of an old release the page's."""
    text = "The dog and the cat went to the big park"
    test = opened(text=text, show=show)
    if show == "inputs":
        assert test.segmented_control(key="baseline").value == "mean"
        test.segmented_control(key="baseline").set_value("text")
        run(test)
    other = test.text_area(key=key).value
    ours, theirs = (cache.model("stories")[1].encode(one) for one in (text, other))
    assert [a == b for a, b in zip(ours, theirs, strict=True)].count(False) == 1
    assert not test.info
    assert opened(show=show).text_area(key=key).value == opened(text=text, show=show, v="1").text_area(key=key).value


@pytest.mark.parametrize(
    ("link", "baseline"),
    [({}, "mean"), ({"v": "2"}, "zero"), ({"v": "2", "baseline": "another text"}, "text"), ({"v": "3"}, "mean")],
)
def test_a_link_shows_the_baseline_that_it_was_made_with(link, baseline):
    """Version 2 began from zero vectors, where there is no other text of as many tokens."""
    test = opened(show="inputs", text="The dog and the cat", **link)
    control = test.segmented_control(key="baseline")
    assert control.value == baseline
    if "baseline" not in link:  # an address leaves out what a control begins with, so it may begin with nothing else
        assert [control.options[place] for place in control.proto.default] == [BASELINES[baseline]]
    test.segmented_control(key="baseline").set_value("mean")
    assert run(test).segmented_control(key="baseline").value == "mean"


def test_integrated_gradients_from_zero_vectors_are_withheld_where_they_do_not_add_up():
    test = opened(show="inputs", text="The dog and the cat", baseline="zero vectors")
    caption = figures(test)["inputs"][0]["caption"]
    total, difference = (float(x) for x in re.findall(r"(?:sum to|explain is|nats, not) ([+-][\d.]+)", caption))
    withheld = abs(total - difference) > 0.1 * abs(difference)
    assert withheld == ("are withheld" in caption)
    assert withheld != any(bar["name"] == "integrated gradients" for bar in figures(test)["methods"][1]["data"])
    assert "are withheld" not in figures(opened(show="inputs", text="The dog and the cat"))["inputs"][0]["caption"]


def test_texts_that_cannot_be_patched_get_a_sentence():
    test = opened(**PATCH)
    for other, says in REFUSED.items():
        test.text_area(key="other").set_value(other)
        assert says in run(test).info[0].value


@pytest.mark.parametrize("show", often(["Ablate and scale", "Activation patching"], ["Activation patching"]))
@pytest.mark.parametrize("text", ["a", "😀שלום\u202e <b>$x$ %{y} :red[a]</b>\0" + "word " * 90])
def test_any_text(show, text):
    test = opened(show=show)
    for key in ("text", "other"):
        if any(area.key == key for area in test.text_area):
            test.text_area(key=key).set_value(text if key == "text" else text + "!")
    run(test)
    assert figures(test) or test.info


def test_a_model_without_feed_forward_layers():
    test = opened(model="induction", parts="1.3")
    assert array(figures(test)["board"][1]["data"][0]["z"]).shape == (2, 4)
    test = opened(model="induction", text="red ball. a red", other="red hats. a red", **PATCH)
    assert "feed-forward" not in test.segmented_control(key="kind").options


def test_attributions_that_take_long_fill_in_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr(filling, "FEW", 0.0)
    monkeypatch.setattr(live, "begin", lambda *_, **__: jobs.Job("stopped"))
    begun = opened(show="Input attribution")
    assert figures(begun)["inputs"][0]["caption"].endswith(
        "Gradient × input is there, occlusion for 0 of 12 tokens; integrated gradients come last. Click a token."
    )
    monkeypatch.undo()
    monkeypatch.setattr(filling, "FEW", 0.0)
    test = opened(show="Input attribution")
    wait_for_jobs()
    caption = figures(run(test))["inputs"][0]["caption"]
    assert "Integrated gradients from the other text, 32 points" in caption
    assert caption == figures(opened(show="Input attribution"))["inputs"][0]["caption"]


def test_a_bar_is_shown_where_there_is_something_to_wait_for(monkeypatch):
    bar = Mock()
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr(progress.st, "empty", lambda: bar)
    assert progress.in_turn(lambda i: i * i, [1, 2, 3], lambda i: f"layer {i}") == [1, 4, 9]
    assert [call.args for call in bar.progress.call_args_list] == [
        (0.0, "1 of 3: layer 1"),
        (1 / 3, "2 of 3: layer 2"),
        (2 / 3, "3 of 3: layer 3"),
    ]
    bar.empty.assert_called_once()


NAMES = "Lily and Tom went to the park. Lily gave the ball to"


def test_where_a_name_of_the_text_is_predicted_the_two_names_are_compared_at_first():
    test = opened(text=NAMES)
    assert test.segmented_control(key="by").value == "difference"
    assert test.selectbox(key="against").value == NAMED
    assert "the logit of '·Tom' less that of '·Lily'" in figures(test)["board"][0]["caption"]
    test.text_area(key="text").set_value(TEXT)
    test = run(test)
    assert test.selectbox(key="against").value != NAMED  # nothing is predicted that has another name beside it
    assert opened(text=TEXT).segmented_control(key="by").value == "prediction"
    assert opened(text=NAMES, v="1").segmented_control(key="by").value == "prediction"


@pytest.fixture(scope="module")
def stories() -> Any:
    return cache.model("stories")


def test_the_last_block_does_not_read_what_differs_from_where_it_stood(stories):
    source, target = (stories[1].encode(text) for text in (patching.OTHER, BOY))
    both = measured_patching.pair(stories[0], source, target)
    shares = measured_patching.all_shares(
        list(measured_patching.patch_each(stories[0], both, "residual")), len(both.target)
    )
    ((at,),) = (both.differing,)
    assert shares[0, at] == pytest.approx(1, abs=1e-3)
    assert abs(shares[3, at]) < 0.1


@pytest.mark.parametrize(("labels", "begins"), [(("sad", "glad"), "difference"), (("sad", "calm", "glad"), "found")])
def test_patching_begins_with_both_predictions_where_there_are_more_than_two_classes(allowed, labels, begins):
    kind, settings, tokenizer = own_folders.FAMILIES["feelings"]
    name = f"feelings{len(labels)}"
    written(kind, settings | {"id2label": dict(enumerate(labels))}, allowed / name)
    tokenizer().save(str(allowed / name / "tokenizer.json"))
    brought(f"./{name}")
    test = opened(model=f"./{name}", text="The dog sat.", **PATCH)
    assert test.segmented_control(key="by").value == begins


@nightly
def test_classes_read_from_a_mean_are_measured_here_and_are_no_flow(allowed):
    kind, (_, settings, tokenizer) = hf.ModernBertForSequenceClassification, own_folders.FAMILIES["modernbert"]
    written(kind, settings | {"classifier_pooling": "mean"}, allowed / "means")
    tokenizer().save(str(allowed / "means" / "tokenizer.json"))
    brought("./means")
    for section in ({}, PATCH, {"show": "inputs"}):
        test = opened(model="./means", text="The dog sat.", **section)
        assert "Shown instead" not in visits.said(test, "info", "caption"), section
    test = visits.opened("inside/flow/page.py", model="./means", text="The dog sat.")
    assert "its classes are read from the mean of all tokens' states" in visits.said(test, "info")
