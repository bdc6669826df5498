"""The tokenizer of a folder that has no tokenizer.json: from a SentencePiece model, also with a vocab.json that gives
its pieces other ids, from vocab.json and merges.txt (BPE in bytes), or from vocab.txt (WordPiece). Which, and what is
put around a text, follows from the class of `transformers` that tokenizer_config.json names, or else from the family.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tfcore.files import CheckpointError, check_file, read_json, read_text, size
from tfcore.loading import tokenizer_config
from tfcore.loading import tokenizer_json as parts
from tfcore.loading.families.text_parts import settings_of_texts
from tfcore.loading.gguf_tokenizer import CUTS
from tfcore.loading.hub import TOKENIZER_FILES
from tfcore.loading.languages import FAIRSEQ, MBART, MBART50
from tfcore.loading.sentence_piece import SentencePiece, Token, sentence_piece
from tfcore.loading.tokenizer_json import BYTES, CONTROL, NORMAL, UNKNOWN
from tfcore.tokenizers.declared import Declared
from tfcore.tokenizers.foreign import LOOKED_UP
from tfcore.tokenizers.worker import MOST_IDS

PIECES = (
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "spm.model",
)  # SentencePiece's file, whatever it is called
SOURCE = "source.spm"  # Marian's, of the language that is read
VOCABULARY, MERGES, WORDS = "vocab.json", "merges.txt", "vocab.txt"
MOST_EXTRA = 1_000  # extra_ids; T5 has 100
LANGUAGE = "language"
LONGEST_WORD = 100  # characters of a word that WordPiece cuts; a longer one is unknown
_ANY = ("PreTrainedTokenizerFast", "TokenizersBackend", "PreTrainedTokenizer")  # classes that say nothing of the kind
_END = "<|endoftext|>"
_OPEN = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
_FIVE = {**_OPEN, "pad_token": "<pad>", "mask_token": "<mask>", "sep_token": "</s>", "cls_token": "<s>"}


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder without tokenizer.json.

    Args:
        said: its tokenizer_config.json.
        declared: what that and the files beside it say of tokens.
    """

    path: Path
    said: Mapping[str, Any]
    declared: Declared

    def flag(self, name: str, default: bool | None) -> bool | None:
        """A setting that is true, false or, as one that is not stated, null."""
        if not isinstance(value := self.said.get(name), bool | None):
            raise CheckpointError(f"{self.path / tokenizer_config.NAME}: {name} must be true or false")
        return default if value is None else value

    def named(self, name: str) -> str:
        """The text of a token that there must be, such as "unk_token"."""
        if (text := dict(self.declared.names).get(name)) is None:
            raise CheckpointError(f"{self.path / tokenizer_config.NAME} names no {name}, without which no text is read")
        return text

    def lines(self, name: str) -> list[str]:
        """The lines of a file."""
        return read_text(self.path / name, TOKENIZER_FILES[name]).removesuffix("\n").split("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Class:
    """A class of tokenizers.

    Args:
        content: of a tokenizer.json, without what is put around a text.
        files: that it is made of; of each group one.
        usual: its special tokens where nothing else is said, as tokenizer_config.json would.
        around: names of the tokens before and after every text; None: add_bos_token and add_eos_token say whether there
            are any.
        language: the token of the language that is read, which stands where LANGUAGE does in `around`.
        families: model types whose checkpoints have it where they do not say.
    """

    content: Callable[[_Folder], dict[str, Any]]
    files: tuple[tuple[str, ...], ...]
    usual: Mapping[str, Any]
    around: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    families: tuple[str, ...] = ()
    language: Callable[[_Folder], str] | None = None

    def is_there(self, folder: Path) -> bool:
        """Whether a folder has its files."""
        return all(any(_is_there(folder / name) for name in group) for group in self.files)


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def declared_of(folder: Path) -> Declared:
    """The tokens that the files beside a tokenizer declare.

    Raises:
        CheckpointError: one of them is damaged.
    """
    known = None if _is_there(folder / "tokenizer.json") else _class(folder)[1]
    return tokenizer_config.declared_in(folder, None if known is None else known.usual)


def lacking(folder: Path) -> str | None:
    """Why no text can be given to the model of a folder, as the end of a sentence; None where it has a tokenizer.

    Raises:
        CheckpointError: one of its files is damaged, or is no file.
    """
    if _is_there(own := folder / "tokenizer.json"):
        check_file(own)
        return None
    name, known = _class(folder)
    if known is not None and known.is_there(folder):
        for path in filter(_is_there, (folder / file for group in known.files for file in group)):
            check_file(path)
        return None
    why = "has no tokenizer.json, without which no text can be given to the model"
    if not any(_is_there(folder / file) for file in TOKENIZER_FILES):
        return why
    if known is None:
        return f"{why}: of other files, tokenizers of these classes are made, and not {name}: {', '.join(_CLASSES)}"
    return f"{why}; {name} would be made of {' and '.join(' or '.join(group) for group in known.files)}"


def tokenizer_json_of(folder: Path) -> bytes | None:
    """The contents of a tokenizer.json that does what a folder's other files describe; None where it lacks them.

    Raises:
        CheckpointError: a file is damaged, too large, or describes what cannot be read.
    """
    _, known = _class(folder)
    if known is None or not known.is_there(folder):
        return None
    place = _Folder(folder, tokenizer_config.read(folder), tokenizer_config.declared_in(folder, known.usual))
    try:
        content = known.content(place)
        vocabulary = content["vocabulary"] if "vocabulary" in content else content["model"]["vocab"]
        around = parts.around(*_around(place, known, vocabulary))
        content.get("tokenizer", content)["post_processor"] = around
        return parts.written(content)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"the tokenizer in {folder} {error}") from error


def _class(folder: Path) -> tuple[str, _Class | None]:
    """The name of a folder's class, and the class if it is known."""
    config = read_json(folder / "config.json")
    said = tokenizer_config.read(folder).get("tokenizer_class") or config.get("tokenizer_class")
    if isinstance(said, str) and said not in _ANY:
        name = said.removesuffix("Fast")
        return name[:80], _CLASSES.get(name)
    family = settings_of_texts(config).get("model_type")
    usual = ((name, known) for name, known in _CLASSES.items() if family in known.families)
    return next(usual, (f"that of {str(family)[:80]}", None))


def _around(place: _Folder, known: _Class, vocabulary: Any) -> list[list[tuple[str, int]]]:
    """The tokens before and after every text, with their ids."""
    sides: Iterable[tuple[str, ...]] = known.around or _AROUND
    if known.around is None:
        stated = dict(place.declared.names)
        sides = [tuple(n for n in side if place.flag(f"add_{n}", False) and n in stated) for side in sides]
    tokens = vocabulary if isinstance(vocabulary, dict) else {token: i for i, (token, _) in enumerate(vocabulary)}
    numbered = {text: i for text, i, _ in place.declared.tokens if i >= 0}

    def put(name: str) -> tuple[str, int]:
        text = known.language(place) if name == LANGUAGE and known.language is not None else place.named(name)
        if (i := tokens.get(text, numbered.get(text))) is None:
            raise ValueError(f"lacks {text[:80]!r}, which is put around every text")
        return text, i

    return [[put(name) for name in side] for side in sides]


def _language(usual: str, form: str = "{}") -> Callable[[_Folder], str]:
    """The token of the language in src_lang of tokenizer_config.json; `usual` is the language where it says none."""

    def token(place: _Folder) -> str:
        said = place.said.get("src_lang") or usual
        if not isinstance(said, str):
            raise CheckpointError(f"{place.path / tokenizer_config.NAME}: src_lang must be the name of a language")
        return form.format(said)

    return token


# ---- SentencePiece ----


def _model(place: _Folder, names: tuple[str, ...] = PIECES) -> SentencePiece:
    """The SentencePiece model of a folder, which has one of these names."""
    path = next(place.path / name for name in names if _is_there(place.path / name))
    check_file(path)
    if (there := path.stat().st_size) > TOKENIZER_FILES[path.name]:
        raise CheckpointError(f"{path} has {size(there)}, more than the {size(TOKENIZER_FILES[path.name])} such may")
    try:
        return sentence_piece(path.read_bytes())
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise CheckpointError(f"{path} {error}") from error


def _llama(place: _Folder) -> dict[str, Any]:
    model = _model(place)
    prefix = place.flag("add_prefix_space", model.prefix)
    return replace(model, prefix=bool(prefix)).content(bool(place.flag("legacy", False)))


def _t5(place: _Folder) -> dict[str, Any]:
    extra = place.said.get("extra_ids", 100)
    if isinstance(extra, bool) or not isinstance(extra, int) or not 0 <= extra <= MOST_EXTRA:
        raise CheckpointError(f"{place.path / tokenizer_config.NAME}: extra_ids must be 0 to {MOST_EXTRA:,}")
    model = _model(place)
    blanks = [(f"<extra_id_{i}>", 0.0, CONTROL) for i in reversed(range(extra))]
    return replace(model, pieces=[*model.pieces, *blanks]).content(True)


def _xlm_roberta(place: _Folder) -> dict[str, Any]:
    model = _model(place)
    first = [*_special(place, "bos_token", "pad_token", "eos_token"), (place.named("unk_token"), 0.0, UNKNOWN)]
    return replace(model, pieces=[*first, *model.pieces[3:], *_special(place, "mask_token")]).content(True)


def _camembert(place: _Folder) -> dict[str, Any]:
    model = _model(place)
    first: list[Token] = [
        ("<s>NOTUSED", 0.0, NORMAL),
        *_special(place, "pad_token"),
        ("</s>NOTUSED", 0.0, NORMAL),
        (place.named("unk_token"), 0.0, UNKNOWN),
        ("<unk>NOTUSED", -100.0, NORMAL),
    ]
    return replace(model, pieces=[*first, *model.pieces[1:], *_special(place, "mask_token")]).content(True)


def _deberta(place: _Folder) -> dict[str, Any]:
    """Its pieces alone: texts are changed by rules of the class, which leave SentencePiece's aside."""
    model = _model(place)
    there = {piece for piece, _, _ in model.pieces} | {text for text, i, _ in place.declared.tokens if i >= 0}
    names = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
    added = dict.fromkeys(text for name in names if (text := place.named(name)) not in there)
    content = replace(model, pieces=[*model.pieces, *((text, 0.0, CONTROL) for text in added)]).content(True)
    lower: list[dict[str, Any]] = [{"type": "Lowercase"}] if place.flag("do_lower_case", False) else []
    spaces = parts.replace(r"\s{2,}|[\n\r\t]", " ", "Regex")
    steps = [*lower, spaces, {"type": "NFC"}, {"type": "Strip", "strip_left": False, "strip_right": True}]
    cuts: list[dict[str, Any]] = []
    if place.flag("split_by_punct", False):
        cuts.append({"type": "Punctuation", "behavior": "Isolated"})
    scheme = "always" if place.flag("add_prefix_space", True) else "first"
    cuts.append(parts.metaspace(scheme))
    return {
        **content,
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": cuts},
    }


def _albert(place: _Folder) -> dict[str, Any]:
    """Its pieces, and rules of the class before SentencePiece's."""
    model = _model(place)
    steps = [parts.replace("``", '"'), parts.replace("''", '"')]
    if not place.flag("keep_accents", False):
        steps += [{"type": "NFKD"}, {"type": "StripAccents"}]
    if place.flag("do_lower_case", True):
        steps.append({"type": "Lowercase"})
    scheme = "always" if place.flag("add_prefix_space", True) else "never"
    return {**_by_words(model, scheme), "normalizer": {"type": "Sequence", "normalizers": [*steps, *model.replaced]}}


def _by_words(model: SentencePiece, scheme: str) -> dict[str, Any]:
    """The content for texts that are cut at spaces of any kind, and changed in no other way."""
    cuts = [{"type": "WhitespaceSplit"}, parts.metaspace(scheme)]
    return {**model.content(True), "normalizer": None, "pre_tokenizer": {"type": "Sequence", "pretokenizers": cuts}}


def _mbart(place: _Folder) -> dict[str, Any]:
    return _by_words(_with_languages(place, MBART, "bos_token"), "always")


def _mbart50(place: _Folder) -> dict[str, Any]:
    model = _with_languages(place, (*MBART, *MBART50), "cls_token")
    steps = [*model.replaced, parts.replace(" {2,}", " ", "Regex")]
    return {
        **model.content(True),
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": parts.metaspace("always"),
    }


def _with_languages(place: _Folder, languages: tuple[str, ...], begin: str) -> SentencePiece:
    """The model with the special tokens of fairseq at its beginning, the first of which has the name `begin`, and
    languages and a blank at its end."""
    model = _model(place)
    first = [*_special(place, begin, "pad_token", "eos_token"), (place.named("unk_token"), 0.0, UNKNOWN)]
    named = [(language, 0.0, CONTROL) for language in languages]
    blank = (place.named("mask_token"), 0.0, NORMAL)  # whose settings are declared
    return replace(model, pieces=[*first, *model.pieces[3:], *named, blank])


def _marian(place: _Folder) -> dict[str, Any]:
    if place.flag("separate_vocabs", False):
        raise CheckpointError(
            f"{place.path / tokenizer_config.NAME}: separate_vocabs is not supported; supported: false"
        )
    return _looked_up(place, _model(place, (SOURCE,)), (), codes=True)


def _m2m(place: _Folder) -> dict[str, Any]:
    said = place.said.get("language_codes", "m2m100")
    if said not in FAIRSEQ:
        raise CheckpointError(
            f"{place.path / tokenizer_config.NAME}: language_codes must be one of {', '.join(FAIRSEQ)}"
        )
    return _looked_up(place, _model(place), [f"__{code}__" for code in FAIRSEQ[said]], codes=False)


def _looked_up(place: _Folder, model: SentencePiece, more: Collection[str], codes: bool) -> dict[str, Any]:
    """A model whose pieces have the ids of vocab.json.

    Args:
        more: tokens behind those.
        codes: whether a text may begin with a token such as >>fra<<, the language that it is to be translated into.
    """
    vocabulary = _vocabulary(place.path / VOCABULARY)
    vocabulary |= {token: len(vocabulary) + i for i, token in enumerate(more)}
    if (unknown := place.named("unk_token")) not in vocabulary:
        raise CheckpointError(
            f"{place.path / VOCABULARY} lacks {unknown[:80]!r}, which stands for what it has no token for"
        )
    content = model.unnamed().content(True)
    if model.prefix:  # before spaces that a text begins with, too, as SentencePiece itself does
        steps = content["normalizer"]["normalizers"] if content["normalizer"] else []
        content["normalizer"] = {"type": "Sequence", "normalizers": [*steps, {"type": "Prepend", "prepend": " "}]}
        content["pre_tokenizer"] = parts.metaspace("never", model.unigram)
    return {
        "kind": LOOKED_UP,
        "tokenizer": content | {"added_tokens": [one for one in content["added_tokens"] if not one["special"]]},
        "vocabulary": vocabulary,
        "unknown": unknown,
        "codes": codes,
    }


def _special(place: _Folder, *names: str) -> list[Token]:
    return [(place.named(name), 0.0, CONTROL) for name in names]


# ---- BPE in bytes ----


def _bytes(cut: str, nfc: bool) -> Callable[[_Folder], dict[str, Any]]:
    """The content for texts that are cut in this way."""

    def content(place: _Folder) -> dict[str, Any]:
        vocabulary = _vocabulary(place.path / VOCABULARY)
        lines = (line for line in place.lines(MERGES) if line and not line.startswith("#version"))
        prefix = {"add_prefix_space": place.flag("add_prefix_space", False)}
        steps = [{**step, **(prefix if step["type"] == "ByteLevel" else {})} for step in CUTS[cut].steps]
        return {
            "added_tokens": [],
            "normalizer": {"type": "NFC"} if nfc else None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
            "decoder": {**BYTES, "use_regex": True},
            "model": parts.bpe(vocabulary, parts.pairs_of(lines)),
        }

    return content


def _vocabulary(path: Path) -> dict[str, int]:
    """Token -> id, of a vocab.json."""
    said = read_json(path, TOKENIZER_FILES[path.name])
    if any(isinstance(i, bool) or not isinstance(i, int) or not 0 <= i < MOST_IDS for i in said.values()):
        raise CheckpointError(f"{path} must have an id from 0 to {MOST_IDS - 1:,} for each token")
    parts.check_tokens(said)
    return said


# ---- WordPiece ----


def _words(place: _Folder) -> dict[str, Any]:
    vocabulary = {line.rstrip(): i for i, line in enumerate(place.lines(WORDS))}
    parts.check_tokens(vocabulary)
    return {
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": place.flag("tokenize_chinese_chars", True),
            "strip_accents": place.flag("strip_accents", None),
            "lowercase": place.flag("do_lower_case", True),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": place.named("unk_token"),
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": LONGEST_WORD,
            "vocab": vocabulary,
        },
    }


_GEMMA = {
    "unk_token": "<unk>",
    "bos_token": "<bos>",
    "eos_token": "<eos>",
    "pad_token": "<pad>",
    "mask_token": "<mask>",
}
_BERT = {f"{name.lower()}_token": f"[{name}]" for name in ("UNK", "SEP", "PAD", "CLS", "MASK")}
_DEBERTA = {"bos_token": "[CLS]", "eos_token": "[SEP]", **_BERT}
_T5 = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
_GPT2 = dict.fromkeys(("unk_token", "bos_token", "eos_token"), _END)
_QWEN2 = dict.fromkeys(("unk_token", "eos_token", "pad_token"), _END)
_FIFTY = {**_FIVE, "mask_token": {"content": "<mask>", "lstrip": True}}
_MBART50 = {name: token for name, token in _FIFTY.items() if name != "bos_token"}
_MPNET = {**_FIVE, "unk_token": "[UNK]"}
_ALBERT = {**_DEBERTA, "unk_token": "<unk>", "pad_token": "<pad>"}
_MARIAN = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
_M2M = {**_OPEN, "pad_token": "<pad>", "sep_token": "</s>"}
_AROUND, _BETWEEN = (("bos_token",), ("eos_token",)), (("cls_token",), ("sep_token",))
_END_ALONE: tuple[tuple[str, ...], tuple[str, ...]] = ((), ("eos_token",))
_LANGUAGE_FIRST = ((LANGUAGE,), ("eos_token",))
_ONE_MODEL, _IN_BYTES, _IN_WORDS = (PIECES,), ((VOCABULARY,), (MERGES,)), ((WORDS,),)
_BPE = _bytes("gpt-2", nfc=False)
_CLASSES: dict[str, _Class] = {
    "LlamaTokenizer": _Class(
        content=_llama, files=_ONE_MODEL, usual=_OPEN, families=("llama", "mistral", "mixtral", "phi3")
    ),
    "GemmaTokenizer": _Class(
        content=_llama, files=_ONE_MODEL, usual=_GEMMA, families=("gemma", "gemma2", "gemma3_text")
    ),
    "T5Tokenizer": _Class(content=_t5, files=_ONE_MODEL, usual=_T5, around=_END_ALONE, families=("t5", "mt5")),
    "XLMRobertaTokenizer": _Class(
        content=_xlm_roberta, files=_ONE_MODEL, usual=_FIVE, around=_AROUND, families=("xlm-roberta",)
    ),
    "CamembertTokenizer": _Class(
        content=_camembert, files=_ONE_MODEL, usual=_FIVE, around=_AROUND, families=("camembert",)
    ),
    "DebertaV2Tokenizer": _Class(
        content=_deberta, files=_ONE_MODEL, usual=_DEBERTA, around=_BETWEEN, families=("deberta-v2",)
    ),
    "DebertaTokenizer": _Class(content=_BPE, files=_IN_BYTES, usual=_DEBERTA, around=_BETWEEN, families=("deberta",)),
    "GPT2Tokenizer": _Class(
        content=_BPE, files=_IN_BYTES, usual=_GPT2, families=("gpt2", "gpt_neo", "opt", "starcoder2")
    ),
    "GPTNeoXTokenizer": _Class(
        content=_bytes("gpt-2", nfc=True),
        files=_IN_BYTES,
        usual={**_GPT2, "pad_token": "<|padding|>"},
        families=("gpt_neox", "mpt", "olmoe"),
    ),
    "Qwen2Tokenizer": _Class(
        content=_bytes("qwen2", nfc=True),
        files=_IN_BYTES,
        usual=_QWEN2,
        families=("qwen2", "qwen3", "qwen2_moe", "qwen3_moe"),
    ),
    "RobertaTokenizer": _Class(content=_BPE, files=_IN_BYTES, usual=_FIVE, around=_BETWEEN, families=("roberta",)),
    "AlbertTokenizer": _Class(content=_albert, files=_ONE_MODEL, usual=_ALBERT, around=_BETWEEN, families=("albert",)),
    "MBartTokenizer": _Class(
        content=_mbart,
        files=_ONE_MODEL,
        usual=_FIFTY,
        around=((), ("eos_token", LANGUAGE)),
        families=("mbart",),
        language=_language("en_XX"),
    ),
    "MBart50Tokenizer": _Class(
        content=_mbart50, files=_ONE_MODEL, usual=_MBART50, around=_LANGUAGE_FIRST, language=_language("en_XX")
    ),
    "MarianTokenizer": _Class(
        content=_marian, files=((SOURCE,), (VOCABULARY,)), usual=_MARIAN, around=_END_ALONE, families=("marian",)
    ),
    "M2M100Tokenizer": _Class(
        content=_m2m,
        files=(PIECES, (VOCABULARY,)),
        usual=_M2M,
        around=_LANGUAGE_FIRST,
        families=("m2m_100",),
        language=_language("en", "__{}__"),
    ),
    "MPNetTokenizer": _Class(content=_words, files=_IN_WORDS, usual=_MPNET, around=_BETWEEN, families=("mpnet",)),
    "BartTokenizer": _Class(content=_BPE, files=_IN_BYTES, usual=_FIVE, around=_BETWEEN, families=("bart",)),
    "BertTokenizer": _Class(
        content=_words, files=_IN_WORDS, usual=_BERT, around=_BETWEEN, families=("bert", "nomic_bert")
    ),
    "DistilBertTokenizer": _Class(
        content=_words, files=_IN_WORDS, usual=_BERT, around=_BETWEEN, families=("distilbert",)
    ),
}
