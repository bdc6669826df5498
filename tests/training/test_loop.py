"""A run that was killed goes on as if it had not been; two processes train the model that one trains."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.nightly import nightly
from tests.small import difference, ids, model
from tests.training import tiny_run
from tfcore.loading.checkpoints import load
from tfcore.measures.dictionaries.feature_scan import SCAN_FILE
from tfcore.measures.expert_scan import load_over_texts
from tfcore.part_configs import ExpertsConfig
from tfcore.training.data import IGNORE, Batch
from tfcore.training.ladder import read_table
from tfcore.training.loop import TrainingSettings, train
from tfcore.training.recipes import RECIPES
from tfcore.training.recipes.stories import even_out

ROOT = Path(__file__).resolve().parents[2]
DROPOUT = 0.1
HANGS = 1800  # seconds until a process counts as stuck; it takes a few


def command(*arguments: object, hash_seed: int = 1, launcher: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start tiny_run in a process of its own."""
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", *launcher, *(() if launcher else ("tests.training.tiny_run",)), *map(str, arguments)],
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lines(output: str) -> list[dict[str, float]]:
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def whole(corpus, out, dropout, name="stories"):
    """An uninterrupted run in this process: its steps, its folder."""
    steps = []
    tiny_run.run(name, corpus, out, dropout, lambda p: steps.append({"step": p.step, "loss": p.loss, **p.measures}))
    return steps, out


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return tiny_run.write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def uninterrupted(corpus, tmp_path_factory):
    return whole(corpus, tmp_path_factory.mktemp("whole"), DROPOUT)


@nightly
def test_a_killed_run_goes_on_with_exactly_the_same_losses(corpus, uninterrupted, tmp_path):
    expected, folder = uninterrupted
    with command("stories", corpus, tmp_path, DROPOUT, 5, hash_seed=2) as process:
        first = [json.loads(process.stdout.readline()) for _ in range(5)]
        process.kill()
    assert process.returncode == -9
    assert first == expected[:5]
    with command("stories", corpus, tmp_path, DROPOUT, hash_seed=3) as process:
        output, errors = process.communicate(timeout=HANGS)
    assert process.returncode == 0, errors
    assert lines(output) == expected[3:]  # the state was kept after step 3
    a, b = (load_file(place / "model.safetensors") for place in (folder, tmp_path))
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_a_finished_run_does_nothing_more_and_leaves_a_model_that_loads(corpus, uninterrupted):
    again, folder = whole(corpus, uninterrupted[1], DROPOUT)
    assert again == []
    trained, tokenizer = load(folder, device="cpu")
    assert trained.config.vocab_size >= tokenizer.vocab_size
    assert tokenizer.decode(tokenizer.encode("The dog")) == "The dog"


def test_losses_are_finite_and_held_out_measures_come_when_due(uninterrupted):
    steps, _ = uninterrupted
    assert [step["step"] for step in steps] == list(range(1, 9))
    assert all(0 < step["loss"] < 10 for step in steps)
    assert [step["step"] for step in steps if "bits_per_byte" in step] == [4, 8]
    measured = {"step", "loss", "bits_per_byte", "previous_token_head", "induction_head", "second_over_first"}
    assert set(steps[3]) == measured


ONE_OF_EACH = {entry.run: name for name, entry in reversed(RECIPES.items()) if hasattr(entry.recipe, "settings")}


@pytest.fixture(scope="module")
def under_torchrun(request, corpus, tmp_path_factory):
    """Those that are tested, trained by two processes: the steps of each, and its folder."""
    out = tmp_path_factory.mktemp("two")
    chosen = {item.callspec.params["name"] for item in request.session.items if item.name.startswith("test_two_proc")}
    names = [name for name in ONE_OF_EACH.values() if name in chosen]
    launcher = ("torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "tests.training.tiny_run")
    with command(",".join(names), corpus, out, 0.0, launcher=launcher) as process:
        output, errors = process.communicate(timeout=HANGS)
    assert process.returncode == 0, errors
    steps = {name: [] for name in names}
    for line in lines(output):
        steps[line.pop("recipe")].append(line)
    return {name: (found, out / name) for name, found in steps.items()}


@pytest.mark.parametrize("name", ONE_OF_EACH.values())
def test_each_recipe_has_a_small_form(name):
    """Else the night alone says that a new one has none."""
    assert tiny_run.in_small(name, 0.0).settings.steps == 8


@nightly
@pytest.mark.parametrize("name", ONE_OF_EACH.values())
def test_two_processes_under_torchrun_get_the_losses_of_one(corpus, under_torchrun, tmp_path, name):
    expected, folder = whole(corpus, tmp_path, 0.0, name)
    found, folder_of_two = under_torchrun[name]
    assert len(found) % 8 == 0
    assert found
    for a, b in zip(found, expected, strict=True):
        assert a == pytest.approx(b, abs=1e-4)
    if name.startswith("ladder"):
        one, two = (read_table(next(place.glob("*.csv"))) for place in (folder, folder_of_two))
        assert [list(row.values())[-1] for row in two] == pytest.approx(
            [list(row.values())[-1] for row in one], abs=1e-4
        )
        return
    within = {"tuned-lens": ("stories-learned",), "smollm2-lenses": ("jacobian_lens", "tuned_lens")}
    folders = [folder / place for place in within.get(name, ("",))]
    paths = [path for place in folders for path in place.glob("*.safetensors") if path.name != SCAN_FILE]
    files = [path.relative_to(folder) for path in paths]
    assert files
    for file in files:
        first, second = (load_file(place / file) for place in (folder, folder_of_two))
        for tensor, weights in first.items():  # kept in half precision; a feature without a label has no score
            known, again = (one.float().nan_to_num(-1.0) for one in (weights, second[tensor]))
            assert difference(known, again) < 1e-2


def constant(step: int) -> Batch:
    rows = ids(4, 9, seed=step % 2)
    return Batch(rows[:, :-1], rows[:, 1:].clone())


def test_training_learns_and_keeps_its_hands_off_global_randomness(tmp_path):
    subject = model(init_std=0.02, dropout=0.1).requires_grad_(True)
    losses, before = [], torch.get_rng_state()
    settings = TrainingSettings(steps=30, rows=4, lr=1e-2, warmup=3)
    trained = train(subject, constant, settings, tmp_path, report=lambda p: losses.append(p.loss))
    assert losses[-1] < 0.7 * losses[0]
    assert torch.equal(torch.get_rng_state(), before)
    assert not trained.training


def test_ignored_targets_do_not_count(tmp_path):
    def half(step: int) -> Batch:
        batch = constant(step)
        batch.targets[:, ::2] = IGNORE
        return batch

    losses = []
    subject = model().requires_grad_(True)
    logits = subject(constant(0).ids).logits[:, 1::2].detach()
    expected = torch.nn.functional.cross_entropy(logits.mT, constant(0).targets[:, 1::2])
    train(subject, half, TrainingSettings(steps=1, rows=4, lr=1e-3), tmp_path, report=lambda p: losses.append(p.loss))
    assert losses == [pytest.approx(float(expected), rel=1e-5)]


def routed(**options):
    experts = ExpertsConfig(n_experts=4, top_k=1, **options)
    return model(experts=experts, d_ff=16).requires_grad_(True)


def test_routers_learn_from_the_auxiliary_loss(tmp_path):
    gradients = []
    for weight in (0.0, 10.0):
        subject = routed(balance_loss=weight)
        train(subject, constant, TrainingSettings(steps=1, rows=4, lr=0.0, clip=1e9), tmp_path / str(weight))
        gradients.append(subject.decoder.blocks[0].mlp.router.weight.grad.clone())
    subject = routed(balance_loss=10.0).train()
    sum(subject(constant(0).ids).losses.values()).backward()
    difference_by_hand = subject.decoder.blocks[0].mlp.router.weight.grad
    assert difference_by_hand.abs().max() > 1e-3
    assert difference(gradients[1] - gradients[0], difference_by_hand) < 1e-5


def test_the_bias_of_a_router_is_moved_once_a_step_and_kept_with_the_run(tmp_path):
    def trained(folder, *lengths):
        for steps in lengths:
            subject = routed(balance_loss=0.0, bias_rate=0.01)
            settings = TrainingSettings(steps=steps, rows=4, lr=1e-3, lr_min=1e-3, warmup=1, save_every=2)
            train(subject, constant, settings, folder)
        return [block.mlp for block in subject.decoder.blocks]

    whole, resumed = trained(tmp_path / "whole", 4), trained(tmp_path / "resumed", 2, 4)
    for one, other in zip(whole, resumed, strict=True):
        assert 0.01 <= float(one.balance_bias.abs().max()) <= 0.04 + 1e-6
        assert torch.equal(one.balance_bias, other.balance_bias)
        assert one.load is None


@nightly
def test_experts_of_a_trained_model_get_as_much_to_do_by_biases_alone():
    subject, rows = routed().eval().requires_grad_(False), ids(32, 16)

    def spread(of):
        return float(load_over_texts(of, rows.tolist()).tokens.std())

    even = even_out(subject, lambda _: Batch(rows, rows), steps=100, rate=0.005)
    assert spread(even) < 0.3 * spread(subject)
    weights = dict(even.named_parameters())
    assert all(torch.equal(weights[name], weight) for name, weight in subject.named_parameters())


def test_a_state_is_replaced_whole(tmp_path):
    train(model().requires_grad_(True), constant, TrainingSettings(steps=2, rows=4, lr=1e-3, save_every=1), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["state.safetensors"]
