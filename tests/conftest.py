"""What holds for every test: shapes of tfcore are checked as it runs, seeds are fixed, nothing reaches the network."""

import gc
import os
import socket
from collections.abc import Generator
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports huggingface_hub
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import jaxtyping
import pytest
from hypothesis import settings

# Looking for garbage among all that is imported takes a quarter of the time until the first test, and finds none.
gc.disable()

# Only tests that ask for the real models have them, so that all others are the same whether they were fetched or not.
_FOLDER = os.environ.get("TFCORE_REAL_MODELS", str(Path(__file__).resolve().parents[1] / "models"))
REAL_MODELS = os.environ.setdefault("TFCORE_TEST_MODELS", _FOLDER)  # workers of pytest-xdist find the other one emptied
os.environ["TFCORE_REAL_MODELS"] = ""

TFCORE = Path(__file__).resolve().parents[1] / "tfcore"
SHAPED = [file for file in TFCORE.rglob("*.py") if "from jaxtyping import" in file.read_text("utf-8")]
NAMES = [".".join(file.relative_to(TFCORE.parent).with_suffix("").parts) for file in SHAPED]
jaxtyping.install_import_hook(NAMES, "beartype.beartype")  # before tfcore is imported

import torch  # noqa: E402

# Here, as torch counts devices when the first gradient is computed, and never again.
import tests.pretend_device  # noqa: E402, F401

if os.environ.get("TFCORE_DEVICE", "cuda" if torch.cuda.is_available() else "cpu") != "cpu":
    from tests.other_device import make_tests_use_the_device

    make_tests_use_the_device()

torch.set_num_threads(1)  # the models are tiny, and results do not depend on the number of cores

settings.register_profile("tests", deadline=None, max_examples=40, derandomize=True, print_blob=True)
# Takes hours, and tries others each time.
settings.register_profile("nightly", deadline=None, max_examples=2_000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "tests"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Garbage is looked for as ever afterwards, but not among what stays until the end; in pytest-xdist's own process,
    which collects nothing, too."""
    found = yield
    gc.freeze()
    gc.enable()
    return found


def pytest_sessionfinish() -> None:
    """pytest looks for garbage five times at the end, each time among all that was imported and kept meanwhile."""
    gc.collect()
    gc.freeze()


PAGES = Path(__file__).parent / "pages"


def is_of_a_page(path: Path) -> bool:
    """Whether a file tests pages: all in tests/pages and, beside the tests of a page's views, test_page*.py."""
    return path.is_relative_to(PAGES) or path.name.startswith("test_page")


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """What tests of pages share takes seconds to import, and only they need it."""
    if is_of_a_page(module_path):
        parent.config.pluginmanager.import_plugin("tests.pages.fixtures")


@pytest.fixture(autouse=True)
def _on_a_page(request) -> None:
    if is_of_a_page(request.path):
        request.getfixturevalue("on_a_page")


LOCAL = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "")


@pytest.fixture(autouse=True)
def _seeded():
    torch.default_generator.manual_seed(0)  # torch.manual_seed writes down the stack for devices that are not there


@pytest.fixture
def unchecked(monkeypatch) -> None:
    """Shapes are not checked while the test runs: half the time of a page, or of a training, goes into checks of
    functions whose own tests check them."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def real_models(monkeypatch, unchecked):
    """The folder of the real models, which tfcore and the app have in this test."""
    from tfcore.loading.real_models import MODELS, SETTING, installed

    monkeypatch.setenv(SETTING, REAL_MODELS)
    if len(installed()) < len(MODELS):
        reason = "the real models were not fetched: python -m tfcore.loading"
        pytest.fail(reason) if "CI" in os.environ else pytest.skip(reason)
    return Path(REAL_MODELS)


@pytest.fixture(autouse=True, scope="session")
def _no_network():
    """Connections leave this machine for nothing: a test that tries fails."""
    connect = socket.socket.connect

    def guarded(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOCAL:
            raise RuntimeError(f"a test wanted to reach {address[0]}; tests do not use the network")
        return connect(self, address)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", guarded)
    yield
    patch.undo()
