"""DPO by hand, the KL estimate beside the exact KL, and the policy gradient beside a finite difference."""

import math
from itertools import product

import pytest
import torch

from tests.nightly import often
from tfcore.config import ModelConfig
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, FeedForwardConfig
from tfcore.training import preference
from tfcore.training.finetuning import own_model
from tfcore.training.preference import Samples, dpo_loss, kl_per_row, policy_gradient_loss, preferred_pairs
from tfcore.training.preference_runs import ALGORITHMS, REWARD_NAMES, PreferenceConfig
from tfcore.training.recipes.preference import PREFERENCE, of_preference

VOCAB = 4
BETA = 0.7
CONFIG = ModelConfig(
    vocab_size=VOCAB,
    d_model=8,
    n_layers=1,
    attention=AttentionConfig(n_heads=2),
    feed_forward=FeedForwardConfig(d_ff=8),
    max_seq_len=4,
)


def model(seed: int) -> Transformer:
    """A tiny model in double precision whose distributions are far from even."""
    made = Transformer(CONFIG, seed).double()
    torch.nn.init.normal_(made.embed.weight, std=0.8, generator=torch.Generator().manual_seed(seed))
    return made


@pytest.fixture(scope="module")
def every_text() -> Samples:
    """All continuations of two tokens after token 0; those that begin with token 3 end there."""
    ids = torch.tensor([(0, *pair) for pair in product(range(VOCAB), repeat=2)])
    mask = torch.stack((torch.ones(len(ids), dtype=torch.bool), ids[:, 1] != 3), 1)
    return Samples(ids, mask, tuple("" for _ in ids))


def once(samples: Samples) -> torch.Tensor:
    """1 at one of the rows that are the same text, 0 at the others: what follows the end is not part of it."""
    return ((samples.ids[:, 1] != 3) | (samples.ids[:, 2] == 0)).double()


def log_probs_by_hand(policy: Transformer, samples: Samples) -> list[float]:
    """Of each continuation, token by token."""
    found = []
    for row, kept in zip(samples.ids.tolist(), samples.mask.tolist(), strict=True):
        total = 0.0
        for place, counted in enumerate(kept):
            p = policy(torch.tensor([row[: place + 1]])).logits[0, -1].softmax(-1)
            total += math.log(float(p[row[place + 1]].detach())) if counted else 0.0
        found.append(total)
    return found


@torch.no_grad()
def test_log_probabilities_are_those_of_the_tokens_one_by_one(every_text):
    found = preference.token_log_probs(model(1), every_text).sum(-1)
    assert found.tolist() == pytest.approx(log_probs_by_hand(model(1), every_text), abs=1e-9)
    assert float((found.exp() * once(every_text)).sum()) == pytest.approx(1)


def test_dpo_of_one_pair_by_hand():
    # log-ratios: -5 - -6 = 1 for the chosen, -9 - -8.5 = -0.5 for the other; sigmoid of 0.2 * 1.5
    chosen, rejected, chosen_before, rejected_before = torch.tensor([[-5.0], [-9.0], [-6.0], [-8.5]])
    loss = dpo_loss(chosen, rejected, chosen_before, rejected_before, beta=0.2)
    assert float(loss) == pytest.approx(-math.log(1 / (1 + math.exp(-0.2 * 1.5))), rel=1e-6)
    even = torch.tensor([-5.0, -7.0])
    assert float(dpo_loss(even, even, even, even, beta=0.2)) == pytest.approx(math.log(2))


def test_the_gradient_of_dpo_is_equation_8s():
    chosen, rejected = torch.tensor([-5.0], requires_grad=True), torch.tensor([-9.0], requires_grad=True)
    dpo_loss(chosen, rejected, torch.tensor([-6.0]), torch.tensor([-8.5]), beta=0.2).backward()
    weight = 0.2 / (1 + math.exp(0.2 * 1.5))  # beta sigmoid(implied reward of the other - of the chosen)
    assert float(chosen.grad) == pytest.approx(-weight)
    assert float(rejected.grad) == pytest.approx(weight)


@torch.no_grad()
def test_the_kl_estimate_is_exact_on_average(every_text):
    policy, original = model(1), model(2)
    p, q = (torch.tensor(log_probs_by_hand(one, every_text)).double() for one in (policy, original))
    exact = float((p.exp() * (p - q) * once(every_text)).sum())
    log_p, before = (preference.continuation_log_p(one, every_text) for one in (policy, original))
    estimates = kl_per_row(log_p, before, every_text.mask)
    assert float((p.exp() * estimates * once(every_text)).sum()) == pytest.approx(exact, rel=1e-6)
    assert exact > 0.1
    assert float((estimates - exact).std()) < float((p - q - exact).std()), "less variance than the log-ratio"


def test_the_policy_gradient_is_that_of_the_objective(every_text):
    """The expectation over all texts of the surrogate's gradient, beside a finite difference of E[r] - beta KL."""
    original, weights = model(2), once(every_text)
    rewards = torch.randn(len(weights), generator=torch.Generator().manual_seed(3)).double()
    rewards[-VOCAB:] = rewards[-VOCAB]  # one text, one reward
    with torch.no_grad():
        before = preference.token_log_probs(original, every_text).sum(-1)

    def objective(policy: Transformer) -> float:
        with torch.no_grad():
            log_p = preference.token_log_probs(policy, every_text).sum(-1)
            return float((log_p.exp() * (rewards - BETA * (log_p - before)) * weights).sum())

    policy = model(1)
    place = policy.decoder.blocks[0].mlp.down.weight
    log_p = preference.token_log_probs(policy, every_text).sum(-1)
    # a batch that has each text as often as the policy draws it: the loss is linear in its rows but for the baseline
    drawn = torch.multinomial(
        (log_p.exp() * weights).detach(), 400_000, True, generator=torch.Generator().manual_seed(0)
    )
    policy_gradient_loss(log_p[drawn], before[drawn], rewards[drawn], BETA).backward()
    step = 1e-5
    for i, j in ((0, 0), (3, 5), (7, 2)):
        shifted = []
        for sign in (1, -1):
            moved = model(1)
            with torch.no_grad():
                moved.decoder.blocks[0].mlp.down.weight[i, j] += sign * step
            shifted.append(objective(moved))
        difference = (shifted[0] - shifted[1]) / (2 * step)
        assert float(-place.grad[i, j]) == pytest.approx(difference, rel=0.05, abs=2e-4)


def test_every_pair_has_its_better_one_first():
    chosen, rejected = preferred_pairs(torch.tensor([1.0, 0.0, 2.0]))
    assert set(zip(chosen.tolist(), rejected.tolist(), strict=True)) == {(0, 1), (2, 0), (2, 1)}
    with pytest.raises(ValueError, match="the same reward"):
        preferred_pairs(torch.zeros(3))


def test_samples_end_with_the_story_and_are_the_same_for_a_seed():
    shared, tokenizer = own_model()
    first, again = (preference.draw_samples(shared, tokenizer, 6, torch.Generator().manual_seed(4)) for _ in range(2))
    assert torch.equal(first.ids, again.ids)
    assert first.mask[:, 0].all()
    assert all("<|endoftext|>" not in text for text in first.texts)


@pytest.mark.parametrize("algorithm", often(["dpo", "reinforce"], ["dpo"]))
def test_a_run_begins_at_the_original_model_and_moves(algorithm, monkeypatch):
    for name, value in (("NEW", 6), ("ROWS", 4), ("DRAWN", 64), ("MEASURED", 6)):
        monkeypatch.setattr(preference, name, value)
    config = PreferenceConfig(algorithm=algorithm, reward="short", steps=1)
    runs = [run for run in preference.tune(config) if run is not None]
    assert [point.step for point in runs[-1].points] == [0, 1]
    assert runs[0].points[0].kl == 0
    assert runs[-1].points[-1].kl > 0
    assert runs[0].before == runs[0].after


def test_the_kept_ladder_is_that_of_the_recipe():
    kept = preference.kept_preferences()
    assert [run.config for run in kept] == list(PREFERENCE.configs)
    assert of_preference()["animals_dpo_0.01_kl"] == kept[0].points[-1].kl
    assert all(run.points[-1].step == run.config.steps for run in kept)
    assert all(run.points[-1].reward > run.points[0].reward for run in kept if run.config.seed == 0)


@pytest.mark.parametrize(
    ("reward", "seed"), [*((reward, 0) for reward in REWARD_NAMES), ("animals", 1), ("animals", 2)]
)
def test_what_the_page_says_of_small_betas(reward, seed):
    kept = preference.kept_preferences()
    own = [run for run in kept if (run.config.reward, run.config.seed) == (reward, seed)]
    ends = {
        algorithm: [run.points[-1] for run in own if run.config.algorithm == algorithm]  # from the smallest beta on
        for algorithm in ALGORITHMS
    }
    gained = [end.reward for end in ends["reinforce"]]
    assert gained[0] > gained[-1]
    assert max(end.kl for end in ends["dpo"]) == ends["dpo"][0].kl
    assert ends["dpo"][0].reward < max(end.reward for end in ends["dpo"])
