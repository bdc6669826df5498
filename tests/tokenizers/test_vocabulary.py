"""What a vocabulary of numbers, letters or names can be given."""

import pytest

from tfcore.tokenizers.tokenizer import ByteTokenizer, NamedTokenizer
from tfcore.tokenizers.vocabulary import is_read, joined, left_out, listed, sample
from tfcore.training.lab.recipes import recipe
from tfcore.training.lab.spec import TASKS
from tfcore.training.lab.tasks import examples, task

NUMBERS = NamedTokenizer([*map(str, range(13)), "+", "="])
PEOPLE = NamedTokenizer(["Anna", "Bert", "An"])


@pytest.mark.parametrize(
    ("tokenizer", "text", "lost"),
    [
        (NUMBERS, "3 + 12 = 2", 0),
        (NUMBERS, "The cat", 6),
        (NUMBERS, "3 cats", 4),
        (NUMBERS, "", 0),
        (PEOPLE, "Anna\nBert An", 0),
        (PEOPLE, "Anne", 2),
        (ByteTokenizer(), "Ω", 0),
    ],
)
def test_what_is_left_out_of_a_text(tokenizer, text, lost):
    assert left_out(tokenizer, text) == lost
    assert is_read(tokenizer, text) == (bool(text) and not lost)


def test_a_sample_is_read_as_what_it_is():
    assert sample(NUMBERS) == "0 1 2 3 4 5 6 7 8 9 10 11"  # without spaces, 10 and 11 would begin earlier
    assert sample(NUMBERS, 3, backwards=True) == "2 1 0"  # "10" would be read in it
    assert PEOPLE.tokens(PEOPLE.encode(sample(PEOPLE))) == ["Anna", "Bert", "An"]
    assert is_read(ByteTokenizer(), sample(ByteTokenizer()))
    assert joined(NUMBERS, ["1", "2"]) == "1 2"


def test_a_sentence_lists_a_few_tokens():
    assert listed(PEOPLE) == "Anna, Bert, An"
    assert listed(NUMBERS) == "0, 1, 2, 3, 4, 5, 6, …, ="


@pytest.mark.parametrize("name", TASKS)
def test_examples_of_a_task_are_read_whole_and_begin_with_what_is_given(name):
    spec = recipe(name)
    tokenizer = NamedTokenizer(task(spec).names)
    one, other = examples(spec)
    assert one != other
    for row in (one, other):
        assert is_read(tokenizer, row.whole)
        given = tokenizer.encode(row.given)
        assert given == tokenizer.encode(row.whole)[: len(given)]
