"""Special tokens in typed texts: text unless they are marked; marked, exactly the ids that `transformers` gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from tests.tokenizers.test_foreign_tokenizers import FILES, byte_level
from tfcore.measures.token_pieces import cut_text
from tfcore.tokenizers.foreign import tokenizer_of
from tfcore.tokenizers.isolated import isolated
from tfcore.tokenizers.tokenizer import MARK, BPETokenizer, ByteTokenizer, CharacterTokenizer, NamedTokenizer, unmarked
from tfcore.tokenizers.typed_text import Spelt, marked, spelt

KINDS = FILES | {"byte-level, nothing around": byte_level()}
ENDS = {name: ("[CLS]", "[SEP]") if name == "WordPiece" else ("<unk>", "</s>") for name in KINDS} | {
    "byte-level": ("<s>", "</s>"),
    "byte-level, nothing around": ("<s>", "</s>"),
}
every = pytest.mark.parametrize("name", KINDS)


def texts(name: str) -> list[str]:
    first, last = ENDS[name]
    return [f"{first}dog", f"a dog{last}", f"the {first} red {last}\n{last}{first}ball ", f"Café 犬{last}é", f"{last}"]


def theirs(name: str) -> PreTrainedTokenizerFast:
    """The same file in `transformers`."""
    inner = type(KINDS[name]).from_str(KINDS[name].to_str())
    inner.no_padding()
    inner.no_truncation()
    return PreTrainedTokenizerFast(tokenizer_object=inner)


@every
@pytest.mark.parametrize("run", ["here", "in its process"])
def test_marked_ones_have_the_ids_of_transformers_and_others_are_text(name, run):
    content = KINDS[name].to_str()
    ours, reference = (tokenizer_of(content) if run == "here" else isolated(content.encode())), theirs(name)
    for text in texts(name):
        plain = ours.encode(text)
        assert plain == reference(text, split_special_tokens=True).input_ids, text
        assert ours.encode(marked(text, ENDS[name])) == reference(text, split_special_tokens=False).input_ids, text
        assert ours.encode(text) == plain, "the text beside it is read as before"


@every
def test_a_text_says_which_it_spells_out(name):
    ours, (first, last) = tokenizer_of(KINDS[name].to_str()), ENDS[name]
    pair = tuple(sorted({first, last}, key=ours.special_tokens.__getitem__))
    found = spelt(ours, f"{first} dog {last}")
    if name in ("Unigram", "pieces"):
        assert set(found.text + found.always) == set(pair)
        assert all(
            ours.encode(token).count(ours.special_tokens[token]) > ours.encode("").count(ours.special_tokens[token])
            for token in found.always
        )
    else:
        assert found == Spelt(pair)
    assert spelt(ours, "a dog [MASK] <extra_id_0>") == Spelt()


def test_a_unigram_vocabulary_finds_them_in_any_case():
    ours = tokenizer_of(FILES["Unigram"].to_str())
    assert spelt(ours, "a dog</s>") == Spelt((), ("</s>",))
    assert ours.encode("a dog</s>") == ours.encode(marked("a dog</s>", ["</s>"]))


def test_settings_of_an_added_token_are_kept():
    inner = byte_level()
    inner.add_special_tokens([AddedToken("<|mid|>", lstrip=True, rstrip=True), AddedToken("<|one|>", single_word=True)])
    ours, reference = tokenizer_of(inner.to_str()), PreTrainedTokenizerFast(tokenizer_object=inner)
    assert isinstance(ours, BPETokenizer)
    for text in ("a <|mid|> b", "a<|one|>b <|one|> c", "x<|mid|><|mid|>  \n y"):
        assert ours.encode(marked(text, ["<|mid|>", "<|one|>"])) == reference(text).input_ids, text
    assert spelt(ours, "a<|one|>b") == Spelt(), "inside of a word it is none"


def test_models_without_special_tokens_know_none():
    for tokenizer in (ByteTokenizer(), CharacterTokenizer("</s>"), NamedTokenizer(["<s>", "a"])):
        assert spelt(tokenizer, "<s>a</s>") == Spelt()


@given(some.text(some.sampled_from(["<", "s", ">", "/", "a", " ", MARK]), max_size=30))
def test_nothing_but_marks_is_added_or_taken(text):
    assert unmarked(marked(text, ["<s>", "</s>"])) == unmarked(text)


def test_letters_and_bytes_line_up_with_marks_in_the_text():
    ours = tokenizer_of(KINDS["byte-level, nothing around"].to_str())
    found = cut_text(marked("<s>a dog</s>", ENDS["byte-level"]), ours)
    assert found.text == "<s>a dog</s>"
    assert found.data == b"".join(found.tokens) == b"<s>a dog</s>"
    assert found.tokens[0] == b"<s>"
    aligned = cut_text(marked("[SEP]dog", ["[SEP]"]), tokenizer_of(FILES["WordPiece"].to_str()))
    assert aligned.token_of_character[:5].tolist() == [1] * 5
