"""The benchmark measures what it says, and its results survive the way through a file."""

import torch

from benchmarks import results
from benchmarks.gpt2_shape import products
from benchmarks.timing import interleaved, milliseconds, ratio
from tests.small import config
from tfcore.model import Transformer


def test_calls_take_turns_and_ratios_are_of_the_same_round():
    order = []
    seconds = interleaved({name: lambda name=name: order.append(name) for name in "ab"}, rounds=3)
    assert "".join(order) == "ab" + "ab" + "ba" + "ab"
    assert len(seconds["a"]) == len(seconds["b"]) == 3
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
