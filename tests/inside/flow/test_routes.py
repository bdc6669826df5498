"""The flow of information against a slow loop written apart, on every wiring; and what is said and drawn of it."""

import dataclasses

import numpy as np
import pytest
import torch

from tests import small
from tests.inside.stream.test_parts import shaken
from tests.nightly import often_named
from tfcore.generation.sampling import Sampling
from tfcore.inspection.capture import known_names
from tfcore.loading.checkpoints import load
from tfcore.measures.logit_attribution import contributions, stream_direction, stream_parts
from tfcore.model import Transformer
from tfcore.views.inside.flow import flow_of, guesses_of
from tfcore.views.inside.flow.measure import routes as flows
from tfcore.views.inside.flow.measure import shares as flow_shares
from tfcore.views.inside.flow.measure.passages import of_ids
from tfcore.views.inside.flow.measure.routes import (
    LARGEST,
    Flow,
    LayerGuesses,
    draw_token,
    factors_of,
    layer_guesses,
    read_factors,
    sampled,
    trace,
    written_factors,
)
from tfcore.views.inside.flow.measure.shares import Factors, edits_of
from tfcore.views.inside.flow.say import how_drawn, story
from tfcore.views.sources import Reading

TEXT = small.ids(1, 9)[0].tolist()
MODELS = {**small.WIRINGS, "grouped, windowed": {"n_kv_heads": 2, "window": 4}, "post-norm": {"norm_placement": "post"}}
PRONOUN = "Sam was a little boy. One day, Sam said that"
EVERY = ((True,) * 6,) * 2  # the heads of two layers


def proximities(parts: list[np.ndarray], summed: np.ndarray) -> np.ndarray:
    near = np.array([max(0.0, np.abs(summed).sum() - np.abs(part - summed).sum()) for part in parts])
    return near / near.sum()


def raised(model: Transformer, parts: list[np.ndarray], token: int, against: int | None) -> np.ndarray:
    """Shares in a logit, above that of another token or the mean, through the final norm at a fixed scale."""
    norm, table = model.decoder.ln_final, model.embed.weight.double().numpy()
    u = table[token] - (table.mean(0) if against is None else table[against])
    layernorm = norm.kind == "layernorm"
    found = [((part - part.mean() * layernorm) * norm.weight.double().numpy()) @ u for part in parts]
    if max(found) <= 0:  # nothing raises it: all of it to what was there
        return np.array([0.0] * (len(parts) - 1) + [1.0])
    return np.maximum(found, 0) / np.maximum(found, 0).sum()


def slow(
    model: Transformer, ids: list[int], target: int, threshold: float, factors: Factors, toward: tuple[int, ...] = ()
) -> dict:
    """All shares by a loop over tokens, heads and terms, in float64."""

    def split(i: int, parts: list[np.ndarray], summed: np.ndarray) -> np.ndarray:
        return raised(model, parts, *(*toward, None)[:2]) if toward and i == target else proximities(parts, summed)

    config, n = model.config, len(ids)
    found = model(
        torch.tensor([ids]), capture=list(known_names(config)), edits=edits_of(model.config, factors)
    ).activations
    here = {name: value[0].double().numpy() for name, value in found.items() if name != "pos_embed"}
    stream = np.zeros((config.n_layers + 1, n))
    stream[-1, target] = 1.0
    straight, written, faint, routes = np.zeros((3, config.n_layers, n)), None, None, {}
    straight, written, faint = straight
    for layer in reversed(range(config.n_layers)):
        at = f"blocks.{layer}."
        block = model.stack.blocks[layer]
        w = block.attn.out.weight.double().numpy()  # (d_model, head * d_head)
        size = w.shape[1] // config.attention.n_heads
        group = config.attention.n_heads // here[at + "attn.v"].shape[0]
        for i in range(n):
            if not (came := stream[layer + 1, i]):
                continue
            names, parts = [], []
            for head in range(config.attention.n_heads):
                for j in range(n):
                    value = w[:, head * size : (head + 1) * size] @ here[at + "attn.v"][head // group, j]
                    part = here[at + "attn.pattern"][head, i, j] * value * factors.get((layer, head), 1.0)
                    if (scale := here.get(at + "ln1_post.scale")) is not None:
                        part = part / scale[i] * block.ln1_post.weight.double().numpy()
                    names.append((head, j))
                    parts.append(part)
            names.append("stream")
            parts.append(here[at + "resid_pre"][i])
            if block.parallel:
                names.append("mlp")
                parts.append(here[at + "mlp_out"][i])
            summed = here[at + "resid_pre"][i] + here[at + "attn_out"][i]
            summed = summed + here[at + "mlp_out"][i] if block.parallel else summed
            for name, share in zip(names, split(i, parts, summed), strict=True):
                if name in ("stream", "mlp"):
                    straight[layer, i] += came * share
                    stream[layer, i] += came * share
                    written[layer, i] += came * share * (name == "mlp")
                elif share >= threshold:
                    routes[layer, name[0], i, name[1]] = came * share
                    stream[layer, name[1]] += came * share
                else:
                    faint[layer, i] += came * share
            if block.has_mlp and not block.parallel:
                mid, out = here[at + "resid_mid"][i], here[at + "mlp_out"][i]
                written[layer, i] = came * split(i, [out, mid], mid + out)[0]
    return {"stream": stream, "straight": straight, "feedforward": written, "faint": faint, "routes": routes}


@pytest.mark.parametrize("values", often_named(MODELS, "like GPT-2", "sandwich", "grouped, windowed"))
@pytest.mark.parametrize(("threshold", "factors"), [(0.0, {}), (0.02, {(1, 2): 0.0, (0, 1): -1.5})])
def test_shares_are_those_of_a_slow_loop(values, threshold, factors):
    model = shaken(**values)
    fast, expected = trace(model, of_ids(TEXT, 7), threshold, factors), slow(model, TEXT, 7, threshold, factors)
    for name in ("stream", "straight", "feedforward", "faint"):
        np.testing.assert_allclose(getattr(fast, name), expected[name], atol=2e-5, err_msg=name)
    said = {(one.layer, one.head, one.query, one.key): one.share for one in fast.routes}
    assert said.keys() >= {place for place, share in expected["routes"].items() if share > 1.1 * flows.SMALLEST}
    for place, share in said.items():
        assert share == pytest.approx(expected["routes"][place], abs=2e-5)
    assert [one.share for one in fast.routes] == sorted(said.values(), reverse=True)
    assert (fast.target, fast.threshold) == (7, threshold)
    if not threshold:
        carried = np.zeros((model.config.n_layers, model.config.attention.n_heads))
        for (layer, head, query, key), share in expected["routes"].items():
            carried[layer, head] += share * (query != key)
        np.testing.assert_allclose(fast.carried, carried, atol=2e-5)


@pytest.mark.parametrize(
    ("values", "toward", "factors"),
    [
        ({}, (3,), {}),
        ({"norm": "rmsnorm", "parallel": True}, (3, 11), {(0, 1): -1.5}),
        ({"norm_placement": "sandwich", "n_kv_heads": 2}, (7,), {(1, 2): 0.0}),
    ],
)
def test_shares_of_a_logit_are_those_of_a_slow_loop(values, toward, factors):
    model = shaken(**values)
    fast = trace(model, of_ids(TEXT, 8), 0.0, factors, toward)
    expected = slow(model, TEXT, 8, 0.0, factors, toward)
    for name in ("stream", "straight", "feedforward"):
        np.testing.assert_allclose(getattr(fast, name), expected[name], atol=2e-5, err_msg=name)
    for route in fast.routes:
        place = route.layer, route.head, route.query, route.key
        assert route.share == pytest.approx(expected["routes"][place], abs=2e-5)
    assert fast.toward == toward
    np.testing.assert_allclose(fast.stream.sum(1), 1.0, atol=1e-3)
    assert abs(fast.stream - trace(model, of_ids(TEXT, 8), 0.0, factors).stream).max() > 0.01


def test_what_raises_a_logit_adds_up_to_it():
    """Heads' and feed-forward layers' parts in the direction are those of direct logit attribution."""
    model, target = small.model(), len(TEXT) - 1
    parts = stream_parts(model, TEXT, target)
    expected = contributions(model, parts, 3, 11)
    toward = stream_direction(model, 3, 11) / parts.scale
    np.testing.assert_allclose(parts.heads @ toward, expected.heads, atol=1e-6)
    np.testing.assert_allclose(parts.feedforward @ toward, expected.feedforward, atol=1e-6)


def test_the_logit_of_a_post_norm_model_is_not_split():
    with pytest.raises(ValueError, match="norm_placement='post'"):
        trace(small.model(norm_placement="post"), of_ids(TEXT, 8), toward=(3,))


@pytest.mark.parametrize("values", often_named(MODELS, "like GPT-2", "sandwich", "grouped, windowed"))
def test_with_no_threshold_every_layer_has_the_whole_state(values):
    found = trace(small.model(**values), of_ids(TEXT, 8))
    np.testing.assert_allclose(found.stream.sum(1), 1.0, atol=1e-3)
    assert found.followed == pytest.approx(1.0, abs=1e-3)
    assert not found.faint.any()
    moved = found.moved.sum(2)[found.stream[1:] > 1e-4]
    np.testing.assert_allclose(moved, 1.0, atol=1e-6)
    own = np.einsum("lii,li->l", found.moved, found.stream[1:])
    np.testing.assert_allclose(found.carried.sum(1), found.stream[1:].sum(1) - own, atol=1e-4)


def test_a_threshold_loses_what_is_below_it():
    model = small.model()
    found = trace(model, of_ids(TEXT, 8), 0.05)
    assert found.followed == pytest.approx(1 - found.faint.sum(), abs=1e-3)
    assert found.followed < 0.99


def test_an_encoder_is_traced():
    found = trace(small.model(architecture="encoder"), of_ids(TEXT, 3))
    assert found.stream[0, 8] > 0  # from a later token, too
    assert (found.layers, found.head(1, 4)) == (("0", "1"), "1.4")


def slow_pair(model: Transformer, ids: list[int], written: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The streams and feed-forward shares of an encoder-decoder of which the last token written is explained, by loops
    over blocks, from the last to the first: encoder and decoder each with its own row of shares."""
    found = model(torch.tensor([ids]), decoder_ids=torch.tensor([written]), capture=["*"]).activations
    here = {name: value[0].double().numpy() for name, value in found.items() if not name.endswith("pos_embed")}
    source, own = np.zeros(len(ids)), np.zeros(len(written))
    own[-1] = 1.0
    stages, wrote = [np.concatenate([source, own])], []

    def attend(at: str, attention: torch.nn.Module, before: str, rows: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """The stream before an attention: `keys` gets what heads take, and what stays is returned."""
        w, heads = attention.out.weight.double().numpy(), model.config.attention.n_heads
        size, kept = w.shape[1] // heads, np.zeros_like(rows)
        for i, came in enumerate(rows):
            parts = [
                here[f"{at}.pattern"][head, i, j] * (w[:, head * size : (head + 1) * size] @ here[f"{at}.v"][head, j])
                for head in range(heads)
                for j in range(len(keys))
            ]
            share = came * proximities([*parts, here[before][i]], here[before][i] + here[f"{at}_out"][i])
            kept[i] += share[-1]
            keys += share[:-1].reshape(heads, -1).sum(0)
        return kept

    def feed(at: str, mid: str, rows: np.ndarray) -> np.ndarray:
        mids, outs = here[at + mid], here[at + "mlp_out"]
        return rows * [proximities([a, b], a + b)[1] for a, b in zip(mids, outs, strict=True)]

    for layer in reversed(range(model.config.decoder_layers)):
        at, block = f"decoder.blocks.{layer}.", model.decoder.blocks[layer]
        wrote.append(np.concatenate([0 * source, feed(at, "resid_mid_cross", own)]))
        own = attend(at + "cross_attn", block.cross_attn, at + "resid_mid", own, source)
        stages.append(np.concatenate([source, own]))
        moved = np.zeros_like(own)
        own = moved + attend(at + "attn", block.attn, at + "resid_pre", own, moved)
        wrote.append(np.zeros(len(ids) + len(written)))
        stages.append(np.concatenate([source, own]))
    for layer in reversed(range(model.config.encoder_layers)):
        at, block = f"encoder.blocks.{layer}.", model.encoder.blocks[layer]
        wrote.append(np.concatenate([feed(at, "resid_mid", source), 0 * own]))
        moved = np.zeros_like(source)
        source = attend(at + "attn", block.attn, at + "resid_pre", source, moved) + moved
        stages.append(np.concatenate([source, own]))
    return np.array(stages[::-1]), np.array(wrote[::-1])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_encoder_decoder_is_traced_through_both(norm):
    model = small.model(architecture="encoder-decoder", norm_placement=norm, n_encoder_layers=3)
    written = TEXT[:4]
    found = trace(model, of_ids(TEXT, 12, written))
    stream, feedforward = slow_pair(model, TEXT, written)
    np.testing.assert_allclose(found.stream, stream, atol=5e-5)
    np.testing.assert_allclose(found.feedforward, feedforward, atol=5e-5)
    assert found.layers == ("encoder 0", "encoder 1", "encoder 2", "decoder 0", "cross 0", "decoder 1", "cross 1")
    np.testing.assert_allclose(found.stream.sum(1), 1.0, atol=1e-3)
    assert found.head(4, 1) == "cross 0.1"
    assert {route.key < 9 for route in found.routes if route.layer in (4, 6)} == {True}
    edited = trace(model, of_ids(TEXT, 12, written), factors={(6, 2): 0.0})
    assert not [route for route in edited.routes if (route.layer, route.head) == (6, 2)]


def test_many_tokens_at_once_and_few_come_to_the_same(monkeypatch):
    model = small.model(norm_placement="sandwich")
    before = trace(model, of_ids(TEXT, 8))
    monkeypatch.setattr("tfcore.views.inside.flow.measure.shares.AT_ONCE", 1)
    np.testing.assert_allclose(trace(model, of_ids(TEXT, 8)).stream, before.stream, atol=1e-6)


# ---- what the last token predicts ----


def test_guesses_after_each_layer():
    model, factors = small.model(), {(0, 1): 0.0, (1, 5): -2.0}
    found = layer_guesses(model, of_ids(TEXT, 8), factors)
    output = model(torch.tensor([TEXT]), capture=["blocks.*.resid_post"], edits=edits_of(model.config, factors))
    np.testing.assert_allclose(found.final, output.logits[0, -1].softmax(-1), atol=1e-6)
    for layer in range(2):
        state = output.activations[f"blocks.{layer}.resid_post"][0, -1]
        expected = (model.decoder.ln_final(state) @ model.embed.weight.T).softmax(-1)
        assert found.best[layer] == int(expected.argmax())
        assert found.probability[layer] == pytest.approx(float(expected.max()), abs=1e-6)
    assert abs(layer_guesses(model, of_ids(TEXT, 8)).final - found.final).max() > 1e-3


@pytest.mark.parametrize("values", [{}, {"architecture": "encoder-decoder", "n_encoder_layers": 3}])
def test_what_is_known_of_the_layers_before_a_changed_head_is_kept(values):
    """Also where it is the last layer; nothing before it is computed again."""
    model = small.model(**values)
    passage = of_ids(TEXT, 12, TEXT[:4]) if values else of_ids(TEXT, 8)
    before = flow_shares.record(model, passage)
    plain = flow_shares.layer_shares(model, passage, None, before), layer_guesses(model, passage, None, before)
    n_layers = len(plain[0])
    for factors in ({(1, 2): 0.0}, {(n_layers - 1, 0): -1.0}):
        run = flow_shares.record(model, passage, factors, before)
        quick = flow_shares.layer_shares(model, passage, factors, run, plain[0])
        for k, (one, other) in enumerate(zip(quick, flow_shares.layer_shares(model, passage, factors), strict=True)):
            np.testing.assert_allclose(one.heads, other.heads, atol=1e-6)
            np.testing.assert_allclose(one.kept, other.kept, atol=1e-6)
            assert (one is plain[0][k]) == (k < flow_shares.first_changed(factors))
        guesses, slow = layer_guesses(model, passage, factors, run, plain[1]), layer_guesses(model, passage, factors)
        assert guesses.best == slow.best
        assert guesses.probability == pytest.approx(slow.probability, abs=1e-6)
        np.testing.assert_allclose(guesses.final, slow.final, atol=1e-6)


def test_head_2_5_of_stories_carries_the_pronoun():
    reading, (model, tokenizer) = Reading("stories", PRONOUN), load("stories")
    he, she = (tokenizer.encode(f"Sam said that {word}")[-1] for word in ("he", "she"))
    plain, off, turned = (guesses_of(reading, None, heads) for heads in ("", "2.5*0", "2.5*-2"))
    assert plain.final.argmax() == off.final.argmax() == he
    assert plain.final[he] == pytest.approx(0.69, abs=0.02)
    assert off.final[he] == pytest.approx(0.42, abs=0.02)
    assert turned.final.argmax() == she
    traced = flow_of(reading, None, 0.0, "", ())
    ids = tokenizer.encode(PRONOUN)
    expected = trace(model, of_ids(ids, len(ids) - 1))
    np.testing.assert_array_equal(traced.stream, expected.stream)
    word = flow_of(reading, None, 0.0, "", (he,))
    first = next(route for route in word.routes if route.key != route.query)
    assert (word.head(first.layer, first.head), tokenizer.tokens([ids[first.key]])) == ("2.5", [" boy"])
    without = flow_of(reading, None, 0.03, "2.5*0", ())
    assert without.target == len(ids) - 1
    assert not [one for one in without.routes if (one.layer, one.head) == (2, 5)]


def test_the_next_token_is_drawn_by_temperature_top_p_and_seed():
    own = np.array([0.1, 0.6, 0.3, 0.0], dtype=np.float32)
    guesses = LayerGuesses((0,), (0.6,), own)
    assert sampled(guesses, Sampling()) is own
    np.testing.assert_allclose(sampled(guesses, Sampling(temperature=0)), [0, 1, 0, 0])
    squares = own**2 / (own**2).sum()
    np.testing.assert_allclose(sampled(guesses, Sampling(temperature=0.5)), squares, atol=1e-6)
    np.testing.assert_allclose(sampled(guesses, Sampling(top_p=0.7)), [0, 2 / 3, 1 / 3, 0], atol=1e-6)
    assert [how_drawn(one) for one in (Sampling(), Sampling(temperature=0.5), Sampling(top_p=0.9))] == [
        *("", "temperature 0.5", "temperature 1.0, top-p 0.90")
    ]
    assert draw_token(guesses, Sampling(temperature=0), 5) == 1
    drawn = [draw_token(guesses, Sampling(), seed) for seed in range(400)]
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 400, own, atol=0.07)
    assert drawn[:20] == [draw_token(guesses, Sampling(), seed) for seed in range(20)]
    assert {draw_token(guesses, Sampling(temperature=0.05), seed) for seed in range(50)} == {1}


# ---- heads that are changed ----


def test_factors_as_text():
    factors, exact = read_factors("1.3*-1.5 0.0*0 1.5*1", EVERY)
    assert (factors, exact) == ({(0, 0): 0.0, (1, 3): -1.5}, True)
    assert written_factors(factors) == "0.0*0 1.3*-1.5"
    assert written_factors({(0, 1): 2.0, (1, 2): 1.0}) == "0.1*2"
    assert read_factors("", EVERY) == ({}, True)
    assert factors_of(small.model(), "1.3*2 9.9*0") == {(1, 3): 2.0}
    assert LARGEST == 2.0


@pytest.mark.parametrize(
    "said", ["2.0*0", "0.6*0", "0.0*2.25", "0.0*nan", "0.0", "x", "0.0*1e9", "-1.0*0", "0.-1*0", "*"]
)
def test_what_is_no_head_or_factor_is_left_out(said):
    assert read_factors(f"0.1*0.5 {said}", EVERY) == ({(0, 1): 0.5}, False)


# ---- the story ----


def test_the_story_of_a_state():
    found = trace(small.model(), of_ids(TEXT, 8), 0.01)
    tokens = [f" {letter}" for letter in "abcdefghi"]
    told = story(found, tokens, " ball", 0.694, {(1, 2): -0.5})
    between = [one for one in found.routes if one.key != one.query]
    widest = max(between, key=lambda one: one.share)
    assert told.widest == (f"{widest.layer}.{widest.head}", tokens[widest.key], widest.share)
    order = sorted(range(9), key=lambda i: -found.stream[0, i])[:3]
    assert told.origins == tuple((tokens[i], found.stream[0, i]) for i in order)
    first = ", ".join(f"'·{'abcdefghi'[i]}' {found.stream[0, i]:.0%}" for i in order)
    head = f"head {widest.layer}.{widest.head}"
    assert str(told) == (
        f"'·ball', 69% with head 1.2 × -0.5: the widest ribbon of one head comes from '·{'abcdefghi'[widest.key]}' "
        f"through {head}, {widest.share:.1%} of the state. Traced back to the embeddings: {first}; "
        f"{1 - found.stream[0].sum():.0%} is in routes below 1.0% of a sum, which are not followed."
    )


def test_the_story_of_a_state_that_predicts_nothing():
    told = story(trace(small.model(), of_ids(TEXT, 4)), [f" {letter}" for letter in "abcdefghi"], None, 0.0, {})
    assert str(told).startswith("The state at '·e': the widest ribbon of one head comes from '")


def test_the_story_of_a_logit():
    found = trace(small.model(), of_ids(TEXT, 8), toward=(3, 11))
    widest = max((one for one in found.routes if one.key != one.query), key=lambda one: one.share)
    tokens = [f" {letter}" for letter in "abcdefghi"]
    said = str(story(found, tokens, " ball", 0.694, {}, (" he", " she")))
    head = f"head {widest.layer}.{widest.head}"
    assert said.startswith(
        f"'·ball', 69%. Widths are shares of what raises the logit of '·he' above that of '·she': the widest ribbon of "
        f"one head comes from '·{'abcdefghi'[widest.key]}' through {head}, {widest.share:.1%}. Traced"
    )
    assert "what raises the logit of '·he':" in str(story(found, tokens, " ball", 0.694, {}, (" he",)))


def test_the_story_without_a_threshold_or_ribbons():
    nothing, stream = np.zeros((2, 2)), np.array([[1.0, 0.0]] * 3)
    alone = Flow(("0", "1"), 0, 0.0, stream, nothing, nothing, nothing, np.zeros((2, 6)), np.ones((2, 2, 2)), ())
    assert str(story(alone, ["a", "c"], "b", 0.5, {})) == (
        "'b', 50%: no head brings from another token what is at least 0.1%. Traced back to the embeddings: 'a' 100%."
    )
    cut = dataclasses.replace(alone, threshold=0.02)
    assert "what is at least 0.1% and is above the threshold. Traced" in str(story(cut, ["a", "c"], "b", 0.5, {}))
