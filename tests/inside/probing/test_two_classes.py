"""Two classes of sentences: mean states, directions beside other computations, lines held out, tokens along them."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.loading.checkpoints import load
from tfcore.measures.token_text import visible
from tfcore.views.inside.probing import say
from tfcore.views.inside.probing.measure import two_classes
from tfcore.views.inside.probing.measure.logistic import L2, fit_probe
from tfcore.views.inside.probing.measure.two_classes import METHODS, TwoClasses

ONE = "She smiled and sang.\nThey had a very happy day.\n\nThe sun was warm."
TWO = "He cried.\nThe night was cold and dark.\nShe was sad.\nHe fell."


@pytest.fixture(scope="module")
def stories():
    return load("stories", device="cpu")


def read_classes(model, one, two):
    network, tokenizer = model
    first, second = (two_classes.read_class(network, tokenizer, text) for text in (one, two))
    return two_classes.both_classes(one, two, first, second)


@pytest.fixture(scope="module")
def found(stories):
    return read_classes(stories, ONE, TWO)


def test_a_sentence_is_the_mean_of_its_tokens_but_the_first(stories, found):
    model, tokenizer = stories
    assert found.first.tolist() == [True] * 3 + [False] * 4
    assert found.line.tolist() == [0, 1, 2, 0, 1, 2, 3]
    assert found.states.shape == (5, 7, 192)
    ids = torch.tensor([tokenizer.encode("He cried.")])
    x = model(ids, capture=("blocks.1.resid_post",)).activations["blocks.1.resid_post"][0]
    assert np.allclose(found.states[2, 3], x[1:].mean(0), atol=1e-4)


def test_a_sentence_of_one_token_is_that_token(stories):
    model, tokenizer = stories
    (he,) = tokenizer.encode("He")
    state = model(torch.tensor([[he]]), capture=("blocks.1.resid_post",)).activations["blocks.1.resid_post"]
    np.testing.assert_allclose(two_classes.read_class(model, tokenizer, "He cried.\nHe")[2, 1], state[0, 0], atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_without_a_difference_there_is_no_direction_and_no_score(stories, method):
    made = planted()
    made.states[0] = 0
    along = two_classes.class_direction(made, 0, method)
    assert not along.vector.any()
    assert along.half > 0
    assert (made.states[0] @ along.vector - along.offset) / along.half == pytest.approx(np.zeros(10))
    if method == "means":
        assert two_classes.held_out_right(made, method)[0].tolist() == (~made.first).tolist(), "0 is not above 0"
    nowhere = two_classes.Direction("x", 1, np.zeros(192, dtype=np.float32))
    said = two_classes.points_at(stories[0], stories[1], nowhere)
    assert set(said.cosines) == {0.0}


def test_a_cosine_does_not_depend_on_lengths(stories):
    model = small.model(vocab_size=2048)
    along = two_classes.Direction("x", 1, np.linspace(-1, 1, 24, dtype=np.float32))
    whole = two_classes.points_at(model, stories[1], along)
    model.embed.weight.mul_(1e-3)
    assert two_classes.points_at(model, stories[1], along).cosines == pytest.approx(whole.cosines, abs=1e-4)
    model.embed.weight[:] = 1.7 * torch.linspace(-1, 1, 24)
    assert np.isfinite(two_classes.points_at(model, stories[1], along).cosines).all(), "rows that are the mean row"


def test_one_sentence_is_too_few(stories):
    with pytest.raises(ValueError, match="at least two sentences"):
        read_classes(stories, "One.\n\n", TWO)
    assert read_classes(stories, "One.\nTwo.", TWO).first.sum() == 2
    assert len(two_classes.sentences("a\n" * 40)) == two_classes.SENTENCES


def planted(shift=6.0):
    """Two layers of random states; in the second, dimension 3 tells the classes apart."""
    states = np.random.default_rng(0).normal(size=(2, 10, 8)).astype(np.float32)
    first = np.arange(10) < 5
    states[1, first, 3] += shift
    return TwoClasses(tuple("abcdefghij"), first, np.array([*range(5), *range(5)]), states)


def test_the_difference_of_means():
    made = planted()
    along = two_classes.class_direction(made, 1, "means")
    one, two = made.states[1, :5].mean(0), made.states[1, 5:].mean(0)
    assert np.allclose(along.vector, one - two, atol=1e-5)
    for x, expected in ((one, 1), (two, -1), ((one + two) / 2, 0)):
        assert (x @ along.vector - along.offset) / along.half == pytest.approx(expected, abs=1e-5)
    assert along.title == "difference of means at layer 0"


def test_a_probe_by_newton_is_the_probe_by_gradients():
    """A softmax over two classes has weights w / 2 and -w / 2: its penalty on both is half of that on w."""
    made = planted(1.0)
    made.states[1] = 2 + 5 * made.states[1]
    x, first = made.states[1], made.first
    along = two_classes.class_direction(made, 1, "probe")
    slow = fit_probe(torch.from_numpy(x), torch.from_numpy(first).long(), 2, l2=2 * L2)
    logits = slow.scores(torch.from_numpy(x))
    expected = (logits[:, 1] - logits[:, 0]).numpy()
    scores = (x @ along.vector - along.offset) / along.half
    assert np.corrcoef(scores, expected)[0, 1] > 0.999999
    assert np.sign(scores).tolist() == np.sign(expected).tolist()
    crossing = np.polyfit(scores, expected, 1)
    assert abs(crossing[1] / crossing[0]) < 1e-3  # both are 0 at the same place
    gap = x[first].mean(0) - x[~first].mean(0)
    assert np.linalg.norm(along.vector) == pytest.approx(np.linalg.norm(gap), rel=1e-5)


def test_newton_ends_where_the_gradient_is_zero():
    made = planted(1.0)
    kernel = two_classes.gram_matrix(made) / 8
    alpha, bias = two_classes.dual_logistic(kernel, torch.from_numpy(made.first))
    p = torch.sigmoid(torch.einsum("lij,lj->li", kernel, alpha) + bias[:, None])
    error = (p - torch.from_numpy(made.first).double()) / 10
    assert float((error + L2 * alpha).abs().max()) < 1e-9
    assert float(error.sum(1).abs().max()) < 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_lines_are_held_out_beside_a_loop(method):
    made = planted(1.5)
    right = two_classes.held_out_right(made, method)
    for layer in range(2):
        for line in range(5):
            used = made.line != line
            part = TwoClasses((), made.first[used], made.line[used], made.states[:, used])
            along = two_classes.class_direction(part, layer, method)
            for i in np.nonzero(~used)[0]:
                score = made.states[layer, i] @ along.vector - along.offset
                assert right[layer, i] == ((score > 0) == made.first[i])
    said = say.told_apart(right, 1, method)
    assert (said.values["right"], said.values["total"]) == (int(right[1].sum()), 10)
    assert said.values["most"] == max(int(right[0].sum()), said.values["right"])
    assert str(said).startswith(
        f"Each line held out in turn, {METHODS[method]}: {said.values['right']} of 10 sentences"
    )


def test_tokens_along_a_direction(stories, found):
    model, tokenizer = stories
    along = two_classes.class_direction(found, 2, "means")
    ids = tokenizer.encode("The sad boy smiled.")
    read = two_classes.read_text(model, tokenizer, "The sad boy smiled.", 40)
    assert list(read.tokens) == tokenizer.tokens(ids)
    scores = two_classes.token_scores(read, along)
    x = model(torch.tensor([ids]), capture=("blocks.1.resid_post",)).activations["blocks.1.resid_post"][0]
    middle = (found.states[2, :3].mean(0) + found.states[2, 3:].mean(0)) / 2
    gap = found.states[2, :3].mean(0) - found.states[2, 3:].mean(0)
    expected = 2 * ((x.numpy() - middle) @ gap) / (gap @ gap)
    assert np.isnan(scores[0])
    assert np.allclose(scores[1:], expected[1:], atol=1e-3)
    tokens = tokenizer.tokens(ids)
    said = say.projected(scores, tokens, along.title)
    assert said.values["high"] == visible(tokens[1 + int(expected[1:].argmax())])
    assert said.values["low_score"] == pytest.approx(expected[1:].min(), abs=1e-3)
    assert "lies farthest on the side of the first class" in str(said)
    alone = two_classes.read_text(model, tokenizer, "The sad boy", 1)
    assert not np.isnan(two_classes.token_scores(alone, along)).any()


def test_the_tokens_it_points_at(stories, found):
    model, tokenizer = stories
    along = two_classes.class_direction(found, 4, "means")
    said = two_classes.points_at(model, tokenizer, along, 3, 2)
    rows = model.embed.weight if model.config.tie_embeddings else model.unembed.weight
    rows = (rows - rows.mean(0)) * model.decoder.ln_final.weight
    cosines = torch.nn.functional.cosine_similarity(rows, torch.from_numpy(along.vector)[None])
    best = cosines.topk(3)
    assert said.cosines[:3] == pytest.approx(best.values.tolist(), abs=1e-5)
    assert said.tokens[:3] == tuple(tokenizer.tokens(best.indices.tolist()))
    assert said.cosines[-1] == pytest.approx(float(cosines.min()), abs=1e-5)
    assert f"(cosine up to {said.cosines[0]:.2f})" in str(say.points_at(said))
