"""The settings under which the tests are run as on other processors are understood: what is unknown is passed over in
silence."""

import subprocess
import sys

import pytest

from tests.nightly import nightly
from tests.processors import KINDS, limited

ASKED = """
import numpy, torch
from numpy._core._multiarray_umath import __cpu_features__ as has
print(torch.backends.cpu.get_cpu_capability(), has["X86_V3"], has["X86_V4"])
"""
FOUND = {"AVX2": "AVX2 True False", "SSE4": "DEFAULT False False"}


@nightly
@pytest.mark.parametrize("kind", KINDS)
def test_a_process_has_the_instructions_of_its_kind_alone(kind):
    if torch_has() == "DEFAULT":
        pytest.skip("this processor has no AVX2")
    run = [sys.executable, "-W", "error", "-c", ASKED]
    assert subprocess.check_output(run, env=limited(kind), text=True).strip() == FOUND[kind]


def torch_has() -> str:
    from torch.backends.cpu import get_cpu_capability

    return get_cpu_capability()
