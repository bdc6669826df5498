"""Where C = 6 N D is off: the exact count of operations of published models beside the rule."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tfcore.analysis.model.flop_count import flops
from tfcore.analysis.model.parameter_count import parameters
from tfcore.config import ModelConfig


@dataclass(frozen=True, slots=True)
class RuleError:
    """One model at one length of text.

    Args:
        exact: operations of training for a token, all matrix products of forward and backward pass.
        of_all: exact over 6 N with every active parameter in N, embeddings included (as arXiv:2203.15556 counts).
        without_embeddings: exact over 6 N without the embedding tables (as arXiv:2001.08361 counts).
    """

    exact: float
    of_all: float
    without_embeddings: float


def rule_errors(configs: Mapping[str, ModelConfig], seq: int) -> dict[str, RuleError]:
    """Count each model on texts of `seq` tokens, longer than it may ever have been trained for, every pair counted."""
    found = {}
    for name, config in configs.items():
        count = flops(replace(config, max_seq_len=max(config.max_seq_len, seq)), seq)
        exact, n = count.training, parameters(config).active
        found[name] = RuleError(exact, exact / (6 * n), exact / count.six_n)
    return found
