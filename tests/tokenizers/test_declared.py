"""Tokens that tokenizer_config.json alone declares: what `transformers` makes of the same folder is what we give."""

import json

import pytest
import transformers as hf

from tests.tokenizers.test_foreign_tokenizers import FILES, TEXT, byte_level
from tfcore.loading.tokenizer_config import declared_in
from tfcore.tokenizers.declared import Declared
from tfcore.tokenizers.foreign import NOTHING, tokenizer_of
from tfcore.tokenizers.isolated import read_tokenizer

FLAGS = {"normalized": False, "lstrip": False, "rstrip": False, "single_word": False}
SPECIAL, PLAIN = FLAGS | {"special": True}, FLAGS | {"special": False}
OBJECT = {"__type": "AddedToken", "content": "<|q|>", **SPECIAL}
KINDS = {"alone": byte_level(), **{name: FILES[name] for name in ("byte-level", "pieces", "Unigram")}}
SIZE = {name: inner.get_vocab_size() for name, inner in KINDS.items()}


def decoder(first, *tokens):
    return {"added_tokens_decoder": {str(first + i): {"content": t, **flags} for i, (t, flags) in enumerate(tokens)}}


# Settings, with the ids of new tokens counted from the end of the vocabulary.
SAID = {
    "tokens by their ids": lambda n: decoder(n, ("<|pic|>", SPECIAL), ("<|clip|>", PLAIN)),
    "in an order of its own": lambda n: {
        "added_tokens_decoder": {str(n + 1): {"content": "<|b|>", **PLAIN}, str(n): {"content": "<|a|>", **PLAIN}}
    },
    "with the space before it": lambda n: decoder(n, ("<|clip|>", PLAIN | {"lstrip": True})),
    "more, as texts and objects": lambda _: {"additional_special_tokens": ["<|pic|>", OBJECT]},
    "by a name": lambda _: {"bos_token": "<|b|>", "pad_token": "<|p|>", "image_token": "<|i|>"},
    "both": lambda n: decoder(n, ("<|x|>", PLAIN)) | {"eos_token": "<|e|>", "extra_special_tokens": ["<|z|>"]},
    "said to be put around a text": lambda _: {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "add_bos_token": True,
        "add_eos_token": True,
    },
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("said", SAID.values(), ids=list(SAID))
def test_what_is_declared_is_what_it_is_to_transformers(kind, said, tmp_path):
    KINDS[kind].save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(said(SIZE[kind])))
    theirs = hf.PreTrainedTokenizerFast.from_pretrained(tmp_path)
    beside = declared_in(tmp_path)
    ours = tokenizer_of((tmp_path / "tokenizer.json").read_text(), beside)
    assert ours.vocab_size == len(theirs)
    added = theirs.get_added_vocab()
    new = added.keys() - KINDS[kind].get_vocab(with_added_tokens=True).keys()
    assert {ours.token_bytes(added[text]).decode() for text in new} == new
    assert dict(ours.special_tokens).items() >= {t: added[t] for t in theirs.all_special_tokens}.items()
    plain = [token for i, token in theirs.added_tokens_decoder.items() if not token.special]
    for text in (TEXT, "", "".join(f"See {token} and{token} now" for token in plain)):
        assert ours.encode(text) == theirs(text).input_ids, text
    assert dict(beside.names).items() <= theirs.special_tokens_map.items()


def test_one_in_a_process_of_its_own_is_the_same_saved_and_read_again(tmp_path):
    KINDS["alone"].save(str(tmp_path / "tokenizer.json"))
    said = SAID["both"](SIZE["alone"])
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(said))
    beside = declared_in(tmp_path)
    ours = read_tokenizer(tmp_path / "tokenizer.json", beside)
    assert ours.tokens(ours.encode("a<|x|>")) == ["a", "<|x|>"]
    (tmp_path / "again").mkdir()
    ours.save(tmp_path / "again")
    assert declared_in(tmp_path / "again") == beside == Declared.from_dict(json.loads(json.dumps(beside.to_dict())))


def test_a_token_for_which_the_model_has_no_row_is_left_out(tmp_path):
    said = Declared((("<|a|>", -1, (True, False, False, False, False)), ("<|b|>", -1, (True,) + (False,) * 4)))
    text, n = KINDS["alone"].to_str(), SIZE["alone"]
    assert [tokenizer_of(text, said, rows).vocab_size - n for rows in (n, n + 1, n + 2, n + 3)] == [0, 1, 2, 2]
    assert tokenizer_of(text, NOTHING).vocab_size == n


def test_another_id_than_the_file_states_is_refused(tmp_path):
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(decoder(SIZE["alone"] + 3, ("<|a|>", PLAIN))))
    with pytest.raises(
        ValueError, match=rf"gives '<\|a\|>' the id {SIZE['alone'] + 3}, and it would be {SIZE['alone']}$"
    ):
        tokenizer_of(KINDS["alone"].to_str(), declared_in(tmp_path))
