"""The page on routing: what it shows is what the model does; rules are changed and counted; files may be missing."""

import json

import numpy as np
import pytest

from pages.experts.routing import choices
from pages.experts.routing import text as section
from tests import small
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import run, said
from tfcore import presets
from tfcore.loading import checkpoints
from tfcore.measures import expert_scan
from tfcore.measures.expert_scan import load_scan, save_scan, scan
from tfcore.model import Transformer
from tfcore.part_configs import ExpertsConfig
from tfcore.views import kept
from tfcore.views.experts import routing as views
from tfcore.views.experts.routing.measure.shared import shared_work
from tfcore.views.experts.routing.measure.sizes import expert_sizes, finer
from tfcore.views.experts.routing.measure.text_routing import RouterChange, agreement, route

SHORT = "The dog saw the cat. The cat saw the dog."


def opened(**address):
    return visits.opened("experts/routing/page.py", **{"text": SHORT, "model": "untrained"} | address)


def words(test):
    return said(test, "markdown", "caption", "info")


def truth(change=None, model="untrained"):
    network, tokenizer = views.network(model)
    ids = tokenizer.encode(SHORT)
    return ids, tokenizer.tokens(ids), route(network, ids, change)


def test_each_token_has_its_experts_with_their_weights_and_what_was_found_is_so():
    test = opened(layer="2", token="3", only="1")
    ids, tokens, found = truth()
    (chips,) = [json.loads(e.proto.json) for e in test.get("bidi_component") if "parts" in (e.proto.json or "")]
    assert chips["faint"] == (~found.taken[2, :, 0]).tolist()
    rows = choices.parts(found, 2)
    for place, bar in enumerate(rows):
        assert {int(part.words) - 1 for part in bar} == set(found.chosen[2, place].nonzero()[0].tolist())
        assert [part.share for part in bar] == pytest.approx(sorted(found.weights[2, place], reverse=True)[:2])
    drawn = figures(test)
    assert array(drawn["overview"][1]["data"][0]["z"]) == pytest.approx(found.first)
    assert array(drawn["probs"][1]["data"][0]["y"]) == pytest.approx(found.probs[2, 3])
    assert array(drawn["load"][1]["data"][0]["y"]).tolist() == found.load[2].tolist()
    pairs, load = agreement(ids, found.first), found.load[2]
    assert f"expert {load.argmax() + 1} has the largest load: {load.max()} of {len(tokens)} tokens" in words(test)
    assert f"Of {pairs.pairs} pairs of equal tokens, {pairs.equal[2]:.0%} have the same first expert" in words(test)
    assert "never trained: its choices mean nothing" in words(test)


def test_clicks_lead_to_the_cell_and_to_the_expert(monkeypatch):
    heard = {}
    monkeypatch.setattr(section.controls, "set_values", lambda **values: heard.update(values))
    section.go_to_expert({"x": 4, "y": 1})
    assert heard == {"only": 4, "expert": 4}
    section.go_to_expert({"x": "<b>", "y": 1})
    assert heard == {"only": 4, "expert": 4}
    heard.clear()
    section.go_to_cell(range(1, 4), 20, {"x": 7, "y": 2})
    assert heard == {"layer": 3, "token": 7}
    section.go_to_cell(range(1, 4), 20, {"x": 20, "y": -1})
    assert heard == {"layer": 1, "token": 19}
    heard.clear()
    section.go_to_cell(range(1, 4), 20, {"x": "a", "y": 2})
    assert not heard


def test_a_model_without_experts_is_not_opened_and_it_says_why():
    test = opened(model="stories")
    assert "it has no experts" in said(test, "warning", "info", "caption", "markdown")
    assert test.selectbox(key="model").value == "stories-moe"


def test_a_text_without_a_pair_and_no_text_at_all():
    assert "No token comes twice" in words(opened(text="Hi"))
    assert "There is no text yet" in words(opened(text=" ") if not opened(text="").info else opened(text=""))


@pytest.mark.parametrize(
    ("address", "change"),
    [
        ({"who": "tokens", "k": "2", "capacity": "0.5"}, RouterChange(top_k=2, capacity=0.5)),
        ({"who": "experts", "k": "1"}, RouterChange(top_k=1, routing="experts")),
        ({"k": "3", "capacity": "no limit", "noise": "2", "seed": "5"}, RouterChange(top_k=3, noise=2.0, seed=5)),
    ],
)
def test_other_rules_run_the_model_again(address, change):
    test = opened(show="what if", layer="1", **address)
    before, after = truth()[2], truth(change)[2]
    shown = {metric.label: metric for metric in test.metric}
    assert shown["Loss, nats per token"].value == f"{after.loss:.3f}"
    assert shown["Loss, nats per token"].delta == f"{after.loss - before.loss:+.3f}"
    assert shown["Choices dropped"].value == f"{after.dropped.sum():,}"
    assert shown["Without an expert"].value == f"{(~after.taken.any(-1)).sum():,}"
    assert shown["Experts computed"].value == f"{after.taken.sum():,}"
    bars = figures(test)["load"][1]["data"]
    assert array(bars[0]["y"]).tolist() == after.load[1].tolist()
    if after.dropped[1].any():
        assert array(bars[1]["y"]).tolist() == after.dropped[1].sum(0).tolist()
    cost = array(figures(test)["cost"][1]["data"][0]["y"])
    assert cost == pytest.approx(np.concatenate(([0], after.losses - before.losses)), abs=1e-5)
    assert "The whole model was run again" in words(test)
    assert ("Scores of layer 0 are exactly the same" in words(test)) == (not change.noise)
    assert "sweep" in figures(test)
    assert (test.slider(key="k").min, test.slider(key="k").max) == (1, 4)


def test_one_token_has_no_loss_and_no_curves():
    test = opened(show="what if", text="a")
    assert "sweep" not in figures(test)
    assert "there is no loss" in words(test) or len(truth()[0]) > 1


def test_a_shared_expert_is_shown_with_what_it_writes_and_what_it_is_good_for():
    test = visits.opened("experts/routing/page.py", text=SHORT, show="shared", layer="1")
    network, tokenizer = checkpoints.load(views.SHARED, device="cpu")
    found = shared_work(network, tokenizer.encode(SHORT))
    losses = [found.losses, found.without_shared, found.without_routed]
    assert [metric.value for metric in test.metric] == [f"{loss.mean():.3f}" for loss in losses]
    drawn = figures(test)
    shared, chosen = (array(trace["y"]) for trace in drawn["shares"][1]["data"])
    assert shared == pytest.approx(np.clip(found.share[1], 0, 1), abs=1e-6)
    assert shared + chosen == pytest.approx(np.ones_like(shared))
    assert f"{found.share[1].mean():.0%} of what layer 1 adds" in drawn["shares"][0]["alt"]
    without = array(drawn["missed"][1]["data"][0]["y"])
    assert without == pytest.approx(found.without_shared - found.losses, abs=1e-6)
    assert "stories-shared" in words(test)


def test_one_token_is_shared_too():
    test = visits.opened("experts/routing/page.py", text="a", show="shared")
    assert "there is no loss" in words(test)
    assert set(figures(test)) == {"shares"}


@pytest.mark.parametrize("base", ["mixtral_8x7b", "deepseek_moe_16b"])
def test_sizes_are_those_of_the_arithmetic(base):
    test = opened(show="size", base=base, split="2", shared="1")
    now, plain = expert_sizes(finer(presets.PRESETS[base](), 2, 1)), expert_sizes(presets.PRESETS[base]())
    assert (
        f"{now.count.total:,} parameters, of which {now.count.active:,} are active per token"
        in figures(test)["weights"][0]["caption"]
    )
    assert f"As published: {plain.count.total:,} and {plain.count.active:,}" in figures(test)["weights"][0]["caption"]
    strips = figures(test)["strips"][1]["data"]
    assert sum(len(array(trace["x"])) for trace in strips) == sum(
        sizes.n_experts + sizes.n_shared for sizes in (now, plain)
    )


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A shipped mixture of one's own making, tiny, with the tokenizer of stories and a scan."""
    tokenizer = checkpoints.load("stories", device="cpu")[1]
    config = small.config(vocab_size=2048, max_seq_len=64, experts=ExpertsConfig(n_experts=3, top_k=2, d_expert=8))
    network = Transformer(config, 1).eval().requires_grad_(False)
    monkeypatch.setattr(expert_scan, "PRETRAINED", tmp_path)
    monkeypatch.setattr(views, "untrained", lambda: (network, tokenizer))
    monkeypatch.setattr(views, "TRAINED", "untrained")  # so that it is asked for its scan
    found = scan(network, [tokenizer.encode(SHORT * 4)], 2, 2)
    kept.SHELF.clear()
    yield tmp_path / "untrained", found, tokenizer
    kept.SHELF.clear()


def test_what_experts_like_is_what_was_counted(tiny):
    folder, found, tokenizer = tiny
    save_scan(folder, found, "a licence")
    test = opened(show="experts", layer="1", expert="2", by="work")
    order = np.lexsort((-found.seen, -found.sent[1, :, 1]))[:1]
    bars = figures(test)["preferred"][1]
    share = 100 * found.sent[1, order[0], 1] / found.load[1, 1]
    assert float(array(bars["data"][0]["x"])[0]) == pytest.approx(share)
    shown = tokenizer.tokens([int(found.ids[order[0]])])[0].replace(" ", "·")
    assert bars["layout"]["yaxis"]["ticktext"][0] == shown
    assert f"over {found.tokens:,} tokens of held-out stories" in words(test)
    assert "How much does the token alone decide?" in words(test)
    assert "In your text" in words(test)


def test_without_the_counts_the_text_speaks_and_the_page_says_how_to_make_them(tiny):
    test = opened(show="experts", expert="1")
    assert "`make train RECIPE=experts` makes them" in words(test)
    assert "preferred" in figures(test)
    tiny[0].mkdir()
    (tiny[0] / expert_scan.FILE).write_bytes(b"no")
    kept.SHELF.clear()
    assert "`make train RECIPE=experts` makes them" in words(opened(show="experts"))


def test_counts_of_another_model_are_not_shown(tiny, monkeypatch):
    folder, found, tokenizer = tiny
    save_scan(folder, found, "a licence")
    other = small.config(vocab_size=2048, max_seq_len=64, experts=ExpertsConfig(n_experts=5, top_k=2, d_expert=8))
    monkeypatch.setattr(views, "untrained", lambda: (Transformer(other, 1).eval(), tokenizer))
    assert "belong to another model" in words(opened(show="experts"))


def test_without_a_shipped_mixture_the_page_says_so_and_shows_random_weights(monkeypatch):
    monkeypatch.setattr(choices, "shipped", lambda: ["stories"])
    test = opened()
    assert "No trained mixture of experts is here yet" in words(test)
    assert test.selectbox(key="model").options == ["untrained"]
    assert "overview" in figures(run(test))


def test_the_default_is_the_trained_model_and_equal_tokens_agree_most_in_its_first_layer():
    test = visits.opened("experts/routing/page.py")
    assert test.selectbox(key="model").value == views.TRAINED
    network, tokenizer = views.network(views.TRAINED)
    ids = tokenizer.encode(choices.TEXT)
    pairs = agreement(ids, route(network, ids).first)
    assert pairs.equal[0] > 0.9 > 0.5 > pairs.all[0], "what the page and its question say"
    assert "Equal tokens" not in words(test) or pairs.equal[0] >= pairs.equal[-1]


def test_diamonds_show_what_is_usual_in_the_held_out_stories():
    drawn = figures(visits.opened("experts/routing/page.py", layer="2", token="5"))
    (network, tokenizer), scan = views.network(views.TRAINED), load_scan(views.TRAINED)
    ids = tokenizer.encode(choices.TEXT)
    row = scan.ids.tolist().index(ids[5])
    assert array(drawn["probs"][1]["data"][1]["y"]) == pytest.approx(scan.sent[2, row] / scan.seen[row])
    usual = scan.load[2] / scan.load[2].sum() * route(network, ids).load[2].sum()
    assert array(drawn["load"][1]["data"][1]["y"]) == pytest.approx(usual)


def test_what_the_page_says_of_other_rules_is_so_of_the_trained_model():
    network, tokenizer = views.network(views.TRAINED)
    ids = tokenizer.encode(choices.TEXT)
    loss = {k: route(network, ids, RouterChange(top_k=k)).loss for k in (1, 2, 4)}
    assert loss[2] < loss[1], "fewer experts than trained cost something"
    assert abs(loss[4] - loss[2]) < 0.2, "more hardly help"
    assert route(network, ids, RouterChange(capacity=0.5)).loss > loss[2] + 0.5
    assert route(network, ids, RouterChange(noise=4.0)).loss > loss[2] + 0.5


@pytest.mark.parametrize(("few", "kind"), [(8, "button_group"), (7, "selectbox")])
def test_a_few_experts_stand_side_by_side(monkeypatch, few, kind):
    monkeypatch.setattr(choices, "FEW", few)
    for address in ({"key": "only"}, {"key": "expert", "show": "experts"}):
        key = address.pop("key")
        assert [element.key for element in opened(**address).get(kind) if element.key == key]


@pytest.mark.parametrize(("base", "split", "most"), [("mixtral_8x7b", "1", 1), ("deepseek_moe_16b", "4", 4)])
def test_at_least_one_expert_is_left_to_choose(base, split, most):
    slider = opened(show="size", base=base, split=split).slider(key="shared")
    assert (slider.min, slider.max) == (0, most)


def test_of_many_experts_per_token_four_are_tried(monkeypatch):
    tokenizer = checkpoints.load("stories", device="cpu")[1]
    config = small.config(vocab_size=2048, max_seq_len=64, experts=ExpertsConfig(n_experts=8, top_k=6, d_expert=8))
    monkeypatch.setattr(views, "untrained", lambda: (Transformer(config, 1).eval(), tokenizer))
    kept.SHELF.clear()
    slider = opened(show="what if").slider(key="k")
    kept.SHELF.clear()
    assert (slider.min, slider.max, slider.value) == (1, 4, 4)


def test_the_formula_is_that_of_the_model():
    """Mixtral's weights sum to 1; those of stories-shared are the probabilities, and a shared expert is added."""
    moe, shared = views.formula("stories-moe"), views.formula("stories-shared")
    assert r"w_i = \frac{p_i}{\sum_{j \in T} p_j}" in moe
    assert shared.endswith("w_i = p_i")
    assert ("shared" in moe, "shared" in shared) == (False, True)
    assert "p + b" in moe
    assert "p + b" in shared
    for name in (views.TRAINED, views.SHARED):
        found = route(views.network(name)[0], truth(model=name)[0])
        summed = found.weights.sum(-1)
        assert np.allclose(summed, 1, atol=1e-5) == (name == views.TRAINED)
