"""Prompts of examples and the accuracy they give, beside computations written apart."""

import math
from dataclasses import replace

import pytest
import torch

import tfcore
from tests.nightly import nightly
from tfcore.tokenizers.tokenizer import ByteTokenizer
from tfcore.views.inside.in_context import say
from tfcore.views.inside.in_context.measure import accuracy, one_prompt
from tfcore.views.inside.in_context.measure.accuracy import Interval
from tfcore.views.inside.in_context.measure.tasks import LABELS, MOST_EXAMPLES, TASKS, draw, prompt, written
from tfcore.views.inside.in_context.say import LabelsMatter


@pytest.fixture(scope="module")
def induction():
    return tfcore.load("induction")


@pytest.fixture(scope="module")
def stories():
    return tfcore.load("stories")


@pytest.mark.parametrize("task", TASKS)
def test_labels_change_labels_alone(task):
    right, chance, order = (draw(task, labels, 5) for labels in LABELS)
    assert right.query == order.query
    assert [one.given for one in right.examples] == [one.given for one in chance.examples]
    assert all(one.label == one.right for one in right.examples)
    assert any(one.label != one.right for one in chance.examples)
    assert {one.label for one in chance.examples} <= set(chance.answers)
    assert sorted(order.examples) == sorted(right.examples) != list(order.examples)
    assert len(right.examples) == MOST_EXAMPLES


@pytest.mark.parametrize("task", ["antonyms", "capitals", "sentiment"])
def test_the_query_is_not_among_the_examples(task):
    assert all(draw(task, "right", seed).query.given not in draw(task, "right", seed).examples for seed in range(20))
    for seed in range(20):
        found = draw(task, "right", seed)
        given = [one.given for one in (*found.examples, found.query)]
        assert len(set(given)) == len(given)


def test_a_code_says_the_same_of_a_letter_each_time():
    found = draw("code", "right", 3)
    pairs = {one.given: one.right for one in found.examples}
    assert len(pairs) == 4
    assert all(pairs[one.given] == one.right for one in (*found.examples, found.query))


def test_no_such_task():
    with pytest.raises(ValueError, match="no task is called 'verse'; there are antonyms"):
        draw("verse", "right", 0)


@pytest.mark.parametrize("task", TASKS)
def test_every_answer_begins_where_it_is_asked(stories, task):
    _, tokenizer = stories
    found = prompt(tokenizer, draw(task, "right", 1), 3, 256)
    assert tokenizer.decode(found.ids) == found.text
    for at, right in zip(found.at[:-1], found.right[:-1], strict=True):
        assert found.ids[at + 1] == right  # right labels: the answer that stands there
    assert found.at[-1] == len(found.ids) - 1


def test_a_prompt_that_does_not_fit(induction):
    _, tokenizer = induction
    with pytest.raises(ValueError, match="16 examples are 509 tokens, and this model reads 256"):
        prompt(tokenizer, draw("sentiment", "right", 0), 16, 256)
    with pytest.raises(ValueError, match="and this model reads 509"):  # the answer is a token, too
        prompt(tokenizer, draw("sentiment", "right", 0), 16, 509)
    with pytest.raises(ValueError, match="begin with the same token"):
        prompt(tokenizer, draw("sentiment", "right", 0), 16, 510)
    with pytest.raises(ValueError, match="begin with the same token"):
        prompt(tokenizer, draw("antonyms", "right", 0), 4, 256)


class Joining(ByteTokenizer):
    """Reads another text in the place of each."""

    def __init__(self, instead):
        self.instead = instead

    def encode(self, text):
        return super().encode(self.instead(text))


@pytest.mark.parametrize(
    "instead",
    [
        lambda text: text.partition(":")[0] + ":",  # nothing of the answer
        lambda text: text.replace(": ", "|"),  # the sign before it is another with it
        lambda text: text.partition(":")[2],  # nothing of the input
    ],
)
def test_an_answer_that_does_not_begin_a_token_is_refused(instead):
    drawn = draw("capitals", "right", 0)
    assert prompt(Joining(lambda text: text.replace(": ", ":")), drawn, 0, 256).text == f"{drawn.query.given}:"
    with pytest.raises(ValueError, match="joins an input and its answer into one token"):
        prompt(Joining(instead), drawn, 0, 256)


def test_one_pass_answers_like_a_pass_for_each_number(stories):
    """The i-th line of a prompt is answered as the query of a prompt that ends there."""
    model, tokenizer = stories
    asked = prompt(tokenizer, draw("code", "right", 2), MOST_EXAMPLES, 256)
    answers = accuracy.answers(model, asked)
    candidates = list(asked.answers.values())
    for line in (0, 7, 16):
        logits = model(torch.tensor([asked.ids[: asked.at[line] + 1]])).logits[0, -1]
        assert answers[line] == max(candidates, key=lambda one: float(logits[one]))


def test_the_interval_is_where_the_test_accepts():
    """Wilson's ends solve (p - q)^2 = z^2 q (1 - q) / n for q."""
    for right, of in ((0, 60), (7, 60), (60, 60)):
        found = accuracy.interval(right, of)
        for end in found[1:]:
            p = right / of
            assert (p - end) ** 2 == pytest.approx(1.959964**2 * end * (1 - end) / of, abs=1e-9)
        assert 0 <= found.low <= found.share <= found.high <= 1


@nightly
def test_what_is_kept_is_measured_again(induction):
    kept = accuracy.kept()["induction", "code"]
    few = accuracy.measure(induction[0], induction[1], "induction", "code", prompts=accuracy.PROMPTS)
    assert few == kept
    assert kept.curve("right").right[16] > 50 > 25 > kept.curve("random").right[16]


def test_what_is_kept_is_whole():
    models = {model for model, _ in accuracy.kept()}
    assert models == {"smollm2", "stories", "induction"}
    assert {task for model, task in accuracy.kept() if model == "smollm2"} == set(TASKS)
    for found in accuracy.kept().values():
        assert all(len(curve.right) == MOST_EXAMPLES + 1 for curve in found.curves)


def test_a_real_model_reads_examples_and_knows_capitals():
    """What the page says: two examples are better than none, random labels cost antonyms much and capitals little."""
    antonyms, capitals, code = (accuracy.kept()["smollm2", task] for task in ("antonyms", "capitals", "code"))
    right = antonyms.curve("right").intervals
    assert right[2].low > right[0].high
    assert antonyms.curve("random").intervals[16].high < right[16].low
    assert capitals.curve("random").intervals[16].low > 0.5
    assert code.curve("random").intervals[16].low < code.guess < code.curve("random").intervals[16].high


def test_sentences():
    found = accuracy.TaskAccuracy(
        "m",
        "antonyms",
        tuple(accuracy.AccuracyCurve(one, (1, *[n] * 16), 10) for one, n in zip(LABELS, (9, 2, 8), strict=True)),
        0.1,
        3,
    )
    said = str(say.accuracy(found, "right", 1))
    assert said.startswith(
        "m, antonyms, labels right: right in 90% (60% to 98%) of the prompts after 1 example, in 10% (2% to 40%)"
    )
    assert said.endswith("a guess among the task's answers is right in 10%. 10 prompts, 95 % intervals.")
    assert "without examples" in str(say.accuracy(found, "random", 0))
    assert str(say.labels_matter(found)) == (
        "After 16 examples random labels give 20% (6% to 51%), right ones 90% (60% to 98%): the intervals do not "
        "overlap. Another order of the same 16 changes the answer in 3 of 10 prompts."
    )


def test_labels_are_compared_after_all_examples():
    curves = [accuracy.AccuracyCurve(one, (*[5] * 16, n), 10) for one, n in zip(LABELS, (9, 2, 8), strict=True)]
    found = say.labels_matter(accuracy.TaskAccuracy("m", "antonyms", tuple(curves), 0.1, 3))
    assert found == LabelsMatter(16, 10, accuracy.interval(9, 10), accuracy.interval(2, 10), 3)


def test_intervals_that_touch_overlap():
    low, middle, high = Interval(0.25, 0.125, 0.375), Interval(0.5, 0.375, 0.625), Interval(0.75, 0.7, 0.8)
    for one, other, verdict in ((low, middle, "overlap"), (low, high, "do not overlap")):
        for right, random in ((one, other), (other, one)):
            assert f": the intervals {verdict}. Another" in str(LabelsMatter(16, 10, right, random, 3))


def test_a_probability_of_a_thousandth_is_said():
    model, tokenizer = tfcore.load("induction")
    found = one_prompt.answer(model, tokenizer, "code", "right", 3, 4)
    assert "has probability 0.1%:" in str(replace(found, probability=0.001))
    assert "has probability less than 0.1%:" in str(replace(found, probability=0.00099))


@pytest.mark.parametrize("count", [0, 12])
def test_the_live_answer_is_the_models(induction, count):
    model, tokenizer = induction
    found = one_prompt.answer(model, tokenizer, "code", "right", count, 4)
    logits = model(torch.tensor([tokenizer.encode(found.text)])).logits[0, -1]
    chances = [math.exp(float(one)) for one in logits]
    right = tokenizer.encode(found.right)[0]
    assert found.probability == pytest.approx(chances[right] / sum(chances), rel=1e-4)
    assert found.rank == sorted(chances, reverse=True).index(chances[right]) + 1
    assert found.probabilities[0] == pytest.approx(max(chances) / sum(chances), rel=1e-4)
    read = one_prompt.ReadExamples(model, tokenizer, "code", "right", 4)
    for other in (5, 16, 3, count):  # more examples than were read, and fewer
        again = one_prompt.answer(model, tokenizer, "code", "right", other, 4, read)
    assert again.probabilities == pytest.approx(found.probabilities, rel=1e-4)
    assert again.tokens == found.tokens
    assert (f"After {count} examples" if count else "Without examples") in str(found)


def test_examples_are_read_once_and_only_when_they_are_asked_for(induction):
    model, tokenizer = induction
    read, passes = one_prompt.ReadExamples(model, tokenizer, "code", "right", 4), []
    drawn = draw("code", "right", 4)
    lengths = [len(tokenizer.encode(written(drawn.task, drawn.examples[:count]))) for count in range(17)]
    hook = model.register_forward_pre_hook(lambda _, given: passes.append(given[0].shape[1]))
    query = {}
    for count in (4, 9, 9, 2, 12):
        whole = one_prompt.answer(model, tokenizer, "code", "right", count, 4, read).length
        query[count] = whole - lengths[count]
    hook.remove()
    new = [lengths[4], lengths[9] - lengths[4], 0, 0, lengths[12] - lengths[9]]
    assert passes == [more + query[count] for more, count in zip(new, (4, 9, 9, 2, 12), strict=True)]
