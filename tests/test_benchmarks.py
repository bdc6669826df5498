"""The benchmark measures what it says, and its results survive the way through a file."""

import pytest
import torch

from benchmarks import results
from benchmarks.__main__ import README
from benchmarks.gpt2_shape import products
from benchmarks.timing import interleaved, milliseconds, ratio
from tests.small import config
from tfcore.model import Transformer


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
    times = {"patterns": 80.4, "peer": 90.0, "products": 75.0, "nothing": 70.0, "everything": 99.0}
    row = {
        "tokens": 32,
        "milliseconds": times,
        "to_peer": 0.894,
        "to_products": 1.07,
        "nothing": 0.87,
        "everything": 1.2,
    }
    results.save("forward", [row], tmp_path)
    loaded = results.load("forward", tmp_path)
    assert loaded["rows"] == [row]
    assert set(loaded["machine"]) == {"cpu", "cores", "threads", "python", "torch", "transformers"}
    table = results.forward_table(loaded).splitlines()
    assert table[2] == "| 32 | 0.89 | 1.07 | 0.87 | 1.20 | 80, 90, 75 |"
    assert table[-1].endswith(f"{loaded['date']}.")


def test_a_table_is_put_between_its_markers_and_nothing_else_is_touched(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("a\n<!-- bench x -->\nold\n<!-- /bench -->\n<!-- bench y -->\nother\n<!-- /bench -->\n", "utf-8")
    results.write_into(readme, "x", "new")
    expected = "a\n<!-- bench x -->\n\nnew\n\n<!-- /bench -->\n<!-- bench y -->\nother\n<!-- /bench -->\n"
    assert readme.read_text("utf-8") == expected
    with pytest.raises(ValueError, match="has no <!-- bench z -->"):
        results.write_into(readme, "z", "new")


def test_the_readme_shows_the_results_that_are_kept():
    assert results.forward_table(results.load("forward")) in README.read_text("utf-8")
