"""A visitor's own model on every page: shown where it is loaded, explained where it will not do, never a traceback."""

import pytest
import streamlit as st

from pages.ui import model_settings, own_models
from tests import own_folders
from tests.pages.visits import opened, said

PAGES = {
    "heads": ("foundations/heads.py", {}),
    "heads compared": ("foundations/heads.py", {"show": "compare", "with": "another text"}),
    "heads cut": ("foundations/heads.py", {"show": "cuts"}),
    "masks": ("foundations/masks.py", {"kind": "window"}),
    "words": ("foundations/attention.py", {"look": "words"}),
    "positions": ("foundations/positions.py", {"scheme": "together"}),
    "tokens": ("foundations/tokens.py", {}),
    "merges": ("foundations/tokens.py", {"part": "merges"}),
    "embeddings": ("foundations/tokens.py", {"part": "embeddings"}),
    "norms": ("block/normalisation.py", {"part": "Which axis"}),
    "skip": ("block/residuals.py", {"part": "Skip blocks"}),
    "dropout": ("block/residuals.py", {"part": "Dropout"}),
    "neurons": ("block/feedforward.py", {}),
    "activations": ("block/feedforward.py", {"panel": "activations"}),
    "share": ("block/feedforward.py", {"panel": "share"}),
    "parameters": ("model/parameters.py", {}),
    "your model": ("model/your_model.py", {}),
}
INSTEAD = {  # where a page shows another model, and what it says
    "masks": {"t5": "needs a decoder or an encoder"},
    "words": {"t5": "needs a decoder or an encoder"},
    "dropout": {"t5": "needs a decoder or an encoder"},
    "activations": {"t5": "needs a decoder or an encoder", "mixtral": "are experts"},
    "positions": {"gpt2": "its positions are learned", "headless": "its positions are learned",
                  "bert": "needs a decoder", "t5": "needs a decoder"},
    "tokens": dict.fromkeys(("llama", "mixtral", "bert", "t5"), "its tokenizer changes a text"),
    "merges": dict.fromkeys(("llama", "mixtral", "bert", "t5"), "its tokenizer changes a text"),
}  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    own_folders.write(root)
    return root


@pytest.fixture
def allowed(folders, monkeypatch):
    monkeypatch.setenv("TFCORE_MODELS", "any")
    monkeypatch.setenv("TFCORE_MODEL_FOLDER", str(folders))
    monkeypatch.setattr(own_models, "STORE", own_models.Store())
    st.cache_data.clear()
    return folders


def brought(name: str) -> own_models.Own:
    """The model, loaded as the job does it."""
    last = list(own_models.bring(name, model_settings.read()))[-1]
    assert isinstance(last, own_models.Own), last
    return last


@pytest.mark.parametrize("family", list(own_folders.FAMILIES))
def test_every_page_shows_it_or_says_why_not(allowed, family):
    name = f"./{family}"
    brought(name)
    for page, (file, address) in PAGES.items():
        key = "of" if page == "activations" else "model"
        test = opened(file, **{**address, key: name})
        words = said(test, "info", "caption", "markdown")
        assert "is not loaded" not in words, page
        if (reason := INSTEAD.get(page, {}).get(family)) is not None:
            assert f"{name}: " in words, page
            assert reason in words, page
            assert "Shown instead" in words, page
        else:
            assert "Shown instead" not in words, page
        assert "Corrected from the link" not in words, page
