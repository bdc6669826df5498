"""What is said of fine-tuning, against numbers counted apart."""

import pytest

from tfcore.config import ModelConfig
from tfcore.measures.memory_use import memory
from tfcore.part_configs import AttentionConfig, FeedForwardConfig
from tfcore.training.finetuning_runs import FineTuneConfig, FineTuned, Losses
from tfcore.views.training.finetuning import say
from tfcore.views.training.finetuning.measure.tuning import method_means, trainable, tuning_cost
from tfcore.views.training.finetuning.say import compare_methods, learned, over_seeds

MODEL = ModelConfig(
    vocab_size=100,
    d_model=32,
    n_layers=4,
    attention=AttentionConfig(n_heads=4),
    feed_forward=FeedForwardConfig(d_ff=64),
    max_seq_len=32,
)


def run(method: str, *losses: tuple[int, float, float], seed: int = 0) -> FineTuned:
    return FineTuned(FineTuneConfig(method=method, seed=seed), tuple(Losses(*row) for row in losses), ("", ""))


def test_what_a_run_learned_and_forgot():
    found = learned(run("last", (0, 4.6, 2.4), (10, 4.1, 2.401), (20, 3.9, 2.9)))
    assert str(found) == (
        "The last layer, 20 steps: the loss on Romeo and Juliet falls from 4.60 to 3.90 nats per token, that on the "
        "stories rises from 2.40 to 2.90."
    )
    assert "stays at 2.40." in str(learned(run("full", (0, 4.6, 2.4), (10, 4.1, 2.401))))


@pytest.mark.parametrize(("layers", "name"), [(1, "the last layer"), (2, "the last 2 layers")])
def test_the_name_counts_layers(layers, name):
    assert FineTuneConfig(method="last", layers=layers).name == name


def test_the_methods_compared():
    full, last = run("full", (0, 4.0, 2.0), (9, 3.0, 2.9)), run("last", (0, 4.0, 2.0), (9, 3.5, 2.1))
    found = compare_methods([full, last])
    assert (found.values["most"], found.values["least"]) == ("all weights", "the last layer")
    assert str(found) == (
        "Of 2 runs, tuning all weights learns most (1.00 nats per token, 0.90 forgotten), and the last layer forgets "
        "least (0.50, 0.10)."
    )
    assert "tuning all weights learns most (1.00 nats per token) and forgets least (0.90)." in str(
        compare_methods([full])
    )
    more = run("full", (0, 4.0, 2.0), (9, 2.8, 2.7), seed=1)
    assert method_means([full, last, more])[0] == ("all weights", pytest.approx(1.1), pytest.approx(0.8))
    assert str(compare_methods([full, last, more])).startswith("Of 3 runs, tuning all")


def test_what_depends_on_the_seed():
    runs = [
        run("full", (0, 4.0, 2.0), (9, low, high), seed=seed)
        for seed, (low, high) in enumerate([(3, 2.5), (2.9, 2.5), (3.2, 2.5)])
    ]
    assert not runs[0].has_ended
    assert runs[0].over_seeds(runs[1:]) == runs[:1]
    ends = [run("full", (0, 4.0, 2.0), (120, 3.0, 2.0), seed=seed) for seed in range(3)]
    assert ends[0].has_ended
    assert ends[1].over_seeds([ends[0], run("last", (120, 1.0, 2.0)), ends[2]]) == [ends[1], ends[0], ends[2]]
    assert str(over_seeds(runs)) == (
        "Over 3 seeds of batches (all weights) the loss on the new text falls by 0.80 to 1.10 nats per token, that on "
        "the old one rises by 0.50."
    )


@pytest.mark.parametrize(("method", "more"), [("full", 4 * 32 * 64), ("last", 32 * 64), ("lora", 4 * 2 * 64)])
def test_a_gate_is_trained_like_what_it_is_beside(method, more):
    config = FineTuneConfig(method=method, layers=1, rank=2)
    assert trainable(MODEL, config) - trainable(MODEL.changed(activation="gelu"), config) == more


def test_the_memory_of_all_weights_is_that_of_the_page_on_parameters():
    found = tuning_cost(MODEL, FineTuneConfig(method="full"))
    whole = memory(MODEL, batch=1, seq=8)
    assert found.state == found.full_state == whole.gradients + whole.optimizer
    lora = tuning_cost(MODEL, FineTuneConfig(method="lora", rank=2))
    assert lora.state == 12 * trainable(MODEL, FineTuneConfig(method="lora", rank=2))
    assert lora.share == lora.trainable / whole.weights * 4
    assert f"trains {lora.trainable:,} numbers" in str(say.tuning_cost(lora))
