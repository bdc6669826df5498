"""What all tests of trainings share."""

import pytest


@pytest.fixture(autouse=True)
def _unchecked(unchecked) -> None:
    """Hundreds of steps call the same functions, which have tests of their own."""
