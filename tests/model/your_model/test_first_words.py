"""First words: what each kind of model says is what it says when it is asked directly."""

from dataclasses import replace

import pytest
import torch

from tests import own_folders, small
from tfcore import generate, load
from tfcore.config import ModelConfig
from tfcore.generation.sampling import Sampling
from tfcore.measures.answers import answers_of
from tfcore.measures.masked_tokens import mask_of
from tfcore.measures.one_text import is_finite
from tfcore.model import Transformer
from tfcore.part_configs import ClassesConfig, ExpertsConfig, LayerConfig, MixerConfig
from tfcore.views.model.your_model import say
from tfcore.views.model.your_model.measure import FirstWords, RoundTrip, first_words, round_trip

TEXT = "The little dog had a ball."


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    own_folders.write(root, "gpt2", "bert", "t5", "headless")
    return {name: load(root / name, device="cpu") for name in ("gpt2", "bert", "t5", "headless")}


def test_a_decoder_goes_on(models):
    model, tokenizer = models["gpt2"]
    found, ids = first_words(model, tokenizer, TEXT, 6), tokenizer.encode(TEXT)
    assert found.way == "continuation"
    assert found.written == tokenizer.decode(generate(model, ids, Sampling(temperature=0), max_new_tokens=6))
    p = model(torch.tensor([ids])).logits[0, -1].softmax(-1)
    assert found.probabilities[0] == pytest.approx(float(p.max()), rel=1e-5)
    assert found.best[0] == tokenizer.tokens([int(p.argmax())])[0]


def test_a_long_text_is_cut_at_its_beginning(models):
    model, tokenizer = models["gpt2"]
    found = first_words(model, tokenizer, TEXT * 40)
    assert found.place == model.config.max_seq_len - 24 - 1
    assert found.written
    assert first_words(model, tokenizer, TEXT, model.config.max_seq_len).place == 0, "one token at least is read"


def test_an_encoder_fills_the_last_place(models):
    model, tokenizer = models["bert"]
    found, ids = first_words(model, tokenizer, TEXT), tokenizer.encode(TEXT)
    assert found.way == "blank"
    assert found.place == len(ids) - 2  # before [SEP]
    ids[found.place] = mask_of(tokenizer, model.config.vocab_size)
    p = model(torch.tensor([ids])).logits[0, found.place].softmax(-1)
    assert found.written == tokenizer.tokens([int(p.argmax())])[0]
    assert "[MASK]" in found.text


def test_an_encoder_decoder_answers(models):
    model, tokenizer = models["t5"]
    found = first_words(model, tokenizer, TEXT, 5)
    assert found.way == "answer"
    assert found.written == tokenizer.decode(
        generate(model, tokenizer.encode(TEXT), Sampling(temperature=0), max_new_tokens=5)
    )
    assert len(found.best) == 5


def test_a_model_without_a_head_says_nothing(models):
    model, tokenizer = models["headless"]
    assert first_words(model, tokenizer, TEXT).way == "nothing"
    assert is_finite(model, tokenizer.encode("dog"))


def test_round_trips(models):
    assert round_trip(models["gpt2"][1], "Né 犬\n").same
    bert = round_trip(models["bert"][1], "The  little DOG")
    assert not bert.same
    assert bert.nearly
    assert not round_trip(models["bert"][1], "犬 qqq").nearly


def test_a_mask_of_its_own(models):
    assert mask_of(models["bert"][1], 120) == 4
    assert mask_of(models["t5"][1], 80) is None
    bpe = models["gpt2"][1]
    assert mask_of(bpe, bpe.vocab_size) is None
    assert mask_of(bpe, bpe.vocab_size + 1) == bpe.vocab_size  # as in encoders trained here


def test_the_first_token_is_the_likeliest():
    found = FirstWords("blank", "a", "b", (" dog", "cat"), (0.123, 0.1), 3)
    assert str(say.first_token(found, 50_257)) == (
        "The likeliest tokens at the masked position: first '·dog' with 12.3%, of 50,257."
    )
    next_one = FirstWords("continuation", "a", "b", ("x",), (1.0,))
    assert str(say.first_token(next_one, 8)) == "The likeliest tokens as the next token: first 'x' with 100.0%, of 8."


def test_sentences_of_round_trips(models):
    tokenizer = models["gpt2"][1]
    found = round_trip(tokenizer, TEXT)
    assert (
        str(say.round_trip(found))
        == f"26 characters, {len(tokenizer.encode(TEXT))} tokens, and decoding gives the same text."
    )
    assert str(say.round_trip(RoundTrip(1_234, "a", (1,) * 1_500, (), False, True))) == (
        "1,234 characters, 1,500 tokens, and decoding gives the same text but for capitals and spaces."
    )
    assert "another text: its vocabulary does not" in str(say.round_trip(RoundTrip(1, "a", (1,), (), False, False)))


def test_how_a_model_is_built_is_said_in_a_sentence():
    config = ModelConfig.from_dict(
        {"vocab_size": 50, "d_model": 32, "n_layers": 1, "n_heads": 4, "n_kv_heads": 2, "d_ff": 64}
    )
    assert str(say.Built(config)) == (
        "1 layer of the decoder, 4 heads on 2 KV heads each, width 32, feed-forward layers of 64 (swiglu); positions: "
        "rope; rmsnorm, pre."
    )


def test_what_mixes_the_tokens_of_a_hybrid_is_said():
    kinds = tuple(LayerConfig(mixer=one) for one in ("delta", "attention", "delta", "conv", "none"))
    config = small.config(n_layers=5, layers=kinds, mixer=MixerConfig(n_heads=3), n_kv_heads=2)
    assert str(say.Built(config)).startswith(
        "5 layers of the decoder: a state of 3 heads in 2, attention of 6 heads on 2 KV heads in 1, a short "
        "convolution in 1, nothing that mixes tokens in 1, width 24, feed-forward layers of "
    )
    alone = small.config(layers=(LayerConfig(mixer="ssm"),) * 2, mixer=MixerConfig(decay="token"), d_ff=0)
    assert ": a state of 4 heads in 2, width 24, no feed-forward layers; positions: " in str(say.Built(alone))


def test_experts_latents_and_windows_are_said():
    built = str(say.Built(small.config(**small.WIRINGS["like DeepSeek-V3"], window=5)))
    assert ", keys and values from a latent of 7 (MLA), width " in built
    assert "layers with a window of 5 tokens; " in built
    experts = ExpertsConfig(n_experts=4, top_k=2, d_expert=12, n_shared=1)
    built = str(say.Built(small.config(experts=experts, layers=(LayerConfig(dense=True), LayerConfig()), d_ff=40)))
    assert ", for each token 2 of 4 experts of 12 (" in built
    assert ") and 1 that all go through; 1 layer with 40 for all tokens in their place; positions: " in built


@pytest.mark.parametrize("place", ["first", "each"])
def test_a_class_is_named(models, place):
    model, tokenizer = models["bert"]
    classes = ClassesConfig(labels=("no", "yes", "perhaps"), place=place)
    model = Transformer(replace(model.config, head="classes", classes=classes, pooler=False)).eval()
    found, ids = first_words(model, tokenizer, TEXT), tokenizer.encode(TEXT)
    at = 0 if place == "first" else len(ids) - 2  # before [SEP]
    p = model(torch.tensor([ids])).logits[0, at].softmax(-1)
    assert (found.way, found.place, found.written) == ("class", at, classes.labels[int(p.argmax())])
    assert found.probabilities == pytest.approx(sorted(p.tolist(), reverse=True), rel=1e-5)
    said = str(say.first_token(found, 3))
    whose = "the text" if place == "first" else f"'.' ({at})"
    assert said.startswith(f"The likeliest classes of {whose}: first '{found.written}' with ")
    assert said.endswith(", of 3.")


def scorer(models, meaning, labels, place):
    """A model with a head of random weights, its tokenizer, and the scores of TEXT."""
    model, tokenizer = models["bert"]
    classes = ClassesConfig(labels=labels, meaning=meaning, place=place)
    torch.manual_seed(0)
    model = Transformer(replace(model.config, head="classes", classes=classes, pooler=False)).eval()
    return model, tokenizer, model(torch.tensor([tokenizer.encode(TEXT)])).logits[0].detach()


def test_classes_that_are_judged_by_themselves(models):
    model, tokenizer, scores = scorer(models, "several", ("a", "b", "c"), "first")
    found, p = first_words(model, tokenizer, TEXT), 1 / (1 + (-scores[0]).exp())
    assert found.way == "classes"
    assert found.written == ", ".join(name for name, one in zip("abc", p.tolist(), strict=True) if one > 0.5)
    assert found.probabilities == pytest.approx(sorted(p.tolist(), reverse=True), rel=1e-5)
    told = str(say.first_token(found, 3))
    assert told == (
        f"The likeliest classes of the text, each judged by itself: first '{found.best[0]}' with {p.max():.1%}, of 3."
    )


@pytest.mark.parametrize("labels", [("grade",), ("x", "y")])
def test_numbers_are_said(models, labels):
    model, tokenizer, scores = scorer(models, "number", labels, "first")
    found, (first, *_) = first_words(model, tokenizer, TEXT), scores[0].tolist()
    assert (found.way, found.best) == ("numbers", labels)
    assert found.written.startswith(f"{first:.3g}" if len(labels) == 1 else f"x: {first:.3g}, y: ")


def test_an_answer_within_the_text(models):
    model, tokenizer, scores = scorer(models, "span", ("start", "end"), "each")
    found, ids = first_words(model, tokenizer, TEXT), tokenizer.encode(TEXT)
    own = range(1, len(ids) - 1)
    pairs = {(i, j): float(scores[i, 0] + scores[j, 1]) for i in own for j in own if i <= j}
    start, stop = max(pairs, key=pairs.get)
    assert (found.way, found.place) == ("span", start)
    assert found.written == tokenizer.decode(ids[start : stop + 1])
    assert found.probabilities[0] == pytest.approx(float(scores[1:-1, 0].softmax(0).max()), rel=1e-5)
    assert "most likely starts: first '" in str(say.first_token(found, 9))


@pytest.mark.parametrize("meaning", ["several", "number", "span"])
def test_scores_of_another_meaning_are_no_answers(models, meaning):
    model, tokenizer, _ = scorer(models, meaning, ("a", "b"), "each")
    with pytest.raises(ValueError, match=f"meaning='{meaning}'"):
        answers_of(model, tokenizer)
