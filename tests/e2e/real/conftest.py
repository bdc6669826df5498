"""A server with the real models."""

from collections.abc import Iterator

import pytest

from tests.conftest import REAL_MODELS
from tests.e2e.serving import PYTHON_APP, serve


@pytest.fixture(scope="session")
def real_server() -> Iterator[str]:
    """The address of a server that has them; ask for `real_models`, too, which skips where they are not."""
    with serve(*PYTHON_APP, TFCORE_REAL_MODELS=REAL_MODELS) as address:
        yield address
