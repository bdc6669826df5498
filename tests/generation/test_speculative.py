"""Speculative sampling gives the distribution of the model alone, whatever the draft guesses."""

import itertools
import math

import pytest
import torch

from tests.nightly import nightly, often_of_several
from tests.small import config
from tests.small import model as small
from tfcore import Output, Transformer, generate
from tfcore.generation.sampling import Sampling
from tfcore.generation.speculative import accept, outcome, residual, speculate, speculative

SHAPES = {
    "decoder": {},
    "window": {"window": 3},
    "alibi": {"positions": "alibi", "n_kv_heads": 2},
    "both": {"architecture": "encoder-decoder", "start_id": 1},
}
IDS = [3, 1, 4, 1]


def p_value(counts, expected):
    """Of a chi-square test: how likely counts this far from the expected ones are. Rare cells are taken together."""
    expected = torch.tensor(expected, dtype=torch.float64) * sum(counts)
    counts = torch.tensor(counts, dtype=torch.float64)
    rare = expected < 5
    expected = torch.cat((expected[~rare], expected[rare].sum()[None]))
    counts = torch.cat((counts[~rare], counts[rare].sum()[None]))
    there = expected > 0
    assert counts[~there].sum() == 0
    statistic = ((counts - expected)[there] ** 2 / expected[there]).sum()
    return float(torch.special.gammaincc((there.sum() - 1) / 2, statistic / 2))


def test_the_chi_square_test_finds_what_is_off():
    assert p_value([500, 300, 200], [0.5, 0.3, 0.2]) == 1
    assert p_value([530, 290, 180], [0.5, 0.3, 0.2]) == pytest.approx(
        math.exp(-62 / 30)
    )  # of 2 degrees of freedom: 1.8 + 1/3 + 2
    assert p_value([600, 250, 150], [0.5, 0.3, 0.2]) < 1e-6


thousands_of_rounds = pytest.mark.usefixtures("unchecked")
P = torch.tensor([[0.5, 0.2, 0.3, 0.0], [0.1, 0.1, 0.1, 0.7], [0.25, 0.25, 0.25, 0.25]])
Q = torch.tensor([[0.1, 0.6, 0.1, 0.2], [0.4, 0.0, 0.3, 0.3]])


@thousands_of_rounds
def test_accepted_and_replaced_tokens_have_the_models_distribution():
    """Two guesses and a token after them, each pair of positions counted where both exist."""
    generator, n = torch.Generator().manual_seed(0), 2_000
    first, pairs, kept = [0] * 4, [0] * 16, 0
    guesses = torch.multinomial(Q, n, replacement=True, generator=generator).T.tolist()
    for guessed in guesses:
        accepted, token = accept(guessed, Q, P, generator)
        text = [*guessed[:accepted], token]
        kept += accepted
        first[text[0]] += 1
        if len(text) > 1:
            pairs[4 * text[0] + text[1]] += 1
    assert p_value(first, P[0].tolist()) > 0.01
    # The second token is seen where the first guess stayed; that is, with min(p, q) as the weight of the first.
    stays = torch.minimum(P[0], Q[0])
    expected = (stays / stays.sum())[:, None] * P[1]
    assert p_value(pairs, expected.flatten().tolist()) > 0.01
    rate = float(stays.sum() * (1 + torch.minimum(P[1], Q[1]).sum()))  # arXiv:2211.17192, theorem 3.5
    assert kept / n == pytest.approx(rate, abs=0.05)


@thousands_of_rounds
@pytest.mark.parametrize(("guess", "rate", "n"), [(0, 1.0, 500), (1, 1 / 3, 8_000), (2, 1.0, 500), (3, 0.0, 500)])
def test_a_guess_is_accepted_with_probability_p_over_q(guess, rate, n):
    """Algorithm 1, for each token by itself: min(1, p / q). A tenth too often would be six standard deviations off."""
    generator = torch.Generator().manual_seed(guess)
    accepted = sum(accept([guess], Q[:1], P[:2], generator)[0] for _ in range(n))
    assert accepted / n == pytest.approx(rate, abs=0.015 if 0 < rate < 1 else 0)


@thousands_of_rounds
def test_the_acceptance_rate_is_the_overlap_and_the_token_has_the_models_distribution():
    """alpha = sum min(p, q) (theorem 3.5); whatever q is, the first token follows p (appendix A.1)."""
    p, q = torch.tensor([[0.6, 0.4]] * 2), torch.tensor([[1.0, 0.0]])
    generator, n = torch.Generator().manual_seed(1), 8_000
    kept, firsts = 0, [0, 0]
    for _ in range(n):
        accepted, token = accept([0], q, p, generator)
        kept += accepted
        firsts[0 if accepted else token] += 1
    assert kept / n == pytest.approx(0.6, abs=0.015)  # a tenth too often: 0.66
    assert p_value(firsts, p[0].tolist()) > 0.01


def test_a_perfect_draft_is_always_accepted_and_an_impossible_guess_never():
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        guessed = torch.multinomial(P[:2], 1, generator=generator).flatten().tolist()
        assert accept(guessed, P[:2], P, generator)[0] == 2
        accepted, token = accept([3], Q[:1], P[:2], generator)
        assert accepted == 0
        assert token in (0, 2)  # where p is above q


class Table(Transformer):
    """Scores drawn anew for every beginning of a text: a model that depends on all tokens, and takes no time."""

    def __init__(self, seed):
        super().__init__(config(vocab_size=3, d_model=8, n_layers=1, n_heads=2))
        self.seed, self.rows, self.text = seed, {}, []

    def row(self, text):
        if text not in self.rows:
            generator = torch.Generator().manual_seed(self.seed + int("1" + "".join(map(str, text))))
            self.rows[text] = torch.randn(3, generator=generator)
        return self.rows[text]

    def forward(self, ids, *, cache, edits=()):  # noqa: ARG002
        start, self.text = cache.length, self.text[: cache.length] + ids[0].tolist()
        cache.advance(ids.shape[1])
        rows = [self.row(tuple(self.text[: i + 1])) for i in range(start, len(self.text))]
        return Output(torch.zeros(1, len(rows), 8), torch.stack(rows)[None], {})


def joint(model, ids, n, settings):
    """Probability of every text of n ids after the given ones, by the chain rule."""
    chances = {}
    for text in itertools.product(range(3), repeat=n):
        whole, chances[text] = (*ids, *text), 1.0
        for i in range(len(ids), len(whole)):
            p = Sampling(**settings).distribution(model.row(whole[:i]), torch.tensor(whole[:i]))
            chances[text] *= float(p[whole[i]])
    return chances


FILTERS = {"temperature": 0.7, "top_p": 0.9, "min_p": 0.05, "repetition_penalty": 1.4}


@thousands_of_rounds
@pytest.mark.parametrize(
    ("guess", "settings"),
    [(2, {}), *(pytest.param(*more, marks=nightly) for more in ((1, {"temperature": 1.5}), (4, FILTERS)))],
    ids=str,
)
def test_texts_have_the_distribution_of_the_model_alone(guess, settings):
    model, draft, n, ids = Table(0), Table(10_000), 500, [0, 1]
    expected = joint(model, ids, 3, settings)
    counts, drafted, accepted = dict.fromkeys(expected, 0), 0, 0
    for seed in range(n):
        found = speculative(model, draft, ids, Sampling(**settings), max_new_tokens=3, guess=guess, seed=seed)
        counts[found.ids] += 1
        drafted, accepted = drafted + found.drafted, accepted + found.accepted
    assert 0.2 < accepted / drafted < 0.9  # both ways through the algorithm were taken
    assert p_value(list(counts.values()), list(expected.values())) > 0.01
    of_the_draft = [p + 1e-9 for p in joint(draft, ids, 3, settings).values()]
    assert p_value(list(counts.values()), of_the_draft) < 1e-6  # the test would tell


def noisy(model):
    """A draft that is often right and sometimes not, so that both caches are cut back by all sorts of lengths."""
    draft = small(**model.config.to_dict())
    for i, parameter in enumerate(draft.parameters()):
        parameter += 0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(i))
    return draft


@pytest.mark.parametrize(
    ("shape", "guess", "extra"),
    often_of_several(
        [("decoder", 3, {}), ("window", 3, {}), ("alibi", 1, {"repetition_penalty": 1.3}), ("both", 2, {})],
        [("alibi", 1, {"repetition_penalty": 1.3})],
    ),
    ids=lambda value: str(value),
)
def test_greedy_is_the_greedy_text_of_the_model(shape, guess, extra):
    model, sampling = small(**SHAPES[shape]), Sampling(temperature=0, **extra)
    found = speculative(model, noisy(model), IDS, sampling, max_new_tokens=16, guess=guess)
    assert list(found.ids) == generate(model, IDS, sampling, max_new_tokens=16)
    assert 0 < found.accepted < found.drafted
    assert len(found.ids) == found.accepted + len(found.rounds)


def test_without_guesses_it_is_plain_generation():
    model = small()
    found = speculative(model, small(seed=1), IDS, Sampling(temperature=0), max_new_tokens=6, guess=0)
    assert list(found.ids) == generate(model, IDS, Sampling(temperature=0), max_new_tokens=6)
    assert (found.drafted, len(found.rounds)) == (0, 6)


def test_the_model_as_its_own_draft_is_never_refused():
    model = small()
    found = speculative(model, model, IDS, Sampling(temperature=0), max_new_tokens=20, guess=4)
    assert [(len(r.guessed), r.accepted) for r in found.rounds] == [(4, 4)] * 4  # 5 tokens a pass
    assert found.drafted == found.accepted == 16


def test_a_round_is_one_pass_of_the_model():
    model, passes = small(), []
    hook = model.register_forward_hook(lambda *_: passes.append(1))
    found = speculative(model, small(seed=1), IDS, max_new_tokens=11, guess=3)
    hook.remove()
    assert len(passes) == len(found.rounds)
    text = [token for r in found.rounds for token in (*r.guessed[: r.accepted], r.token)]
    assert text == list(found.ids)
    assert len(text) == 11


def test_seed_decides():
    model, draft = small(), small(seed=1)
    first, again, other = (speculative(model, draft, IDS, max_new_tokens=8, seed=s) for s in (1, 1, 2))
    assert first == again
    assert first.ids != other.ids


def test_a_stop_id_ends_the_text_within_a_round():
    model = small()
    whole = generate(model, IDS, Sampling(temperature=0), max_new_tokens=20)
    stop = whole[6]
    found = speculative(model, model, IDS, Sampling(temperature=0), max_new_tokens=20, guess=4, stop_ids=[stop])
    assert list(found.ids) == whole[: whole.index(stop) + 1]


def test_it_ends_where_the_context_is_full_and_does_without_a_draft_whose_context_is():
    model, draft = small(max_seq_len=20), small(max_seq_len=10)
    greedy = generate(model, IDS, Sampling(temperature=0), max_new_tokens=100)
    found = speculative(model, draft, IDS, Sampling(temperature=0), max_new_tokens=100)
    assert list(found.ids) == greedy
    assert len(greedy) == 20 - len(IDS)
    assert found.rounds[0].guessed
    assert not found.rounds[-1].guessed


def test_an_encoder_decoder_starts_its_draft_where_it_starts_itself():
    model, draft = small(**SHAPES["both"]), small(**SHAPES["both"] | {"start_id": 9})
    for start in (None, [5, 6]):
        options = {"max_new_tokens": 8, "decoder_ids": start}
        found = speculative(model, draft, IDS, Sampling(temperature=0), **options)
        assert list(found.ids) == generate(model, IDS, Sampling(temperature=0), **options)
        assert found.accepted == found.drafted > 0


@pytest.mark.parametrize(
    ("draft", "options", "says"),
    [
        ({"vocab_size": 60}, {}, "vocab_size=60, the model 61"),
        ({"architecture": "encoder-decoder"}, {}, "architecture='encoder-decoder', the model 'decoder'"),
        ({}, {"guess": -1}, "guess=-1"),
        ({"max_seq_len": 3}, {}, "4 tokens are more than max_seq_len=3"),
    ],
)
def test_what_does_not_go_together_is_refused(draft, options, says):
    with pytest.raises(ValueError, match=says):
        speculative(small(), small(**draft), IDS, **options)


def test_a_model_whose_texts_must_have_an_id_takes_no_draft():
    both = {"architecture": "encoder-decoder", "forced_last": 3}
    with pytest.raises(ValueError, match=r"^a draft knows nothing of tokens that a model's texts must or may not have"):
        speculative(small(**both), small(**both), [1, 2], max_new_tokens=4)


def test_rounds_tell_the_distributions_that_decided():
    model, draft, sampling = small(), noisy(small()), Sampling(temperature=0.9, top_k=20)
    rounds = list(speculate(model, draft, IDS, sampling, max_new_tokens=12, guess=3, seed=2))
    text = list(IDS)
    for checked in rounds:
        read = text + list(checked.round.guessed)
        for network, rows in ((draft, checked.q), (model, checked.p)):
            logits = network(torch.tensor([read])).logits[0, len(text) - 1 :][: len(rows)]
            torch.testing.assert_close(rows, sampling.distribution(logits), atol=1e-5, rtol=1e-4)
        text += checked.ids
    found = speculative(model, draft, IDS, Sampling(temperature=0.9, top_k=20), max_new_tokens=12, guess=3, seed=2)
    assert tuple(text[len(IDS) :]) == found.ids
    assert tuple(checked.round for checked in rounds) == found.rounds


def test_what_stays_and_what_is_drawn_instead_is_the_model():
    torch.testing.assert_close(outcome(P[:2], Q), P[:2])
    torch.testing.assert_close(residual(P[0], Q[0]), torch.tensor([0.4, 0.0, 0.2, 0.0]) / 0.6)
    assert torch.equal(residual(P[0], P[0]), P[0])
    far = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert torch.equal(outcome(far[0], far[1]), far[0])
