"""Folders with the files of a tokenizer and no tokenizer.json, made in the test: what SentencePiece trains, and what
vocab.json, merges.txt and vocab.txt say of a tokenizer of the library."""

import io
import json
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece
import transformers as hf
from transformers.convert_slow_tokenizer import import_protobuf

from tests.tokenizers.test_foreign_tokenizers import byte_level, word_piece

TEXT = """Once upon a time there was a little dog. The little dog had a ball, and the ball was red.
Café, naïve, 犬 and 猫. مرحبا بالعالم  Straße? Не знаю; 日本語テキスト!  the the the dogs' cats 123 4567
"""
NAMES = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "add_bos_token": True, "add_eos_token": False}
LLAMA = {
    "model_type": "bpe",
    "vocab_size": 420,
    "byte_fallback": True,
    "remove_extra_whitespaces": False,
    "normalization_rule_name": "identity",
    "character_coverage": 0.98,
    "allow_whitespace_only_pieces": True,
    "user_defined_symbols": ["<sep>"],
}
GEMMA = LLAMA | {
    "add_dummy_prefix": False,
    "user_defined_symbols": ["▁▁", "▁▁▁", "▁▁▁▁", "\n\n", "<start_of_turn>"],
    "control_symbols": ["<mask>"],
    "pad_id": 0,
    "eos_id": 1,
    "bos_id": 2,
    "unk_id": 3,
    "pad_piece": "<pad>",
    "eos_piece": "<eos>",
    "bos_piece": "<bos>",
}
T5 = {"model_type": "unigram", "vocab_size": 120, "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
DEBERTA = {"model_type": "unigram", "vocab_size": 120, "pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}
DEBERTA |= {"pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"}
UNIGRAM = {"model_type": "unigram", "vocab_size": 120}
BPE = LLAMA | {"user_defined_symbols": [], "byte_fallback": False, "vocab_size": 200}
ALBERT = T5 | {"unk_id": 1, "bos_id": 2, "eos_id": 3, "bos_piece": "[CLS]", "eos_piece": "[SEP]"}
ALBERT |= {"control_symbols": ["[MASK]"]}


def trained(**settings: Any) -> bytes:
    """A SentencePiece model that was trained on TEXT."""
    return _trained(json.dumps(settings))


@cache
def _trained(settings: str) -> bytes:
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT.splitlines() * 3),
        model_writer=written,
        hard_vocab_limit=False,
        minloglevel=2,
        **json.loads(settings),
    )
    return written.getvalue()


def changed(data: bytes, change: Callable[[Any], object]) -> bytes:
    """The same model with a change of its message."""
    message = import_protobuf().ModelProto()
    message.ParseFromString(data)
    change(message)
    return bytes(message.SerializePartialToString())


def pieces(name: str = "tokenizer.model", **settings: Any) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(trained(**settings))


def merges(*special: str) -> Callable[[Path], None]:
    """vocab.json and merges.txt, with these special tokens in the vocabulary."""

    def write(folder: Path) -> None:
        model = json.loads(byte_level().to_str())["model"]
        vocabulary = model["vocab"] | {token: len(model["vocab"]) + i for i, token in enumerate(special)}
        (folder / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
        lines = ["#version: 0.2", *(" ".join(pair) for pair in model["merges"])]
        (folder / "merges.txt").write_text("\n".join(lines) + "\n", "utf-8")

    return write


def words(*special: str) -> Callable[[Path], object]:
    """vocab.txt, with these special tokens behind the others."""
    vocabulary = word_piece().get_vocab()
    listed = [*sorted(vocabulary, key=vocabulary.__getitem__), *special]
    return lambda folder: (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in listed))


def looked_up(name: str, *languages: str, **settings: Any) -> Callable[[Path], None]:
    """A SentencePiece model, and a vocab.json that gives its pieces other ids, lacks some of them, and has others."""

    def write(folder: Path) -> None:
        data = trained(**settings)
        for one in ("source.spm", "target.spm") if name == "source.spm" else (name,):
            (folder / one).write_bytes(data)
        processor = sentencepiece.SentencePieceProcessor(model_proto=data)
        pieces = [processor.id_to_piece(i) for i in range(3, processor.get_piece_size())]
        known = ["<s>", "<pad>", "</s>", "<unk>", *reversed(pieces[:-2]), *languages, "犬", "ё", "▁Bär"]
        numbered = {piece: i for i, piece in enumerate(dict.fromkeys(known))}
        (folder / "vocab.json").write_text(json.dumps(numbered), "utf-8")

    return write


# The class of transformers, the family that has it, the files, and tokenizer_config.json.
KINDS: dict[str, tuple[Any, str, Callable[[Path], object], dict[str, Any]]] = {
    "Llama": (hf.LlamaTokenizer, "llama", pieces(**LLAMA), NAMES),
    "Gemma": (
        hf.GemmaTokenizer,
        "gemma",
        pieces(**GEMMA),
        {"add_bos_token": True, "bos_token": "<bos>", "eos_token": "<eos>"},
    ),
    "T5": (hf.T5Tokenizer, "t5", pieces("spiece.model", **T5), {}),
    "XLM-RoBERTa": (hf.XLMRobertaTokenizer, "xlm-roberta", pieces("sentencepiece.bpe.model", **UNIGRAM), {}),
    "CamemBERT": (hf.CamembertTokenizer, "camembert", pieces("sentencepiece.bpe.model", **UNIGRAM), {}),
    "DeBERTa": (hf.DebertaV2Tokenizer, "deberta-v2", pieces("spm.model", **DEBERTA), {}),
    "first DeBERTa": (hf.DebertaTokenizer, "deberta", merges("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"), {}),
    "GPT-2": (hf.GPT2Tokenizer, "gpt2", merges("<|endoftext|>"), {}),
    "GPT-NeoX": (hf.GPTNeoXTokenizer, "gpt_neox", merges("<|endoftext|>", "<|padding|>"), {}),
    "Qwen2": (hf.Qwen2Tokenizer, "qwen2", merges("<|endoftext|>"), {}),
    "RoBERTa": (hf.RobertaTokenizer, "roberta", merges("<pad>", "<unk>", "<mask>"), {}),
    "BART": (hf.BartTokenizer, "bart", merges("<pad>", "<unk>", "<mask>"), {}),
    "ALBERT": (hf.AlbertTokenizer, "albert", pieces("spiece.model", **ALBERT), {}),
    "mBART": (hf.MBartTokenizer, "mbart", pieces("sentencepiece.bpe.model", **UNIGRAM), {}),
    "mBART-50": (
        hf.MBart50Tokenizer,
        "mbart",
        pieces("sentencepiece.bpe.model", **UNIGRAM),
        {"tokenizer_class": "MBart50Tokenizer", "src_lang": "de_DE"},
    ),
    "Marian": (hf.MarianTokenizer, "marian", looked_up("source.spm", ">>fra<<", **UNIGRAM), {"source_lang": "en"}),
    "M2M100": (hf.M2M100Tokenizer, "m2m_100", looked_up("sentencepiece.bpe.model", **BPE), {"src_lang": "fr"}),
    "MPNet": (hf.MPNetTokenizer, "mpnet", words("<s>", "</s>", "<pad>", "<mask>"), {}),
    "BERT": (hf.BertTokenizer, "bert", words(), {}),
    "DistilBERT": (hf.DistilBertTokenizer, "distilbert", words(), {"do_lower_case": False}),
}


def write(folder: Path, kind: str, **more: Any) -> Any:
    """Write the files of a kind into a folder, without a model.

    Args:
        more: of tokenizer_config.json, besides what the kind has.

    Returns:
        What `transformers` makes of them.
    """
    class_, family, files, said = KINDS[kind]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": family}))
    (folder / "tokenizer_config.json").write_text(json.dumps(said | more))
    files(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Marian's recommends what it never calls
        return class_.from_pretrained(folder)
