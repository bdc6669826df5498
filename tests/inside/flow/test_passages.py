"""A text as models of every wiring read it, and the attention layers it passes."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.inspection.capture import known_names
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import load
from tfcore.measures.effect_metric import Quantity
from tfcore.part_configs import ClassesConfig
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.inside.flow.measure.heads import direct_by_head, measure_heads
from tfcore.views.inside.flow.measure.passages import START, Passage, attention_layers, of_ids, read_passage
from tfcore.views.inside.flow.measure.routes import layer_guesses, trace

DOG = "The dog was very ___ because he had lost ___ bone."
SMALL = NamedTokenizer(tuple("abcdef"))
TIRED = "The animal didn't cross the street because it was too tired."


@pytest.mark.parametrize("architecture", ["decoder", "encoder", "encoder-decoder"])
def test_layers_have_activations_of_their_own_blocks(architecture):
    model = small.model(architecture=architecture, n_encoder_layers=3 if architecture == "encoder-decoder" else None)
    layers = attention_layers(model.config)
    found = [layer.activation("pattern") for layer in layers]
    assert sorted(found) == sorted(name for name in known_names(model.config) if name.endswith("attn.pattern"))
    assert len({layer.name for layer in layers}) == len(layers)
    blocks = dict(model.named_modules())
    for layer in layers:
        start = "" if layer.prefix.startswith(("encoder.", "decoder.")) else f"{architecture}."
        assert layer.of(model) is blocks[f"{start}{layer.prefix}"[:-1]]
        assert layer.is_last == (layer.is_cross or layer.name.split()[0] != "decoder")


def test_a_flow_ends_at_one_token():
    classes = ClassesConfig(labels=("no", "yes"), place="mean")
    with pytest.raises(ValueError, match="place='mean': the classes are read from all tokens' states together"):
        read_passage(small.model(architecture="encoder", head="classes", classes=classes), SMALL, "a b", 32)


def test_a_text_that_both_stacks_read_is_explained_at_its_end():
    """Its classes have the probabilities of `transformers`' scores of the whole text, and a head that is switched off
    takes from them what a pass without it says."""
    classes = ClassesConfig(labels=("no", "yes", "perhaps"), place="last")
    model = small.model(architecture="encoder-decoder", head="classes", classes=classes, start_id=3)
    passage = read_passage(model, SMALL, "a b c d", 32)
    assert (passage.ids, passage.written) == ((0, 1, 2, 3), (3, 0, 1, 2))
    assert passage.tokens == ("a", "b", "c", "d", START, "a", "b", "c")
    assert (passage.target, passage.row, passage.choices) == (7, 3, ("c",))
    assert (read_passage(model, SMALL, "a b c d", 4).ids, read_passage(model, SMALL, "", 4).ids) == ((0, 1), ())
    ids = torch.tensor([passage.ids])
    scores = model(ids).logits[0, -1]
    assert torch.equal(scores, model(ids, decoder_ids=torch.tensor([passage.written])).logits[0, -1])
    assert layer_guesses(model, passage).final == pytest.approx(scores.softmax(-1).numpy(), rel=1e-5)
    *_, effects = measure_heads(model, passage, Quantity("prediction", 1))
    without = model(ids, edits=[Edit.zero("decoder.blocks.1.cross_attn.z", heads=[2])]).logits[0, -1].log_softmax(-1)
    assert effects.values[-1, 2] == pytest.approx(float(scores.log_softmax(-1)[1] - without[1]), abs=1e-5)


def test_what_a_layer_changes_and_reads():
    encoder, decoder, cross = (attention_layers(small.config(architecture="encoder-decoder"))[k] for k in (0, 2, 3))
    passage = of_ids([5, 6, 7], 4, [1, 5])
    assert passage.places(encoder) == (range(3), range(3))
    assert passage.places(decoder) == (range(3, 5), range(3, 5))
    assert passage.places(cross) == (range(3, 5), range(3))
    assert passage.row == 1
    [one, *_] = attention_layers(small.config())
    assert (of_ids([5, 6, 7], 2).places(one), of_ids([5, 6, 7], 2).row) == ((range(3), range(3)), 2)


def test_a_decoder_explains_its_last_token():
    model, tokenizer = load("stories")
    found = read_passage(model, tokenizer, "Sam was a little boy", 4)
    assert (found.ids, found.total) == (tuple(tokenizer.encode("Sam was a little boy")[-4:]), 6)
    assert (found.target, found.choices, found.written, found.blank) == (3, found.tokens, (), None)
    assert found.until == found.ids
    assert read_passage(model, tokenizer, "", 4).target == 0


def test_a_decoder_explains_the_token_asked_for_as_if_the_text_ended_there():
    model, tokenizer = load("stories")
    text, until = "Sam was a little boy. One day, Sam said that", 5
    found, ids = read_passage(model, tokenizer, text, 40, until), tokenizer.encode(text)
    assert (found.target, found.choice, found.until) == (until, until, tuple(ids[: until + 1]))
    alone = of_ids(ids[: until + 1], until)
    flow, short = (trace(model, one) for one in (found, alone))
    np.testing.assert_allclose(flow.stream[:, : until + 1], short.stream, atol=1e-4)
    assert flow.stream[:, until + 1 :].max() < 1e-4, "rounding alone"
    guesses = [layer_guesses(model, one).final for one in (found, alone)]
    np.testing.assert_allclose(guesses[0], guesses[1], atol=1e-5)
    quantity = Quantity("prediction", int(guesses[0].argmax()))
    effects = [list(measure_heads(model, one, quantity))[-1].values for one in (found, alone)]
    np.testing.assert_allclose(effects[0], effects[1], atol=1e-4)
    one, other = (direct_by_head(model, read, quantity.token) for read in (found, alone))
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(one, other, atol=1e-4)
    for none in (-1, len(ids), 99):
        assert read_passage(model, tokenizer, text, 40, none).target == len(ids) - 1


def test_an_encoder_explains_a_masked_token_or_the_one_asked_for():
    model, tokenizer = load("fill")
    found = read_passage(model, tokenizer, DOG, 40)
    assert found.tokens[found.target] == "___" == found.tokens[10]
    assert (found.target, found.choice, found.choices) == (5, 5, found.tokens)
    assert [one == found.blank for one in found.ids] == [token == "___" for token in found.tokens]
    assert read_passage(model, tokenizer, DOG, 40, 10).target == 10
    for none in (-1, len(found.ids), 99):
        assert read_passage(model, tokenizer, DOG, 40, none).target == 5
    assert read_passage(model, tokenizer, "The dog was.", 40).target == 3  # the last word
    assert read_passage(model, tokenizer, "The.", 40).target == 1
    assert len(read_passage(model, tokenizer, DOG, 4).ids) == 4
    assert read_passage(model, tokenizer, "", 40).target == 0


def test_an_encoder_of_the_hub_keeps_what_stands_around_a_text(real_models):
    model, tokenizer = load("minilm")
    found = read_passage(model, tokenizer, TIRED, 40)
    assert (found.tokens[0], found.tokens[-1], found.tokens[found.target]) == ("[CLS]", "[SEP]", "tired")
    cut = read_passage(model, tokenizer, TIRED, 6)
    assert (cut.tokens, cut.total) == (("[CLS]", *found.tokens[-5:]), 16)
    assert read_passage(model, tokenizer, "It was ___ .", 40).tokens[3] == "___"
    assert torch.isfinite(found.run(model).hidden).all()


def test_an_encoder_decoder_explains_a_token_of_its_translation():
    model, tokenizer = load("translate")
    found = read_passage(model, tokenizer, "She gave me a red book yesterday.", 40, 5)
    assert found.choices[:6] == ("Elle", " me", " donna", " un", " livre", " rouge")
    assert found.tokens[len(found.ids) :] == (START, *found.choices[:5])
    assert (found.target, found.choice) == (len(found.tokens) - 1, 5)
    best = int(found.run(model).logits[0, found.row].argmax())
    assert tokenizer.tokens([best]) == [" rouge"]
    for none in (-1, 5, 99):
        cut = read_passage(model, tokenizer, "She gave me a red book yesterday.", 10, none)
        assert (len(cut.ids), cut.ids[-1], len(cut.choices)) == (5, 0, 5)
        assert cut.choice == 2


def test_ids_alone():
    assert of_ids([4, 5], 1) == Passage((4, 5), (), ("4", "5"), 1, 2)
