"""Latents of a text: what is cached and what is rebuilt, against loops and singular values written apart."""

import numpy as np
import pytest
import torch

from tests import small
from tests.views.test_view import model_in_memory
from tfcore.kv_cache import KVCache
from tfcore.measures.highlights.usual import PARAGRAPHS
from tfcore.measures.one_text import one_text
from tfcore.measures.text_loss import surprisal
from tfcore.norms import rms_norm
from tfcore.tokenizers.tokenizer import CharacterTokenizer, NamedTokenizer
from tfcore.views.finding import Statement
from tfcore.views.model import latents as views
from tfcore.views.model.latents import measure, say
from tfcore.views.model.latents.draw import WIDEST, losses_figure, vectors_figure
from tfcore.views.sources import opened

IDS = [3, 1, 4, 1, 5, 9, 2]
LATENT = small.WIRINGS["like DeepSeek-V3"] | {"positions": "rope"}
OF_BYTES = {"vocab_size": 300}  # of a model that reads a text
TEXT = "The trophy does not fit in the brown suitcase because it is too big."


def stated(shown):
    """The values of the one finding of a view."""
    (found,) = shown.findings
    assert isinstance(found, Statement)
    return found.values


def rotated_by_a_loop(key, angles):
    """A key whose two halves are turned by an angle for each pair."""
    half = len(key) // 2
    turned = np.zeros_like(key)
    for pair, angle in enumerate(angles):
        a, b = key[pair], key[half + pair]
        turned[pair] = a * np.cos(angle) - b * np.sin(angle)
        turned[half + pair] = b * np.cos(angle) + a * np.sin(angle)
    return turned


@pytest.mark.parametrize("values", [LATENT, LATENT | {"q_latent": None, "d_value": None, "window": 3}])
def test_what_a_model_with_latents_caches_is_its_cache_and_rebuilds_all_heads(values):
    model = small.model(**values)
    config, layer = model.config, 1
    found = measure.own_vectors(model, IDS, layer)
    cache = KVCache(config, capacity=len(IDS), device=model.device)
    model(one_text(model, IDS), cache=cache)
    if config.window is None:  # a ring has its tokens in another order
        held = cache._store[layer][0, 0, 0].cpu().numpy()
        np.testing.assert_allclose(np.hstack((found.rotated, found.latent)), held, atol=1e-5)
        assert found.bytes[0] * config.n_layers == cache.bytes
    d_key, d_value = config.head_size, config.value_size
    assert found.bytes[1] == len(IDS) * 6 * (d_key + d_value) * 4
    read = model.activations(one_text(model, IDS), ("blocks.1.ln1.normalized",))["blocks.1.ln1.normalized"][0]
    attention, norm = model.stack.blocks[layer].attn, {}
    norm["down"], norm["up"] = (one.weight.cpu().numpy() for one in (attention.kv_down, attention.kv_up))
    for token, x in enumerate(read):
        both = norm["down"] @ x.cpu().numpy()
        latent = rms_norm(torch.from_numpy(both[4:]), attention.latent_norm.weight.cpu(), 1e-6).numpy()
        key = rotated_by_a_loop(both[:4], [token * 10_000.0 ** (-pair / 2) for pair in range(2)])
        np.testing.assert_allclose(found.latent[token], latent, atol=1e-5)
        np.testing.assert_allclose(found.rotated[token], key, atol=1e-5)
        own = d_key - 4
        for head in range(6):
            rows = norm["up"][head * (own + d_value) : (head + 1) * (own + d_value)] @ latent
            keys = np.concatenate((key, rows[:own]))
            values_at = 6 * d_key + head * d_value
            for vectors in (found.made, found.rebuilt):
                np.testing.assert_allclose(vectors[token, head * d_key : (head + 1) * d_key], keys, atol=1e-5)
                np.testing.assert_allclose(vectors[token, values_at : values_at + d_value], rows[own:], atol=1e-5)
    assert found.largest_error < 1e-5


def read_paragraphs(model, tokenizer, layer):
    """Keys, then values, of the texts that latents are fitted to, in float64."""
    rows = []
    for text in PARAGRAPHS.read_text("utf-8").splitlines()[: measure.READ]:
        ids = tokenizer.encode(text)[: model.config.max_seq_len]
        record = model.activations(one_text(model, ids), [f"blocks.{layer}.attn.{part}" for part in "kv"])
        parts = [one[0].double().cpu().numpy() for one in record.values()]  # (head, token, d_head)
        rows += [np.concatenate([part[:, token].ravel() for part in parts]) for token in range(len(ids))]
    return np.array(rows)


@pytest.mark.parametrize("wiring", [{}, {"n_kv_heads": 3, "qkv_bias": True}, {"positions": "learned", "window": 4}])
def test_fitted_latents_are_the_singular_vectors_of_keys_beside_values(wiring):
    model, tokenizer = small.model(**wiring, **OF_BYTES), CharacterTokenizer("")
    fitted, layer, rank = measure.fit(model, tokenizer), 1, 5
    rows = read_paragraphs(model, tokenizer, layer)
    n_keys = rows.shape[1] // 2
    assert fitted.tokens == len(rows)
    balance = np.sqrt((rows[:, :n_keys] ** 2).mean() / (rows[:, n_keys:] ** 2).mean())
    assert fitted.balance[layer] == pytest.approx(balance, rel=1e-4)
    scale = np.repeat((1.0, balance), n_keys)
    directions = np.linalg.svd(rows * scale, full_matrices=False)[2][:rank]
    found = measure.fitted_vectors(model, fitted, IDS, layer, rank)
    np.testing.assert_allclose(found.rebuilt, (found.made * scale) @ directions.T @ directions / scale, atol=2e-4)
    assert found.latent.shape == (len(IDS), rank)
    assert found.rotated.shape == (len(IDS), 0)
    apart = (found.rebuilt - found.made).astype(float)
    assert found.errors[1] == pytest.approx((apart[:, n_keys:] ** 2).sum() / (found.made[:, n_keys:] ** 2).sum())


def test_paragraphs_without_a_known_token_are_passed_over():
    model, tokenizer = small.model(**OF_BYTES), NamedTokenizer(["K"])
    texts = PARAGRAPHS.read_text("utf-8").splitlines()[: measure.READ]
    assert 0 < measure.fit(model, tokenizer).tokens == sum(text.count("K") for text in texts)
    assert any("K" not in text for text in texts)


@pytest.mark.parametrize(
    "wiring", [{}, {"n_kv_heads": 3, "qkv_bias": True}, {"attn_sinks": True, "positions": "alibi"}]
)
def test_a_model_with_fitted_latents_has_the_rebuilt_keys_and_values(wiring):
    model, tokenizer = small.model(**wiring, **OF_BYTES), CharacterTokenizer("")
    before = {name: one.clone() for name, one in model.state_dict().items()}
    fitted, rank = measure.fit(model, tokenizer), 5
    changed = measure.with_latents(model, fitted, rank)
    made = measure.keys_and_values(changed, IDS, [0])[0]  # of the first layer, which reads the same in both
    np.testing.assert_allclose(made, measure.fitted_vectors(model, fitted, IDS, 0, rank).rebuilt, atol=1e-5)
    names = [f"blocks.0.attn.{name}" for name in "qv"]
    theirs, ours = (one.activations(one_text(model, IDS), names)["blocks.0.attn.q"] for one in (model, changed))
    assert small.difference(theirs, ours) == 0
    assert changed.decoder.blocks[0].attn.out.weight is model.decoder.blocks[0].attn.out.weight
    whole = measure.with_latents(model, fitted, measure.full_size(model.config))
    assert small.difference(whole(one_text(model, IDS)).logits, model(one_text(model, IDS)).logits) < 1e-3
    assert all(torch.equal(one, before[name]) for name, one in model.state_dict().items())


def test_a_latent_takes_the_share_of_the_cache_that_the_model_has():
    shown = views.cached("stories", TEXT, 2, 25)
    model, _ = opened("stories")
    tokens = len(views.tokens_of("stories", TEXT).ids)
    cache = KVCache(model.config, capacity=tokens, device=model.device)
    kept, whole = shown.result.bytes
    assert whole * model.config.n_layers == cache.bytes
    assert 4 * kept == whole
    assert stated(shown)["share"] == 0.25
    assert f"{kept:,} bytes of this text, not {whole:,}." in str(shown.findings[0])
    assert shown.table().shape == (tokens, 96 + 1)


def test_losses_are_those_of_the_models_with_latents():
    shown = views.losses("stories", TEXT, 10)
    assert sorted(shown.result) == [round(384 * share / 100) for share in measure.SHARES]
    model, tokenizer = opened("stories")
    ids, fitted = tokenizer.encode(TEXT), measure.fit(model, tokenizer)
    changed = measure.with_latents(model, fitted, 38)
    assert shown.result[38] == pytest.approx(float(surprisal(changed, ids).mean()), rel=1e-4)
    said = stated(shown)
    assert said["loss"] == shown.result[38]
    assert said["base"] == pytest.approx(float(surprisal(model, ids).mean()), rel=1e-5)
    late = [size for size, loss in sorted(shown.result.items()) if loss - said["base"] >= say.LITTLE]
    assert said["enough"] == min(size for size in shown.result if size > max(late))


def test_no_gain_is_no_negative_zero():
    assert "(+0.00)" in str(say.losses_by_size({5: 2.999, 10: 3.0}, 3.0, 5, 10))


def test_weight_on_other_tokens_is_half_of_what_changes():
    before, after = views.map_before("stories", TEXT, 1, 2), views.map_after("stories", TEXT, 1, 2, 10)
    moved = [
        sum(max(0, b - a) for a, b in zip(*rows, strict=True)) for rows in zip(before.result, after.result, strict=True)
    ]
    assert stated(after)["share"] == pytest.approx(np.mean(moved), abs=1e-5)
    np.testing.assert_allclose(after.result.sum(-1), 1, atol=1e-5)


def test_own_latents_stand_in_one_row_and_fitted_ones_below_what_the_model_caches():
    own = views.cached((small.model(**LATENT, **OF_BYTES), CharacterTokenizer("")), "the dog", 0, 25)
    assert [np.shape(one.z)[1] for one in own.chart.data] == [7, 4, 60, 30]
    assert str(own.findings[0]).startswith(
        f"This model, layer 0: a latent of 7 numbers and a rotated key of 4 are cached of a token, {11 / 90:.1%} of "
        f"the 90 that keys and values of 6 heads have: {7 * 11 * 4} bytes of this text, not {7 * 90 * 4:,}."
    )
    fitted = views.cached("stories", TEXT, 2, 25)
    assert [np.shape(one.z)[1] for one in fitted.chart.data] == [192, 192, 96, 192, 192]
    domains = [fitted.chart.to_dict()["layout"][f"xaxis{panel}"]["domain"] for panel in (3, 4)]
    widths = [end - start for start, end in domains]
    assert widths[1] == pytest.approx(2 * widths[0])


def test_of_many_heads_the_first_are_drawn():
    made = np.zeros((2, 2 * 20 * 64), np.float32)
    vectors = measure.CachedVectors(made[:, :9], made[:, :3], made, made, 20 * 64)
    figure = vectors_figure(vectors, ["a", "b"], 20, 520)
    assert [np.shape(one.z)[1] for one in figure.data] == [9, 3, WIDEST, WIDEST]
    titles = [note.text for note in figure.layout.annotations]
    assert {f"keys of the first 16 of 20 heads, rebuilt: {WIDEST}", f"their values, rebuilt: {WIDEST}"} <= set(titles)


def test_the_chosen_size_is_written_at_its_mark():
    figure = losses_figure({5: 4.0, 10: 3.0}, 2.9, 5, 300)
    assert figure.layout.annotations[1].text == "<b>4.00</b>"
    assert (figure.layout.annotations[1].x, figure.layout.annotations[1].y) == (5, 4.0)


def test_what_has_no_latents_is_a_sentence():
    def tell(**values):
        return views.why_no_latents(small.config(**values))

    assert tell() is None
    assert tell(**LATENT) is None
    assert "decoder with attention in every layer" in tell(architecture="encoder", head="mlm", positions="learned")
    assert "decoder with attention in every layer" in tell(**small.HYBRID)
    assert "normalised or cut off" in tell(qk_norm="head")
    tokenizer = CharacterTokenizer("")
    with pytest.raises(ValueError, match="no latents are fitted to this model: its keys are normalised"):
        measure.fit(small.model(qk_norm="head"), tokenizer)
    with pytest.raises(ValueError, match="trained with latents of its own"):
        measure.fit(small.model(**LATENT), tokenizer)
    unread, words = NamedTokenizer(["∀", "∃"]), "its vocabulary has no token of the paragraphs of Wikipedia"
    assert words in measure.why_none_fitted(small.model(**OF_BYTES), unread)
    assert measure.why_none_fitted(small.model(**OF_BYTES), NamedTokenizer(["X", "∃"])) is None
    with pytest.raises(ValueError, match=words):
        measure.fit(small.model(**OF_BYTES), unread)
    with pytest.raises(ValueError, match="layer=4 must be between 0 and 3"):
        views.cached("stories", TEXT, 4, 25)
    with pytest.raises(ValueError, match="no token in this text"):
        views.cached("stories", "", 0, 25)
    with pytest.raises(ValueError, match="no token is predicted in a text of 1"):
        views.losses(model_in_memory(), "a", 25)
