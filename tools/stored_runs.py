"""The trainings and measurements that pages show before they make their own: `python -m tools.stored_runs`, or
`python -m tools.stored_runs pitfalls lab` for those of some pages. All take about ten minutes on two cores.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages.inference.kv_cache import choices
from pages.ui.loading import models
from tfcore.measures.deep_networks import COMPARED, DEEPEST, networks, powers_of_two, probe
from tfcore.measures.one_text import last_tokens
from tfcore.measures.stored import written
from tfcore.training.lab.curves import Curves, Evaluation
from tfcore.training.lab.recipes import recipe
from tfcore.training.lab.train import trained
from tfcore.training.pitfalls import KINDS, PitfallConfig, train_to_the_end
from tfcore.views.block import pitfalls
from tfcore.views.block.normalisation.measure import depths
from tfcore.views.experts import balance
from tfcore.views.experts.balance.measure import REMEDIES, BalanceConfig, train_all
from tfcore.views.inference import kv_cache
from tfcore.views.inference.kv_cache.measure.generation import BothWaysConfig, both_ways
from tfcore.views.sources import opened
from tfcore.views.training import lab

IMPORTANCE = 0.1  # of the noise that the page on balance begins with
NAMED = (  # examples of the page on pitfalls
    PitfallConfig(kind="skip", dose=8, steps=80),
    PitfallConfig(kind="rate", dose=300),
)
Runs = Mapping[Any, Sequence[Any]]


@dataclass(frozen=True)
class _LabRun:
    """Both parts of a run of the lab, as they are written."""

    curves: Curves
    look: Evaluation


def pitfall_runs() -> Runs:
    """Each mistake with its usual dose, and the examples."""
    configs = [*(PitfallConfig(kind=kind) for kind in KINDS), *NAMED]
    return {config: train_to_the_end(config) for config in configs}


def balance_runs() -> Runs:
    """No remedy, and each with its usual strength, on the same batches."""
    weights = {"noise": IMPORTANCE}
    remedies = [BalanceConfig(remedy=remedy, importance=weights.get(remedy, 0.0)) for remedy in REMEDIES]
    return train_all([BalanceConfig(), *remedies])


def kv_cache_runs() -> Runs:
    """The prompt that the page begins with."""
    config = BothWaysConfig(model=models.DEFAULT, text=choices.TEXT, steps=choices.STEPS)
    network, tokenizer = opened(config.model)
    ids = last_tokens(network, tokenizer, config.text, network.config.max_seq_len - kv_cache.LEAST).ids
    return {config: list(both_ways(network, ids, config.steps, config.seed, config.exactness))}


def lab_runs() -> Runs:
    """The task that the page begins with."""
    spec = recipe("induction")
    run = trained(spec)
    return {spec: [_LabRun(run.curves, run.look)]}


def residual_probes() -> Runs:
    """The networks of every depth that the page on residual connections begins with."""
    every = [one for name in COMPARED for one in networks(name, powers_of_two(DEEPEST), "xavier")]
    return {one: [probe(one)] for one in every}


MAKERS: dict[str, tuple[Path, Callable[[], Runs]]] = {
    "pitfalls": (pitfalls.STORED, pitfall_runs),
    "balance": (balance.STORED, balance_runs),
    "kv-cache": (kv_cache.STORED, kv_cache_runs),
    "lab": (lab.STORED, lab_runs),
    "residuals": (depths.STORED, residual_probes),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or MAKERS:
        file, make = MAKERS[name]
        file.write_text(written(make()), "utf-8")
        sys.stdout.write(f"{name}: {file.stat().st_size:,} bytes\n")
