"""The benchmarks measure what they say, and their results survive the way through a file."""

from contextlib import nullcontext
from dataclasses import asdict
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import tfcore
from benchmarks import (
    beside_training,
    effects,
    experts,
    first_figure,
    forward,
    generation,
    in_place,
    onednn,
    real_model,
    real_page,
    results,
    torch_layers,
)
from benchmarks.__main__ import BENCHMARKS, benchmark
from benchmarks.gpt2_shape import peer, products, text
from benchmarks.timing import interleaved, milliseconds, ratio
from tests.loading import gguf_files
from tests.nightly import nightly
from tests.small import config, difference
from tfcore import onednn as kernel
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.model import Transformer
from tfcore.part_configs import ExpertsConfig

SHAPE = config(d_ff=16, experts=ExpertsConfig(n_experts=4))


def test_calls_take_turns_and_ratios_are_of_the_same_round():
    order = []
    seconds = interleaved({name: lambda name=name: order.append(name) for name in "ab"}, rounds=20)
    rounds = ["".join(order[i : i + 2]) for i in range(0, 42, 2)]
    assert set(rounds) == {"ab", "ba"}
    assert len(seconds["a"]) == len(seconds["b"]) == 20
    slow = {"a": [1.0, 20.0, 3.0], "b": [2.0, 40.0, 6.0]}  # a machine that was busy in the second round
    assert ratio(slow, "a", "b") == 0.5
    assert milliseconds(slow, "a") == 3000


def test_the_products_end_in_the_logits():
    subject = Transformer(config(activation="gelu", bias=True))
    with torch.no_grad():
        assert products(subject, 7)().shape == (1, 7, 61)


def test_results_come_back_and_make_a_table(tmp_path):
    times = {"patterns": 80.4, "peer": 90.0, "products": 75.0, "nothing": 70.0, "one": 72.0, "everything": 99.0}
    ratios = {"to_peer": 0.894, "to_products": 1.07, "one": 1.03, "everything": 1.2}
    result = results.stamped([{"tokens": 32, "milliseconds": times, **ratios, "megabytes": 40.2}])
    results.save("forward", result, tmp_path)
    assert results.load("forward", tmp_path) == result
    assert set(result["machine"]) == {"cpu", "cores", "threads", "python", "torch", "transformers"}
    table = forward.table(result).splitlines()
    assert table[2] == "| 32 | 0.89 | 1.07 | 1.03 | 1.20 | 40 | 80, 90, 75 |"
    assert table[-1].endswith(f"{result['date']}.")


def test_the_first_figure_stands_beside_that_of_a_plain_page():
    row = first_figure.First("heads", {"first": 0.8, "page": 2.4, "plain": 1.6}, 0.5, 1.5)
    lines = first_figure.table(results.stamped([asdict(row)])).splitlines()
    assert lines[2] == "| heads | 0.50 | 1.50 | 0.80, 2.40, 1.60 |"
    assert first_figure.measure(device="cuda") == []


def test_without_the_real_model_nothing_of_it_is_measured():
    assert real_model.measure() == effects.measure() == real_page.measure() == []


@nightly
@pytest.mark.usefixtures("unchecked")
def test_effects_are_measured_over_a_pass(monkeypatch):
    monkeypatch.setattr(effects, "TOKENS", 8)
    rows = effects.measure({effects.TOKENS: 1}, name="stories")
    assert [row.what for row in rows] == list(effects.WHAT)
    assert min(row.passes for row in rows) > 0  # of one run each, which another program may slow down: no more is said
    assert "| all 300 effects exact | " in effects.table(results.stamped([asdict(row) for row in rows]))


@nightly
def test_both_open_the_file_and_come_to_the_same(tmp_path):
    """A small model; SmolLM2 itself is compared in tests/parity."""
    file = tmp_path / "model.gguf"
    gguf_files.write(file, "llama", gguf_files.random_model("llama"), "Q4_1", **gguf_files.byte_level("gpt-2"))
    line = real_model.opened(file, 1)
    assert line.to_peer == pytest.approx(line.milliseconds["ours"] / line.milliseconds["peer"], abs=1e-3)
    assert all(size > 0 for size in line.memory)
    model, other = tfcore.load(file, device="cpu")[0], real_model.peer(file, "eager", "cpu")
    ids = text(model, 12)
    assert difference(model(ids).logits, other(ids).logits) < 1e-4
    row = real_model.written(model, other, 5, 1)
    assert (row.what, row.tokens, row.memory) == ("written", 5, None)
    table = real_model.table(results.stamped([asdict(line), asdict(row)]))
    assert "| its GGUF file opened, until the first logits | " in table
    assert "| 64 tokens written after 5 | " in table


def test_a_table_is_put_between_its_markers_and_nothing_else_is_touched(tmp_path):
    page = tmp_path / "benchmarks.md"
    page.write_text("a\n<!-- bench x -->\nold\n<!-- /bench -->\n<!-- bench y -->\nother\n<!-- /bench -->\n", "utf-8")
    results.write_into(page, "x", "new")
    expected = "a\n<!-- bench x -->\n\nnew\n\n<!-- /bench -->\n<!-- bench y -->\nother\n<!-- /bench -->\n"
    assert page.read_text("utf-8") == expected
    with pytest.raises(ValueError, match="has no <!-- bench z -->"):
        results.write_into(page, "z", "new")


@pytest.mark.parametrize("name", [name for name in BENCHMARKS if (results.FOLDER / f"{name}.json").exists()])
def test_the_page_shows_the_results_that_are_kept(name):
    assert benchmark(name).table(results.load(name)) in results.PAGE.read_text("utf-8")


def test_torchs_layers_get_the_same_numbers_as_our_block():
    for what, kind in (("encoder", nn.TransformerEncoderLayer), ("decoder", nn.TransformerDecoderLayer)):
        theirs = kind(24, 6, 40, 0.0, "gelu", batch_first=True, norm_first=True).eval().requires_grad_(False)
        row = torch_layers.line(what, torch_layers.same(theirs), theirs, 7, 1)
        assert (row.what, row.tokens) == (what, 7)
        assert row.apart < 1e-5
    lines = torch_layers.table(results.stamped([asdict(row)])).splitlines()
    assert lines[2].startswith("| TransformerDecoderLayer | 7 | ")


def test_a_training_is_compared_with_none_in_the_same_round(monkeypatch):
    rounds = iter([(0.1, 0.2), (1.0, 1.5), (0.1, 0.3)])  # the machine was busy in the second one

    async def one_round(*_):
        alone, training = next(rounds)
        return {"alone": [alone] * 3, "training": [training] * 3}, []

    monkeypatch.setattr(beside_training, "one_round", one_round)
    monkeypatch.setattr(beside_training, "serving", lambda *_, **__: nullcontext(SimpleNamespace(address="")))
    (row,) = beside_training.measure({"information": 3})
    assert (row.slower, row.p50) == (2.0, {"alone": 100, "training": 300})
    assert "| information | 2.00, 2.00 | 100, 100 | 300, 300 |" in beside_training.table(results.stamped([asdict(row)]))


def test_both_ways_of_the_softmax_give_the_same_patterns(monkeypatch):
    model = Transformer(config()).eval().requires_grad_(False)
    found, calls = [], []
    plain = in_place.copied
    monkeypatch.setattr(in_place, "copied", lambda *given: calls.append(given) or plain(*given))
    monkeypatch.setattr(in_place, "interleaved", lambda calls, _: found.extend(call() for call in calls.values()) or {})
    monkeypatch.setattr(in_place, "ratio", lambda *_: 0.5)
    row = in_place.line("small", model, 7, 1)
    assert (row.model, row.tokens, row.to_copied) == ("small", 7, 0.5)
    for one, other in zip(found[0].activations.values(), found[1].activations.values(), strict=True):
        assert difference(one, other) < 1e-6
    assert len(found[0].activations) == len(calls) == model.config.n_layers


def test_both_libraries_products_give_the_same_logits(monkeypatch):
    model = Transformer(config(vocab_size=6000, d_model=48)).eval().requires_grad_(False)  # its head is large enough
    found, ways, plain = [], [], kernel._by_onednn
    monkeypatch.setattr(kernel, "_by_onednn", lambda *given: ways.append(kernel.ONEDNN) or plain(*given))
    monkeypatch.setattr(onednn, "interleaved", lambda calls, _: found.extend(call() for call in calls.values()) or {})
    monkeypatch.setattr(onednn, "ratio", lambda *_: 0.5)
    row = onednn.line("small", model, 7, 1)
    assert (row.model, row.tokens, row.to_torch) == ("small", 7, 0.5)
    assert difference(found[0].logits, found[1].logits) < 1e-6
    half = len(ways) // 2
    assert set(ways[:half]) == {kernel.ONEDNN}
    assert set(ways[half:]) == {False}
    assert onednn.measure(device="cuda") == []


def test_a_real_page_is_measured_over_a_pass():
    row = real_page.line("text", 27, [(600.0, 90.0), (800.0, 100.0), (700.0, 95.0)], 70.0)
    assert (row.milliseconds, row.kilobytes, row.passes) == (700, 95, 10)
    lines = real_page.table(results.stamped([asdict(row)])).splitlines()
    assert lines[2].startswith("| a new text of 27 tokens, until ")
    assert lines[2].endswith(" are painted | 700 | 95 | 10.0 |")
    assert real_page.measure(device="cuda") == []


def test_every_line_on_experts_compares_with_the_fastest_peer():
    few, many = experts.measure({2: 3, 20: 3}, SHAPE)
    assert set(few.milliseconds) == {"ours", "products", "grouped_mm", "eager", "batched_mm"}
    assert set(many.milliseconds) == {"ours", "products", "grouped_mm", "eager"}
    assert asdict(few)["tokens"] == 2
    for line in (few, many):
        peers = {name: ms for name, ms in line.milliseconds.items() if name not in ("ours", "products")}
        assert peers[line.fastest] == min(peers.values())
        assert line.to_peer > 0
        assert line.to_products > 0


def test_the_products_of_experts_are_those_of_the_tokens(monkeypatch):
    rows, linear = [], torch.nn.functional.linear
    layer, x = experts.ours(SHAPE), torch.randn(1, 9, 24)
    call = experts.products(layer, x)
    monkeypatch.setattr(torch.nn.functional, "linear", lambda x, w: rows.append((len(x), len(w))) or linear(x, w))
    call()
    assert sum(count for count, _ in rows) == 2 * 9 * layer.config.top_k
    assert {size for _, size in rows} == {32, 24}


def test_generation_is_timed_on_the_same_text_as_the_peer_gives():
    model = Transformer(config(positions="learned", norm="layernorm", activation="gelu_tanh", bias=True)).eval()
    for parameter in model.requires_grad_(False).parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    ids = torch.randint(0, 61, (1, 5), generator=torch.Generator().manual_seed(0))
    other = generation.ready(peer(model))
    theirs = other.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=9)
    assert generate(model, ids, Sampling(temperature=0), max_new_tokens=9) == theirs[0, 5:].tolist()
    assert len(generation.read(model)) == len(list(model.parameters())) - 1  # all but the learned positions
    more = generation.one_more(model, ids)
    again = model(torch.cat((ids, ids[:, -1:]), 1)).logits[:, -1:]
    assert difference(more(), again) < 1e-4
    assert difference(more(), again) < 1e-4  # the token was taken back
