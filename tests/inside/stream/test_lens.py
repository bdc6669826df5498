"""The logit lens against loops over captured states, and what is said of it."""

import math

import numpy as np
import pytest
import torch

import tfcore
from tests import small
from tfcore.measures.lenses import lens_logits, logit_reader, stage_states, stages, unembedding
from tfcore.views.inside.stream.measure.lens import Lens, TokenPath, lens_cells, logit_lens, spread_out, tokens_at
from tfcore.views.inside.stream.say.lens import (
    correct_at_ends,
    correct_by_stage,
    correct_on_the_way,
    embedding_predicts_input,
    probability_by_stage,
)

TEXT = small.ids(1, 9)[0].tolist()


@pytest.mark.parametrize("kind", small.WIRINGS)
def test_the_last_stage_is_the_model_itself_and_the_first_its_embedding(kind):
    model = small.model(**small.WIRINGS[kind])
    found, logits = logit_lens(model, TEXT), model(torch.tensor([TEXT])).logits[0]
    chance = logits.softmax(-1)
    assert found.stages == stages(model.config)
    assert found.stages[-1] == "blocks.1.resid_post"
    np.testing.assert_array_equal(found.best[-1], chance.topk(5).indices)
    np.testing.assert_allclose(found.probability[-1], chance.topk(5).values, atol=1e-6)
    for i, following in enumerate(TEXT[1:]):
        assert found.next_probability[-1, i] == pytest.approx(float(chance[i, following]), abs=1e-6)
        assert found.next_rank[-1, i] == int((logits[i] > logits[i, following]).sum())
        assert (found.best[-1, i, 0] == following) == (found.next_rank[-1, i] == 0)


def test_a_stage_is_read_with_the_norm_of_its_own_state():
    model = small.model()
    found = logit_lens(model, TEXT)
    x = model(torch.tensor([TEXT]), capture=("blocks.0.resid_mid",)).activations["blocks.0.resid_mid"][0, 4].tolist()
    size = math.sqrt(sum(v * v for v in x) / len(x) + model.config.norm.eps)
    weight = model.decoder.ln_final.weight.tolist()
    logits = [
        sum(v / size * g * w for v, g, w in zip(x, weight, row, strict=True)) for row in model.embed.weight.tolist()
    ]
    best = sorted(range(61), key=lambda token: -logits[token])[:5]
    assert found.best[1, 4].tolist() == best
    total = sum(math.exp(v) for v in logits)
    np.testing.assert_allclose(found.probability[1, 4], [math.exp(logits[token]) / total for token in best], rtol=1e-4)


def test_a_frozen_scale_changes_no_order():
    """As TransformerLens reads it with the final state's scale: the same order of tokens at every stage."""
    model = small.model()
    names = ("blocks.0.resid_mid", "ln_final.scale")
    states = model(torch.tensor([TEXT]), capture=names).activations
    frozen = states[names[0]][0] / states[names[1]][0] * model.decoder.ln_final.weight @ model.embed.weight.T
    own = lens_logits(model, states[names[0]][0])
    np.testing.assert_array_equal(frozen.argsort(-1), own.argsort(-1))


def test_with_the_bias_of_a_layer_norm_it_changes_the_order():
    """The bias is added after the scale, so its share in the logits differs: no claim of one order is made."""
    model = small.model(norm="layernorm", bias=True)
    with torch.no_grad():
        model.decoder.ln_final.bias.normal_(generator=torch.Generator().manual_seed(0))
    names = ("blocks.0.resid_mid", "ln_final.scale")
    states = model(torch.tensor([TEXT]), capture=names).activations
    x = states[names[0]][0]
    centred = (x - x.mean(-1, keepdim=True)) / states[names[1]][0]
    frozen = (centred * model.decoder.ln_final.weight + model.decoder.ln_final.bias) @ unembedding(model).T
    own = lens_logits(model, x)
    assert not torch.equal(frozen.argsort(-1), own.argsort(-1))


def test_the_path_of_a_token_agrees_with_the_lens():
    model = small.model()
    found = logit_lens(model, TEXT)
    tokens = [TEXT[5], 7]
    path = tokens_at(stage_states(model, TEXT), logit_reader(model), 4, tokens)
    np.testing.assert_allclose(path.probability[:, 0], found.next_probability[:, 4], atol=1e-6)
    np.testing.assert_array_equal(path.rank[:, 0], found.next_rank[:, 4])
    logits = model(torch.tensor([TEXT])).logits[0, 4]
    np.testing.assert_allclose(path.logits[-1], (logits[tokens] - logits.mean()).numpy(), atol=1e-5)


def test_states_that_are_kept_serve_every_position_and_token():
    model = small.model()
    states = stage_states(model, TEXT)
    for position in (0, 4, len(TEXT) - 1):
        logits = lens_logits(model, torch.stack([state[position] for state in states.values()]))
        path = tokens_at(states, logit_reader(model), position, [7, 3])
        alone = tokens_at(stage_states(model, TEXT[: position + 1]), logit_reader(model), position, [7, 3])
        for stage, row in enumerate(logits.tolist()):
            assert path.rank[stage].tolist() == [sum(x > row[token] for x in row) for token in (7, 3)]
        for name in ("probability", "logits", "rank"):
            np.testing.assert_allclose(getattr(path, name), getattr(alone, name), atol=1e-5)


def test_chosen_stages_are_those_of_the_whole_lens():
    model = small.model()
    whole, some = logit_lens(model, TEXT), logit_lens(model, TEXT, stages(model.config)[1:4:2])
    assert some.stages == whole.stages[1:4:2]
    for name in ("best", "probability", "next_probability", "next_rank"):
        np.testing.assert_array_equal(getattr(some, name), getattr(whole, name)[1:4:2])
    assert str(correct_at_ends(some)).count("attn 0") == str(correct_at_ends(some)).count("attn 1") == 1


def test_stages_are_spread_out():
    names = [f"s{i}" for i in range(61)]
    assert spread_out(names, 11) == tuple(f"s{i}" for i in range(0, 61, 6))
    assert spread_out(names[:4], 11) == tuple(names[:4])
    for count in range(5, 61):
        found = [int(name[1:]) for name in spread_out(names[:count], 4)]
        steps = np.diff(found)
        assert (found[0], found[-1], len(found)) == (0, count - 1, 4)
        assert steps.max() - steps.min() <= 1


def test_one_token_has_guesses_and_nothing_to_be_right_about():
    found = logit_lens(small.model(), TEXT[:1])
    assert found.best.shape == (5, 1, 5)
    assert found.next_probability.shape == found.next_rank.shape == (5, 0)


@pytest.mark.parametrize("measure", [logit_lens])
def test_other_models_are_refused(measure):
    with pytest.raises(ValueError, match="post"):
        measure(small.model(norm_placement="post"), TEXT)


def test_with_a_biased_norm_the_frozen_scale_changes_the_order():
    model = small.model(**small.WIRINGS["like GPT-2"])
    norm = model.decoder.ln_final
    assert norm.bias is not None
    biased = norm.bias + torch.linspace(-3, 3, len(norm.bias))
    states = model(torch.tensor([TEXT]), capture=("blocks.0.resid_pre",)).activations["blocks.0.resid_pre"][0]
    centred = (states - states.mean(-1, keepdim=True)) * norm.weight
    scales = (0.2, 20.0)  # an own one and a foreign one
    orders = [((centred / scale + biased) @ unembedding(model).T).argsort(-1) for scale in scales]
    assert not torch.equal(*orders)
    plain = [((centred / scale) @ unembedding(model).T).argsort(-1) for scale in scales]
    assert torch.equal(*plain), "without the bias the order is the same"


def test_what_the_page_says_of_the_ball():
    """The examples of the page on the residual stream, on the shipped model."""
    model, tokenizer = tfcore.load("stories")
    text = "Once upon a time there was a little girl named Lily. Lily had a red ball. One day Lily lost the red"
    ids, (ball,), (red,) = tokenizer.encode(text), tokenizer.encode(" ball"), tokenizer.encode(" red")
    path = tokens_at(stage_states(model.eval(), ids), logit_reader(model), len(ids) - 1, [ball])
    names = stages(model.config)
    first = names.index("blocks.1.resid_mid")
    assert path.rank[first - 1, 0] > 0 == path.rank[first:, 0].max(), "from attention 1 on"
    of_red = tokens_at(stage_states(model, ids), logit_reader(model), len(ids) - 1, [red])
    assert of_red.rank[2, 0] == 0, "after feed-forward 0 red itself leads"
    assert round(float(path.probability[names.index("blocks.3.resid_mid"), 0]), 3) == 0.999


STAGES = ("blocks.0.resid_pre", "blocks.0.resid_mid", "blocks.0.resid_post")


def planted() -> Lens:
    """Three stages, four positions, two predictions; the text is 3, 1, 2, 3."""
    first = [[3, 0], [1, 0], [0, 2], [3, 1]]
    best = np.array([first, [[1, 2], [1, 3], [0, 1], [2, 1]], [[1, 0], [2, 0], [3, 1], [0, 1]]])
    probability = np.arange(24).reshape(3, 4, 2) / 100
    rank = np.array([[1, 1, 2], [0, 1, 3], [0, 0, 0]])
    return Lens(STAGES, best, probability, np.arange(9).reshape(3, 3) / 10, rank)


def test_correct_predictions_are_counted_by_stage():
    found, text = planted(), [3, 1, 2, 3]
    right = [[found.best[s, i, 0] == text[i + 1] for i in range(3)] for s in range(3)]
    assert found.correct_cells().tolist() == [[*row, False] for row in right]
    assert [sum(row) for row in right] == [0, 1, 3]
    assert str(correct_by_stage(found)) == (
        "Logit lens: predictions at 4 positions after 3 stages. Correct of 3: 0 read from the embedding, 1 after "
        "attn 0, 3 after FF 0."
    )
    assert str(correct_at_ends(found)) == "Correct of 3: 0 after the embedding, 3 after FF 0."


def test_what_the_embedding_predicts():
    assert embedding_predicts_input(planted(), [3, 1, 2, 3], tied=True).values["share"] == 0.75
    assert str(embedding_predicts_input(planted(), [3, 1, 0, 2], tied=False)) == (
        "Read from the embedding alone, 75% of the positions predict the very token just read. The unembedding is a "
        "matrix of its own, not tied to the embedding."
    )
    model = small.model()
    state = model(torch.tensor([TEXT]), capture=("blocks.0.resid_pre",)).activations["blocks.0.resid_pre"][0]
    own = [int(lens_logits(model, x).argmax()) == token for x, token in zip(state, TEXT, strict=True)]
    assert embedding_predicts_input(logit_lens(model, TEXT), TEXT, True).values["share"] == pytest.approx(
        sum(own) / len(TEXT)
    )


def test_cells_print_the_predictions_of_their_place():
    pieces = [[[f"s{s}i{i}g{g}" for g in range(2)] for i in range(4)] for s in range(3)]
    words, hovers = lens_cells(planted(), pieces, ["a", "b", "c", "d"])
    assert words == [[f"s{s}i{i}g0" for s in range(3)] for i in range(4)]
    assert hovers[1][2] == "s2i1g0 18&#37;, s2i1g1 19&#37;<br>'c' has rank 1, 70.0%".replace("&#37;", "%")
    assert hovers[3][0] == "s0i3g0 6%, s0i3g1 7%"
    words, hovers = lens_cells(planted(), [[["abcdefghijklmn"] * 2] * 4] * 3, ["ABCDEFGHIJKLMN"] * 4)
    assert (words[0][0], hovers[0][0].split()[0]) == ("abcdefg…", "abcdefghi…")
    assert "'ABCDEFGHI…' has rank 2" in hovers[0][0]


def test_a_token_stage_by_stage_in_words():
    probability = np.array([[0.004, 0.9], [0.25, 0.1], [0.981, 0.0]])
    path = TokenPath(STAGES, probability, probability, np.array([[4, 0], [0, 1], [0, 2]]))
    assert str(probability_by_stage(path, " x")) == (
        "Probability of '·x' stage by stage: 0%, 25%, 98%. It is the top prediction after attn 0, FF 0."
    )
    many = np.linspace(0.01, 0.62, 61)
    every = tuple(f"blocks.{i // 2}.resid_{'post' if i % 2 else 'mid'}" for i in range(61))
    ranks = np.where(np.arange(61) < 58, 3, 0)
    path = TokenPath(every, many[:, None], many[:, None], ranks[:, None])
    half = next(i for i in range(61) if many[i] >= 0.31)
    assert str(probability_by_stage(path, "x")) == (
        f"Probability of 'x': 1% after attn 0, {many[half]:.0%} after {'FF' if half % 2 else 'attn'} {half // 2}, "
        "62% at the end; the highest is 62%. It is the top prediction at 3 of 61 stages, first after attn 29."
    )
    path = TokenPath(every, many[:, None], many[:, None], np.ones((61, 1), int))
    assert str(probability_by_stage(path, "x")).endswith("It is the top prediction at no stage.")
    steps = np.array([0.125, *[0.25] * 3, 0.5, *[0.125] * 6])
    path = TokenPath(every[:11], steps[:, None], steps[:, None], np.ones((11, 1), int))
    assert "12% after attn 0, 25% after FF 0, 12% at the end; the highest is 50%." in str(
        probability_by_stage(path, "x")
    )
    never = TokenPath(STAGES, probability, probability, np.array([[4, 0], [1, 1], [2, 2]]))
    assert probability_by_stage(never, "x").leads == ()
    assert str(probability_by_stage(never, "x")).endswith("It is the top prediction at no stage.")


def test_the_correct_token_on_its_way():
    """Four positions with a next token: kept from the stage before, new at the end, lost again, never."""
    rank = np.array([[3, 9, 0, 2], [0, 4, 0, 1], [0, 0, 1, 5]])
    nothing = np.zeros((3, 5, 1))
    found = Lens(("a", "b", "c"), nothing.astype(int), nothing, np.zeros((3, 4)), rank)
    assert str(correct_on_the_way(found)) == (
        "The correct next token, framed, is the prediction at 2 positions in the end, at 1 of them already a stage "
        "before; at 1 it was at some stage and is lost again."
    )
    nowhere = Lens(("a",), nothing[:1].astype(int), nothing[:1], np.zeros((1, 4)), rank[:1] + 1)
    assert "nowhere in this text" in str(correct_on_the_way(nowhere))
