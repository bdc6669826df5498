"""The small trainings of the lab: what is asked, what is held out, and that a run may be cut anywhere."""

import io
import json
import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load

import tfcore
from tfcore.generation.sampling import Sampling
from tfcore.training.data import IGNORE
from tfcore.training.lab import setting_words
from tfcore.training.lab.curves import look
from tfcore.training.lab.model_file import packed
from tfcore.training.lab.option_effects import norms, rates, updates
from tfcore.training.lab.options import PLAIN
from tfcore.training.lab.recipes import own_text, recipe
from tfcore.training.lab.spec import TASKS, LabSpec
from tfcore.training.lab.tasks import task
from tfcore.training.lab.train import accumulated, model_of, one_step, started, train_slice, trained

TINY = {"symbols": 8, "length": 4, "d_model": 8, "n_heads": 2, "n_layers": 1, "rows": 4, "steps": 7, "warmup": 2}
TEXT = "the cat sat on the mat and the rat sat on the hat. " * 4


def tiny(name="copy", **changes):
    text = {"text": TEXT} if name == "characters" else {}
    return LabSpec(task=name, **{**TINY, **text, **changes})


def rows_of(spec, batch):
    """Each row as its tokens' names, and the positions of what is to be said."""
    names = task(spec).names
    whole = torch.cat((batch.ids, batch.targets[:, -1:]), dim=1)
    return [[names[i] for i in row] for row in whole.tolist()], (batch.targets != IGNORE)


WANTED = {"copy": lambda given: given, "reverse": lambda given: given[::-1], "sort": sorted}


@pytest.mark.parametrize("name", WANTED)
def test_rows_are_said_again_in_the_order_asked_for(name):
    spec = tiny(name)
    rows, counted = rows_of(spec, task(spec).batch(spec, 3))
    for row in rows:
        assert row[4] == ">"
        assert row[5:] == WANTED[name](row[:4])
    assert counted.tolist() == [[False] * 4 + [True] * 4] * 4


def test_induction_asks_only_for_what_can_be_known():
    spec = tiny("induction")
    batch = task(spec).batch(spec, 0)
    for ids, targets in zip(batch.ids.tolist(), batch.targets.tolist(), strict=True):
        period = ids.index(ids[0], 1)
        assert len(set(ids[:period])) == period
        assert ids[period:] == ids[: len(ids) - period]
        assert targets[:period] == [IGNORE] * period  # the first token of the second copy cannot be known
        assert IGNORE not in targets[period:]


def test_sums_are_right_and_no_held_out_sum_is_trained_on():
    spec = tiny("addition", symbols=11, rows=200)
    seen = {}
    for kind, batch in {"train": task(spec).batch(spec, 0), "held": task(spec).checked(200)}.items():
        rows, counted = rows_of(spec, batch)
        assert all((int(a) + int(b)) % 11 == int(c) and (p, e) == ("+", "=") for a, p, b, e, c in rows)
        assert counted.sum() == len(rows)
        seen[kind] = {(row[0], row[2]) for row in rows}
    assert not seen["train"] & seen["held"]
    assert len(seen["train"]) + len(seen["held"]) == 121


@pytest.mark.parametrize("name", ["copy", "sort", "reverse"])
def test_no_held_out_row_is_ever_trained_on(name):
    spec = tiny(name, symbols=4, length=3, rows=64)
    train = {tuple(row[:3]) for step in range(10) for row in task(spec).batch(spec, step).ids.tolist()}
    held = {tuple(row[:3]) for row in task(spec).checked(64).ids.tolist()}
    assert train
    assert held
    assert not train & held


def test_characters_are_held_out_from_the_end_of_the_text():
    spec = tiny("characters", length=8)
    names = task(spec).names
    cut = len(TEXT) - len(TEXT) // 10
    for batch, part in ((task(spec).batch(spec, 0), TEXT[:cut]), (task(spec).checked(8), TEXT[cut:])):
        for row in rows_of(spec, batch)[0]:
            assert "".join(row) in part
    assert set(names) == set(TEXT)


@pytest.mark.parametrize("optimiser", ["adamw", "adam", "sgd", "muon"])
def test_a_run_cut_in_slices_equals_one_at_a_go(optimiser):
    spec = tiny(optimiser=optimiser, dropout=0.2, weight_decay=0.1, smoothing=0.1)
    whole = train_slice(spec, 0, None, most=7, seconds=1e9)
    step, state, curves = 0, None, None
    for most in (0, 1, 2, 9):
        part = train_slice(spec, step, state, most=most, seconds=1e9)
        step, state = part.step, part.state
        curves = part.curves if curves is None else curves.then(part.curves)
    assert (step, state) == (7, whole.state)
    np.testing.assert_array_equal(curves.loss, whole.curves.loss)
    np.testing.assert_array_equal(curves.held_loss[-1], whole.curves.held_loss[-1])
    assert list(whole.curves.at) == list(range(8))


def test_runs_in_threads_of_one_process_do_not_draw_each_others_dropout():
    specs = [tiny(dropout=0.2, steps=15, seed=seed) for seed in range(2)]
    alone = [train_slice(spec, 0, None, most=15, seconds=1e9).state for spec in specs]
    with ThreadPoolExecutor(2) as pool:
        together = pool.map(lambda spec: train_slice(spec, 0, None, most=15, seconds=1e9).state, specs)
        assert list(together) == alone


def test_time_cuts_a_slice_after_a_step():
    assert train_slice(tiny(), 0, None, most=7, seconds=0).step == 1


@pytest.mark.parametrize("parts", [2, 3, 4, 6])
def test_gradients_of_micro_batches_add_up_to_those_of_the_batch(parts):
    """Also where parts differ in size, and in the tokens that count."""
    spec = tiny("induction", rows=6, smoothing=0.1)
    batch = task(spec).batch(spec, 0)
    batch.targets[0] = IGNORE  # a part of one row then has nothing to learn
    found = []
    for n in (1, parts):
        model = started(spec, None)[0].double()
        loss = accumulated(model, batch, replace(spec, micro_batches=n))
        found.append((loss, torch.cat([weight.grad.flatten() for weight in model.parameters()])))
    (whole, expected), (loss, gradient) = found
    assert loss == pytest.approx(whole, rel=1e-6)  # positions are in float32
    torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=1e-7)
    assert float(expected.abs().max()) > 1e-3


def test_a_step_is_torchs_own():
    """Against a loop written by hand, for one step of AdamW without warm-up."""
    spec = tiny(warmup=0, schedule="constant", clip=0.0, lr=1e-2)
    model, optimizer = started(spec, None)
    batch = task(spec).batch(spec, 0)
    twin, _ = started(spec, None)
    loss = torch.nn.CrossEntropyLoss(ignore_index=IGNORE)(twin(batch.ids).logits.transpose(1, 2), batch.targets)
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in twin.parameters()]).norm()
    assert one_step(model, optimizer, batch, spec, 0) == pytest.approx((loss.item(), norm.item(), 1e-2), rel=1e-5)
    for mine, other in zip(model.parameters(), twin.parameters(), strict=True):
        expected = other.detach() - 1e-2 * other.grad / (other.grad.abs() + 1e-8)  # Adam's first step
        torch.testing.assert_close(mine.detach(), expected, atol=1e-5, rtol=1e-3)


def test_free_running_is_greedy_generation_and_forced_reads_the_right_tokens():
    spec = tiny(positions="rope", steps=7)
    model = model_of(spec, train_slice(spec, 0, None, most=7, seconds=1e9).state)
    probe = task(spec).probed(5)
    seen = look(model, 7, probe.ids, probe.start)
    greedy = tfcore.generate(model, probe.ids[0, : probe.start].tolist(), Sampling(temperature=0), max_new_tokens=4)
    assert seen.free.tolist() == greedy
    for place in range(4):
        logits = model(probe.ids[:1, : probe.start + place]).logits[0, -1]
        assert int(logits.argmax()) == seen.forced[place]
        assert float(logits.softmax(-1)[probe.ids[0, probe.start + place]]) == pytest.approx(seen.sure[place], rel=1e-4)
    np.testing.assert_allclose(seen.patterns.sum(-1), 1, atol=1e-5)


def test_every_task_trains_and_its_recipe_is_what_the_lab_allows():
    for name in TASKS:
        spec = recipe(name)
        assert spec.parameters < 200_000
        part = train_slice(tiny(name, length=8 if name != "induction" else 4), 0, None, most=2, seconds=1e9)
        assert part.look.patterns.shape[0] == 1
        assert np.isfinite(part.curves.loss).all()
    assert len(own_text()) < 2_100


LONG = pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != "nightly", reason="HYPOTHESIS_PROFILE=nightly runs it"
)


@pytest.mark.usefixtures("unchecked")  # shapes are checked in the shorter trainings of this file
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=LONG) for name in ("copy", "reverse", "induction", "sort", "addition")]
)
def test_what_the_lab_begins_with_is_learned(name):
    spec = recipe(name)
    done = train_slice(spec, 0, None, most=spec.steps, seconds=1e9)
    assert done.curves.held_accuracy[0] < 0.4
    assert done.curves.held_accuracy[-1] > 0.95


@LONG
def test_the_characters_are_learned_and_then_by_heart():
    spec = recipe("characters")
    curves = train_slice(spec, 0, None, most=spec.steps, seconds=1e9).curves
    assert curves.held_loss.min() < 0.5 * curves.held_loss[0]
    assert curves.train_loss[-1] < curves.held_loss[-1]


def test_what_is_trained_to_pieces_ends_in_a_sentence_and_leaves_no_model():
    wild = tiny(optimiser="sgd", lr=10.0, momentum=0.99, clip=0.0, schedule="constant", steps=2_000)
    done = train_slice(wild, 0, None, most=2_000, seconds=1e9)
    assert "the learning rate 10 is too high" in done.problem
    assert done.state == b""
    assert done.step < 2_000
    assert np.isfinite(done.look.patterns).all()
    assert np.isfinite(done.look.sure).all()


def test_a_download_is_a_model_that_tfcore_loads(tmp_path):
    spec = tiny("addition", symbols=13)
    done = train_slice(spec, 0, None, most=3, seconds=1e9)
    with zipfile.ZipFile(io.BytesIO(packed(spec, done.state, "step,loss\n1,2.0\n"))) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "trained"
    model, tokenizer = tfcore.load(folder)
    assert LabSpec(**json.loads((folder / "settings.json").read_text())) == spec
    assert (folder / "curves.csv").read_text().startswith("step,loss")
    assert tokenizer.tokens(tokenizer.encode("12+ 3 = ?")) == ["12", "+", "3", "="]
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(tensor, load(done.state)[f"model/{name}"])


WRONG = {
    "task": ({"task": "fly"}, "task='fly' is not one of"),
    "no text": ({"task": "characters"}, "a text of 0 characters cannot be learned from; paste 40 to 8,000"),
    "long window": ({"task": "characters", "text": "ab" * 40, "length": 30}, "take 6 at most"),
    "text elsewhere": ({"task": "copy", "text": "x"}, "a text goes with the task characters"),
    "few symbols": ({"task": "induction", "symbols": 8, "length": 9}, "there are 8"),
    "odd heads": ({"d_model": 12, "n_heads": 8}, "d_model=12 is not divisible by n_heads=8"),
    "large": ({"d_model": 192, "n_layers": 4, "feed_forward": True}, "are more than the 800,000 of the lab"),
    "parts": ({"rows": 4, "micro_batches": 8}, "4 rows cannot be read in 8 parts; take 4 at most"),
    "much work": ({"rows": 512, "d_model": 128}, "times too much for a step of this model; take fewer rows"),
    "not a number": ({"lr": float("nan")}, "lr=nan"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=list(WRONG))
def test_what_cannot_be_trained_is_a_sentence(changes, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        LabSpec(**changes)


def test_sgd_moves_by_the_gradient_and_adam_by_the_rate():
    found = {one.kind: one for one in updates(tiny(n_layers=2, lr=1e-3, weight_decay=0.0, clip=0.0, momentum=0.0))}
    np.testing.assert_allclose(found["sgd"].update, 1e-3 * found["sgd"].gradient, rtol=1e-2)
    assert ((found["adam"].update > 1e-4) & (found["adam"].update < 3e-3)).all()
    np.testing.assert_allclose(found["adam"].update, found["adamw"].update, rtol=1e-2)
    assert found["sgd"].spread > found["adam"].spread
    np.testing.assert_array_equal(found["sgd"].update, found[PLAIN].update)


def test_muon_moves_every_matrix_of_a_block_alike():
    """By about 0.2 of the rate (arXiv:2502.16982, section 2.2)."""
    found = {one.kind: one for one in updates(tiny(n_layers=2, lr=1e-3, weight_decay=0.0))}["muon"]
    moved = dict(zip(found.tensors, found.update, strict=True))
    blocks = [update for name, update in moved.items() if ".blocks." in name]
    assert len(blocks) < len(moved)
    assert all(1e-4 < update < 2.6e-4 for update in blocks)


def test_momentum_makes_the_steps_of_sgd_longer():
    found = {one.kind: one for one in updates(tiny(clip=0.0, lr=1e-3, momentum=0.9))}
    assert (found["sgd"].update > 1.5 * found[PLAIN].update).mean() > 0.8


def test_the_norms_are_those_of_the_training_itself():
    spec = tiny(weight_decay=0.3, schedule="constant", warmup=1, optimiser="adam")
    found = {one.kind: one for one in norms(spec, 3)}
    assert [len(one.rest) for one in found.values()] == [4, 4, 4]
    before, after = (started(spec, None)[0], model_of(spec, train_slice(spec, 0, None, most=3, seconds=1e9).state))

    def norm(model, decays):
        chosen = [p for n, p in model.named_parameters() if decays == (p.ndim > 1 and not n.startswith("embed"))]
        return float(torch.cat([p.flatten() for p in chosen]).norm().detach())

    assert found["adam"].decayed[-1] == pytest.approx(norm(after, True) / norm(before, True), rel=1e-5)
    assert found["adam"].rest[-1] == pytest.approx(norm(after, False) / norm(before, False), rel=1e-5)
    assert found["adam"].decayed[-1] < found["adamw"].decayed[-1] < found["none"].decayed[-1]
    np.testing.assert_allclose(found["adamw"].rest, found["none"].rest, rtol=1e-2)


def test_schedules_share_warm_up_and_peak():
    found = rates(100, 10, 0.5).by_schedule
    for values in found.values():
        np.testing.assert_allclose(values[:10], 0.05 * np.arange(1, 11))
    assert found["cosine"][-1] < 1e-3
    assert found["constant"][-1] == 0.5
    assert found["inverse_sqrt"][-1] == pytest.approx(0.5 * (10 / 100) ** 0.5)


def test_settings_in_words():
    spec = tiny("sort", n_layers=2, feed_forward=True, optimiser="sgd", schedule="inverse_sqrt", steps=1_000, lr=0.01)
    assert setting_words.summary(spec) == (
        f"2 layers of 2 heads, width 8, with feed-forward, positions: RoPE; about {spec.parameters:,} parameters. SGD "
        "+ momentum at 0.01, inverse square root, 1,000 steps of 4 sequences of 8 tokens."
    )
    assert setting_words.summary(tiny(n_heads=1)).startswith(
        "1 layer of 1 head, width 8, attention alone, positions: RoPE"
    )


def test_differences_are_said_from_the_one_to_the_other():
    spec = tiny()
    assert setting_words.difference(spec, spec) == ""
    changed = replace(spec, n_layers=2, feed_forward=True, lr=0.0001, schedule="constant", seed=3, dropout=0.2)
    assert setting_words.difference(spec, changed) == (
        "layers 1 → 2, feed-forward off → on, dropout 0 → 0.2, schedule cosine → constant and 2 more"
    )
    text = tiny("characters")
    assert setting_words.difference(text, replace(text, text=TEXT + "a")) == "text"


def test_runs_are_named_by_what_sets_them_apart():
    specs = [tiny(), tiny(seed=2), tiny(dropout=0.1, lr=0.5)]
    assert setting_words.differing(specs) == ["dropout", "lr", "seed"]
    assert setting_words.apart(specs)[1:] == ["dropout 0, learning rate 0.003", "dropout 0.1, learning rate 0.5"]
    assert setting_words.apart([tiny(), tiny()]) == ["copy", "copy"]
    two = [tiny("characters"), replace(tiny("characters"), text=TEXT[:-1])]
    assert setting_words.differing(two) == []


def test_a_training_in_one_go_is_all_its_steps():
    spec = tiny()
    assert trained(spec).step == 7
    assert trained(spec).state == train_slice(spec, 0, None, most=7, seconds=1e9).state
