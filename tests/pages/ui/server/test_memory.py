"""What was freed is given back to the system, also where blocks that are still in use lie between. And no page loads
what it does not need."""

import json
import subprocess
import sys

import pytest

from pages.ui.server import memory
from tests.nightly import nightly

ROOM = 100_000_000  # bytes that threads take and free, but for a little of each
PROGRAM = f"""
import sys, threading
from pathlib import Path
from pages.ui.server import memory

memory.EVERY = 0.05
if sys.argv[1] == "bound":
    memory.bound()

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

together = threading.Barrier(4)  # else a thread may take what another has freed already

def work(kept):
    taken = []
    for _ in range({ROOM} // 4 // 50_000):
        taken.append(bytes([1]) * 50_000)
        kept.append(bytes([1]) * 1_000)
    together.wait()

before, kept = resident(), []
threads = [threading.Thread(target=work, args=(kept,)) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
tick, left = threading.Event(), {ROOM}
for _ in range(40):
    left = resident() - before - 1_000 * len(kept)
    if left < {ROOM} // 4:
        break
    tick.wait(0.05)
print(left)
"""


def left(how):
    """Bytes that the process still holds of them."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout)


@pytest.mark.skipif(memory._library() is None, reason="needs glibc")
def test_it_is_given_back():
    assert left("bound") < ROOM // 4
    assert left("not bound") > ROOM // 2  # else there is nothing to give back, and the test proves nothing


# torch loads SymPy, 36 MB, for `to_empty`, `broadcast_shapes` and gradients with `grad_outputs`, and its compiler,
# 70 MB, for optimisers and `vmap`. The other two are the tests'.
NEEDLESS = ("sympy", "torch._dynamo", "transformers", "scipy")
VISITS = f"""
import json, sys
from tfcore.training import compiler
from tests.pages.test_text_lengths import sections
from pages.facts import pages

compiler.leave_out()
found = {{}}
for page in pages().values():
    for _ in sections(page.file):
        for name in {NEEDLESS}:
            if name in sys.modules:
                found.setdefault(name, page.file)
print(json.dumps(found))
"""


@nightly
def test_no_page_loads_what_it_does_not_need():
    done = subprocess.run([sys.executable, "-c", VISITS], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == {}
