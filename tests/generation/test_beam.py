"""Beam search against trying every text there is, and against greedy generation."""

import itertools

import pytest
import torch

from tests.small import model as small
from tfcore import generate
from tfcore.generation.beam import Beam, beam_search, beam_steps
from tfcore.generation.sampling import Sampling

VOCAB, LENGTH, STOP = 4, 3, 2
SHAPES = {
    "decoder": {},
    "window": {"window": 2},
    "alibi": {"positions": "alibi", "n_kv_heads": 2},
    "both": {"architecture": "encoder-decoder", "start_id": 1},
}
IDS = [3, 1, 0, 1]


def log_probabilities(model, ids, texts):
    """Of each text, all of one length, after the ids; from one pass without a cache."""
    both = model.config.architecture == "encoder-decoder"
    start = [model.config.start_id] if both else ids
    rows, new = torch.tensor([start + list(text) for text in texts]), torch.tensor(texts)
    output = model(torch.tensor([ids] * len(texts)), decoder_ids=rows) if both else model(rows)
    scores = output.logits[:, len(start) - 1 : -1].double().log_softmax(-1)
    return scores.gather(-1, new[..., None]).sum((1, 2)).tolist()


def every_text(n, stop):
    """All texts of n ids that are finished: of LENGTH, or with the stop id last."""
    texts = itertools.product(range(VOCAB), repeat=n)
    return [new for new in texts if stop not in new[:-1] and (n == LENGTH or new[-1] == stop)]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
@pytest.mark.parametrize(("stop", "penalty"), [(None, 1.0), (STOP, 0.0), (STOP, 1.0), (STOP, -2)])
def test_with_beams_for_all_texts_it_finds_them_in_order(shape, stop, penalty):
    subject = small(vocab_size=VOCAB, **shape)
    scores = {}
    for n in range(1 if stop is not None else LENGTH, LENGTH + 1):
        texts = every_text(n, stop)
        totals = log_probabilities(subject, IDS, texts)
        scores |= {new: total / n**penalty for new, total in zip(texts, totals, strict=True)}
    expected = sorted(scores, key=scores.get, reverse=True)
    stop_ids = () if stop is None else (stop,)
    options = {"beams": len(expected), "max_new_tokens": LENGTH, "length_penalty": penalty, "stop_ids": stop_ids}
    found = beam_search(subject, IDS, **options)
    assert [beam.ids for beam in found] == expected
    assert [beam.score for beam in found] == pytest.approx([scores[ids] for ids in expected], abs=1e-4)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_a_few_beams_have_the_scores_of_their_texts(shape):
    subject = small(**shape)
    found = beam_search(subject, IDS, beams=5, max_new_tokens=12)
    assert len(found) == len({beam.ids for beam in found}) == 5
    totals = log_probabilities(subject, IDS, [beam.ids for beam in found])
    assert [beam.score for beam in found] == pytest.approx([total / 12 for total in totals], abs=1e-5)


def test_one_beam_is_greedy():
    subject = small()
    (found,) = beam_search(subject, torch.tensor(IDS), beams=1, max_new_tokens=12)
    assert list(found.ids) == generate(subject, IDS, Sampling(temperature=0), max_new_tokens=12)


def test_beams_find_a_likely_text_behind_an_unlikely_token():
    """Greedy takes the best first token, whatever follows it; the second best is followed by a sure thing."""
    subject = small(vocab_size=VOCAB, n_layers=1, positions="none", tie_embeddings=False)
    weights = subject.state_dict()
    for name in weights:
        if name.endswith(("out.weight", "down.weight")):
            weights[name].zero_()  # what a token says of the next one passes by the blocks
    weights["embed.weight"].zero_()[:, :VOCAB] = torch.eye(VOCAB)
    next_token = torch.tensor(
        [
            [0.0, 0.6, 0.4, 0.0],  # after 0: 1 rather than 2
            [0.25, 0.25, 0.25, 0.25],
            [0.0, 0.0, 0.0, 1.0],  # after 2: 3 for sure
            [0.25, 0.25, 0.25, 0.25],
        ]
    )
    length = subject.config.d_model**0.5  # the norm makes every embedding this long
    weights["unembed.weight"].zero_()[:, :VOCAB] = (next_token + 1e-6).log().T / length
    subject.load_state_dict(weights)
    assert generate(subject, [0], Sampling(temperature=0), max_new_tokens=2)[0] == 1
    best = beam_search(subject, [0], beams=2, max_new_tokens=2, length_penalty=0)[0]
    assert best.ids == (2, 3)
    assert best.score == pytest.approx(float(torch.tensor(0.4).log()), abs=1e-3)


def test_early_stopping_takes_the_first_that_finish():
    subject, stop_ids = small(seed=3), tuple(range(20))
    options = {"beams": 3, "max_new_tokens": 25, "stop_ids": stop_ids, "length_penalty": 2.0}
    passes = []
    hook = subject.register_forward_hook(lambda *_: passes.append(1))
    early = beam_search(subject, IDS, early_stopping=True, **options)
    n_early = len(passes)
    late = beam_search(subject, IDS, **options)
    hook.remove()
    assert n_early < len(passes) - n_early
    assert late[0].score > early[0].score
    assert all(beam.ids[-1] in stop_ids and not set(beam.ids[:-1]) & set(stop_ids) for beam in early)


def test_it_ends_where_the_context_is_full():
    found = beam_search(small(max_seq_len=8), IDS, max_new_tokens=100, beams=2)
    assert [len(beam.ids) for beam in found] == [4, 4]
    assert beam_search(small(max_seq_len=4), IDS, beams=2) == [Beam((), 0.0)]


def test_a_vocabulary_smaller_than_the_beams():
    found = beam_search(small(vocab_size=2), [0, 1], beams=6, max_new_tokens=2)
    assert sorted(beam.ids for beam in found) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_no_beam_is_refused():
    with pytest.raises(ValueError, match="beams=0 must be at least 1"):
        beam_search(small(), IDS, beams=0)
    with pytest.raises(ValueError, match="does not continue texts"):
        beam_search(small(architecture="encoder"), IDS)


def test_a_beam_cannot_be_changed():
    with pytest.raises(AttributeError):
        Beam((1,), 0.0).score = 1.0


def test_the_steps_tell_how_the_result_came_about():
    subject, options = small(), {"beams": 3, "max_new_tokens": 10, "stop_ids": (5, 9, 20, 33), "length_penalty": 0.5}
    steps, texts, ended = list(beam_steps(subject, IDS, **options)), [()], {}
    for step in steps:
        scores = [candidate.score for candidate in step.candidates]
        assert scores == sorted(scores, reverse=True)
        longer = [(*texts[one.parent], one.token) for one in step.candidates]
        totals = log_probabilities(subject, IDS, longer)
        assert scores == pytest.approx(totals, abs=1e-4)
        states = [one.state for one in step.candidates]
        ended |= {text: score for text, state, score in zip(longer, states, scores, strict=True) if state == "finished"}
        texts = [text for text, state in zip(longer, states, strict=True) if state == "kept"]
        assert len(texts) == (0 if step is steps[-1] else 3)
        assert "finished" not in states[3:]
    best = sorted(ended, key=lambda text: -ended[text] / len(text) ** 0.5)[:3]
    assert [beam.ids for beam in beam_search(subject, IDS, **options)] == best
    assert tuple(beam_search(subject, IDS, **options)) == steps[-1].finished
