"""How a test brings a model of its own to a server, and waits until a page shows it; the fixture `allowed` lets it."""

import sys
import time

from pages.ui.loading import model_settings, own_models
from tests.pages.visits import plain, run, said


def brought(name: str) -> own_models.Own:
    """The model, loaded as the job does it."""
    said = list(own_models.bring(name, model_settings.read()))
    own = own_models.STORE.get(name)
    assert own is not None, said[-1:]
    return own


def wait_for(test, name, condition, seconds=60):
    """Run the page again whenever a job about this model has ended, until it shows what is waited for."""
    until = time.monotonic() + seconds
    while not condition(test):
        assert time.monotonic() < until, said(test, "info", "caption", "warning")
        for pool, kind in ((own_models.LOOKS, "look"), (own_models.LOADS, "load")):
            pool.wait((kind, name, 0), sys.maxsize, until - time.monotonic())
        run(test)
    return test


def keys(test):
    return {plain(button.key) for button in test.button}
