"""One thread at a time computes on a large model, and whatever it computes ends its turn."""

import copy
import threading
from typing import Any

import pytest
import torch

from pages.ui.loading import own_models
from pages.ui.work import large_models
from pages.ui.work.turns import Turns
from tests.pages.ui.work.test_turns import SOON, leave, until
from tests.small import config
from tfcore.model import Transformer


@pytest.fixture
def large(monkeypatch):
    """A model that counts as large, and turns of its own."""
    monkeypatch.setattr(large_models, "LARGE", 1)
    monkeypatch.setattr(large_models, "TURNS", Turns(lambda: False, leave))
    return large_models.taken(Transformer(config()))


IDS = torch.tensor([[1, 2, 3]])


def free():
    """Whether nobody holds the turn."""
    return large_models.TURNS._holder is None and large_models.TURNS._depth == 0


CALLS = {
    "a pass": lambda model: model(IDS),
    "from one of its blocks on": lambda model: model.resume(torch.zeros(1, 3, model.config.d_model), 1),
    "its embedding alone": lambda model: model.embed(IDS),
    "a copy of it": lambda model: copy.deepcopy(model)(IDS),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_whatever_is_computed_of_a_large_model_waits_and_the_turn_ends_with_it(large, call):
    done = threading.Event()

    def work():
        call(large)
        done.set()

    large_models.TURNS.take()
    threading.Thread(target=work, daemon=True).start()
    until(lambda: large_models.TURNS.waiting == 1)
    assert not done.is_set()
    large_models.TURNS.give()
    assert done.wait(SOON)
    assert free()


def test_a_model_that_is_loaded_once_more_waits_once(large):
    before = len(large._forward_pre_hooks)
    assert len(large_models.taken(large)._forward_pre_hooks) == before == 1


def test_a_pass_that_fails_ends_its_turn(large):
    with pytest.raises(ValueError, match="do not fit a vocabulary"):
        large(torch.tensor([[10**6]]))
    assert free()


def test_it_computes_what_it_would_without():
    made, other = Transformer(config()), Transformer(config())
    assert large_models.taken(made) is made
    assert not made._forward_pre_hooks  # a small one: those who look at it wait for nobody
    assert torch.equal(made(IDS).logits, other(IDS).logits)


def test_work_with_a_copy_is_done_one_after_the_other_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr(large_models, "EVERY", 0.01)
    works: Any = [large_models.with_a_copy(lambda: iter("ab"))() for _ in range(3)]  # generators
    first, stopped, last = works
    assert next(first) == "a"
    assert next(stopped) is None
    stopped.close()
    assert next(last) is None
    assert list(first) == ["b"]
    assert [item for item in last if item is not None] == ["a", "b"]


def test_models_of_visitors_wait_for_their_turn(monkeypatch, tmp_path):
    from tests import own_folders
    from tests.pages.own_models import brought

    own_folders.write(tmp_path, "gpt2")
    monkeypatch.setattr(large_models, "LARGE", 1)
    monkeypatch.setenv("TFCORE_MODELS", "any")
    monkeypatch.setenv("TFCORE_MODEL_FOLDER", str(tmp_path))
    monkeypatch.setattr(own_models, "STORE", own_models.Store())
    assert large_models._before in brought("./gpt2").model._forward_pre_hooks.values()
