"""Generation with the cache against generation without; what a stream tells; where texts end."""

import itertools
import sys

import numpy as np
import pytest
import torch

from tests.nightly import often
from tests.small import model as small
from tfcore import ModelConfig, Transformer, generate
from tfcore.generation.generate import Step, stream
from tfcore.generation.sampling import Sampling

BOTH = {"architecture": "encoder-decoder", "start_id": 7}
SETTINGS = {"temperature": 0.8, "top_k": 12, "top_p": 0.9, "min_p": 0.02, "repetition_penalty": 1.3}


@pytest.fixture(scope="module")
def model():
    return Transformer(ModelConfig(vocab_size=31, d_model=32, max_seq_len=24, init_std=0.3)).eval()


@pytest.fixture(scope="module")
def translator():
    return small(**BOTH)


def without_a_cache(model, ids, n, seed=0, decoder_ids=None, **settings):
    """The definition: the whole text read again for every token."""
    source = torch.tensor([ids])
    text, generator = list(decoder_ids or ids), torch.Generator().manual_seed(seed)
    start = len(text)
    for _ in range(n):
        tokens = torch.tensor([text])
        output = model(source, decoder_ids=tokens) if decoder_ids else model(tokens)
        p = Sampling(**settings).distribution(output.logits[0, -1], tokens[0])
        u = float(torch.rand(1, dtype=torch.float64, generator=generator))
        sums = np.cumsum(np.sort(p.numpy().astype(float))[::-1])
        text.append(int(np.argsort(-p.numpy(), kind="stable")[np.argmax(sums > u * sums[-1])]))
    return text[start:]


def test_greedy_with_cache_equals_argmax_without(model):
    ids = [3, 1, 4]
    for _ in range(10):
        ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    assert generate(model, ids[:3], Sampling(temperature=0), max_new_tokens=10) == ids[3:]


@pytest.mark.parametrize("settings", often([{}, {"temperature": 0, "repetition_penalty": 1.5}, SETTINGS], [SETTINGS]))
@pytest.mark.parametrize("shape", [{}, {"window": 4}, {"positions": "alibi"}, {"positions": "learned"}], ids=str)
def test_draws_with_cache_are_the_draws_without(shape, settings):
    subject = small(**shape)
    text = without_a_cache(subject, [3, 1, 4, 1, 5], 20, seed=1, **settings)
    assert generate(subject, [3, 1, 4, 1, 5], Sampling(**settings), max_new_tokens=20, seed=1) == text
    assert len(set(text)) > 3


@pytest.mark.parametrize("start", often([None, [7], [4, 9, 2]], [None, [4, 9, 2]]))
@pytest.mark.parametrize("settings", often([{"temperature": 0}, SETTINGS], [SETTINGS]))
def test_an_encoder_decoder_reads_ids_and_adds_to_decoder_ids(translator, start, settings):
    text = without_a_cache(translator, [3, 1, 4, 1, 5], 12, seed=2, decoder_ids=start or [7], **settings)
    sampling, options = Sampling(**settings), {"max_new_tokens": 12, "seed": 2, "decoder_ids": start}
    assert generate(translator, [3, 1, 4, 1, 5], sampling, **options) == text
    assert generate(translator, [3, 1, 4, 1, 6], sampling, **options) != text


def test_seed_decides(model):
    first, again, other = (generate(model, [5], max_new_tokens=20, seed=s) for s in (1, 1, 2))
    assert first == again != other


def test_torchs_own_generator_is_left_alone(model):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    generate(model, [5], max_new_tokens=5)
    assert bool((before == torch.get_rng_state()).all())


@pytest.mark.parametrize("ids", [torch.tensor([5, 6]), torch.tensor([[5, 6]]), (5, 6), torch.tensor([5, 6]).int()])
def test_ids_come_as_a_sequence_or_as_a_tensor(model, ids):
    assert generate(model, ids, max_new_tokens=4) == generate(model, [5, 6], max_new_tokens=4)


def test_stops_where_the_context_is_full(model):
    assert len(generate(model, list(range(20)), max_new_tokens=100)) == 4
    assert generate(model, list(range(24))) == []
    with pytest.raises(ValueError, match="25 tokens are more than max_seq_len=24"):
        generate(model, list(range(25)))


def test_the_cache_is_no_larger_than_the_text(model, monkeypatch):
    module, rooms = sys.modules["tfcore.generation.generate"], []
    cache = module.KVCache
    monkeypatch.setattr(
        module, "KVCache", lambda *args, **given: rooms.append(given["capacity"]) or cache(*args, **given)
    )
    generate(model, [1, 2, 3], max_new_tokens=4)
    generate(model, [1, 2, 3], max_new_tokens=400)
    assert rooms == [7, 24]


def test_a_stop_id_is_the_last(model):
    whole = generate(model, [5], max_new_tokens=20)
    stop = whole[6]
    assert generate(model, [5], max_new_tokens=20, stop_ids=[stop]) == whole[: whole.index(stop) + 1]
    unused = min(set(range(31)) - set(whole))
    assert generate(model, [5], max_new_tokens=20, stop_ids={unused}) == whole
    steps = list(stream(model, [5], max_new_tokens=20, stop_ids=(unused, stop)))
    assert [step.token for step in steps] == whole[: whole.index(stop) + 1]


def test_a_stream_tells_how_each_token_came_about(model):
    sampling, options = Sampling(**SETTINGS), {"max_new_tokens": 15, "seed": 3}
    steps = list(stream(model, [5, 6], sampling, **options))
    text = [5, 6, *generate(model, [5, 6], sampling, **options)]
    assert [step.token for step in steps] == text[2:]
    for n, step in enumerate(steps, start=2):
        assert isinstance(step, Step)
        logits, previous = model(torch.tensor([text[:n]])).logits[0, -1].detach(), torch.tensor(text[:n])
        assert [stage.name for stage in step.filters] == [
            *("softmax", "repetition penalty", "temperature", "top-k", "top-p", "min-p")
        ]
        close = {"atol": 1e-5, "rtol": 1e-4}
        torch.testing.assert_close(step.filters[0].probabilities, logits.softmax(-1), **close)
        expected = sampling.distribution(logits, previous)
        torch.testing.assert_close(step.filters[-1].probabilities, expected, **close)
        assert step.probability == pytest.approx(float(expected[step.token]), abs=1e-5)
        assert step.probability > 0
        more_likely = step.filters[-1].probabilities[step.filters[-1].probabilities > step.probability].sum()
        assert float(more_likely) - 1e-6 <= step.u <= float(more_likely) + step.probability + 1e-6


def test_a_greedy_stream_is_sure_of_its_choice(model):
    steps = list(stream(model, [5], Sampling(temperature=0, top_k=3), max_new_tokens=5))
    assert [step.token for step in steps] == generate(model, [5], Sampling(temperature=0), max_new_tokens=5)
    assert all(step.probability == 1 for step in steps)


def test_a_stream_computes_what_is_asked_for_and_no_more(model):
    passes = []
    hook = model.register_forward_hook(lambda *_: passes.append(1))
    first = [step.token for step in itertools.islice(stream(model, [5], max_new_tokens=20), 3)]
    hook.remove()
    assert first == generate(model, [5], max_new_tokens=3)
    assert len(passes) == 3


def test_a_stream_keeps_no_gradient_and_leaves_the_callers_mode_alone(model):
    for step in stream(model, [5], max_new_tokens=2):
        assert torch.is_grad_enabled()
        assert not step.filters[0].probabilities.requires_grad


@pytest.mark.parametrize(("architecture", "head"), [("encoder", "lm"), ("encoder", "mlm"), ("decoder", "none")])
def test_models_that_do_not_continue_texts_say_so(architecture, head):
    with pytest.raises(ValueError, match=f"architecture='{architecture}' and head='{head}' does not continue texts"):
        generate(small(architecture=architecture, head=head), [1])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"ids": []}, "at least one id"),
        ({"ids": torch.zeros(0, dtype=torch.int64)}, "at least one id"),
        ({"max_new_tokens": -1}, "max_new_tokens=-1"),
        ({"decoder_ids": [1]}, "decoder_ids go with an encoder-decoder"),
        ({"ids": [31]}, "vocabulary of 31"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_drawn(model, wrong, says):
    wrong = {"ids": [1], **wrong}
    with pytest.raises(ValueError, match=says):
        generate(model, **wrong)
    if "vocabulary" not in says:  # a stream says it when called, not when read
        with pytest.raises(ValueError, match=says):
            stream(model, **wrong)


def test_an_empty_decoder_prompt_is_refused(translator):
    with pytest.raises(ValueError, match="at least one id"):
        generate(translator, [1], decoder_ids=[])
