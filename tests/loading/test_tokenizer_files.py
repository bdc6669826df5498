"""Tokenizers of folders without tokenizer.json: the ids of `transformers`, and of SentencePiece, for awkward texts; and
files that are damaged or hostile."""

import json
import os
import random
import re
from dataclasses import replace

import pytest
import sentencepiece

import tfcore
from pages.ui.loading import model_settings
from tests.bounded import taken
from tests.nightly import often
from tests.old_tokenizers import GEMMA, KINDS, LLAMA, UNIGRAM, changed, trained, write
from tests.parity.checkpoints import DECODERS, written
from tests.small import model
from tests.tokenizers.test_foreign_tokenizers import byte_level
from tfcore import CheckpointError
from tfcore.loading import hub
from tfcore.loading import tokenizer_json as parts
from tfcore.loading.checkpoints import _read_tokenizer, estimate
from tfcore.loading.sentence_piece import sentence_piece
from tfcore.loading.special_tokens import special_tokens
from tfcore.loading.tokenizer_files import PIECES, declared_of, lacking, tokenizer_json_of
from tfcore.tokenizers.foreign import tokenizer_of
from tfcore.tokenizers.isolated import IsolatedTokenizer
from tfcore.tokenizers.typed_text import marked, spelt

AWKWARD = (
    "",
    " ",
    "The little dog",
    " the  dog ",
    "    five",
    "a\n\nb\tc \n",
    "Café naïve e\u0301 Straße ŒÅ",
    "犬猫 日本語テキスト",
    "مرحبا بالعالم",
    "🐱👩\u200d👩\u200d👧 x",
    "\x00\x07\x7f\u200b\ufeff",
    "a▁b ▁ ▁▁",
    "ﬁ Å½ x² ①",
    "the\u00a0the\u3000the\u2028the",
    "x" * 120,
    "aaaaaaaaa ababab",
    "don't we'll 12345 67",
    "<s> dog</s> [SEP]a<unk>",
    "a<sep>b <sep> c<start_of_turn>d",
    "<|endoftext|>a <|padding|>",
)
WITH_BLANKS = ("a <mask> dog<mask>", "the [MASK] dog[MASK].", "<extra_id_0> the <extra_id_99>dog")


def drawn(n: int = 60) -> list[str]:
    """Texts of awkward pieces in any order."""
    draw = random.Random(0)
    parts = [part for text in AWKWARD[2:] for part in (text, *text.split(), *text[:4])]
    return ["".join(draw.choices([*parts, " ", "  ", "\n"], k=draw.randint(1, 6))) for _ in range(n)]


def ours_of(folder):
    """The tokenizer of a folder, in this process, where it is quicker."""
    return tokenizer_of(tokenizer_json_of(folder).decode(), declared_of(folder))


def check_same(ours, theirs):
    """The same tokens, and the same ids for every text: special tokens as text, and as tokens where they are marked."""
    assert ours.vocab_size == len(theirs) + len(getattr(theirs, "lang_token_to_id", ()))  # which M2M100 does not count
    assert dict(ours.special_tokens) == {t.content: i for i, t in theirs.added_tokens_decoder.items() if t.special}
    for text in (*AWKWARD, *drawn()):
        assert ours.encode(text) == theirs(text, split_special_tokens=True).input_ids, text
    for text in (*AWKWARD, *WITH_BLANKS):
        assert ours.encode(marked(text, ours.special_tokens)) == theirs(text).input_ids, text


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_of_transformers(kind, tmp_path):
    theirs = write(tmp_path, kind)
    ours = ours_of(tmp_path)
    check_same(ours, theirs)
    for text in ("the little dog had a ball.", "the red ball"):
        back = theirs.decode(theirs(text).input_ids, skip_special_tokens=True)
        assert ours.decode(ours.encode(text)) == back.removeprefix("__fr__ ")  # a language is text to M2M100
    named = {name: text for name, text in theirs.special_tokens_map.items() if isinstance(text, str)}
    assert dict(declared_of(tmp_path).names) == named
    assert not spelt(ours, "a dog [MASK]").text


MASK = {"content": "<mask>", "lstrip": True, "rstrip": False, "normalized": True, "single_word": False}
SAID = {
    "no tokens around": ("Llama", {"add_bos_token": False}, {}),
    "nothing said of tokens around": ("Llama", {"add_bos_token": None}, {}),
    "an end as well": ("Llama", {"add_eos_token": True}, {}),
    "spaces of the old kind": ("Llama", {"legacy": True}, {}),
    "no space in front": ("Llama", {"add_prefix_space": False}, {}),
    "tokens that were added": ("Llama", {"pad_token": "[PAD]"}, {"added_tokens.json": {"[PAD]": 420, "<img>": 421}}),
    "other names": ("Llama", {"bos_token": "</s>"}, {}),
    "fewer blanks": ("T5", {"extra_ids": 3}, {}),
    "around a text in bytes": ("GPT-2", {"add_bos_token": True}, {}),
    "a space in front, in bytes": ("GPT-2", {"add_prefix_space": True}, {}),
    "a blank with its space": ("RoBERTa", {}, {"special_tokens_map.json": {"mask_token": MASK}}),
    "the same, where it is listed": (
        "RoBERTa",
        {"added_tokens_decoder": {"315": MASK | {"special": True}}, "mask_token": "<mask>"},
        {},
    ),
    "pieces in lower case, cut at punctuation": (
        "DeBERTa",
        {"do_lower_case": True, "split_by_punct": True},
        {"added_tokens.json": {"[MASK]": 76}},
    ),
    "pieces without a space in front": ("DeBERTa", {"add_prefix_space": False}, {}),
    "capitals": ("BERT", {"do_lower_case": False}, {}),
    "accents": ("BERT", {"strip_accents": False}, {}),
    "no accents, and capitals": ("BERT", {"do_lower_case": False, "strip_accents": True}, {}),
    "Chinese in words": ("BERT", {"tokenize_chinese_chars": False}, {}),
    "its own start": ("BERT", {"cls_token": "[SEP]"}, {}),
    "capitals and accents": ("ALBERT", {"do_lower_case": False, "keep_accents": True}, {}),
    "another language at the end": ("mBART", {"src_lang": "ro_RO"}, {}),
    "English": ("mBART-50", {"src_lang": None}, {}),
    "a few languages": ("M2M100", {"language_codes": "wmt21", "src_lang": "is"}, {}),
    "words with capitals": ("MPNet", {"do_lower_case": False}, {}),
}


@pytest.mark.parametrize(("kind", "said", "files"), SAID.values(), ids=list(SAID))
def test_settings_do_what_they_do_in_transformers(kind, said, files, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    theirs = write(tmp_path, kind, **said)
    check_same(ours_of(tmp_path), theirs)


def test_a_text_says_what_it_is_translated_into(tmp_path):
    theirs = write(tmp_path / "marian", "Marian")
    ours = ours_of(tmp_path / "marian")
    for text in (">>fra<< The little dog", ">>fra<<犬", ">>none<< a", ">>fra a<<b", ">> <<", " >>fra<< a", ">>fra", ""):
        ids, places = ours.encode(text), ours.offsets(text)
        assert ids == theirs(text).input_ids, text
        assert len(places) == len(ids)
        assert all(0 <= a <= b <= len(text) for a, b in places)
    assert ours.offsets(">>fra<<dog")[0] == (0, 7)
    ours.save(tmp_path)
    again = tokenizer_of((tmp_path / "tokenizer.json").read_text())
    assert again.encode(">>fra<< The 犬") == ours.encode(">>fra<< The 犬")


# ---- SentencePiece ----

PLAIN = UNIGRAM | {"normalization_rule_name": "identity"}
TRAINED = {
    "merges": LLAMA | {"user_defined_symbols": []},
    "merges, unknown characters unknown": LLAMA | {"byte_fallback": False, "user_defined_symbols": []},
    "merges, no space in front": GEMMA | {"user_defined_symbols": [], "control_symbols": []},
    "merges, spaces taken out": LLAMA | {"remove_extra_whitespaces": True, "user_defined_symbols": []},
    "merges, characters replaced": LLAMA
    | {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True, "user_defined_symbols": []},
    "pieces": UNIGRAM,
    "pieces, characters as they are": PLAIN,
    "pieces, bytes": UNIGRAM | {"byte_fallback": True, "vocab_size": 420},
    "pieces, no space in front": UNIGRAM | {"add_dummy_prefix": False},
    "pieces, lower case": UNIGRAM | {"normalization_rule_name": "nmt_nfkc_cf"},
}


@pytest.mark.parametrize("settings", TRAINED.values(), ids=list(TRAINED))
def test_a_model_is_read_as_sentencepiece_reads_it(settings):
    """Texts that begin with a space and keep it are left out: there `transformers` puts none in front, and so do we;
    and, where spaces are taken out, those with the sign for one."""
    data = trained(**settings)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=data)
    ours = tokenizer_of(parts.written(sentence_piece(data).content() | {"post_processor": None}).decode())
    assert ours.vocab_size == theirs.get_piece_size()
    kept = settings.get("remove_extra_whitespaces") is False
    for text in (*AWKWARD, *drawn()):
        other = text.startswith((" ", "▁")) if kept else "▁" in text
        if not other and not any(token in text for token in (*ours.special_tokens, "<unk>")):
            assert ours.encode(text) == theirs.encode(text), text
    for text in ("The little dog had a ball.", "red ball"):
        assert ours.decode(ours.encode(text)) == theirs.decode(theirs.encode(text))


def piece(message, **values):
    """One piece more, or for `i` another one."""
    one = message.pieces[values.pop("i")] if "i" in values else message.pieces.add()
    for name, value in values.items():
        setattr(one, name, value)


def of_spec(**values):
    """A change of settings, of the trainer or of the normalizer."""

    def change(message):
        for name, value in values.items():
            spec = message.trainer_spec if hasattr(message.trainer_spec, name) else message.normalizer_spec
            setattr(spec, name, value)

    return change


DAMAGED = {
    "nothing": (lambda _: b"", "is no SentencePiece model"),
    "text": (lambda _: b"IQ== 0\nIg== 1\n" * 9, "is no SentencePiece model"),
    "cut": (lambda data: data[: len(data) // 2 + 1], "is no SentencePiece model, or is cut short"),
    "a length beyond the end": (lambda _: b"\x0a\xff\xff\xff\xff\x0f", "is no SentencePiece model, or is cut short"),
    "a number without end": (lambda _: b"\xff" * 40, "is no SentencePiece model, or is cut short"),
    "a type of field that is none": (lambda data: data + b"\x0f", "is no SentencePiece model"),
    "a piece that is a number": (lambda data: data + b"\x0a\x02\x08\x01", "is no SentencePiece model"),
    "settings that are texts": (lambda data: data + b"\x12\x02\x1a\x00", "is no SentencePiece model"),
    "a piece that is no text": (lambda data: data + b"\x0a\x03\x0a\x01\xff", "has a piece that is no text"),
    "a score that is none": (
        lambda data: changed(data, lambda m: piece(m, i=9, score=float("nan"))),
        "has a piece whose score is no finite number",
    ),
    "a piece out of use": (
        lambda data: changed(data, lambda m: piece(m, i=9, type=5)),
        "has pieces that are not in use, which cannot be left out here",
    ),
    "words": (
        lambda data: changed(data, of_spec(model_type=3)),
        "is of SentencePiece's kind WORD; UNIGRAM and BPE can be read",
    ),
    "spaces behind": (
        lambda data: changed(data, of_spec(treat_whitespace_as_suffix=True)),
        "writes spaces behind words",
    ),
    "spaces as they are": (lambda data: changed(data, of_spec(escape_whitespaces=False)), "keeps spaces as they are"),
    "a long piece": (
        lambda data: changed(data, lambda m: piece(m, piece="x" * 2_000)),
        "has a token of 2,000 characters, and at most 1,024",
    ),
    "a piece twice": (lambda data: changed(data, lambda m: piece(m, piece="dog<")) * 2, "has the same token twice"),
    "a start that is not there": (
        lambda data: changed(data, lambda m: piece(m, i=1, piece="<x>")),
        "lacks '<s>', which is put around every text",
    ),
    "replaced characters that are none": (
        lambda data: changed(data, of_spec(precompiled_charsmap=b"\xff\xff")),
        "has a tokenizer that cannot be used",
    ),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGED.values(), ids=list(DAMAGED))
def test_a_damaged_model_is_refused_in_a_sentence(damage, message, tmp_path):
    write(tmp_path, "Llama")
    (tmp_path / "tokenizer.model").write_bytes(damage(trained(**LLAMA)))
    refused(tmp_path, message)


def refused(folder, message):
    """The tokenizer of a folder is refused: nothing else of it is looked at."""
    with pytest.raises(CheckpointError) as error:
        _read_tokenizer(folder, model().config.changed(vocab_size=2_000))
    assert message in str(error.value)
    assert str(folder) in str(error.value)
    assert "\n" not in str(error.value)


FILES = {
    "ids that are none": ("GPT-2", "vocab.json", '{"a": "b"}', "vocab.json must have an id from 0 to 999,999"),
    "an id beyond all": ("GPT-2", "vocab.json", '{"a": 1000000}', "vocab.json must have an id from 0 to 999,999"),
    "a list": ("GPT-2", "vocab.json", "[]", "vocab.json must hold a JSON object"),
    "a long token": ("GPT-2", "vocab.json", json.dumps({"x" * 2_000: 0}), "has a token of 2,000 characters"),
    "a merge of three": ("GPT-2", "merges.txt", "a b c", "has a merge that does not join two pieces"),
    "a merge of others": ("GPT-2", "merges.txt", "犬 猫", "has a tokenizer that cannot be used"),
    "no merges": ("GPT-2", "merges.txt", None, None),
    "words that are no text": ("BERT", "vocab.txt", b"\xff\xfe", "vocab.txt cannot be read as text"),
    "no start": ("BERT", "vocab.txt", "[UNK]\n[SEP]\na", "lacks '[CLS]', which is put around every text"),
    "a long word": ("BERT", "vocab.txt", "[UNK]\n[CLS]\n[SEP]\n" + "x" * 2_000, "has a token of 2,000 characters"),
    "capitals that are a text": (
        "BERT",
        "tokenizer_config.json",
        '{"do_lower_case": "yes"}',
        "tokenizer_config.json: do_lower_case must be true or false",
    ),
    "a start that is null": (
        "BERT",
        "tokenizer_config.json",
        '{"cls_token": null}',
        "tokenizer_config.json names no cls_token",
    ),
    "no unknown": ("Marian", "vocab.json", '{"</s>": 0, "<pad>": 1}', "vocab.json lacks '<unk>', which stands for"),
    "ids of pieces that are none": (
        "M2M100",
        "vocab.json",
        '{"a": -1}',
        "vocab.json must have an id from 0 to 999,999",
    ),
    "two vocabularies": (
        "Marian",
        "tokenizer_config.json",
        '{"separate_vocabs": true}',
        "separate_vocabs is not supported; supported: false",
    ),
    "a language that is a number": (
        "mBART",
        "tokenizer_config.json",
        '{"src_lang": 7}',
        "src_lang must be the name of",
    ),
    "a language that is none": (
        "M2M100",
        "tokenizer_config.json",
        '{"src_lang": "xx"}',
        "lacks '__xx__', which is put around every text",
    ),
    "languages that are none": (
        "M2M100",
        "tokenizer_config.json",
        '{"language_codes": "all"}',
        "language_codes must be one of m2m100, wmt21",
    ),
    "a million blanks": ("T5", "tokenizer_config.json", '{"extra_ids": 1000000}', "extra_ids must be 0 to 1,000"),
    "an added token without id": (
        "Llama",
        "added_tokens.json",
        '{"[PAD]": "x"}',
        "added_tokens.json must have an id for each token",
    ),
}


@pytest.mark.parametrize(("kind", "name", "content", "message"), FILES.values(), ids=list(FILES))
def test_a_damaged_file_is_refused_in_a_sentence(kind, name, content, message, tmp_path):
    write(tmp_path, kind)
    if content is None:
        (tmp_path / name).unlink()
        assert lacking(tmp_path) == (
            "has no tokenizer.json, without which no text can be given to the model; GPT2Tokenizer would be made of "
            "vocab.json and merges.txt"
        )
        return
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(tmp_path, message)


LARGE = {
    "one long piece": lambda message: piece(message, piece="x" * 9_000_000),
    "long pieces": lambda message: [piece(message, piece=f"{i:05d}" + "x" * 1_000) for i in range(9_000)],
    "pieces of each other": lambda message: [piece(message, piece="a" * k) for k in range(2, 1_025)],
    "user-defined pieces": lambda message: [piece(message, piece=f"{i:x}", type=4) for i in range(200_000)],
}


@pytest.mark.parametrize("name", often(LARGE, ["pieces of each other"]))
def test_a_model_takes_what_its_size_allows(name):
    """Merges are found in the time and memory that a vocabulary of the size of LLaMA's takes."""
    plain = changed(trained(**LLAMA), lambda m: [piece(m, piece=f"{i:x}") for i in range(420, 32_000)])
    data = changed(trained(**LLAMA), LARGE[name])
    control = taken(lambda: sentence_piece(plain).content())

    def read() -> None:
        with pytest.raises(ValueError, match="has "):
            sentence_piece(data).content()

    found = taken(read)
    assert found.megabytes < control.megabytes + 60
    assert found.held < 3 * control.held + 0.5


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    write(tmp_path, "Llama")
    with (tmp_path / "tokenizer.model").open("ab") as file:
        file.truncate(10_000_001)
    refused(tmp_path, "tokenizer.model has 10.0 MB, more than the 10.0 MB such may")


# ---- a whole folder ----


@pytest.fixture
def folder(tmp_path):
    """A tiny LLaMA with a SentencePiece model."""
    class_, settings = DECODERS["llama"]
    written(class_, settings | {"vocab_size": 430}, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    write(tmp_path, "Llama")
    (tmp_path / "config.json").write_text(json.dumps(config))
    return tmp_path


def test_a_folder_with_it_opens_runs_and_is_saved(folder, tmp_path_factory):
    theirs = KINDS["Llama"][0].from_pretrained(folder)
    assert estimate(folder).parameters > 0
    network, ours = tfcore.load(folder, device="cpu")
    assert isinstance(ours, IsolatedTokenizer), "in a process of its own"
    for text in AWKWARD:
        assert ours.encode(text) == theirs(text, split_special_tokens=True).input_ids, text
    assert dict(special_tokens(folder, ours).names) == theirs.special_tokens_map
    assert ours.special_tokens["</s>"] in special_tokens(folder, ours).ends
    again = tmp_path_factory.mktemp("again")
    tfcore.save(network, again, ours)
    assert tfcore.load(again, device="cpu")[1].encode(AWKWARD[3]) == ours.encode(AWKWARD[3])


def test_where_there_is_a_tokenizer_json_the_others_are_not_looked_at(folder):
    byte_level().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer.model").write_bytes(b"damaged")
    assert tfcore.load(folder, device="cpu")[1].encode("a dog") == byte_level().encode("a dog").ids


def test_what_is_no_file_is_refused_before_anything_is_loaded(folder):
    path = next(folder / name for name in PIECES if (folder / name).exists())
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(CheckpointError, match=f"{path.name} is no ordinary file"):
        estimate(folder)


def test_a_class_that_is_not_known_is_named(folder):
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "NllbTokenizer"}))
    with pytest.raises(CheckpointError, match="these classes are made, and not NllbTokenizer: LlamaTok"):
        estimate(folder)
    assert tfcore.load(folder, device="cpu")[1] is None
    for name in PIECES:
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(
        CheckpointError, match=r"has no tokenizer\.json, without which no text can be given to the model$"
    ):
        estimate(folder)


@pytest.mark.parametrize("name", [*hub.TOKENIZER_FILES])
def test_a_link_that_leads_out_is_refused(name, folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "file"
    outside.write_bytes(b"secret")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(outside)
    settings = replace(model_settings.read(), policy="any", folder=folder.parent)
    with pytest.raises(ValueError, match=f"^{re.escape(name)} is a link that leads out of the folder"):
        settings.place(f"./{folder.name}")


@pytest.mark.parametrize("there", [True, False])
def test_the_hub_is_asked_for_them_where_there_is_no_tokenizer_json(there, served):
    place = served.root / "tiny/gpt2"
    expected = tfcore.load(place, device="cpu")[1].encode("a dog")
    content = json.loads((place / "tokenizer.json").read_text())["model"]
    (place / "vocab.json").write_text(json.dumps(content["vocab"]))
    (place / "merges.txt").write_text("\n".join(" ".join(pair) for pair in content["merges"]))
    if not there:
        (place / "tokenizer.json").unlink()
    assert estimate("tiny/gpt2").parameters > 0
    assert tfcore.load("tiny/gpt2", device="cpu")[1].encode("a dog") == expected
    others = {"vocab.json", "merges.txt"}
    assert others & set(served.asked) == (set() if there else others)


def test_one_that_the_hub_says_is_too_large_is_not_fetched(served):
    (served.root / "tiny/gpt2" / "tokenizer.json").unlink()
    (served.root / "tiny/gpt2" / "merges.txt").write_text("a b")
    served.sizes["merges.txt"] = 10_000_001
    with pytest.raises(
        CheckpointError, match=r"merges\.txt of tiny/gpt2 has 10\.0 MB, more than the 10\.0 MB such may"
    ):
        estimate("tiny/gpt2")
    assert "merges.txt" not in served.asked
