"""Exercises with numbers: every answer against a formula written by hand, and mistakes that are never the answer."""

import importlib
import inspect
import json
import math
import statistics
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.comparison import differences
from tfcore import presets
from tfcore.views.reference import check
from tfcore.views.reference.check.measure.problem import Problem, guessed_right
from tfcore.views.reference.check.say import (
    answer_text,
    drawn_of_100,
    guessed_rounds,
    heads_measured,
    likeliest_five,
    off_by,
    score_words,
    why_not,
)

CHAPTERS = ("foundations", "block", "model", "training", "inference", "experts", "inside", "history")
EXERCISES = {
    f"{chapter}.{name}": function
    for chapter in CHAPTERS
    for module in [importlib.import_module(f"tfcore.views.reference.check.measure.{chapter}")]
    for name, function in vars(module).items()
    if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
}
SEEDS = range(40)


def softmax(values: list[float]) -> list[float]:
    return [math.exp(v) / sum(math.exp(w) for w in values) for v in values]


def numbers(listed: str) -> list[float]:
    return [float(part) for part in listed.split(", ")]


def deviations(listed: str, centre: bool) -> float:
    values = numbers(listed)
    mean = statistics.fmean(values) if centre else 0.0
    return (values[0] - mean) / math.sqrt(statistics.fmean((v - mean) ** 2 for v in values))


def entropy(*chances: float) -> float:
    return -sum(p * math.log2(p) for p in chances)


def nucleus(chances: list[float], p: float) -> int:
    return next(i for i in range(1, len(chances) + 1) if sum(chances[:i]) >= p - 1e-9)


def last_but_one(text: str) -> int:
    tokens = text.split()
    return tokens.index(tokens[-1]) + 1


def plain(layers: int, d: int, vocab: int, context: int) -> int:
    """GPT-2's shape with biases, one by one."""
    block = 4 * d * d + 4 * d + 8 * d * d + 5 * d + 4 * d
    return layers * block + 2 * d + vocab * d + context * d


def quoted(d_q, kv, d_model, d_ff, matrices, layers, vocab, tied, experts, **_) -> float:
    tables = vocab * d_model * (1 if tied == "shared with" else 2)
    copies = int(experts.split()[0]) if experts else 1
    return layers * (2 * d_model * (d_q + kv) + copies * matrices * d_model * d_ff) + tables


# exercise: (what was drawn) -> the answer, without the library
BY_HAND = {
    "foundations.softmax_weight": lambda d_k, a, b, c: softmax([x / math.sqrt(d_k) for x in (a, b, c)])[0],
    "foundations.causal_pairs": lambda n: sum(range(n + 1)),
    "foundations.window_pairs": lambda n, window: sum(min(i + 1, window) for i in range(n)),
    "foundations.alibi_slope": lambda heads, head: 2 ** (-8 * head / heads),
    "foundations.wavelength": lambda d_model, pair: 2 * math.pi * 10_000 ** (2 * pair / d_model),
    "foundations.image_tokens": lambda side, patch: (side / patch) ** 2,
    "foundations.audio_places": lambda seconds: seconds * 50,
    "foundations.score_spread": lambda width: width**0.5,
    "foundations.vanished_gradient": lambda factor, steps: math.exp(steps * math.log(factor)),
    "block.layer_normed": lambda numbers: deviations(numbers, True),
    "block.rms_normed": lambda numbers: deviations(numbers, False),
    "block.feed_forward_count": lambda d_model, d_ff: (d_model + 1) * d_ff + (d_ff + 1) * d_model,
    "block.gated_width": lambda plain: plain * 2 / 3,
    "block.writer_std": lambda layers: 0.02 * (2 * layers) ** -0.5,
    "block.dropped": lambda p, x: x / (1 - p),
    "block.path_count": lambda blocks: 4**blocks,
    "model.block_weights": lambda layers, d_model: 12 * layers * d_model**2,
    "model.all_weights": lambda layers, d_model, vocab, context: plain(layers, d_model, vocab, context),
    "model.embedding_weights": lambda vocab, d_model: 2 * vocab * d_model,
    "model.grouped_attention": lambda d_model, groups, d_head: 2 * d_model**2 + 2 * d_model * groups * d_head,
    "model.weight_bytes": lambda billions: 2e9 * billions,
    "model.training_bytes": lambda millions: 16e6 * millions,
    "model.mixture_active": lambda experts, top_k, in_experts, rest: 1e6 * (rest + in_experts * top_k / experts),
    "training.coin_entropy": lambda p: entropy(p, 1 - p),
    "training.surprise": lambda p: -math.log(p, 2),
    "training.perplexity": lambda loss: math.e**loss,
    "training.divergence": lambda p, q: p * math.log2(p / q) + (1 - p) * math.log2((1 - p) / (1 - q)),
    "training.chance_loss": lambda vocab: math.log(vocab),
    "training.bits_a_byte": lambda loss, size: loss * math.log2(math.e) / size,
    "training.best_tokens": lambda billions: 20e9 * billions,
    "training.training_work": lambda billions, tokens: 6e18 * billions * tokens,
    "training.training_days": lambda billions, tokens, devices, use: (
        6e18 * billions * tokens / (devices * use * 312e12 * 24 * 3600)
    ),
    "training.lora_count": lambda d_in, d_out, rank: rank * d_in + d_out * rank,
    "inference.cache_of_a_text": lambda layers, heads, d_head, tokens: 4 * layers * heads * d_head * tokens,
    "inference.cache_grouped": lambda layers, groups, d_head, tokens, users: (
        4 * layers * groups * d_head * tokens * users
    ),
    "inference.users_that_fit": lambda room, weights, each: math.floor((room - weights) / float(each)),
    "inference.score_bytes": lambda n, heads: 2 * heads * n * n,
    "inference.longer_text": lambda n, longer: (longer / n) ** 2,
    "inference.warmed": lambda gap, t: 1 / (1 + math.exp(-gap / t)),
    "inference.nucleus": lambda chances, p: nucleus(numbers(chances), p),
    "inference.guessed_ahead": lambda alpha, guess: (1 - alpha ** (guess + 1)) / (1 - alpha),
    "inference.quantised": lambda size, precision: 1e9 * size * int(precision[3:]) / 16,
    "experts.capacity": lambda experts, top_k, tokens, factor: math.floor(factor * top_k * tokens / experts),
    "experts.gate": lambda scores: softmax(sorted(numbers(scores))[-2:])[1],
    "experts.overflow": lambda load, room: sum(x - room for x in numbers(load) if x > room),
    "experts.balance": lambda shares: 4 * sum(x * x for x in numbers(shares)),
    "experts.work_a_token": lambda experts, top_k: experts / top_k,
    "inside.copied_from": last_but_one,
    "inside.pairs_of_heads": lambda layers, heads: heads**2 * math.comb(layers, 2),
    "inside.widest_entropy": lambda n: math.log(n, 2),
    "inside.share_of_a_logit": lambda logit, embedding, attention, feed_forward: (
        float(logit) - embedding - attention - feed_forward
    ),
    "inside.recovered": lambda clean, other, patched: (patched - other) / (clean - other),
    "inside.stream_length": lambda n: math.sqrt(n),
    "history.grown": lambda small, large: large / small,
}


def test_every_exercise_is_checked_by_hand():
    assert set(EXERCISES) == {*BY_HAND, "history.quoted_count"}


@pytest.mark.parametrize("name", BY_HAND)
def test_answers_are_what_they_are_by_hand(name):
    for seed in SEEDS:
        problem = EXERCISES[name](Random(seed))
        formula = BY_HAND[name]
        by_hand = formula(**{key: problem.given[key] for key in inspect.signature(formula).parameters})
        assert problem.answer == pytest.approx(by_hand, rel=1e-4, abs=1e-6), problem.given
        assert problem.is_right(by_hand)


def test_quoted_models_are_counted_from_what_is_said_of_them():
    for seed in SEEDS:
        problem = EXERCISES["history.quoted_count"](Random(seed))
        assert problem.is_right(quoted(**problem.given)), problem.given
    assert len({preset().vocab_size for preset in presets.PRESETS.values()}) > 5


@pytest.mark.parametrize("name", EXERCISES)
def test_mistakes_are_never_taken_for_the_answer_nor_for_one_another(name):
    for seed in SEEDS:
        problem = EXERCISES[name](Random(seed))
        assert problem.mistake(problem.answer) is None
        for mistake, value in problem.mistakes.items():
            assert not problem.is_right(value)
            assert problem.mistake(value) == mistake


@pytest.mark.parametrize("name", EXERCISES)
def test_no_two_rounds_are_the_same_and_the_same_seed_is(name):
    drawn = [EXERCISES[name](Random(seed)) for seed in SEEDS]
    assert len({str(problem.given) for problem in drawn}) >= 4
    assert EXERCISES[name](Random(0)) == drawn[0]


def test_a_mistake_too_near_to_the_answer_is_left_out():
    near = Problem(given={}, answer=100.0, mistakes={"near": 101.5, "far": 130.0, "same as far": 131.0})
    assert near.mistakes == {"far": 130.0}
    assert near.mistake(101.5) is None
    assert near.is_right(100.9)
    assert not near.is_right(101.1)


def test_a_mistake_at_the_limit_is_left_out_and_rounding_is_none():
    assert Problem(given={}, answer=1.0, mistakes={"near": 4.0, "far": 4.1}, tolerance=0.25).mistakes == {"far": 4.1}
    assert Problem(given={}, answer=0.0, tolerance=0).is_right(0.0)
    assert Problem(given={}, answer=1e6 * (0.1 + 0.2), tolerance=0).is_right(3e5)
    assert not Problem(given={}, answer=3e5, tolerance=0).is_right(300_001.0)


def test_an_answer_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="draw other values"):
        Problem(given={}, answer=math.nan)


def test_luck():
    assert guessed_right(10, 0, 0.25) == pytest.approx(1)
    assert guessed_right(10, 4, 0.25) == pytest.approx(
        1 - sum(math.comb(10, k) * 3 ** (10 - k) for k in range(4)) / 4**10
    )


# ---- what is said of a round and of a reading ----


def test_a_guessed_round_is_counted_by_all_outcomes():
    odds = [math.comb(10, k) * 0.25**k * 0.75 ** (10 - k) for k in range(11)]
    found = guessed_rounds()
    assert (found.values["some"], found.values["many"]) == (pytest.approx(sum(odds[4:])), pytest.approx(sum(odds[7:])))
    assert str(found) == (
        "It might: who guesses gets 4 or more right in 22% of all rounds, the sum of the binomial terms from 4 on. "
        "7 or more happen in 0.4%."
    )


def test_progress_in_words():
    chapters, states = ["Block"] * 4 + ["Model"] * 3 + ["Training"] * 2 + ["Inside"], ["right", "wrong", "right"]
    shown = check.round_map(12_345, chapters, states + ["open"] * 7, 3)
    assert str(shown) == shown.alt == "10 questions of 4 chapters; 3 answered, 2 of them right."
    assert shown.caption == f"Round 12,345: {shown.alt}"
    assert shown.numbers()["state"].tolist()[:4] == ["right", "wrong", "right", "open"]
    assert shown.chart.data[0].marker.line.width == (1, 1, 1, 3, 1, 1, 1, 1, 1, 1)
    unseen = check.round_map(1, chapters, ["open"] * 10, None)
    assert set(unseen.chart.data[0].marker.line.width) == {1}


@pytest.mark.parametrize(
    ("value", "answer", "words"),
    [
        (112.0, 100.0, "That is too large by 12%."),
        (80.0, 100.0, "That is too small by 25%."),
        (400.0, 100.0, "That is too large by a factor of 4."),
        (-1.0, 100.0, "That is not it."),
        (-150.0, -100.0, "That is too large by 50%."),
    ],
)
def test_a_wrong_number_is_off_by_so_much(value, answer, words):
    assert str(off_by(value, answer)) == words


def test_answers_are_written_as_people_read_them():
    assert answer_text(85.9e9, "GB") == "85.9 GB"
    assert answer_text(124_439_808, "parameters") == "124,439,808 parameters"
    assert answer_text(0.123456, "") == "0.1235"
    assert answer_text(3e13, "tokens") == "3.000e+13 tokens"


def test_measured_heads_in_words():
    measured = {"A": 0.25, "B": 0.75}
    assert str(heads_measured("induction", measured)) == (
        "Six attention maps. Measured: A: 0.25 of its weight on the token after the earlier occurrence; B: 0.75 of its "
        "weight on the token after the earlier occurrence."
    )
    assert why_not("induction", measured, "A") == (
        "Head A has 0.25 of its weight on the token after the earlier occurrence; another one has 0.75."
    )
    assert score_words("entropy", 2.5) == "2.50 bits of entropy"
    assert score_words("previous token", 0.5) == "0.50 of its weight on the previous token"


def test_options_of_a_draw_are_sums_by_hand():
    assert str(likeliest_five((" a", "b"), (0.5, 0.25))) == "The five likeliest next tokens: ·a 50.0%, b 25.0%."
    entries = drawn_of_100((0.5, 0.2, 0.1, 0.05, 0.05))
    assert entries is not None
    assert [option for option, _ in entries] == [f"about {n} times" for n in (70, 50, 90, 10)]
    assert entries[0][1] == ""
    assert all(why for _, why in entries[1:])
    assert drawn_of_100((0.5, 0.03, 0.2, 0.1, 0.05)) is None


DRAWN = Path(__file__).with_name("exercises.json")  # written anew by `python -m tests.reference.check.test_views`


def drawn() -> dict[str, Any]:
    """Every exercise: what forty seeds give, and as four of them draw it, the answer and where usual mistakes lead."""
    found = {}
    for name, exercise in EXERCISES.items():
        if problems := [one for one in (exercise(Random(seed)) for seed in SEEDS) if isinstance(one, Problem)]:
            found[name] = {
                "first": [{"answer": one.answer, **one.mistakes} for one in problems[:4]],
                "given": {
                    key: ", ".join(sorted({str(one.given[key]) for one in problems})) for key in problems[0].given
                },
                "tolerance": problems[0].tolerance,
            }
    return found


def test_exercises_and_mistakes_are_those_that_were_recorded():
    """Answers are proved above, mistakes are not, nor what is given: what changes one of them shows in the difference
    of a commit."""
    known, found = json.loads(DRAWN.read_text("utf-8")), drawn()
    assert set(found) == set(known)
    for name, problems in found.items():
        assert [pytest.approx(numbers_of, rel=1e-6) for numbers_of in known[name].pop("first")] == problems.pop("first")
        assert differences(problems, known[name]) == [], name


if __name__ == "__main__":
    DRAWN.write_text(json.dumps(drawn(), indent=1, ensure_ascii=False) + "\n", "utf-8")


def test_an_answer_of_many_digits():
    assert [answer_text(value, "") for value in (999.5, 1000.5, 1e12)] == ["999.5", "1,000", "1.000e+12"]


@pytest.mark.parametrize(
    ("value", "answer", "words"),
    [
        (0, 5, "That is not it."),
        (5, 0, "That is not it."),
        (0.9, 1, "That is too small by 11%."),
        (0.5, 1, "That is too small by a factor of 2."),
        (2.5, 1, "That is too large by a factor of 2.5."),
    ],
)
def test_how_far_an_answer_is_off(value, answer, words):
    assert str(off_by(value, answer)) == words
