"""Rewards on texts that one can count, and what is said of runs."""

from types import SimpleNamespace

import pytest

from tfcore.training.preference_runs import (
    PreferenceConfig,
    PreferenceRun,
    Sampled,
    ends_happily,
    is_short,
    names_animals,
    repetition,
)
from tfcore.views.training.finetuning.measure.preference import (
    REPEATED,
    SURPRISING,
    RewardHacking,
    reward_hacking,
    rungs_of,
)
from tfcore.views.training.finetuning.say import frontier, hacking, reward_gained

FIRST = Sampled(0, 0.5, 0.0, 1.6, 0.02)


def run(last: Sampled, beta: float = 0.1) -> PreferenceRun:
    return PreferenceRun(PreferenceConfig(beta=beta), (FIRST, last), ("a",), ("b",))


def test_rewards():
    assert names_animals("The dog saw two Cats, a bearskin and a dog.") == 3
    assert ends_happily("They were sad. " + "and " * 3 + "She smiled.") == 1
    assert ends_happily("She smiled. " + "and " * 12) == 0
    assert (is_short(""), is_short("one two three four five"), is_short("no " * 30)) == (1.0, 0.75, -0.5)


def test_repeated_pairs_of_words_are_counted_text_by_text():
    assert repetition(["a b a b", "a b"]) == pytest.approx(1 / 4)  # ab, ba, ab and ab: one comes again in its text
    assert repetition(["", "one"]) == 0


def test_what_a_run_gained():
    found = reward_gained(run(Sampled(25, 4.0, 12.5, 3.0, 0.5)))
    assert str(found) == (
        "Policy gradient with β = 0.1 moves the mean reward from 0.50 to 4.00 in 25 steps, at a KL divergence of 12.5 "
        "nats per continuation from the original model."
    )


@pytest.mark.parametrize(
    ("last", "hacked", "says"),
    [
        (Sampled(25, 4.0, 12.5, 3.0, 0.02), True, "This is reward hacking"),
        (Sampled(25, 4.0, 12.5, 1.6, 0.30), True, "This is reward hacking"),
        (Sampled(25, 4.0, 12.5, 1.7, 0.05), False, "No reward hacking by these measures"),
        (Sampled(25, 0.5, 12.5, 3.0, 0.05), False, "became worse and the reward did not rise"),
    ],
)
def test_reward_hacking_needs_a_higher_reward_and_a_worse_text(last, hacked, says):
    assert reward_hacking(run(last)).hacked == hacked
    found = hacking(run(last))
    assert says in str(found)
    assert f"from 1.60 to {last.surprise:.2f} nats per token" in str(found)


def test_the_ladder():
    found = frontier([run(Sampled(25, 0.8, 1.0, 1.6, 0.0), 1.0), run(Sampled(25, 9.0, 40.0, 4.0, 0.8), 0.01)])
    assert str(found) == (
        "Policy gradient, one seed: from β = 1 to β = 0.01 the reward goes from 0.80 to 9.00 and the KL divergence "
        "from 1.0 to 40.0 nats per continuation. Reward hacking at β = 0.01."
    )
    assert "No reward hacking at any of these β." in str(frontier([run(Sampled(25, 0.8, 1.0, 1.6, 0.0))]))


def test_the_ladder_over_seeds():
    ends = ((1.0, 0.8, 1.0, 1.6), (0.01, 9.0, 40.0, 4.0), (1.0, 0.4, 2.0, 1.6), (0.01, 4.0, 10.0, 1.6))
    runs = [run(Sampled(25, reward, kl, surprise, 0.0), beta) for beta, reward, kl, surprise in ends]
    assert [(rung.beta, rung.rewards, rung.kls, rung.hacked) for rung in rungs_of(runs)] == [
        (0.01, (9.0, 4.0), (40.0, 10.0), 1),
        (1.0, (0.8, 0.4), (1.0, 2.0), 0),
    ]
    assert str(frontier(runs)) == (
        "Policy gradient, means over 2 seeds, lowest and highest in brackets: from β = 1 to β = 0.01 the reward goes "
        "from 0.60 (0.40 to 0.80) to 6.50 (4.00 to 9.00) and the KL divergence from 1.5 (1.0 to 2.0) to 25.0 (10.0 to "
        "40.0) nats per continuation. Reward hacking at β = 0.01 (with 1 of 2)."
    )


@pytest.mark.usefixtures("unchecked")
def test_a_reward_is_hacked_beyond_a_margin():
    def sampled(reward, surprise, repetition):
        return SimpleNamespace(reward=reward, surprise=surprise, repetition=repetition)

    before = sampled(0.0, 1.0, 0.0)
    for after, rose, worse in (
        (sampled(0.1 * 0.1, SURPRISING, REPEATED), False, False),
        (sampled(0.02, SURPRISING + 1, 0.0), True, True),
        (sampled(0.02, 1.0, REPEATED + 0.1), True, True),
    ):
        found = RewardHacking(before, after)
        assert (found.rose, found.worse) == (rose, worse)
