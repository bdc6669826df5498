"""What all comparisons with other libraries share."""

import pytest


@pytest.fixture(autouse=True)
def _unchecked(unchecked) -> None:
    """The same numbers are asked for; the shapes are checked by the tests of each part."""
