"""A model that made room is gone: no record of finished work, no cache and no open page keeps it alive."""

import gc
import threading
import weakref

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage

from pages.ui.loading import model_settings, own_models, run_models
from pages.ui.work import jobs, runs
from tests.nightly import often
from tests.pages.own_models import brought
from tests.pages.ui.loading.test_models import PAGES
from tests.pages.visits import opened
from tests.pages.waiting import until
from tfcore.training.lab.recipes import recipe


@pytest.fixture
def open_pages(monkeypatch):
    """Parts of pages that run again when a control moves, kept as a session keeps those of the page that is open."""
    kept, register = [], MemoryFragmentStorage.register

    def keep(self, key, fragment, **more):
        kept.append(fragment)
        register(self, key, fragment, **more)

    monkeypatch.setattr(MemoryFragmentStorage, "register", keep)
    return kept


def dropped(name):
    """A weak reference to the model of this name, which has made room for another."""
    found = weakref.ref(own_models.STORE.get(name).model)
    jobs.JOBS.close()
    own_models.STORE.make_room("another", 1, 0)
    gc.collect()
    return found


OF_EXPERTS = ("routing", "expert specialisation", "other routing rules")


@pytest.mark.parametrize("page", often(PAGES, ["heads", "patches"]))
def test_no_page_that_is_open_keeps_it(allowed, open_pages, page):
    file, address = PAGES[page]
    name = "./mixtral" if page in OF_EXPERTS else "./gpt2"
    brought(name)
    test = opened(file, **address, **{"of" if page in ("activations", "position table") else "model": name})
    assert dropped(name)() is None
    assert test


def test_no_record_of_loading_keeps_it(allowed):
    job = own_models.LOADS
    job.start("load", lambda: own_models.bring("./gpt2", model_settings.read()), "me")
    job.wait("load", 10**9, 60)
    assert job.look("load", "me").state == "done"
    assert dropped("./gpt2")() is None


def test_no_one_keeps_a_model_of_the_lab_when_its_run_is_forgotten():
    name = runs.RUNS.start(recipe("induction"), "me")
    until(lambda: not runs.RUNS.look(name).active and runs.RUNS.freeze(name) is not None)
    named = run_models.name_of(name, runs.RUNS.look(name).step)
    built = weakref.ref(run_models.model(named)[0])
    gc.collect()
    assert run_models.model(named)[0] is built()  # kept as long as the run is
    runs.RUNS.close()
    gc.collect()
    assert built() is None


def test_the_work_of_a_job_that_is_over_or_was_not_begun_is_let_go_of():
    """It holds the model that it worked on; its results stay."""

    class Model:
        def results(self):
            yield 1

    ended, waiting = Model(), Model()
    kept = weakref.ref(ended), weakref.ref(waiting)
    own = jobs.Jobs(running=1)
    own.start("ended", ended.results, "me")
    own.wait("ended", 10**9, 60)
    halt = threading.Event()
    own.start("long", lambda: iter(halt.wait, True), "me")
    own.start("waiting", waiting.results, "you")
    own.stop("waiting", "you")
    halt.set()
    del ended, waiting
    own.close()
    gc.collect()
    assert [one() for one in kept] == [None, None]
    assert own.look("ended", "me").items == (1,)
