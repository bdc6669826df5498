"""The tuned lens against its formula in loops, what is said of it, and the shipped ones against their cards."""

import math

import numpy as np
import pytest
import torch

from tests import small
from tests.cards import STORIES, measured
from tfcore.inspection.tuned_lens import TunedLens
from tfcore.loading.checkpoints import load
from tfcore.loading.tuned_lenses import FOLDER, load_tuned_lens, with_tuned_lens
from tfcore.measures.lenses import (
    LensComparison,
    compare_lenses,
    divergence,
    mean_divergences,
    stage_names,
    stage_states,
    stages,
)
from tfcore.views.inside.stream.measure.lens import logit_lens, tokens_at
from tfcore.views.inside.stream.say.lens import LeadsFrom, correct_by_stage, leads_from, lens_divergence

TEXT = small.ids(1, 9)[0].tolist()


def lens_of(model, spread: float = 0.2) -> TunedLens:
    """Random translators; of spread 0, those of the logit lens."""
    lens, generator = TunedLens(stages(model.config)[:-1], model.config.d_model), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for part in lens.parameters():
            part.copy_(spread * torch.randn(part.shape, generator=generator))
    return lens.requires_grad_(False)


@pytest.fixture(scope="module")
def model():
    return small.model()


def test_a_state_is_translated_normalised_and_unembedded(model):
    """TunedLens(x) = FinalNorm(A x + b) W_U, number by number."""
    lens, name = lens_of(model), "blocks.0.resid_mid"
    x = model(torch.tensor([TEXT]), capture=(name,)).activations[name][0, 4].tolist()
    i = lens.stages.index(name)
    moved = [
        v + sum(w * u for w, u in zip(row, x, strict=True)) + b
        for v, row, b in zip(x, lens.weight[i].tolist(), lens.bias[i].tolist(), strict=True)
    ]
    size = math.sqrt(sum(v * v for v in moved) / len(moved) + model.config.norm.eps)
    gains = model.decoder.ln_final.weight.tolist()
    logits = [
        sum(v / size * g * w for v, g, w in zip(moved, gains, row, strict=True)) for row in model.embed.weight.tolist()
    ]
    total = sum(math.exp(v) for v in logits)
    best = sorted(range(len(logits)), key=lambda token: -logits[token])[:5]
    found = logit_lens(model, TEXT, tuned=lens)
    stage = found.stages.index(name)
    assert found.best[stage, 4].tolist() == best
    np.testing.assert_allclose(found.probability[stage, 4], [math.exp(logits[t]) / total for t in best], rtol=1e-4)
    path = tokens_at(model, stage_states(model, TEXT, lens), 4, best)
    np.testing.assert_allclose(path.probability[stage], found.probability[stage, 4], rtol=1e-5)
    compared = compare_lenses(model, lens, TEXT)
    assert compared.tuned_best[stage, 4] == best[0]
    assert compared.logit_best[stage, 4] == logit_lens(model, TEXT).best[stage, 4, 0]


@pytest.mark.parametrize("kind", small.WIRINGS)
def test_the_last_stage_is_the_models_own_output(kind):
    model = small.model(**small.WIRINGS[kind])
    found = logit_lens(model, TEXT, tuned=lens_of(model))
    assert found.tuned
    own = model(torch.tensor([TEXT])).logits[0].softmax(-1).topk(5)
    np.testing.assert_array_equal(found.best[-1], own.indices)
    np.testing.assert_allclose(found.probability[-1], own.values, atol=1e-6)
    compared = compare_lenses(model, lens_of(model), TEXT)
    assert np.abs(compared.logit[-1]).max() < 1e-5
    assert np.abs(compared.tuned[-1]).max() < 1e-5


def test_translators_that_change_nothing_give_the_logit_lens(model):
    plain, tuned = logit_lens(model, TEXT), logit_lens(model, TEXT, tuned=lens_of(model, spread=0))
    for name in ("best", "probability", "next_probability", "next_rank"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(tuned, name))
    assert not plain.tuned
    assert str(correct_by_stage(plain)).startswith("Logit lens: ")
    assert str(correct_by_stage(tuned)).startswith("Tuned lens: ")
    compared = compare_lenses(model, lens_of(model, spread=0), TEXT)
    np.testing.assert_array_equal(compared.logit, compared.tuned)


def test_the_divergence_is_its_sum(model):
    final, read = torch.randn(2, 7, generator=torch.Generator().manual_seed(1))
    p, q = final.double().softmax(-1).tolist(), read.double().softmax(-1).tolist()
    wanted = sum(a * (math.log(a) - math.log(b)) for a, b in zip(p, q, strict=True))
    assert float(divergence(final, read)) == pytest.approx(wanted, abs=1e-6)
    assert float(divergence(final, final)) == pytest.approx(0, abs=1e-6)


def test_divergences_of_texts_are_means_over_their_tokens(model):
    lens, texts = lens_of(model), [TEXT, TEXT[:4]]
    tokens, logit, tuned = mean_divergences(model, lens, texts)
    both = [compare_lenses(model, lens, ids) for ids in texts]
    assert tokens == 13
    np.testing.assert_allclose(tuned, sum(one.tuned.sum(1) for one in both) / 13, rtol=1e-5)
    np.testing.assert_allclose(logit, sum(one.logit.sum(1) for one in both) / 13, rtol=1e-5)
    said = lens_divergence(both[1]).values
    assert said["positions"] == 4
    assert said["stages"] == ", ".join(
        f"{stage} {a:.2f} and {b:.2f}"
        for stage, a, b in zip(stage_names(both[1].stages), both[1].logit.mean(1), both[1].tuned.mean(1), strict=True)
    )


NAMES = ("blocks.0.resid_pre", "blocks.0.resid_mid", "blocks.0.resid_post")


def test_what_is_said_of_both_lenses():
    values = np.array([[4.0, 2.0], [1.0, 2.0], [0.0, 0.0]])
    logit_best, tuned_best = np.array([[5, 1], [5, 2], [7, 2]]), np.array([[7, 2], [7, 2], [7, 2]])
    found = LensComparison(NAMES, values, values / 2, logit_best, tuned_best)
    assert str(lens_divergence(found)) == (
        "Mean KL divergence from the model's own predictions, in nats, by the logit lens and by the tuned lens: embed "
        "3.00 and 1.50, attn 0 1.50 and 0.75, FF 0 0.00 and 0.00; over 2 positions."
    )
    assert leads_from(found, 0, " a") == LeadsFrom(" a", 0, "FF 0", "embed")
    assert str(leads_from(found, 0, " a")) == (
        "The model's prediction after position 0, '·a', leads from FF 0 on by the logit lens, from the embedding on "
        "by the tuned lens."
    )
    assert leads_from(found, 1, " a").logit == "attn 0"
    same = LeadsFrom(" a", 1, "attn 0", "attn 0")
    assert str(same) == "The model's prediction after position 1, '·a', leads from attn 0 on by either lens."


def test_of_many_stages_some_are_named_the_last_among_them():
    names = ("blocks.0.resid_pre", *(f"blocks.{i}.resid_post" for i in range(60)))
    ones, best = np.ones((61, 1)), np.zeros((61, 1), dtype=int)
    said = str(lens_divergence(LensComparison(names, ones, ones / 2, best, best)))
    assert said.count(" and 0.50") == 9
    assert "block 59 1.00 and 0.50; over 1 position." in said


@pytest.mark.parametrize("name", with_tuned_lens())
def test_a_shipped_lens_is_nearer_to_its_model_at_every_stage(name):
    """On stories that neither the model nor the lens was trained on."""
    model, tokenizer = load(name)
    texts = [tokenizer.encode(story)[: model.config.max_seq_len] for story in STORIES]
    tokens, logit, tuned = mean_divergences(model, load_tuned_lens(name), texts)
    assert tokens > 100
    assert abs(tuned[-1]) < 1e-5
    card = measured(f"{name}/{FOLDER}")
    for stage, *found in list(zip(stage_names(stages(model.config)), logit, tuned, strict=True))[:-1]:
        said = [card[f"{name} {stage} {kind}_lens"] for kind in ("logit", "tuned")]
        assert said[1] < 0.7 * said[0]
        assert found[1] < 0.7 * found[0]
        np.testing.assert_allclose(found, said, rtol=0.45)  # three other stories, which are easier
