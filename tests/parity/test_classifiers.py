"""Models fine-tuned to tell classes apart, written by `transformers` and read by tfcore.load, give the same scores."""

import json

import pytest
import torch
import transformers as hf

from tests.nightly import often_named
from tests.parity.checkpoints import (
    DECODERS,
    DISTIL,
    ENCODERS,
    GEMMA,
    GPT2,
    GROUPED,
    MODERN,
    NEOX,
    OSS,
    PHI,
    ROBERTA,
    SHAPE,
    written,
)
from tests.parity.comparing import TOLERANCE
from tests.small import difference, ids
from tfcore import load
from tfcore.config import ModelConfig
from tfcore.files import CheckpointError
from tfcore.loading.against_transformers import compared
from tfcore.measures.parameter_count import built_parameters, parameters

THREE = {"id2label": {0: "negative", 1: "neutral", 2: "positive"}}
CASES = {
    "bert, texts": (hf.BertForSequenceClassification, SHAPE | THREE, "first"),
    "bert, several": (
        hf.BertForSequenceClassification,
        SHAPE | THREE | {"problem_type": "multi_label_classification"},
        "first",
    ),
    "bert, a number": (hf.BertForSequenceClassification, SHAPE | {"num_labels": 1}, "first"),
    "roberta, numbers": (
        hf.RobertaForSequenceClassification,
        ROBERTA | THREE | {"problem_type": "regression"},
        "first",
    ),
    "llama, a number": (hf.LlamaForSequenceClassification, GROUPED | {"num_labels": 1}, "last"),
    "bert, tokens": (hf.BertForTokenClassification, SHAPE | {"num_labels": 5}, "each"),
    "distilbert, texts": (hf.DistilBertForSequenceClassification, DISTIL, "first"),
    "distilbert, tokens": (hf.DistilBertForTokenClassification, DISTIL | THREE, "each"),
    "roberta, texts": (hf.RobertaForSequenceClassification, ROBERTA | THREE, "first"),
    "roberta, tokens": (hf.RobertaForTokenClassification, ROBERTA, "each"),
    "xlm-roberta, texts": (hf.XLMRobertaForSequenceClassification, ROBERTA | THREE, "first"),
    "camembert, tokens": (hf.CamembertForTokenClassification, ROBERTA | THREE, "each"),
    "electra, texts": (hf.ElectraForSequenceClassification, ENCODERS["electra, narrow"][1] | THREE, "first"),
    "albert, texts": (hf.AlbertForSequenceClassification, ENCODERS["albert"][1] | THREE, "first"),
    "albert, tokens": (hf.AlbertForTokenClassification, ENCODERS["albert"][1], "each"),
    "mpnet, texts": (hf.MPNetForSequenceClassification, ENCODERS["mpnet"][1] | THREE, "first"),
    "deberta, texts": (hf.DebertaV2ForSequenceClassification, ENCODERS["deberta"][1] | THREE, "first"),
    "deberta, texts, tanh": (
        hf.DebertaV2ForSequenceClassification,
        ENCODERS["deberta, matrices of places, newer head"][1] | {"pooler_hidden_act": "tanh"},
        "first",
    ),
    "deberta, tokens": (hf.DebertaV2ForTokenClassification, ENCODERS["deberta, position to content"][1], "each"),
    "first deberta, texts": (hf.DebertaForSequenceClassification, ENCODERS["first deberta"][1] | THREE, "first"),
    "first deberta, tokens": (hf.DebertaForTokenClassification, ENCODERS["first deberta"][1], "each"),
    "modernbert, texts": (
        hf.ModernBertForSequenceClassification,
        MODERN | THREE | {"classifier_pooling": "cls", "classifier_bias": True, "norm_bias": True},
        "first",
    ),
    "modernbert, means": (
        hf.ModernBertForSequenceClassification,
        MODERN | THREE | {"classifier_pooling": "mean"},
        "mean",
    ),
    "modernbert, tokens": (
        hf.ModernBertForTokenClassification,
        MODERN | {"classifier_activation": "silu", "classifier_pooling": "mean"},
        "each",
    ),
    "gpt2, texts": (hf.GPT2ForSequenceClassification, GPT2 | THREE, "last"),
    "gpt2, tokens": (hf.GPT2ForTokenClassification, GPT2, "each"),
    "pythia, texts": (hf.GPTNeoXForSequenceClassification, NEOX, "last"),
    "pythia, tokens": (hf.GPTNeoXForTokenClassification, NEOX | THREE, "each"),
    "llama, texts": (hf.LlamaForSequenceClassification, GROUPED | THREE | {"tie_word_embeddings": True}, "last"),
    "llama, tokens": (hf.LlamaForTokenClassification, GROUPED, "each"),
    "mistral, texts": (hf.MistralForSequenceClassification, GROUPED | {"sliding_window": 5}, "last"),
    "qwen2, tokens": (hf.Qwen2ForTokenClassification, GROUPED | THREE, "each"),
    "qwen3, texts": (hf.Qwen3ForSequenceClassification, GROUPED | THREE, "last"),
    "gemma2, texts": (hf.Gemma2ForSequenceClassification, GEMMA, "last"),
    "gemma3, texts": (hf.Gemma3TextForSequenceClassification, GEMMA, "last"),
    "phi3, texts": (hf.Phi3ForSequenceClassification, PHI, "last"),
    "gpt-oss, tokens": (hf.GptOssForTokenClassification, OSS | THREE, "each"),
    "olmo2, texts": (hf.Olmo2ForSequenceClassification, GROUPED | {"head_dim": 4}, "last"),
    "opt, texts": (hf.OPTForSequenceClassification, DECODERS["opt"][1], "last"),
    "bloom, tokens": (hf.BloomForTokenClassification, DECODERS["bloom"][1], "each"),
    "falcon, texts": (hf.FalconForSequenceClassification, DECODERS["falcon"][1] | THREE, "last"),
    "phi, tokens": (hf.PhiForTokenClassification, DECODERS["phi"][1], "each"),
    "gpt-j, texts": (hf.GPTJForSequenceClassification, DECODERS["gpt-j"][1] | THREE, "last"),
    "nemotron, texts": (hf.NemotronForSequenceClassification, DECODERS["nemotron"][1], "last"),
    "starcoder2, tokens": (hf.Starcoder2ForTokenClassification, DECODERS["starcoder2"][1], "each"),
    "smollm3, texts": (
        hf.SmolLM3ForSequenceClassification,
        GROUPED | {"num_hidden_layers": 3, "pad_token_id": 0},
        "last",
    ),
}


@pytest.mark.parametrize(
    "case",
    often_named(CASES, "bert, texts", "distilbert, texts", "roberta, texts", "modernbert, texts", "llama, texts"),
)
def test_classes_are_scored_alike(tmp_path, case):
    kind, settings, place = case
    theirs = written(kind, settings, tmp_path)
    ours, _ = load(tmp_path, device="cpu")
    classes = ours.config.classes
    assert (classes.place, classes.labels) == (place, tuple(theirs.config.id2label.values()))
    tokens = ids(1, 13)
    scores = ours(tokens).logits
    expected = theirs(tokens).logits
    found = {"first": scores[:, 0], "last": scores[:, -1], "each": scores, "mean": scores[:, 5]}[place]
    assert found.shape == expected.shape
    assert difference(found, expected) < TOLERANCE
    assert all(one.is_equal for one in compared(tmp_path))
    assert parameters(ours.config).total == built_parameters(ours.config)
    assert ModelConfig.from_dict(json.loads(json.dumps(ours.config.to_dict()))) == ours.config


SPANS = {
    "bert": (hf.BertForQuestionAnswering, SHAPE),
    "distilbert": (hf.DistilBertForQuestionAnswering, DISTIL),
    "roberta": (hf.RobertaForQuestionAnswering, ROBERTA),
    "xlm-roberta": (hf.XLMRobertaForQuestionAnswering, ROBERTA),
    "camembert": (hf.CamembertForQuestionAnswering, ROBERTA),
    "electra": (hf.ElectraForQuestionAnswering, ENCODERS["electra, narrow"][1]),
    "albert": (hf.AlbertForQuestionAnswering, ENCODERS["albert"][1]),
    "mpnet": (hf.MPNetForQuestionAnswering, ENCODERS["mpnet"][1]),
    "deberta": (hf.DebertaV2ForQuestionAnswering, ENCODERS["deberta"][1]),
    "first deberta": (hf.DebertaForQuestionAnswering, ENCODERS["first deberta, position to content"][1]),
    "modernbert": (hf.ModernBertForQuestionAnswering, MODERN),
}


@pytest.mark.parametrize("case", often_named(SPANS, "bert", "modernbert"))
def test_ends_of_answers_are_scored_alike(tmp_path, case):
    kind, settings = case
    theirs = written(kind, settings, tmp_path)
    ours, _ = load(tmp_path, device="cpu")
    assert (ours.config.classes.meaning, ours.config.classes.labels) == ("span", ("start", "end"))
    tokens = ids(1, 13)
    scores, expected = ours(tokens).logits, theirs(tokens)
    assert difference(scores[..., 0], expected.start_logits) < TOLERANCE
    assert difference(scores[..., 1], expected.end_logits) < TOLERANCE
    assert all(one.is_equal for one in compared(tmp_path))


@pytest.mark.parametrize(
    ("settings", "meaning"),
    [
        ({"num_labels": 1}, "number"),
        ({"num_labels": 1, "problem_type": "multi_label_classification"}, "several"),
        ({"num_labels": 4, "problem_type": "regression"}, "number"),
        ({"num_labels": 4}, "one"),
    ],
)
def test_the_scores_mean_what_the_file_says(tmp_path, settings, meaning):
    written(hf.BertForSequenceClassification, SHAPE | settings, tmp_path)
    assert load(tmp_path, device="cpu")[0].config.classes.meaning == meaning


@pytest.mark.parametrize(
    ("kind", "settings", "sentence"),
    [
        ("Sequence", {"problem_type": "ranking"}, "problem_type='ranking' is not supported"),
        ("Sequence", {"num_labels": 1, "problem_type": "single_label_classification"}, "one class, of which nothing"),
        ("Token", {"problem_type": "multi_label_classification"}, "supported: 'single_label_classification'"),
        ("Question", {"num_labels": 3}, "id2label has 3 classes; a head for answers has two scores"),
    ],
)
def test_what_are_no_classes_is_refused(tmp_path, kind, settings, sentence):
    kinds = {"Token": hf.BertForTokenClassification, "Question": hf.BertForQuestionAnswering}
    named = {key: one for key, one in settings.items() if key != "problem_type"}
    written(kinds.get(kind, hf.BertForSequenceClassification), SHAPE | named, tmp_path)
    said = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(said | settings))
    with pytest.raises(CheckpointError, match=sentence):
        load(tmp_path)


def test_a_mean_of_states_is_that_of_all_tokens_but_padding(tmp_path):
    theirs = written(hf.ModernBertForSequenceClassification, MODERN | {"classifier_pooling": "mean"}, tmp_path)
    ours, _ = load(tmp_path, device="cpu")
    tokens, real = ids(2, 11), torch.ones(2, 11, dtype=torch.bool)
    real[1, 7:] = False
    scores = ours(tokens, padding_mask=real).logits
    assert difference(scores[:, 0], theirs(tokens, attention_mask=real.long()).logits) < TOLERANCE
    assert scores[1].unique(dim=0).shape == (1, 2)
