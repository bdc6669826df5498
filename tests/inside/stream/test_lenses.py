"""Lenses against their formulas in loops, what is said of them, and the shipped ones against their cards."""

import math

import numpy as np
import pytest
import torch

from tests import small
from tests.cards import STORIES, measured
from tests.nightly import nightly
from tfcore.inspection.affine_lens import AffineLens
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import PRETRAINED, load, shipped
from tfcore.loading.lenses import KINDS, folder_of, load_lens, with_lens
from tfcore.measures.lenses import (
    LensReading,
    affine_reader,
    compare_lenses,
    divergence,
    logit_reader,
    mean_divergences,
    patchscope_reader,
    stage_names,
    stage_states,
    stages,
)
from tfcore.training.recipes.lenses import MEASURED_TEXTS
from tfcore.training.recipes.lenses import measured as lenses_measured
from tfcore.views.inside.stream.measure.lens import logit_lens, tokens_at
from tfcore.views.inside.stream.say.lens import LeadsFrom, correct_by_stage, leads_from, lens_divergences

TEXT, PROMPT = small.ids(1, 9)[0].tolist(), small.ids(1, 5, seed=3)[0].tolist()


def lens_of(model, spread: float = 0.2) -> AffineLens:
    """Random translators; of spread 0, those of the logit lens."""
    lens, generator = AffineLens(stages(model.config)[:-1], model.config.d_model), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for part in lens.parameters():
            part.copy_(spread * torch.randn(part.shape, generator=generator))
    return lens.requires_grad_(False)


def readers(model, lens: AffineLens) -> dict:
    return {"logit": logit_reader(model), "tuned": affine_reader(model, lens)}


@pytest.fixture(scope="module")
def model():
    return small.model()


def test_a_state_is_translated_normalised_and_unembedded(model):
    """AffineLens(x) = FinalNorm(A x + b) W_U, number by number."""
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
    found = logit_lens(model, TEXT, reader=affine_reader(model, lens))
    stage = found.stages.index(name)
    assert found.best[stage, 4].tolist() == best
    np.testing.assert_allclose(found.probability[stage, 4], [math.exp(logits[t]) / total for t in best], rtol=1e-4)
    path = tokens_at(stage_states(model, TEXT), affine_reader(model, lens), 4, best)
    np.testing.assert_allclose(path.probability[stage], found.probability[stage, 4], rtol=1e-5)
    compared = compare_lenses(model, readers(model, lens), stage_states(model, TEXT))
    assert compared["tuned"].best[stage, 4] == best[0]
    assert compared["logit"].best[stage, 4] == logit_lens(model, TEXT).best[stage, 4, 0]


@pytest.mark.parametrize("kind", small.WIRINGS)
def test_the_last_stage_is_the_models_own_output(kind):
    model = small.model(**small.WIRINGS[kind])
    found = logit_lens(model, TEXT, reader=affine_reader(model, lens_of(model)), by="tuned")
    assert found.by == "tuned"
    own = model(torch.tensor([TEXT])).logits[0].softmax(-1).topk(5)
    np.testing.assert_array_equal(found.best[-1], own.indices)
    np.testing.assert_allclose(found.probability[-1], own.values, atol=1e-6)
    compared = compare_lenses(model, readers(model, lens_of(model)), stage_states(model, TEXT))
    assert max(np.abs(read.divergence[-1]).max() for read in compared.values()) < 1e-5


def test_translators_that_change_nothing_give_the_logit_lens(model):
    plain, tuned = (
        logit_lens(model, TEXT),
        logit_lens(model, TEXT, reader=affine_reader(model, lens_of(model, spread=0)), by="tuned"),
    )
    for name in ("best", "probability", "next_probability", "next_rank"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(tuned, name))
    assert plain.by == "logit"
    assert str(correct_by_stage(plain)).startswith("Logit lens: ")
    assert str(correct_by_stage(tuned)).startswith("Tuned lens: ")
    compared = compare_lenses(model, readers(model, lens_of(model, spread=0)), stage_states(model, TEXT))
    np.testing.assert_array_equal(compared["logit"].divergence, compared["tuned"].divergence)


def test_the_divergence_is_its_sum(model):
    final, read = torch.randn(2, 7, generator=torch.Generator().manual_seed(1))
    p, q = final.double().softmax(-1).tolist(), read.double().softmax(-1).tolist()
    wanted = sum(a * (math.log(a) - math.log(b)) for a, b in zip(p, q, strict=True))
    assert float(divergence(final, read)) == pytest.approx(wanted, abs=1e-6)
    assert float(divergence(final, final)) == pytest.approx(0, abs=1e-6)


def test_divergences_of_texts_are_means_over_their_tokens(model):
    by, texts = readers(model, lens_of(model)), [TEXT, TEXT[:4]]
    tokens, found = mean_divergences(model, by, texts)
    both = [compare_lenses(model, by, stage_states(model, ids)) for ids in texts]
    assert tokens == 13
    for kind, means in found.items():
        np.testing.assert_allclose(means, sum(one[kind].divergence.sum(1) for one in both) / 13, rtol=1e-5)
    said = lens_divergences(both[1]).values
    assert said["positions"] == 4
    assert said["stages"] == ", ".join(
        f"{stage} {a:.2f} and {b:.2f}"
        for stage, a, b in zip(
            stage_names(stages(model.config)), *(one.divergence.mean(1) for one in both[1].values()), strict=True
        )
    )


NAMES = ("blocks.0.resid_pre", "blocks.0.resid_mid", "blocks.0.resid_post")


def test_what_is_said_of_the_lenses():
    values = np.array([[4.0, 2.0], [1.0, 2.0], [0.0, 0.0]])
    logit_best, tuned_best = np.array([[5, 1], [5, 2], [7, 2]]), np.array([[7, 2], [7, 2], [7, 2]])
    logit, tuned = LensReading(NAMES, values, logit_best), LensReading(NAMES, values / 2, tuned_best)
    found = {"logit": logit, "tuned": tuned}
    assert str(lens_divergences(found)) == (
        "Mean KL divergence from the model's own predictions, in nats, by the logit lens and the tuned lens: embed "
        "3.00 and 1.50, attn 0 1.50 and 0.75, FF 0 0.00 and 0.00; over 2 positions."
    )
    assert leads_from(found, 0, " a") == LeadsFrom(" a", 0, {"logit": "FF 0", "tuned": "embed"})
    assert str(leads_from(found, 0, " a")) == (
        "The model's prediction after position 0, '·a', leads from FF 0 on by the logit lens, from the embedding on "
        "by the tuned lens."
    )
    second = {kind: LensReading(NAMES, read.divergence[:, 1:], read.best[:, 1:]) for kind, read in found.items()}
    assert leads_from(second, 1, " a").first["logit"] == "attn 0"
    same = LeadsFrom(" a", 1, {"logit": "attn 0", "tuned": "attn 0"})
    assert str(same) == "The model's prediction after position 1, '·a', leads from attn 0 on by every lens."
    fewer = LensReading((NAMES[0], NAMES[2]), values[::2], logit_best[::2])
    assert "logit lens, the tuned lens and the Jacobian lens: embed 3.00, 1.50 and 3.00, FF 0 " in str(
        lens_divergences({**found, "jacobian": fewer})
    )
    assert leads_from({**found, "jacobian": fewer}, 0, " a").first["jacobian"] == "FF 0"
    assert str(leads_from({"logit": logit}, 0, " a")).endswith("leads from FF 0 on by the logit lens.")


def test_of_many_stages_some_are_named_the_last_among_them():
    names = ("blocks.0.resid_pre", *(f"blocks.{i}.resid_post" for i in range(60)))
    ones, best = np.ones((61, 1)), np.zeros((61, 1), dtype=int)
    read = {"logit": LensReading(names, ones, best), "tuned": LensReading(names, ones / 2, best)}
    said = str(lens_divergences(read))
    assert said.count(" and 0.50") == 6
    assert "block 59 1.00 and 0.50; over 1 position." in said


@pytest.mark.parametrize("kind", [kind for kind, given in small.WIRINGS.items() if "classes" not in given])
def test_a_patchscope_is_the_prompt_with_one_state_replaced(kind):
    """Against the whole prompt read anew, with an edit at its last position, for each state and position."""
    model = small.model(**small.WIRINGS[kind])
    reader, prompt = patchscope_reader(model, PROMPT), torch.tensor([PROMPT])
    states = stage_states(model, TEXT)
    assert not any(name.endswith("resid_mid") for name in reader.stages)
    for name in reader.stages:
        read = reader.read(name, states[name])
        for position in (0, 4):
            edit = Edit.replace(name, states[name][position], positions=[len(PROMPT) - 1])
            wanted = model(prompt, edits=[edit]).logits[0, -1]
            torch.testing.assert_close(read[position], wanted, atol=1e-4, rtol=1e-4)


def test_a_state_that_a_lens_does_not_read_is_named(model):
    with pytest.raises(ValueError, match=r"the Patchscope of this model reads blocks\.0\.resid_pre"):
        logit_lens(model, TEXT, ("blocks.0.resid_mid",), patchscope_reader(model, PROMPT), "patchscope")


@pytest.mark.parametrize("name", [name for name in with_lens("tuned") if name in shipped()])
def test_a_shipped_lens_is_nearer_to_its_model_at_every_stage(name):
    """On stories that neither the model nor the lens was trained on."""
    model, tokenizer = load(name)
    texts = [tokenizer.encode(story)[: model.config.max_seq_len] for story in STORIES]
    tokens, found = mean_divergences(model, readers(model, load_lens(name, "tuned")), texts)
    assert tokens > 100
    assert abs(found["tuned"][-1]) < 1e-5
    card = measured(f"{name}/{folder_of('tuned')}")
    for i, stage in enumerate(stage_names(stages(model.config))[:-1]):
        said = [card[f"{name} {stage} {kind}_lens"] for kind in ("logit", "tuned")]
        values = [found[kind][i] for kind in ("logit", "tuned")]
        assert said[1] < 0.7 * said[0]
        assert values[1] < 0.7 * values[0]
        np.testing.assert_allclose(values, said, rtol=0.45)  # three other stories, which are easier


@nightly
def test_the_lenses_of_smollm2_are_as_their_cards_say(real_models):
    """On three of the rows that the cards are of; the Jacobian lens reads what follows later, too, and may be further
    off than the logit lens."""
    card = measured(f"smollm2/{folder_of('jacobian')}")
    assert card == measured(f"smollm2/{folder_of('tuned')}")
    path = PRETRAINED / "smollm2" / folder_of("jacobian") / MEASURED_TEXTS
    rows = torch.from_numpy(np.load(path, allow_pickle=False).astype(np.int64))
    assert card["tokens"] == rows.numel()
    model, tokenizer = load("smollm2")
    found = lenses_measured(model, tokenizer, {kind: load_lens("smollm2", kind) for kind in KINDS}, rows[:3])
    assert set(found) == set(card)
    for name in set(card) - {"tokens"}:
        assert found[name] == pytest.approx(card[name], rel=0.35, abs=0.05)
    stages_read = {name.rsplit(" ", 1)[0] for name in card} - {"tokens"}
    assert all(found[f"{stage} tuned"] < found[f"{stage} logit"] for stage in stages_read)
    assert all(found[f"{stage} patchscope"] < found[f"{stage} logit"] for stage in stages_read)
