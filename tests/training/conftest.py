"""What all tests of trainings share."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _unchecked(request) -> None:
    """Hundreds of steps call the same functions, which have tests of their own; not so the views of the chapter."""
    if request.path.parent in (HERE, HERE / "recurrent"):
        request.getfixturevalue("unchecked")
