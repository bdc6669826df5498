"""Who sees whom, against what untrained models of the three kinds do; and findings on planted numbers."""

import numpy as np
import pytest
import torch

from tests import small
from tests.nightly import nightly
from tfcore.measures.masked_tokens import mask_id
from tfcore.measures.text_loss import top
from tfcore.measures.translation import Writing
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.views.model.architectures.measure import END, Translated, continued, masked, prediction, seen, translated
from tfcore.views.model.architectures.say import allowed_pairs, largest_weights, predicted, strongest_source

READ, WRITTEN = 4, 3


def test_the_squares_and_triangles():
    n = READ + WRITTEN
    assert seen("encoder", READ, WRITTEN).all()
    np.testing.assert_array_equal(seen("decoder", READ, WRITTEN), np.tri(n, dtype=bool))
    both = seen("encoder-decoder", READ, WRITTEN)
    assert both[:READ, :READ].all()
    assert not both[:READ, READ:].any()
    assert both[READ:, :READ].all()
    np.testing.assert_array_equal(both[READ:, READ:], np.tri(WRITTEN, dtype=bool))


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_a_model_of_one_stack_sees_as_drawn(architecture):
    head = {"head": "mlm"} if architecture == "encoder" else {}
    model = small.model(architecture=architecture, **head)
    np.testing.assert_array_equal(
        reached(lambda ids: model(ids).logits, READ + WRITTEN), seen(architecture, READ, WRITTEN)
    )


def test_an_encoder_decoder_sees_as_drawn():
    model = small.model(architecture="encoder-decoder")

    def states(ids):
        name = "encoder.blocks.1.resid_post"
        output = model(ids[:, :READ], decoder_ids=ids[:, READ:], capture=[name])
        return torch.cat((output.activations[name].mean(-1), output.logits.mean(-1)), dim=1)[..., None]

    np.testing.assert_array_equal(reached(states, READ + WRITTEN), seen("encoder-decoder", READ, WRITTEN))


@torch.no_grad()
def reached(states, n):
    """Whether a change of the token `key` changes what the model has at `query`."""
    ids, found = torch.arange(1, n + 1)[None], np.zeros((n, n), dtype=bool)
    before = states(ids)
    for key in range(n):
        other = ids.clone()
        other[0, key] += 20
        found[:, key] = ((states(other) - before).abs().amax(-1)[0] > 1e-7).numpy()
    return found


def pairs_of(architecture, read, written):
    return allowed_pairs(seen(architecture, read, written), architecture, read, written)


@pytest.mark.parametrize(("architecture", "pairs"), [("encoder", 49), ("decoder", 28), ("encoder-decoder", 34)])
def test_allowed_pairs_are_counted_one_by_one(architecture, pairs):
    n = READ + WRITTEN
    may = {  # query, key
        "encoder": lambda _q, _k: True,
        "decoder": lambda q, k: k <= q,
        "encoder-decoder": lambda q, k: k < READ if q < READ else k <= q,
    }[architecture]
    found = pairs_of(architecture, READ, WRITTEN)
    assert found.values["allowed"] == sum(may(q, k) for q in range(n) for k in range(n)) == pairs


def test_the_sentence_of_allowed_pairs():
    assert str(pairs_of("decoder", READ, WRITTEN)) == (
        "Attention mask, decoder only, 4 source and 3 target tokens: 28 of 49 pairs allowed."
    )
    assert str(pairs_of("encoder-decoder", 2, 1)).startswith("Attention mask, encoder-decoder, 2 source and 1 ")


def planted():
    """Two layers of three heads, three target and four source tokens; every weight is another number."""
    patterns = np.linspace(0.01, 0.4, 2 * 3 * 3 * 4).reshape(2, 3, 3, 4)
    patterns[1, 2, 0] = [0.1, 0.6, 0.2, 0.1]
    patterns[1, 2, 1] = [0.1, 0.1, 0.15, 0.65]
    return Translated(
        Writing([1, 2, 3, 0], [5, 6, 0], np.zeros((3, 7)), patterns), (" a", "b", "c", END), ("x", " y", END), ()
    )


def test_the_strongest_source_is_found_at_the_place_that_was_planted():
    first = strongest_source(planted(), 1, 2, 0)
    assert (first.target, first.source, first.weight, first.end) == ("x", "b", 0.6, 0.1)
    second = strongest_source(planted(), 1, 2, 1)
    assert (second.target, second.source) == (" y", "c"), "the end is left out"
    assert (second.weight, second.end) == (0.15, 0.65)
    assert str(second) == (
        "Cross-attention, (target, source) = (3, 4), layer 1, head 2: “·y” attends most to “c”, 0.15; <end> has 0.65."
    )
    assert "layer 1, head 2: “x” attends most to “b”, 0.60." in str(first)


@pytest.mark.parametrize("step", [0, 1, 2])
def test_the_mean_of_a_layer_is_over_its_heads(step):
    found, patterns = planted(), planted().writing.patterns
    means = [sum(patterns[1, head, step, key] for head in range(3)) / 3 for key in range(4)]
    said = strongest_source(found, 1, None, step)
    assert said.weight == pytest.approx(max(means[:3]))
    assert said.end == pytest.approx(means[3])
    assert said.source == found.source[max(range(3), key=means.__getitem__)]
    assert "layer 1, the mean of its heads" in str(said)


def test_a_source_of_its_end_alone():
    found = Translated(Writing([0], [5], np.zeros((1, 7)), np.ones((1, 1, 1, 1))), (END,), ("x",), ())
    assert strongest_source(found, 0, 0, 0).source == END
    assert END not in str(strongest_source(found, 0, 0, 0)).partition(";")[2]


def test_a_source_of_one_token_and_its_end():
    patterns = np.array([0.5, 0.5]).reshape(1, 1, 1, 2)
    found = Translated(Writing([3, 0], [5], np.zeros((1, 7)), patterns), ("a", END), ("x",), ())
    said = strongest_source(found, 0, 0, 0)
    assert (said.source, said.weight, said.end) == ("a", 0.5, 0.5)
    assert "; <end> has" not in str(said), "no more than the token has"


def test_largest_weights_are_those_of_the_layers():
    rows = planted().writing.patterns
    first, second = (sum(max(row) for head in layer for row in head) / 9 for layer in rows)
    assert str(largest_weights(planted())) == (
        "The cross-attention of every head: 2 layers of 3 heads, (3, 4) each. Mean largest weight of a token, layer by "
        f"layer: {first:.2f}, {second:.2f}."
    )


TOKENIZER = BPETokenizer.train(["a dog and a cat saw a bird"], 280)


def test_a_prediction_names_the_first_four_in_their_order():
    probabilities = np.zeros(280, dtype=np.float32)
    ids = [*TOKENIZER.encode("xyzq"), TOKENIZER.separator_id]
    probabilities[ids] = [0.1, 0.4, 0.05, 0.2, 0.25]
    found = prediction(top(probabilities, 5), TOKENIZER)
    assert found.tokens == ("y", END, "q", "x", "z")
    assert str(predicted("The next token", found)) == (
        "The next token: “y” with 40.0%, then “<end>” with 25.0%, “q” with 20.0%, “x” with 10.0%."
    )
    assert str(predicted("It", prediction(top(probabilities, 1), TOKENIZER))) == "It: “y” with 40.0%."


@nightly
def test_a_translation_comes_with_the_predictions_of_its_own_tokens():
    model = small.model(architecture="encoder-decoder", vocab_size=280, max_seq_len=80)
    found = translated(model, TOKENIZER, "a dog saw a cat and a bird", 3, 2)
    assert len(found.source) == 4, "three tokens and the end"
    assert found.source[-1] == found.target[-1] == END
    assert [one.tokens[0] for one in found.predictions[:-1]] == list(found.target[:-1]), "greedily"
    for row, one in zip(found.writing.probabilities, found.predictions, strict=True):
        assert one.probabilities == tuple(sorted(row.tolist(), reverse=True)[:2])


def test_masked_tokens_are_where_the_signs_are():
    model = small.model(architecture="encoder", head="mlm", vocab_size=281, max_seq_len=16)
    found = masked(model, TOKENIZER, "a ___ saw ___", "___", 3)
    assert [found.tokens[place] for place in found.places] == ["___", "___"]
    assert found.tokens.count("___") == 2
    assert len(found.predictions) == 2
    ids = [
        TOKENIZER.separator_id,
        *(mask_id(TOKENIZER) if t == "___" else TOKENIZER.encode(t)[0] for t in found.tokens),
    ]
    scores = model(torch.tensor([ids])).logits[0, 1 + found.places[1]].detach()
    scores[mask_id(TOKENIZER)] = -torch.inf
    assert found.predictions[1].probabilities[0] == pytest.approx(float(scores.softmax(-1).max()), rel=1e-5)
    assert masked(model, TOKENIZER, "a dog", "___", 3).predictions == ()


def test_a_continuation_is_greedy_and_leaves_room():
    model = small.model(vocab_size=280, max_seq_len=12)
    text = "a dog saw a cat and a bird and a dog"  # 11 tokens
    found = continued(model, TOKENIZER, text, 3, 4, 2)
    assert len(found.tokens) == 3
    assert found.tokens[0] == found.prediction.tokens[0]
    ids = TOKENIZER.encode(text)[-8:]
    p = model(torch.tensor([ids])).logits[0, -1].softmax(-1)
    assert found.prediction.probabilities[0] == pytest.approx(float(p.max()), rel=1e-5)
    assert continued(model, TOKENIZER, "", 3, 4, 2).prediction is None
