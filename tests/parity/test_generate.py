"""Generation against `transformers`: the same weights give the same texts, the same settings the same distributions."""

import json
from functools import cache
from typing import Any

import pytest
import torch
from transformers import GenerationConfig, GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.generation.logits_process import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)
from transformers.modeling_outputs import CausalLMOutput

from tests.nightly import nightly, often
from tests.parity.checkpoints import BOTH as ENCODER_DECODERS
from tests.parity.checkpoints import DECODERS, written
from tests.small import model as small
from tfcore import generate, load
from tfcore.generation.beam import beam_search
from tfcore.generation.sampling import Sampling, min_p, repetition_penalty, temperature, top_k, top_p
from tfcore.loading.checkpoints import OF_WRITING
from tfcore.part_configs import WritingConfig

# The same functions run with checks of shapes in tests/generation; here it is about numbers.
pytestmark = pytest.mark.usefixtures("unchecked")

BOTH = {"architecture": "encoder-decoder", "start_id": 5}
IDS = [3, 1, 4, 1, 5]


class Theirs(PreTrainedModel, GenerationMixin):
    """Our model, without a cache, under the `generate` of `transformers`: what differs then is the search alone."""

    def __init__(self, ours, source=None):
        settings: dict[str, Any] = {"vocab_size": ours.config.vocab_size, "num_hidden_layers": 1}
        super().__init__(PretrainedConfig(**settings))
        self.ours, self.source = ours, source  # of an encoder-decoder, what the encoder reads

    def forward(self, input_ids, attention_mask=None, **_):  # noqa: ARG002 - it looks for the name
        if self.source is None:
            return CausalLMOutput(logits=self.ours(input_ids).logits)
        source = torch.tensor([self.source] * len(input_ids))
        return CausalLMOutput(logits=self.ours(source, decoder_ids=input_ids).logits)

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **_):  # noqa: ARG002
        return {"input_ids": input_ids}


SOME = ("gpt2", "llama 3", "mistral, window", "gemma", "mixtral", "t5 1.0")
CONTINUING = {name: values for name, values in (DECODERS | ENCODER_DECODERS).items() if "no head" not in name}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """By name, a checkpoint as tfcore.load reads it, and the model of `transformers` that wrote it."""

    @cache
    def pair(name):
        folder = tmp_path_factory.mktemp("checkpoint")
        theirs = written(*CONTINUING[name], folder)
        return load(folder, device="cpu")[0], theirs

    return pair


def their_text(theirs, ids, n, stop=None, **options):
    """New ids (and the scores of beams) that `transformers` gives."""
    asked = {name: getattr(theirs.generation_config, name) for name in OF_WRITING}
    config = GenerationConfig(
        max_new_tokens=n,
        eos_token_id=stop,
        pad_token_id=0,
        return_dict_in_generate=True,
        output_scores=True,
        use_cache=False,
        **asked,
        **options,
    )
    theirs.generation_config = GenerationConfig(**asked)  # no end that is not asked for
    ids, start = torch.tensor([ids]), 1 if theirs.config.is_encoder_decoder else len(ids)
    config.decoder_start_token_id = getattr(theirs.config, "decoder_start_token_id", None) or 0
    found = theirs.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config)
    return found.sequences[:, start:].tolist(), getattr(found, "sequences_scores", None)


@pytest.mark.parametrize("name", often(CONTINUING, SOME))
@pytest.mark.parametrize("penalty", [1.2, *(pytest.param(x, marks=nightly) for x in (1.0, 3.0, 0.7))])
def test_greedy(pairs, name, penalty):
    ours, theirs = pairs(name)
    (expected,), _ = their_text(theirs, IDS, 20, do_sample=False, repetition_penalty=penalty)
    assert generate(ours, IDS, Sampling(temperature=0, repetition_penalty=penalty), max_new_tokens=20) == expected
    stop = expected[4]
    (expected,), _ = their_text(theirs, IDS, 20, stop, do_sample=False, repetition_penalty=penalty)
    sampling = Sampling(temperature=0, repetition_penalty=penalty)
    assert generate(ours, IDS, sampling, max_new_tokens=20, stop_ids=[stop]) == expected


def assert_same_beams(ours, theirs, ids, prompt, n, beams, stop=(), **options):
    """Every beam, its text and its score."""
    texts, scores = their_text(
        theirs, prompt, n, list(stop) or None, num_beams=beams, num_return_sequences=beams, do_sample=False, **options
    )
    found = beam_search(ours, ids, beams=beams, max_new_tokens=n, stop_ids=stop, **options)
    ends = [next((i + 1 for i, token in enumerate(text) if token in stop), len(text)) for text in texts]
    assert [list(beam.ids) for beam in found] == [text[:end] for text, end in zip(texts, ends, strict=True)]
    assert [beam.score for beam in found] == pytest.approx(scores.tolist(), abs=1e-4, rel=1e-5)
    return found


@pytest.mark.parametrize("beams", often([2, 5], [5]))
@pytest.mark.parametrize("penalty", often([0.0, 1.0, 2.0, -1.0], [0.0, 2.0]))
@pytest.mark.parametrize("early", [False, True])
def test_beam_search(pairs, beams, penalty, early):
    for name in ("gpt2", "llama"):
        ours, theirs = pairs(name)
        options = {"length_penalty": penalty, "early_stopping": early}
        free = assert_same_beams(ours, theirs, IDS, IDS, 12, beams, (), **options)
        stop = (free[0].ids[3], *range(0, 61, 7))
        assert assert_same_beams(ours, theirs, IDS, IDS, 12, beams, stop, **options) != free


@pytest.mark.parametrize("name", often(CONTINUING, SOME))
def test_beam_search_of_every_family(pairs, name):
    ours, theirs = pairs(name)
    for stop in ((), tuple(range(0, 61, 4))):
        assert_same_beams(ours, theirs, IDS, IDS, 10, 3, stop, length_penalty=0.8)


def test_what_generation_config_asks_of_texts(tmp_path):
    kind, settings = ENCODER_DECODERS["bart"]
    written(kind, settings, tmp_path)
    free = generate(load(tmp_path, device="cpu")[0], IDS, Sampling(temperature=0), max_new_tokens=8)
    assert (free[0], free[-1]) == (9, 2)  # as config.json says
    words = ([token for token in free if token not in (2, 7, 9)] + [11, 12])[:2]
    asked = {"forced_eos_token_id": 7, "bad_words_ids": [[word] for word in words], "decoder_start_token_id": 2}
    (tmp_path / "generation_config.json").write_text(json.dumps(asked))
    ours, theirs = load(tmp_path, device="cpu")[0], kind.from_pretrained(tmp_path, attn_implementation="eager").eval()
    assert ours.config.writing == WritingConfig(last=7, never=tuple(words))
    (expected,), _ = their_text(theirs, IDS, 8, do_sample=False)
    assert generate(ours, IDS, Sampling(temperature=0), max_new_tokens=8) == expected
    assert expected[-1] == 7
    assert not {*expected} & {*words}
    for beam in assert_same_beams(ours, theirs, IDS, IDS, 8, 3):
        assert not {*beam.ids} & {*words}


@pytest.mark.parametrize(
    "shape", [{"window": 3}, {"positions": "alibi"}, {"norm_placement": "post"}, BOTH, BOTH | {"window": 2}], ids=str
)
@pytest.mark.parametrize("stop", often([(), tuple(range(6))], [tuple(range(6))]), ids=["to the end", "stop"])
def test_beam_search_with_a_cache_of_any_kind(shape, stop):
    ours = small(**shape)
    both = "architecture" in shape
    theirs = Theirs(ours, IDS if both else None)
    for seed in range(3):
        ids = torch.randint(0, 61, (7,), generator=torch.Generator().manual_seed(seed)).tolist()
        theirs.source = ids if both else None
        assert_same_beams(ours, theirs, ids, [5] if both else ids, 10, 3, stop, length_penalty=0.6)


LOGITS = torch.randn(4, 61, generator=torch.Generator().manual_seed(0)) * 4
PREVIOUS = torch.randint(0, 61, (4, 20), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        *((lambda x, t=t: temperature(x, t), TemperatureLogitsWarper(t)) for t in (0.1, 0.7, 3.0)),
        *((lambda x, k=k: top_k(x, k), TopKLogitsWarper(k)) for k in (1, 5, 60, 100)),
        *((lambda x, p=p: top_p(x, p), TopPLogitsWarper(p)) for p in (1e-6, 0.3, 0.9, 0.999)),
        *((lambda x, p=p: min_p(x, p), MinPLogitsWarper(p)) for p in (0.01, 0.2, 1.0)),
        *((lambda x, p=p: repetition_penalty(x, PREVIOUS, p), RepetitionPenaltyLogitsProcessor(p)) for p in (0.5, 1.3)),
    ],
)
def test_each_filter(ours, theirs):
    torch.testing.assert_close(ours(LOGITS).softmax(-1), theirs(PREVIOUS, LOGITS).softmax(-1))


@pytest.mark.parametrize("seed", range(5))
def test_all_filters_in_order(pairs, seed):
    """Their own list, put together by `generate` itself, against our stages: each one, and the last."""
    _, theirs = pairs("gpt2")
    settings = {"temperature": 0.6 + 0.3 * seed, "top_k": 30 - 5 * seed, "top_p": 0.95 - 0.1 * seed, "min_p": 0.02}
    settings["repetition_penalty"] = 1.0 + 0.2 * (seed + 1)
    config = GenerationConfig(do_sample=True, **settings)
    theirs._prepare_special_tokens(config)
    processors = theirs._get_logits_processor(config, input_ids_seq_length=20)
    assert len(processors) == 5
    logits = LOGITS.roll(seed, 0)
    stages = Sampling(**settings).stages(logits, PREVIOUS)
    for n, stage in enumerate(stages):
        expected = LogitsProcessorList(processors[:n])(PREVIOUS, logits).softmax(-1)
        torch.testing.assert_close(stage.probabilities, expected, msg=lambda text, stage=stage: f"{stage.name}: {text}")
    assert len(stages) == 6
