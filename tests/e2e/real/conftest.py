"""A server with the real models."""

from collections.abc import Iterator

import pytest

from tests.conftest import REAL_MODELS
from tests.e2e.serving import PYTHON_APP, serve
from tests.e2e.visitor import Visitor
from tests.e2e.windows import Visit

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


@pytest.fixture(scope="session")
def real_server() -> Iterator[str]:
    """The address of a server that has them; ask for `real_models`, too, which skips where they are not."""
    with serve(*PYTHON_APP, TFCORE_REAL_MODELS=REAL_MODELS) as address:
        yield address


@pytest.fixture(scope="module")
def desk_and_phone(visit_for_long: Visit, real_server: str) -> dict[str, Visitor]:
    """Two windows that go from page to page; a window of its own for each would compile the app's scripts anew."""
    return {"desktop": visit_for_long(real_server), "phone": visit_for_long(real_server, **PHONE)}
