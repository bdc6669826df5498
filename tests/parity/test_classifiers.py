"""Models fine-tuned to tell classes apart, written by `transformers` and read by tfcore.load, give the same scores."""

import json

import pytest
import torch
import transformers as hf
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.processors import TemplateProcessing

from tests.nightly import often_named
from tests.parity.checkpoints import (
    BART,
    BOTH,
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
    T5,
    written,
)
from tests.parity.comparing import TOLERANCE
from tests.small import difference, ids
from tfcore import load
from tfcore.config import ModelConfig
from tfcore.files import CheckpointError
from tfcore.loading.against_transformers import compared
from tfcore.measures.parameter_count import built_parameters, parameters

STARTED = T5 | {"decoder_start_token_id": 0}
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
    "arcee, tokens": (hf.ArceeForTokenClassification, GROUPED, "each"),
    "ministral3, texts": (hf.Ministral3ForSequenceClassification, DECODERS["ministral3"][1], "last"),
    "apertus, tokens": (hf.ApertusForTokenClassification, DECODERS["apertus"][1], "each"),
    "nemotron, texts": (hf.NemotronForSequenceClassification, DECODERS["nemotron"][1], "last"),
    "starcoder2, tokens": (hf.Starcoder2ForTokenClassification, DECODERS["starcoder2"][1], "each"),
    "smollm3, texts": (
        hf.SmolLM3ForSequenceClassification,
        GROUPED | {"num_hidden_layers": 3, "pad_token_id": 0},
        "last",
    ),
    "bart, texts": (hf.BartForSequenceClassification, BART | THREE, "last"),
    "bart, several, unequal": (
        hf.BartForSequenceClassification,
        BART
        | {"problem_type": "multi_label_classification", "encoder_layers": 1, "scale_embedding": True}
        | {"eos_token_id": 7, "decoder_start_token_id": 5, "activation_function": "relu"},
        "last",
    ),
    "mbart, texts": (hf.MBartForSequenceClassification, BART | THREE, "last"),
    "t5, texts": (hf.T5ForSequenceClassification, STARTED | THREE | {"num_decoder_layers": 3}, "last"),
    "t5, tokens": (hf.T5ForTokenClassification, BOTH["t5 1.1"][1] | THREE, "each"),
    "mt5, texts": (hf.MT5ForSequenceClassification, STARTED | {"decoder_start_token_id": 3}, "last"),
    "mt5, tokens": (hf.MT5ForTokenClassification, T5 | THREE, "each"),
    "umt5, texts": (hf.UMT5ForSequenceClassification, STARTED | BOTH["umt5, unequal, few buckets"][1], "last"),
    "umt5, tokens": (hf.UMT5ForTokenClassification, T5 | {"num_layers": 3}, "each"),
}


def tokens_of(model):
    """A text as its head reads one: with the token at the end at which its class is read."""
    tokens = ids(1, 13)
    if model.config.classes.end_id is not None:
        tokens[0, -1] = model.config.classes.end_id
    return tokens


@pytest.mark.parametrize(
    "case",
    often_named(
        CASES, "bert, texts", "roberta, texts", "modernbert, texts", "llama, texts", "bart, texts", "t5, texts"
    ),
)
def test_classes_are_scored_alike(tmp_path, case):
    kind, settings, place = case
    theirs = written(kind, settings, tmp_path)
    ours, _ = load(tmp_path, device="cpu")
    classes = ours.config.classes
    assert (classes.place, classes.labels) == (place, tuple(theirs.config.id2label.values()))
    tokens = tokens_of(ours)
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
    "llama": (hf.LlamaForQuestionAnswering, GROUPED | {"tie_word_embeddings": True}),
    "mistral": (hf.MistralForQuestionAnswering, GROUPED | {"sliding_window": 5}),
    "ministral3": (hf.Ministral3ForQuestionAnswering, DECODERS["ministral3"][1]),
    "ministral": (hf.MinistralForQuestionAnswering, GROUPED),
    "mixtral": (hf.MixtralForQuestionAnswering, DECODERS["mixtral"][1]),
    "qwen2": (hf.Qwen2ForQuestionAnswering, GROUPED),
    "qwen2 mixture": (hf.Qwen2MoeForQuestionAnswering, DECODERS["qwen2 mixture"][1]),
    "qwen3": (hf.Qwen3ForQuestionAnswering, GROUPED),
    "qwen3 mixture": (hf.Qwen3MoeForQuestionAnswering, DECODERS["qwen3 mixture"][1]),
    "smollm3": (hf.SmolLM3ForQuestionAnswering, GROUPED | {"num_hidden_layers": 3, "pad_token_id": 0}),
    "exaone4": (hf.Exaone4ForQuestionAnswering, DECODERS["exaone4"][1]),
    "opt": (hf.OPTForQuestionAnswering, DECODERS["opt"][1]),
    "gpt-j": (hf.GPTJForQuestionAnswering, DECODERS["gpt-j"][1]),
    "arcee": (hf.ArceeForQuestionAnswering, GROUPED),
    "nemotron": (hf.NemotronForQuestionAnswering, DECODERS["nemotron"][1]),
    "gpt2": (hf.GPT2ForQuestionAnswering, GPT2),
    "pythia": (hf.GPTNeoXForQuestionAnswering, NEOX),
    "gpt-neo": (hf.GPTNeoForQuestionAnswering, DECODERS["gpt-neo"][1]),
    "bloom": (hf.BloomForQuestionAnswering, DECODERS["bloom"][1]),
    "mpt": (hf.MptForQuestionAnswering, DECODERS["mpt"][1]),
    "falcon": (hf.FalconForQuestionAnswering, DECODERS["falcon, grouped"][1]),
    "bart": (hf.BartForQuestionAnswering, BART),
    "mbart": (hf.MBartForQuestionAnswering, BART | {"scale_embedding": True}),
    "t5": (hf.T5ForQuestionAnswering, STARTED),
    "mt5": (hf.MT5ForQuestionAnswering, STARTED | {"num_decoder_layers": 1}),
    "umt5": (hf.UMT5ForQuestionAnswering, STARTED),
}


@pytest.mark.parametrize("case", often_named(SPANS, "bert", "llama"))
def test_ends_of_answers_are_scored_alike(tmp_path, case):
    kind, settings = case
    theirs = written(kind, settings, tmp_path)
    ours, _ = load(tmp_path, device="cpu")
    assert (ours.config.classes.meaning, ours.config.classes.labels) == ("span", ("start", "end"))
    tokens = tokens_of(ours)
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


@pytest.mark.parametrize("behind", ["[A]", "[B]"])
def test_a_class_is_read_at_the_token_that_ends_texts(tmp_path, behind):
    """`transformers` looks for it: a tokenizer that puts another one behind texts would make other classes of them."""
    written(hf.BartForSequenceClassification, BART, tmp_path)
    tokenizer = Tokenizer(WordPiece({"[A]": 1, "[B]": 2, "?": 3}, unk_token="?"))
    tokenizer.post_processor = TemplateProcessing(single=f"$A {behind}", special_tokens=[("[A]", 1), ("[B]", 2)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    if behind == "[B]":
        assert load(tmp_path, device="cpu")[0].config.classes.end_id == 2
        return
    with pytest.raises(
        CheckpointError, match=r"does not end texts with token 2 \(eos_token_id\), at which their class"
    ):
        load(tmp_path, device="cpu")
