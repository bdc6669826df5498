"""Tokenizers of published checkpoints: what the `tokenizers` library makes of the same file is what we give."""

import json

import pytest
from tokenizers import Tokenizer as HFTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from tfcore.measures.token_pieces import cut_text
from tfcore.tokenizers.foreign import ForeignTokenizer, load_tokenizer
from tfcore.tokenizers.isolated import IsolatedTokenizer, read_tokenizer
from tfcore.tokenizers.tokenizer import BPETokenizer, Tokenizer
from tfcore.views.foundations.tokens.say.text import changed_text

TEXT = "Once upon a time there was a little dog. The little dog had a ball, and the ball was red. Café, naïve, 犬.\n"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def trained(inner, trainer, around=None, special=()):
    """Trained on a few lines, with tokens put around a text."""
    inner.train_from_iterator([TEXT] * 5, trainer)
    if around:
        tokens = [(token, inner.token_to_id(token)) for token in special]
        inner.post_processor = processors.TemplateProcessing(single=around, special_tokens=tokens)
    return inner


def byte_level(around=None, special=()):
    """Like GPT-2's and, with <s>, LLaMA 3's."""
    inner = HFTokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    return trained(inner, trainer, around, special)


def word_piece():
    """Like BERT's."""
    inner = HFTokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.normalizer, inner.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    inner = trained(inner, trainer, "[CLS] $A [SEP]", ("[CLS]", "[SEP]"))
    inner.enable_truncation(4)  # as some files say, and no reader means
    inner.enable_padding(length=4)
    return inner


def unigram():
    """Like T5's."""
    inner = HFTokenizer(models.Unigram())
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>", "<extra_id_0>"]
    trainer = trainers.UnigramTrainer(vocab_size=70, special_tokens=special, unk_token="<unk>", show_progress=False)
    return trained(inner, trainer, "$A </s>", ("</s>",))


def pieces():
    """Like LLaMA 2's and Gemma's: spaces as a character of their own, unknown characters as bytes."""
    inner = HFTokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    inner.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=["<unk>", "<s>", "</s>", *BYTES], show_progress=False)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    inner.decoder = decoders.Sequence(steps)
    return trained(inner, trainer, "<s> $A", ("<s>",))


FILES = {
    "byte-level": byte_level("<s> $A", ("<s>",)),
    "WordPiece": word_piece(),
    "Unigram": unigram(),
    "pieces": pieces(),
}
every = pytest.mark.parametrize("inner", FILES.values(), ids=list(FILES))


def loaded(inner, folder):
    inner.save(str(folder / "tokenizer.json"))
    return load_tokenizer(folder / "tokenizer.json")


@every
@pytest.mark.parametrize("text", ["The little dog had a ball, once.", "", "naïve 犬 €", "  two  spaces\nand a line"])
def test_ids_are_the_librarys(inner, text, tmp_path):
    tokenizer = loaded(inner, tmp_path)
    assert isinstance(tokenizer, ForeignTokenizer)
    assert isinstance(tokenizer, Tokenizer)
    plain = HFTokenizer.from_str(inner.to_str())
    plain.no_truncation()
    plain.no_padding()
    ids = tokenizer.encode(text)
    assert ids == plain.encode(text).ids
    assert tokenizer.decode(ids) == plain.decode(plain.encode(text, add_special_tokens=False).ids, False)
    assert tokenizer.vocab_size == inner.get_vocab_size()
    assert len(tokenizer.tokens(ids)) == len(ids)


@pytest.mark.parametrize("name", ["byte-level", "pieces"])
def test_these_give_any_text_back(name, tmp_path):
    tokenizer = loaded(FILES[name], tmp_path)
    for text in (TEXT, "€ 犬", "x" * 50, "👩‍👩‍👧 e\u0301"):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        inside = b"".join(tokenizer.token_bytes(i) for i in ids[1:])
        assert inside.decode().removeprefix(" ") == text


def test_tokens_are_readable(tmp_path):
    words = loaded(FILES["WordPiece"], tmp_path)
    ids = words.encode("The [MASK] dogs")
    assert [*words.tokens(ids)[:3], words.tokens(ids)[-1]] == ["[CLS]", "the", "[MASK]", "[SEP]"]
    assert words.tokens(ids)[-2] == "##s"
    assert words.token_bytes(ids[-2]) == b"s"
    assert words.decode(ids) == "the [MASK] dogs"
    inner = loaded(FILES["pieces"], tmp_path)
    shown = inner.tokens(inner.encode("the €"))
    assert shown[0] == "<s>"
    assert "".join(shown[1:]) == " the <0xE2><0x82><0xAC>"
    assert inner.token_bytes(inner.encode("€")[-1]) == b"\xac"
    in_bytes = loaded(FILES["byte-level"], tmp_path)
    assert "".join(in_bytes.tokens(in_bytes.encode("a €"))) == "<s>a <0xE2><0x82><0xAC>"


def test_what_is_put_around_a_text_is_no_text(tmp_path):
    tokenizer = loaded(FILES["Unigram"], tmp_path)
    ids = tokenizer.encode("the <extra_id_0> ball")
    assert tokenizer.tokens(ids)[-1] == "</s>"
    assert "<extra_id_0>" in tokenizer.decode(ids)
    assert "</s>" not in tokenizer.decode(ids)


def test_a_file_in_bytes_that_puts_nothing_around_is_ours(tmp_path):
    tokenizer = loaded(byte_level(), tmp_path)
    assert isinstance(tokenizer, BPETokenizer)
    assert tokenizer.encode(TEXT) == byte_level().encode(TEXT).ids
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    del content["model"]["vocab"]["!"]  # a vocabulary with a hole and without a byte
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    assert isinstance(load_tokenizer(tmp_path / "tokenizer.json"), ForeignTokenizer)


@every
def test_a_saved_one_is_the_same(inner, tmp_path):
    first = loaded(inner, tmp_path)
    first.save(tmp_path)
    assert load_tokenizer(tmp_path / "tokenizer.json").encode(TEXT) == first.encode(TEXT)


@every
def test_ids_without_a_token_and_surrogates_do_no_harm(inner, tmp_path):
    tokenizer = loaded(inner, tmp_path)
    beyond = tokenizer.vocab_size + 5
    assert tokenizer.tokens([beyond]) == [""]
    assert tokenizer.decode([beyond]) == ""
    assert tokenizer.encode("a\ud800b") == tokenizer.encode("a\ufffdb")


def test_another_kind_is_refused(tmp_path):
    inner = HFTokenizer(models.WordLevel(vocab={"a": 0}, unk_token="a"))
    with pytest.raises(ValueError, match="its model WordLevel is not supported; supported: BPE, WordPiece, Unigram"):
        loaded(inner, tmp_path)


@every
@pytest.mark.parametrize(
    "text", ["The little dog had a ball, once.", "", "naïve 犬 €", "  two  spaces\nand a line", "a\ud800b"]
)
def test_offsets_are_the_librarys_and_those_of_a_process_of_its_own(inner, text, tmp_path):
    tokenizer = loaded(inner, tmp_path)
    assert isinstance(tokenizer, ForeignTokenizer)
    ids, found = tokenizer.encode(text), tokenizer.offsets(text)
    plain = HFTokenizer.from_str(inner.to_str())
    plain.no_truncation()
    plain.no_padding()
    assert found == [tuple(span) for span in plain.encode(text.replace("\ud800", "\ufffd")).offsets]
    assert len(found) == len(ids)
    elsewhere = read_tokenizer(tmp_path / "tokenizer.json")
    assert isinstance(elsewhere, IsolatedTokenizer)
    assert elsewhere.offsets(text) == found


def test_tokens_of_a_word_piece_stand_on_their_letters(tmp_path):
    tokenizer = loaded(FILES["WordPiece"], tmp_path)
    assert isinstance(tokenizer, ForeignTokenizer)
    text = "The  Dogs 猫!"
    found = cut_text(text, tokenizer)
    assert (found.names[0], found.names[-1]) == ("[CLS]", "[SEP]")
    for place, character in enumerate(text):
        owner = found.token_of_character[place]
        spans = [i for i, (first, last) in enumerate(tokenizer.offsets(text)) if first <= place < last]
        assert owner == (spans[0] if spans else -1)
        if character == " ":
            assert owner == -1
        elif found.names[owner] != "[UNK]":
            assert character.lower() in found.names[owner]
    changed = changed_text(found, tokenizer)
    assert changed.around == ("[CLS]", "[SEP]")
    assert changed.unknown == found.names.count("[UNK]")
    assert changed.read == tokenizer.decode(list(found.ids)) != text


def test_tokens_in_bytes_stand_on_their_bytes_whatever_is_put_around(tmp_path):
    tokenizer = loaded(FILES["byte-level"], tmp_path)
    text = "a € dog"
    found = cut_text(text, tokenizer)
    for i, token in enumerate(found.tokens):
        owned = bytes(byte for byte, owner in zip(found.data, found.token_of_byte.tolist(), strict=True) if owner == i)
        assert owned == (b"" if i == 0 else token)
    assert str(changed_text(found, tokenizer)) == "It puts <s> around every text."


@pytest.mark.parametrize("where", ["here", "in its own process"])
@pytest.mark.parametrize("inner", [*FILES.values(), byte_level()], ids=[*FILES, "byte-level alone"])
def test_a_special_token_that_is_typed_is_text_unless_it_is_a_blank(inner, where, tmp_path):
    """Whatever is put around a text. (What a text's own characters may give is left out: unknown ones, and bytes; and
    the pieces of a Unigram vocabulary, which has the texts of its special tokens among them.)"""
    inner.save(str(tmp_path / "tokenizer.json"))
    tokenizer = (load_tokenizer if where == "here" else read_tokenizer)(tmp_path / "tokenizer.json")
    special = tokenizer.special_tokens
    assert special == {token.content: i for i, token in inner.get_added_tokens_decoder().items() if token.special}
    around = tokenizer.encode("")
    own = {"[UNK]", "<unk>", *BYTES} | (set(special) - {"<extra_id_0>"} if inner is FILES["Unigram"] else set())
    for text, number in special.items():
        if text in own:
            continue
        ids = tokenizer.encode(f"a {text} b")
        blank = text in ("[MASK]", "<extra_id_0>")
        assert ids.count(number) - around.count(number) == blank, text


def test_what_is_saved_calls_its_blanks_special(tmp_path):
    tokenizer = loaded(FILES["WordPiece"], tmp_path)
    tokenizer.save(tmp_path)
    assert load_tokenizer(tmp_path / "tokenizer.json").special_tokens == tokenizer.special_tokens
    again = HFTokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert {t.content for t in again.get_added_tokens_decoder().values() if t.special} == set(tokenizer.special_tokens)
