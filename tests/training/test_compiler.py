"""Optimisers that do not load torch's compiler take the very steps that torch's take."""

import json
import subprocess
import sys
from pathlib import Path

from tests.nightly import nightly

ROOT = Path(__file__).resolve().parents[2]

STEPS = """
import json, sys, torch
from torch.optim import LBFGS, SGD, Adam, AdamW
if sys.argv[1] == "without":
    from tfcore.training import compiler
    compiler.leave_out()
    compiler.leave_out()
found = {}
for kind, settings in [(Adam, {"fused": True}), (Adam, {"weight_decay": 0.1}), (AdamW, {"fused": True}),
                       (SGD, {"momentum": 0.9, "lr": 0.1}), (LBFGS, {})]:
    torch.manual_seed(0)
    weights = [torch.randn(3, 4, requires_grad=True), torch.randn(4, requires_grad=True)]
    optimizer = kind(weights, **settings)
    def loss():
        optimizer.zero_grad()
        (found := sum((one.sin() ** 2).sum() for one in weights)).backward()
        return found
    for _ in range(3):
        optimizer.step(loss)
        optimizer.load_state_dict(optimizer.state_dict())
    assert torch.is_grad_enabled()
    found[f"{kind.__name__} {settings}"] = [one.tolist() for one in weights]
print(json.dumps([found, sorted(name for name in sys.modules if name.startswith("torch._dynamo"))]))
"""


def steps(how: str) -> tuple[dict[str, list[float]], list[str]]:
    told = subprocess.run([sys.executable, "-c", STEPS, how], capture_output=True, text=True, cwd=ROOT, check=True)
    found, loaded = json.loads(told.stdout)
    return found, loaded


@nightly
def test_optimisers_take_the_same_steps_without_the_compiler():
    theirs, loaded = steps("with")
    assert loaded, "torch does not load its compiler any more: leave_out has nothing to do"
    ours, left = steps("without")
    assert left == []
    assert ours == theirs
