"""What all tests of pages share; tests/conftest.py brings it to them."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner

import tfcore
from pages.ui import page
from pages.ui.loading import own_models
from pages.ui.work import jobs, runs
from pages.ui.work.run_records import Limits
from pages.ui.work.workers import Workers
from tests import own_folders
from tests.e2e.serving import without_traceback
from tests.pages.short import ALWAYS, SHORT
from tests.pages.waiting import SOON
from tests.real import real
from tfcore.loading.real_models import MODELS, SETTING
from tfcore.views import kept


@pytest.fixture(scope="session")
def _components_of_packages() -> Iterator[None]:
    """Streamlit looks through all installed packages for components once, not for every visitor: 0.1 s each."""
    scan = manifest_scanner.scan_component_manifests
    with patch.object(manifest_scanner, "scan_component_manifests", cache(scan)):
        yield


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[str]:
    """The address of a server on which nobody trains; whatever its visitors do or send, it notes no traceback."""
    with without_traceback(tmp_path_factory.mktemp("server"), TFCORE_RUNS="0") as address:
        yield address


@pytest.fixture
def _real_models_read_once(monkeypatch) -> None:
    """Pages are given the real models that were read once for all tests of this process, where a test has them."""
    load, names = tfcore.load, {model.name for model in MODELS}

    def given(name: Any, *rest: Any, **asked: Any) -> Any:
        plain = name in names and not rest and not asked
        return real(name) if plain and os.environ.get(SETTING) else load(name, *rest, **asked)

    monkeypatch.setattr(tfcore, "load", given)


@pytest.fixture
def _shortened(monkeypatch):
    for place, value in ALWAYS.items():
        monkeypatch.setattr(place, value)


@pytest.fixture
def _open_drawers(monkeypatch):
    """What says how things are computed is there without a click."""
    monkeypatch.setattr(page, "OPEN", True)


_kept_by = {"short": False}  # whether what the caches hold was computed by tests that ask for `short`


@pytest.fixture
def _own_results(request) -> None:
    """No test is given results that were computed with other constants."""
    asks = "short" in request.fixturenames
    if asks != _kept_by["short"]:
        st.cache_data.clear()
        st.cache_resource.clear()
        kept.SHELF.clear()
        _kept_by["short"] = asks


@pytest.fixture
def short(monkeypatch) -> None:
    """Trainings, networks and measurements are as small as a page that is visited many times can bear."""
    for place, value in SHORT.items():
        monkeypatch.setattr(place, value)


@pytest.fixture
def _own_jobs(monkeypatch) -> Iterator[None]:
    """Trainings that a page begins belong to its test, and end with it."""
    own = jobs.Jobs()
    monkeypatch.setattr(jobs, "JOBS", own)
    yield
    own.close()


@pytest.fixture
def patience(monkeypatch) -> None:
    """A page waits for the first look at its work however long that takes: on a busy machine that may be long."""
    wait = jobs.Jobs.wait
    monkeypatch.setattr(jobs.Jobs, "wait", lambda self, key, items, _: wait(self, key, items, SOON))


@pytest.fixture
def _own_runs(monkeypatch) -> Iterator[None]:
    """Runs of the lab belong to their test, train a few steps beside it, and end with it."""
    pool = ThreadPoolExecutor(1)
    workers = Workers(pool, lambda: 1, lambda: None)
    own = runs.Runs(lambda: workers, Limits(slice=0.0, run=0.0, pulse=0.05))
    monkeypatch.setattr(runs, "RUNS", own)
    yield
    own.close()
    pool.shutdown(wait=True, cancel_futures=True)


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> Path:
    """Models of every family, of random weights."""
    root = tmp_path_factory.mktemp("models")
    own_folders.write(root)
    return root


@pytest.fixture
def allowed(folders, monkeypatch) -> Path:
    """Visitors may bring these models; none is loaded."""
    monkeypatch.setenv("TFCORE_MODELS", "any")
    monkeypatch.setenv("TFCORE_MODEL_FOLDER", str(folders))
    monkeypatch.setattr(own_models, "STORE", own_models.Store())
    for name in ("LOOKS", "LOADS"):
        monkeypatch.setattr(own_models, name, jobs.Jobs())
    st.cache_data.clear()
    return folders


@pytest.fixture
def on_a_page(
    unchecked,  # what a page calls is tested without it
    _components_of_packages,
    _real_models_read_once,
    _shortened,
    _open_drawers,
    _own_results,
    _own_jobs,
    _own_runs,
) -> None:
    """What every test of a page has."""
