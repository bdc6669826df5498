"""The exercises: each solution passes, each usual mistake gets its sentence, any other gets the property that fails."""

import math
import time

import pytest
import torch
import torch.nn.functional as F

from tests.nightly import nightly, often, often_of_several
from tfcore import exercises
from tfcore.exercises import EXERCISES, check, checking
from tfcore.views.view import View

MISTAKES = [(key, wrong.function.__name__) for key, one in EXERCISES.items() for wrong in one.mistakes]


def mistake(key, name):
    return next(one for one in EXERCISES[key].mistakes if one.function.__name__ == name)


def test_there_are_seventeen_and_each_is_whole():
    assert len(EXERCISES) == 17
    for key, one in EXERCISES.items():
        assert one.solution.__name__ == key
        assert len(one.properties) >= 3
        assert len(one.mistakes) >= 5
        assert len(one.hints) >= 3
        assert "Args:" in one.statement
        assert "Returns:" in one.statement
        assert all(not said.fails.endswith(".") and said.claim.endswith(".") for said in one.properties)
        assert all("?" in said.asks for said in one.mistakes)
        names = [wrong.function.__name__ for wrong in one.mistakes]
        assert len({*names}) == len(names)
        assert len({wrong.asks for wrong in one.mistakes}) == len(names)


@pytest.mark.parametrize("key", EXERCISES)
def test_the_solution_passes_on_whatever_inputs(key):
    result = check(EXERCISES[key].solution)
    assert result.passed, result
    assert result.sentence.startswith("Right: ")


SLOW = "patched_run"  # whose blocks are a model's, all of whose shapes are checked in tests
QUICK = [(key, name) for key, name in MISTAKES if key != SLOW or name == "exchanged"]
LONG = (SLOW, "initial_weight", "cached_attention")  # to draw


@pytest.mark.parametrize(("key", "name"), often_of_several(MISTAKES, QUICK))
def test_a_usual_mistake_gets_the_sentence_meant_for_it(key, name):
    wrong = mistake(key, name)
    result = check(wrong.function, key)
    assert not result.passed
    assert (result.mistake, result.sentence.endswith(f": {wrong.asks}")) == (name, True), result


def test_the_two_sentences_of_the_issue():
    assert str(check(mistake("attention", "over_queries").function, "attention")) == (
        "rows do not sum to 1: softmax over the wrong axis?"
    )
    ahead = check(mistake("causal_weights", "one_ahead").function, "causal_weights")
    assert str(ahead).startswith("position t changes when token t + 1 does: ")


# Wrong functions that no exercise lists: exercise, function, the property that fails.
OTHERS = {
    "halved weights": (
        "attention",
        lambda q, k, v: ((q @ k.T / q.shape[1] ** 0.5).softmax(1) / 2, v[0].expand(len(q), -1)),
        "rows do not sum to 1.",
    ),
    "the mean of all values": (
        "attention",
        lambda q, k, v: (torch.full((len(q), len(k)), 1 / len(k)), v.mean(0).expand(len(q), -1)),
        "weights[",
    ),
    "the last key alone": (
        "causal_weights",
        lambda scores: F.one_hot(torch.tensor(scores.shape[2] - 1), scores.shape[2]).float().expand(scores.shape),
        "later tokens get weight.",
    ),
    "itself alone": (
        "causal_weights",
        lambda scores: torch.eye(scores.shape[2])[-scores.shape[1] :].expand(scores.shape).clone(),
        "a token does not see all before it.",
    ),
    "values that see themselves": (
        "multi_head",
        lambda x, w_q, w_k, w_v, w_o, n: (torch.eye(len(x)).expand(n, -1, -1).clone(), x @ w_v @ w_o),
        "weights[",
    ),
    "a vector that grows": (
        "add_positions",
        lambda x, p, kind: x * (1 + p[:, None]) if kind == "rope" else x + p[:, None],
        "the length of a turned vector changes.",
    ),
    "nothing at all": ("add_positions", lambda x, p, kind: x.clone(), "vectors["),
    "divided by the largest": (
        "normalise",
        lambda x, w, b, kind, eps: x / (x.abs().amax(1, keepdim=True) + eps),
        "x and 8 x, with 64 eps, differ.",
    ),
    "a squared gate": (
        "swiglu",
        lambda x, g, u, d: ((x @ g.T).square() * (x @ u.T)) @ d.T,
        "a gate of -1 does not let -1 / (1 + e) = -0.269 through.",
    ),
    "ones": ("initial_weight", lambda name, shape, n, generator: torch.ones(shape), "a bias is not 0."),
    "letters": ("merge", lambda pieces, merges: list(pieces), "a pair of neighbours is left that is in the list."),
    "the whole word": ("merge", lambda pieces, merges: ["".join(pieces)], "a token is no merge of the list."),
    "the loss of an even guess": (
        "next_token_loss",
        lambda logits, ids: (torch.tensor(math.log(logits.shape[1])), torch.tensor(float(logits.shape[1]))),
        "loss is ",
    ),
    "the best token alone": (
        "top_p",
        lambda logits, p: F.one_hot(logits.argmax(), len(logits)).float(),
        "the tokens left do not reach p together.",
    ),
    "all tokens": ("top_p", lambda logits, p: logits.softmax(0), "more tokens are left than it takes to reach p."),
    "values that are averaged": (
        "cached_attention",
        lambda q, k, v, hk, hv: (
            v.mean(1, keepdim=True).expand(q.shape).clone(),
            torch.cat((hk, k), 1),
            torch.cat((hv, v), 1),
        ),
        "position t changes when token t + 1 does.",
    ),
    "twice the score": (
        "induction_score",
        lambda pattern, ids: 2 * EXERCISES["induction_score"].reference(pattern, ids),
        "a head that always looks at the token after the earlier occurrence does not have 1.",
    ),
    "the last stage everywhere": (
        "logit_lens",
        lambda s, w, u, eps: EXERCISES["logit_lens"].reference(s[-1:].expand(s.shape), w, u, eps),
        "a stage changes when a later one does.",
    ),
    "half a patch": (
        "patched_run",
        lambda blocks, clean, corrupted, layer, position: EXERCISES["patched_run"].reference(
            blocks, (clean + corrupted) / 2, corrupted, layer, position
        ),
        "a patch after the last block does not leave the clean run's value.",
    ),
    "minus the update": ("lora", lambda x, w, a, b, alpha: x @ w.T - alpha / len(a) * (x @ a.T @ b.T), "output["),
    "the first experts": (
        "route",
        lambda logits, k, alpha: (
            torch.arange(k).expand(len(logits), -1),
            torch.full((len(logits), k), 1 / k),
            torch.tensor(alpha),
        ),
        "the chosen experts are not the most probable ones, the best first.",
    ),
    "codes of zero": (
        "quantise",
        lambda w, group: (torch.zeros(w.shape, dtype=torch.int8), torch.ones(len(w), w.shape[1] // group)),
        "what is left of a weight is more than half a scale away.",
    ),
}


@pytest.mark.parametrize(("key", "function", "sentence"), OTHERS.values(), ids=list(OTHERS))
def test_any_other_wrong_function_gets_the_property_that_fails(key, function, sentence):
    result = check(function, key)
    assert not result.passed
    assert not result.mistake
    assert str(result).startswith(sentence)
    assert str(result).endswith(".")


def changed_in_place(q, k, v):
    q /= 2
    return EXERCISES["attention"].reference(q, k, v)


def failing(q, k, v):
    raise KeyError("d_head")


def unwritten(q, k, v):
    raise NotImplementedError


def deep(q, k, v):
    return deep(q, k, v)


def by_chance(q, k, v):
    weights = torch.rand(len(q), len(k)).softmax(-1)
    return weights, weights @ v


REFERENCE = EXERCISES["attention"].reference
ODD = {
    "an error": (failing, "attention raised KeyError ('d_head') on a tensor (5, 8), a tensor (5, 8), a tensor (5, 8)."),
    "no end": (deep, "attention raised RecursionError"),
    "nothing yet": (unwritten, "attention is still to be written."),
    "other arguments": (lambda q, k: q, "attention is called with (q, k, v), and this one takes (q, k)."),
    "in place": (changed_in_place, "attention changes its argument q in place; work on x.clone()."),
    "one of two": (
        lambda q, k, v: REFERENCE(q, k, v)[1],
        "attention returns a tensor (5, 8); return weights, output, a tuple.",
    ),
    "None": (lambda q, k, v: (None, v), "weights is None; is there a return?"),
    "another shape": (
        lambda q, k, v: (REFERENCE(q, k, v)[0].T.contiguous()[:, :1], v),
        "weights has shape (5, 1), and should have (5, 5).",
    ),
    "another dtype": (
        lambda q, k, v: REFERENCE(q.double(), k.double(), v.double()),
        "weights is of torch.float64, and should be of torch.float32.",
    ),
    "an array": (
        lambda q, k, v: tuple(part.numpy() for part in REFERENCE(q, k, v)),
        "weights is of type ndarray, and should be a torch.Tensor.",
    ),
    "NaN": (lambda q, k, v: (REFERENCE(q, k, v)[0] * math.nan, v), "weights[0, 0] is nan, and should be finite."),
    "chance": (by_chance, "two calls on the same inputs return different results."),
}


@pytest.mark.parametrize(("function", "sentence"), ODD.values(), ids=list(ODD))
def test_what_cannot_be_compared_gets_one_clear_sentence(function, sentence):
    result = check(function, "attention")
    assert not result.passed
    assert str(result).startswith(sentence)
    assert "\n" not in str(result)


def test_a_loop_without_an_end_is_ended(monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 0.2)

    def endless(q, k, v):
        while True:
            try:
                time.monotonic()
            except Exception:
                continue

    before = time.monotonic()
    said = "attention ran for more than 0.2 seconds on a tensor (5, 8), a tensor (5, 8), a tensor (5, 8)."
    assert str(check(endless, "attention")) == said
    assert time.monotonic() - before < 10


def test_a_function_is_known_by_its_name_or_by_one_that_is_said():
    def top_p(logits, p):
        return EXERCISES["top_p"].reference(logits, p)

    assert check(top_p).exercise == "top_p"
    with pytest.raises(ValueError, match=r"no exercise is called 'by_tfcore'; .* or say which"):
        check(EXERCISES["top_p"].reference)
    with pytest.raises(ValueError, match="no exercise is called 'softmax'; there are attention, causal_weights"):
        check(top_p, "softmax")
    with pytest.raises(ValueError, match="take a function, and this is of type Tensor"):
        check(torch.zeros(2))


@pytest.mark.parametrize("key", often(EXERCISES, [key for key in EXERCISES if key not in LONG]))
def test_the_figure_is_drawn_from_the_function(key):
    one = EXERCISES[key]
    right = exercises.draw(one.solution)
    assert isinstance(right, View)
    assert right.chart.data
    assert str(right).endswith(".")
    shown = exercises.picture(key)
    assert shown.chart.to_json() == right.chart.to_json()
    differ = []
    for wrong in one.mistakes:
        try:
            differ.append(exercises.draw(wrong.function, key).chart.to_json() != right.chart.to_json())
        except ValueError as error:
            differ.append("cannot be drawn" in str(error))
    assert any(differ), "a wrong function shows in the figure"


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(ValueError, match=r"cannot be drawn \(KeyError: 'd_head'\); check\(attention\) says what"):
        exercises.draw(failing, "attention")


def test_a_statement_and_a_solution_are_code():
    stub, whole = exercises.statement("causal_weights"), exercises.solution("causal_weights")
    assert stub.startswith("def causal_weights(scores: ")
    assert stub.rstrip().endswith("raise NotImplementedError  # your code")
    assert "tril" not in stub
    assert "tril" in whole
    with pytest.raises(ValueError, match="no exercise is called 'softmax'"):
        exercises.solution("softmax")


@nightly
@pytest.mark.parametrize("key", EXERCISES)
def test_many_inputs_tell_solutions_and_mistakes_apart(key):
    for seed in range(1, 4 if key == SLOW else 21):
        assert check(EXERCISES[key].solution, seed=seed).passed
        for wrong in EXERCISES[key].mistakes:
            assert check(wrong.function, key, seed).mistake == wrong.function.__name__, seed
