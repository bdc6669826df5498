"""Problems answered at once or after steps, beside sums and counts of our own."""

import re

import pytest

import tfcore
from tests import small
from tfcore.measures.parameter_count import parameters
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.inside.in_context import say
from tfcore.views.inside.in_context.measure import steps
from tfcore.views.inside.in_context.measure.steps import ModelAnswers, Sums, WrittenAnswer


def test_a_problem_is_what_it_says():
    for seed in range(steps.PROBLEMS):
        found = steps.problem(seed)
        first, more, away = map(int, re.findall(r"\d+", found.question))
        assert found.answer == first + more - away
        assert found.steps == f"{first} + {more} = {first + more}. {first + more} - {away} = {found.answer}."


def test_what_is_asked_is_not_among_the_solved():
    solved = {steps.problem(steps.SHOT_SEED + place).question for place in range(steps.SHOTS)}
    assert not solved & {steps.problem(seed).question for seed in range(steps.PROBLEMS)}
    text = steps.asked(3, "steps")
    assert text.count("The answer is") == steps.SHOTS
    assert text.endswith(f"Q: {steps.problem(3).question}\nA:")
    assert " + " not in steps.asked(3, "direct")


@pytest.mark.parametrize(
    ("text", "answer"),
    [(" The answer is 22.", 22), (" 1 + 2 = 3. The answer is 3.\nThe answer is 4", 3), ("none", None)],
)
def test_the_answer_is_read(text, answer):
    assert steps.said_answer(text) == answer


def test_a_model_with_a_short_context_says_so():
    model, tokenizer = tfcore.load("stories")
    with pytest.raises(ValueError, match="and this model reads 256; choose smollm2"):
        next(steps.write(model, tokenizer, 0, "steps"))


def test_prompt_and_answer_just_fit():
    tokenizer = ByteTokenizer()
    length = len(tokenizer.encode(steps.asked(0, "direct"))) + 12
    assert steps.too_long(small.model(max_seq_len=length), tokenizer, 0, "direct") is None
    assert "the answer up to 12" in steps.too_long(small.model(max_seq_len=length - 1), tokenizer, 0, "direct")


def test_operations_are_two_for_each_weight_and_more_for_attention():
    config = tfcore.load("stories")[0].config
    found = steps.operations(config, 100, 10)
    weights = parameters(config).total
    assert 2 * 10 * weights * 0.7 < found < 2 * 10 * weights * 1.3
    assert steps.operations(config, 200, 10) > found  # more keys


def test_what_is_kept():
    found = steps.kept_steps()
    assert [one.seed for one in found.direct] == [one.seed for one in found.steps] == list(range(steps.PROBLEMS))
    right = [one.seed for one in found.steps if f"answer is {steps.problem(one.seed).answer}." in one.text]
    said = say.steps_help(found)
    assert said.steps.share == pytest.approx(len(right) / steps.PROBLEMS)
    assert said.operations[1] > 3 * said.operations[0]
    errors = say.step_errors(found).values
    # What the page says beside it: it mostly adds, and mostly cannot subtract.
    assert errors["additions"] == errors["subtractions"] == steps.PROBLEMS  # the form is without a fault
    assert errors["additions_right"] > 0.6 * errors["additions"]
    assert errors["subtractions_right"] < 0.4 * errors["subtractions"]


def test_what_is_said():
    answer = steps.problem(0).answer
    texts = " 1 + 1 = 2. 5 - 1 = 3. The answer is 7.", f" The answer is {answer}."
    rows = [WrittenAnswer(0, 9, 4, text, 2e9) for text in texts]
    found = ModelAnswers("m", (rows[0], rows[0]), (rows[0], rows[1]))
    assert steps.sums(found.steps) == Sums(1, 1, 0, 1)
    assert str(say.steps_help(found)) == (
        "m, 2 problems of two steps: right at once in 0% (0% to 66%), after written steps in 50% (9% to 91%); the "
        "intervals overlap, so neither is shown to be better. Steps take 4 tokens, so 4 forward passes, instead of 4: "
        "2.0 billion operations instead of 2.0."
    )
    assert str(say.step_errors(found)) == (
        "Of the 1 additions that it writes down 1 are right, of the 1 subtractions 0. At once it gives 1 different "
        "answers to 2 problems, 2 times 7."
    )
