"""Probes of every layer: the text and its tokens, labels beside plain loops, the optimum of the loss, held-out words,
and the results that are kept beside new ones."""

from collections import Counter

import numpy as np
import pytest
import torch

from tests.nightly import nightly
from tests.small import config
from tests.small import model as small_model
from tfcore.loading.checkpoints import load
from tfcore.measures.statistics import wilson
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.inside.probing import say
from tfcore.views.inside.probing.measure import by_layer, properties, shipped
from tfcore.views.inside.probing.measure.by_layer import ProbedLayer, class_counts
from tfcore.views.inside.probing.measure.logistic import fit_probe
from tfcore.views.inside.probing.measure.tagged_text import SIGN, TAGS, tagged_words, tokenize_words


@pytest.fixture(scope="module")
def stories():
    return load("stories", device="cpu")


@pytest.fixture(scope="module")
def text(stories):
    return tokenize_words(stories[1], stories[0].config.max_seq_len)


@pytest.fixture(scope="module")
def states(stories, text):
    return by_layer.word_states(stories[0], text)


def test_the_text_has_words_of_two_parts_of_speech():
    words = tagged_words()
    assert {word.tag for word in words} == set(TAGS)
    assert len(words) == 695
    assert words[-1].sentence == 72
    assert all((word.tag == SIGN) == (word.text in ".,?") for word in words)
    kinds = {}
    for word in words:
        kinds.setdefault(word.text.casefold(), set()).add(word.tag)
    assert sum(len(own) > 1 for own in kinds.values()) >= 35
    assert kinds["light"] == {"NOUN", "ADJ", "VERB"}


def passages():
    """The passages as anybody would write them."""
    rows = [""] * 16
    for word in tagged_words():
        rows[word.passage] += word.text if word.tag == SIGN or not rows[word.passage] else f" {word.text}"
    return rows


def test_words_are_read_as_the_whole_text_would_be(stories, text):
    tokenizer = stories[1]
    assert [list(row) for row in text.rows] == [tokenizer.encode(row) for row in passages()]
    for word, last in zip(text.words, text.last, strict=True):
        begun = tokenizer.decode(text.rows[word.passage][: last + 1])
        assert begun.endswith(word.text)
    assert len(text.words) == len(tagged_words())


def test_a_short_context_keeps_what_fits(stories):
    found = tokenize_words(stories[1], 20)
    assert max(map(len, found.rows)) == 20
    assert max(found.last) == 19
    assert len(found.words) < len(tagged_words())


class Around(ByteTokenizer):
    """Puts a token before every text and two behind it."""

    def encode(self, text):
        return [1, *super().encode(text), 2, 3]


@pytest.mark.parametrize("longest", [40, 41])
def test_what_stands_around_a_text_stays_where_it_is_cut(longest):
    found, expected = tokenize_words(Around(), longest), []
    for passage, whole in enumerate(passages()):
        row = bytes(found.rows[passage])
        assert row == bytes([1, *whole.encode()[: longest - 3], 2, 3])
        end = 0
        for word in (one for one in tagged_words() if one.passage == passage):
            end = whole.index(word.text, end) + len(word.text)
            expected += [(passage, end)] if end <= longest - 3 else []
    assert [(word.passage, last) for word, last in zip(found.words, found.last, strict=True)] == expected
    assert longest - 3 in found.last, "a word that just fits"


def test_a_word_that_is_one_token_can_be_probed():
    class Words(Around):
        def encode(self, text):
            return [1, *[9] * len(text.split()), 2, 3]

    class Pieces(Around):
        def encode(self, text):
            return [1, *[9] * 2 * len(text.split()), 2, 3]

    class NoEnglish(Around):
        def encode(self, _):
            return [1, 2, 3]

    encoder = config(architecture="encoder")
    assert by_layer.why_no_probe(encoder, Words()) is None
    assert "letters or bytes" in by_layer.why_no_probe(encoder, Pieces())
    assert "no token for an English word" in by_layer.why_no_probe(encoder, NoEnglish())


def test_what_has_no_size_is_read_as_it_is(text):
    """States that are zeros, or all the same."""
    subject = small_model(vocab_size=2048, max_seq_len=256)
    subject.embed.weight.zero_()
    assert not by_layer.word_states(subject, text).any()
    x, y = torch.ones(4, 3), torch.tensor([0, 1, 1, 1])

    alike = fit_probe(x, y, 2)
    assert alike.predict(x[None].expand(5, 2, -1, -1)).tolist() == [[[1] * 4] * 2] * 5, "the commonest class"


def test_labels_beside_plain_loops(stories, text):
    tokenizer = stories[1]
    for name in properties.PROPERTIES:
        own = properties.label_words(text, name)
        said = [own.classes[label] for label in own.labels]
        earlier = Counter()
        for i, word in enumerate(text.words):
            known, last = int(earlier[word.passage, word.text.lower()] > 0), text.last[i]
            earlier[word.passage, word.text.lower()] += 1
            row = text.rows[word.passage]
            expected = {
                "part of speech": TAGS[word.tag],
                "letter case": "capital" if word.text[0] != word.text[0].lower() else "small",
                "word length": "1 to 3 letters"
                if len(word.text) < 4
                else "4 to 5"
                if len(word.text) < 6
                else "6 or more",
                "position": "0 to 11"
                if last < 12
                else "12 to 23"
                if last < 24
                else "24 to 35"
                if last < 36
                else "36 on",
                "seen before": ("new", "seen")[known],
                "next token": tokenizer.tokens([row[last + 1]])[0].replace(" ", "·") if last + 1 < len(row) else "",
            }[name]
            if i in own.index:
                assert said[list(own.index).index(i)] == expected
            else:
                assert word.tag == SIGN or expected not in own.classes
    assert own.classes == tuple(sorted(own.classes))
    assert len(own.classes) == 6


def test_the_control_task_gives_each_word_type_one_label(stories, text):
    own = properties.label_words(text, "part of speech")
    label = {}
    for i, control in zip(own.index, own.control, strict=True):
        assert label.setdefault(text.words[i].text.lower(), control) == control
    assert len(set(label.values())) > 6
    assert np.mean(own.control == own.labels) < 0.4


def test_a_probe_is_at_the_minimum_of_its_loss():
    generator = torch.Generator().manual_seed(1)
    x, y = 3 + 5 * torch.randn(40, 6, generator=generator), torch.arange(40) % 3
    found = fit_probe(x, y, 3, l2=0.1)
    inputs = (x - x.mean(0)) / (x - x.mean(0)).square().mean().sqrt()
    p = torch.softmax(inputs @ found.weight + found.bias, -1)
    assert torch.allclose(found.scores(x).softmax(-1), p, atol=1e-6)
    error = (p - torch.eye(3)[y]) / len(y)  # the gradient of the mean cross-entropy by the logits
    assert float((inputs.T @ error + 0.1 * found.weight).abs().max()) < 1e-4
    assert float(error.sum(0).abs().max()) < 1e-4


@nightly
def test_a_probe_is_that_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    generator = torch.Generator().manual_seed(2)
    y = torch.arange(60) % 4
    x = 2 + torch.randn(60, 8, generator=generator) + 0.7 * torch.randn(4, 8, generator=generator)[y]
    found = fit_probe(x, y, 4, l2=0.05)
    inputs = ((x - x.mean(0)) / (x - x.mean(0)).square().mean().sqrt()).numpy()
    # it minimises C times the summed cross-entropy + 1/2 ||W||^2
    other = LogisticRegression(C=1 / (0.05 * len(y)), tol=1e-6, max_iter=1_000).fit(inputs, y.numpy())
    assert np.abs(found.scores(x).softmax(-1).numpy() - other.predict_proba(inputs)).max() < 1e-3
    assert (found.predict(x).numpy() == other.predict(inputs)).all()


def test_states_do_not_depend_on_the_other_passages(stories, text, states):
    model = stories[0]
    row = torch.tensor([text.rows[3]])
    own = [i for i, word in enumerate(text.words) if word.passage == 3]
    for layer, name in ((0, "blocks.0.resid_pre"), (3, "blocks.2.resid_post")):
        x = model(row, capture=(name,)).activations[name][0, [text.last[i] for i in own]]
        assert torch.allclose(states[layer, own], x / x.pow(2).mean(-1, keepdim=True) ** 0.5, atol=1e-4)


def test_no_probe_has_seen_the_sentence_it_reads(states, stories, text):
    own = properties.label_words(text, "letter case")
    words = [text.words[i] for i in own.index]
    x, y = states[1, torch.from_numpy(own.index)], torch.from_numpy(own.labels)
    found = by_layer.held_out(x, y, torch.from_numpy(by_layer.folds(words)), 2)
    one = torch.tensor([word.sentence % 3 == 1 for word in words])
    assert (fit_probe(x[~one], y[~one], 2).predict(x[one]) == found[one]).all()
    # Where the states say nothing of labels that are drawn anew for each sentence, nothing is read of them.
    flipped = torch.tensor([word.sentence // 3 % 2 for word in words])
    random = torch.randn(x.shape, generator=torch.Generator().manual_seed(0))
    share = (by_layer.held_out(random, flipped, torch.from_numpy(by_layer.folds(words)), 2) == flipped).float().mean()
    assert 0.4 < share < 0.6


def test_what_is_kept_is_what_is_measured(stories, text, states):
    own = properties.label_words(text, "letter case")
    rows, fold = torch.from_numpy(own.index), torch.from_numpy(by_layer.folds([text.words[i] for i in own.index]))
    found = shipped.shipped_layers("stories", "letter case")
    assert len(found) == 5
    again = by_layer.held_out(states[2, rows], torch.from_numpy(own.labels), fold, 2).numpy()
    assert np.mean(again == found[2].predicted) > 0.99
    control = torch.from_numpy(own.control)
    assert abs(int((by_layer.held_out(states[2, rows], control, fold, 2) == control).sum()) - found[2].control) < 7


def test_every_model_is_kept_whole():
    layers = {"smollm2": 31, "stories": 5, "minilm": 7}
    for model in shipped.MODELS:
        for name in properties.PROPERTIES:
            found = shipped.shipped_layers(model, name)
            assert len(found) == layers[model]
            assert name == "next token" or {len(one.predicted) for one in found} == {606}
    assert shipped.shipped_layers("fill", "position") is None
    found = shipped.shipped_layers("stories", "position")
    assert shipped.written({"stories": dict.fromkeys(properties.PROPERTIES, found)}).count("[[") == 6


@pytest.fixture
def small(stories):
    """Two layers: the first reads nothing but the first class, the second everything but one word."""
    model, tokenizer = stories
    labels = by_layer.probed(model, tokenizer, "word length", ()).labels
    nearly = labels.copy()
    nearly[0] = (nearly[0] + 1) % 3
    layers = [ProbedLayer(np.zeros_like(labels), 200), ProbedLayer(nearly, 100)]
    return by_layer.probed(model, tokenizer, "word length", layers)


def test_what_is_said_of_all_layers(small):
    said = say.readable(small)
    total = len(small.words)
    assert (said.values["best"], said.values["accuracy"]) == ("layer 0", (total - 1) / total)
    assert said.values["embedding"] == pytest.approx(sum(len(word.text) < 4 for word in small.words) / total)
    assert said.values["control"] == 100 / total
    assert (said.values["low"], said.values["high"]) == wilson(total - 1, total)
    assert f"Word length (3 classes) of {total} held-out words: read best at layer 0, 99.8% correct" in str(said)
    expected = 0
    for fold in range(3):
        others = Counter(label for label, w in zip(small.labels, small.words, strict=True) if w.sentence % 3 != fold)
        most = others.most_common(1)[0][0]
        own = [label for label, w in zip(small.labels, small.words, strict=True) if w.sentence % 3 == fold]
        expected += own.count(most)
    assert small.majority == expected
    assert "selectivity +83.3 percentage points" in str(said)


def test_what_is_said_of_one_layer(small):
    said = class_counts(small, 1)
    true, taken = small.classes[small.labels[0]], small.classes[(small.labels[0] + 1) % 3]
    assert said.confused == (true, taken, 1)
    assert sum(said.counts) == len(small.words)
    assert sum(said.right) == len(small.words) - 1
    assert f"'{true}' read as '{taken}', 1 of {sum(small.labels == small.labels[0])} times" in str(say.class_read(said))
    said = class_counts(small, 0)
    assert said.right == (said.counts[0], 0, 0)
    assert str(say.class_read(said)).startswith("The embedding: ")


def test_models_whose_words_cannot_be_probed():
    for name, reason in (("induction", "letters or bytes"), ("translate", "two streams"), ("fill", None)):
        model, tokenizer = load(name, device="cpu")
        said = by_layer.why_no_probe(model.config, tokenizer)
        assert said is None if reason is None else reason in said
