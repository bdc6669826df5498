"""All highlights of a text, against other ways to the same numbers."""

import math

import numpy as np
import pytest
import torch

import tfcore
from tests import small
from tfcore.inspection.edits import Edit
from tfcore.measures.highlights.of_text import BEGINNING, USES, cut_words, explained, highlights, repeated_spans
from tfcore.measures.highlights.usual import stored_usual
from tfcore.measures.highlights.words import Word, words_of
from tfcore.measures.logit_attribution import contributions, stream_parts
from tfcore.measures.one_text import one_text
from tfcore.part_configs import ClassesConfig, LayerConfig, MixerConfig
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.highlights import no_links

TEXT = "a dog and a dog"


@pytest.fixture(scope="module")
def decoder():
    model, tokenizer = small.model(vocab_size=256, n_layers=3), ByteTokenizer()
    ids = tokenizer.encode(TEXT)
    return model, tokenizer, ids, highlights(model, tokenizer, ids)


def log_probabilities(model, ids, edits=()):
    with torch.no_grad():
        return model(one_text(model, ids), edits=edits).logits[0].double().log_softmax(-1)


def test_surprises_are_the_least_probable_tokens(decoder):
    model, _, ids, found = decoder
    log_p = log_probabilities(model, ids)
    bits = [-float(log_p[i, token]) / math.log(2) for i, token in enumerate(ids[1:])]
    order = sorted(range(BEGINNING - 1, len(bits)), key=lambda i: -bits[i])[:3]
    assert [one.position for one in found.surprises] == [i + 1 for i in order]
    assert [one.bits for one in found.surprises] == pytest.approx([bits[i] for i in order], abs=1e-3)
    for one in found.surprises:
        expected = log_p[one.position - 1]
        assert one.token == TEXT[one.position]
        assert one.probability == pytest.approx(float(expected.max().exp()), abs=1e-4)


def test_the_beginning_of_a_text_surprises_no_one(decoder):
    model, tokenizer, ids, _ = decoder
    largest = []
    for first in range(len(ids) - BEGINNING):
        rest = ids[first:]
        log_p = log_probabilities(model, rest)
        largest.append(int(log_p[range(len(rest) - 1), rest[1:]].argmin()) + 1)
        assert all(one.position >= BEGINNING for one in highlights(model, tokenizer, rest).surprises)
    assert min(largest) < BEGINNING  # there would have been one


def test_the_decision_is_the_last_prediction(decoder):
    model, _, ids, found = decoder
    decision, last = found.decision, log_probabilities(model, ids)[-1]
    assert decision.position == len(ids) - 1
    assert decision.id == int(last.argmax())
    assert decision.probability == pytest.approx(float(last.max().exp()), abs=1e-4)


def test_it_leads_from_its_layer_on(decoder):
    model, _, ids, found = decoder
    names = [f"blocks.{i}.resid_post" for i in range(3)]
    states = model.activations(one_text(model, ids), names)
    leads = [int(model.to_logits(model.decoder.ln_final(states[name]))[0, -1].argmax()) for name in names]
    layer = found.decision.layer
    assert set(leads[layer:]) == {found.decision.id}
    assert layer == 0 or leads[layer - 1] != found.decision.id


def test_the_first_estimates_are_measured(decoder):
    model, _, ids, found = decoder
    decision = found.decision
    plain = log_probabilities(model, ids)[-1, decision.id]
    head, token = decision.heads[0], decision.tokens[0]
    off = Edit.zero(f"blocks.{head.place[0]}.attn.z", heads=[head.place[1]])
    mean = model.activations(one_text(model, ids), "embed")["embed"].mean(1)
    blank = Edit.replace("embed", mean, positions=[token.place])
    for one, edit in ((head, off), (token, blank)):
        assert one.exact == pytest.approx(
            float(plain - log_probabilities(model, ids, [edit])[-1, decision.id]), abs=1e-3
        )
    for several in (decision.heads, decision.tokens):
        estimates = [one.estimate for one in several]
        assert estimates == sorted(estimates, reverse=True)
        assert min(estimates) > 0
        assert [one.exact is None for one in several] == [i > 0 for i in range(len(several))]


def test_heads_are_those_that_write_the_lead(decoder):
    """Of the last layer, whose heads have no other way to the logits, the share is what is lost with the norm held."""
    model, _, ids, found = decoder
    decision = found.decision
    names = ["blocks.2.attn.z", "ln_final.scale"]
    seen = model.activations(one_text(model, ids), names)
    _, rival = log_probabilities(model, ids)[-1].topk(2).indices.tolist()
    table = model.embed.weight if model.config.tie_embeddings else model.unembed.weight
    direction = (table[decision.id] - table[rival]) * model.decoder.ln_final.weight / seen["ln_final.scale"][0, -1]
    written = model.decoder.blocks[2].attn.results(seen["blocks.2.attn.z"][:, :, -1:])[0, 0]
    shares = (written @ direction).tolist()
    mine = {head.place[1]: head.estimate for head in decision.heads if head.place[0] == 2}
    assert {head: shares[head] for head in mine} == pytest.approx(mine, abs=1e-3)
    least = min(head.estimate for head in decision.heads)
    assert all(share <= least + 1e-4 for head, share in enumerate(shares) if head not in mine)


def test_the_model_stays_as_it_is(decoder):
    model = decoder[0]
    assert all(not weight.requires_grad and weight.grad is None for weight in model.parameters())


def test_an_encoder_predicts_nothing():
    found = highlights(small.model(vocab_size=256, architecture="encoder"), ByteTokenizer(), list(b"a dog ran"))
    assert found.decision is None
    assert found.surprises == ()
    assert not found.against_usual
    assert 0 < found.on_first < 1


def test_a_text_of_one_token():
    found = highlights(small.model(vocab_size=256), ByteTokenizer(), [65])
    assert found.links == found.repeated == found.surprises == ()
    assert found.on_first == 1
    assert found.decision.position == 0
    assert found.decision.tokens == ()


@pytest.mark.parametrize(("ids", "architecture"), [([], "decoder"), ([65], "encoder-decoder")])
def test_what_has_no_highlights_is_refused(ids, architecture):
    with pytest.raises(ValueError, match="need a token"):
        highlights(small.model(vocab_size=256, architecture=architecture), ByteTokenizer(), ids)


def test_repeated_spans_and_who_uses_them():
    tokenizer = ByteTokenizer()
    ids = tokenizer.encode("xab_cd-ab_ce")
    patterns = np.zeros((2, 2, len(ids), len(ids)), dtype=np.float32)
    for step in range(4):
        patterns[1, 0, 7 + step, 2 + step] = 0.9  # at what followed in the first
        patterns[0, 1, 7 + step, 1 + step] = 0.9  # at the same token in the first: no induction
    (span,) = repeated_spans(tokenizer, ids, patterns)
    assert (span.first, span.again, span.tokens, span.text) == (1, 7, 4, "ab_c")
    assert span.heads == ((1, 0, pytest.approx(0.9)),)
    assert USES < 0.9


def test_spans_do_not_overlap_and_signs_alone_are_none():
    tokenizer = ByteTokenizer()
    ids = tokenizer.encode("abcabcabc ...... ab")
    patterns = np.zeros((1, 1, len(ids), len(ids)), dtype=np.float32)
    spans = repeated_spans(tokenizer, ids, patterns)
    assert [(one.first, one.again, one.text) for one in spans] == [(0, 3, "abcabc"), (0, 17, "ab")]


def test_words_of_many_tokens_come_first():
    words = [Word(0, 1, "a"), Word(1, 4, " bcd"), Word(4, 9, " efghi"), Word(9, 13, " ...."), Word(13, 15, " jk")]
    assert [word.text for word in cut_words(words)] == ["efghi", "bcd"]


def test_where_a_sentence_ends_a_word_is_explained():
    words = [Word(0, 1, "A"), Word(1, 3, " suitcase"), Word(3, 4, " is"), Word(4, 5, ".")]
    certainty = [0.3, 0.99, 0.4, 0.8, 0.9]
    assert explained("A suitcase is.", words, certainty) == 2
    assert explained("A suitcase is", words, certainty[:4]) == 3
    assert explained(".", [Word(0, 1, ".")], [0.2]) == 0


def test_stories_links_a_pronoun(unchecked):
    model, tokenizer = tfcore.load("stories", device="cpu")
    ids = tokenizer.encode("Lily had a red ball. The ball was big. She liked to")
    found = highlights(model, tokenizer, ids, stored_usual("stories"))
    assert found.against_usual
    assert 1 <= len(found.links) <= 3
    assert all(link.weight >= 0.2 and link.score > 0 for link in found.links)
    texts = {word.text for word in words_of(tokenizer, ids)}
    assert {word for link in found.links for word in (link.query_word, link.key_word)} <= texts
    assert [link.score for link in found.links] == sorted((link.score for link in found.links), reverse=True)


LABELS = ("sad", "calm", "glad")
CLASSIFIERS = {
    "decoder": {"classes": ClassesConfig(labels=LABELS, place="last", bias=False)},
    "encoder": {"architecture": "encoder", "norm": "layernorm", "norm_placement": "post", "positions": "learned"}
    | {"classes": ClassesConfig(labels=LABELS, dense="tanh")},
    "means": {"architecture": "encoder", "classes": ClassesConfig(labels=LABELS, place="mean", dense="gelu")},
}


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_the_decision_is_the_class_of_the_text(kind):
    settings = {"vocab_size": 256, "n_layers": 3, "head": "classes", **CLASSIFIERS[kind]}
    model, tokenizer = small.model(**settings), ByteTokenizer()
    ids = tokenizer.encode(TEXT)
    found = highlights(model, tokenizer, ids)
    at = -1 if kind == "decoder" else 0
    plain, decision = log_probabilities(model, ids)[at], found.decision
    assert (found.surprises, decision.position) == ((), at % len(ids))
    assert decision.token == LABELS[int(plain.argmax())]
    assert decision.probability == pytest.approx(float(plain.max().exp()), abs=1e-4)
    head, token = decision.heads[0], decision.tokens[0]
    off = Edit.zero(f"blocks.{head.place[0]}.attn.z", heads=[head.place[1]])
    mean = model.activations(one_text(model, ids), "embed")["embed"].mean(1)
    blank = Edit.replace("embed", mean, positions=[token.place])
    for one, edit in ((head, off), (token, blank)):
        fall = plain[decision.id] - log_probabilities(model, ids, [edit])[at, decision.id]
        assert one.exact == pytest.approx(float(fall), abs=1e-3)
    streams = model.activations(one_text(model, ids), [f"blocks.{i}.resid_post" for i in range(3)])
    read = [model.stack.ln_final(x) for x in streams.values()]
    states = [x.mean(1) if kind == "means" else x[:, at] for x in read]
    leads = [int(model.to_logits(state).argmax()) for state in states]
    assert set(leads[decision.layer :]) == {decision.id}
    assert decision.layer == 0 or leads[decision.layer - 1] != decision.id


def test_a_class_of_each_token_is_no_decision():
    classes = ClassesConfig(labels=LABELS, place="each")
    found = highlights(small.model(vocab_size=256, head="classes", classes=classes), ByteTokenizer(), list(b"a dog"))
    assert (found.surprises, found.decision) == ((), None)


def test_of_a_hybrid_links_are_of_its_attention_and_no_head_decides_where_a_mixer_writes_more():
    layers, mixer = (LayerConfig(mixer="conv"), LayerConfig()), MixerConfig(width=3)
    model, tokenizer = small.model(vocab_size=256, layers=layers, mixer=mixer), ByteTokenizer()
    ids = tokenizer.encode(TEXT)
    found = highlights(model, tokenizer, ids)
    pattern = model.activations(one_text(model, ids), "blocks.1.attn.pattern")["blocks.1.attn.pattern"][0]
    assert found.on_first == pytest.approx(float(pattern[:, 1:, 0].mean()), abs=1e-6)
    assert {link.layer for link in found.links} <= {1}
    best = log_probabilities(model, ids)[-1].topk(2).indices.tolist()
    shares = contributions(model, stream_parts(model, ids, len(ids) - 1), *best)
    larger = [(1, head) for head in range(6) if shares.heads[1, head] > max(0.0, shares.mixers.max())]
    assert {one.place for one in found.decision.heads} <= {*larger}
    assert bool(found.decision.heads) == bool(larger)


def test_a_model_of_states_alone_has_no_weight_on_its_first_token():
    layers, mixer = (LayerConfig(mixer="ssm"),) * 2, MixerConfig(n_heads=3, decay="token")
    model, tokenizer = small.model(vocab_size=256, layers=layers, mixer=mixer), ByteTokenizer()
    found = highlights(model, tokenizer, tokenizer.encode(TEXT))
    assert math.isnan(found.on_first)
    assert found.links == ()
    assert str(no_links(found)) == "No layer of this model has attention, whose heads could link words."
