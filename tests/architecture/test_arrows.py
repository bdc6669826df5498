"""Imports point one way: config <- parts <- block <- model <- checkpoints <- measures <- training <- analysis, and
analysis <- figures <- views <- pages/ui <- pages. Each rule has a case that shows it can fail."""

import ast
from fnmatch import fnmatchcase

import pytest

from tests.architecture.sources import ROOT, broken, files, imports, module_name, targets

# From the bottom up; a module may import those below it and those on its own level that share its package.
CORE = ("positions", "masks", "linear", "norms", "feedforward", "attention", "experts", "routing", "initialise")
LEVELS = [
    ("tfcore.config", "tfcore.part_configs", "tfcore.checks", "tfcore.device", "tfcore.wanted", "tfcore.moved"),
    (
        *(f"tfcore.{part}" for part in CORE),
        "tfcore.inspection.*",
        "tfcore.generation.kv_cache",
        "tfcore.generation.sampling",
    ),
    ("tfcore.block", "tfcore.stack"),
    ("tfcore.model", "tfcore.presets"),
    ("tfcore.loading.*", "tfcore.tokenizers.*", "tfcore.generation.*"),
    ("tfcore.measures.*",),
    ("tfcore.training.*",),
    ("tfcore.analysis.*",),
    ("tfcore.figures.*",),
    ("tfcore.views.*",),
    ("tfcore",),  # what the package re-exports; for users of it, not for its own modules
    ("pages.*.experiments",),
    ("pages.ui.*",),
    ("pages.*",),
]
FIGURES, EXPERIMENTS, UI, PAGES = 8, 11, 12, 13
RESULTS = (0, 5, 6, 7)  # what figures take: configs, and what was measured, trained and analysed
LIGHT = {"torch", "streamlit", "transformers"}  # what figures are made without
WORDS = ("tfcore.measures.quantities", "tfcore.measures.token_text")  # how a value is written; they measure nothing


def level(module: str) -> int:
    for i, names in enumerate(LEVELS):
        for name in names:
            if fnmatchcase(module, name) or module == name.removesuffix(".*"):
                return i
    raise LookupError(f"{module} has no level yet: say in LEVELS what it may import")


def complaints(module: str, source: str) -> list[str]:
    """What is wrong with the imports of a module."""
    if module == "tfcore":
        return []
    own, found = level(module), []
    for target in sorted(targets(source)):
        top = top_of(target)
        if target.startswith("."):
            found.append(f"{module} imports {target}: write the whole name")
        elif top in ("tfcore", "pages"):
            found += arrow(module, own, target)
        elif top == "app":
            found.append(f"{module} imports the server")
        else:
            found += library(module, own, top)
    return found


def arrow(module: str, own: int, target: str) -> list[str]:
    if target == "pages":
        return []
    folder, own_folder = target.rpartition(".")[0], module.rpartition(".")[0]
    if own == EXPERIMENTS and top_of(target) == "pages":
        return [f"{module} imports {target}: an experiment needs nothing but tfcore"]
    if own == PAGES and folder in (own_folder, own_folder.rpartition(".")[0]) and folder.count(".") > 0:
        return []  # a part of the same page, or what the pages of a chapter share
    other = level(target)
    same = other == own and own not in (3, PAGES)
    if own == FIGURES and other not in (*RESULTS, FIGURES):
        return [f"{module} imports {target}: figures take configs and results only"]
    if other < own or same:
        return []
    return [f"{module} imports {target}, which is above it"]


def top_of(module: str) -> str:
    return module.partition(".")[0]


def library(module: str, own: int, top: str) -> list[str]:
    if top == "streamlit" and own < UI:
        return [f"{module} imports streamlit: only pages do"]
    if top == "plotly" and own not in (FIGURES, UI):
        return [f"{module} imports plotly: only figures do"]
    if own in (FIGURES, PAGES) and top in LIGHT - ({"streamlit"} if own == PAGES else set()):
        return [f"{module} imports {top}: computing is tfcore's"]
    return []


SOURCES = [path for path in files("tfcore", "pages") if path.name != "__main__.py"]


def test_imports_point_one_way():
    assert [line for path in SOURCES for line in complaints(module_name(path), path.read_text("utf-8"))] == []


WRONG = {
    "a part that knows the model": ("tfcore.attention", "from tfcore.model import Transformer"),
    "a config that knows a part": ("tfcore.config", "import tfcore.masks"),
    "a block that knows the model": ("tfcore.block", "def f():\n    from tfcore import model"),
    "a model that knows a checkpoint": ("tfcore.model", "from tfcore.loading.checkpoints import load"),
    "a model that knows an analysis": ("tfcore.model", "from tfcore.analysis.foundations.heads import score_heads"),
    "a measure that trains": ("tfcore.measures.one_text", "from tfcore.training.loop import train"),
    "a measure that knows an analysis": ("tfcore.measures.one_text", "from tfcore.analysis.finding import Finding"),
    "a training that knows an analysis": ("tfcore.training.loop", "from tfcore.analysis.finding import Finding"),
    "a training that knows a view": ("tfcore.training.loop", "from tfcore.views.view import View"),
    "a checkpoint that knows a measure": ("tfcore.loading.hub", "from tfcore.measures.one_text import one_text"),
    "a generation that knows a measure": ("tfcore.generation.beam", "from tfcore.measures import one_text"),
    "an inspection that knows an analysis": ("tfcore.inspection.edits", "import tfcore.analysis.finding"),
    "an analysis that draws": ("tfcore.analysis.foundations.heads", "from tfcore.figures import theme"),
    "training that draws": ("tfcore.training.loop", "import tfcore.figures.theme"),
    "a module that goes through the package": ("tfcore.analysis.foundations.heads", "import tfcore"),
    "a figure that computes": ("tfcore.figures.foundations.heads", "from tfcore.attention import attention_scores"),
    "a figure with torch": ("tfcore.figures.foundations.heads", "import torch.nn as nn"),
    "a library that knows a page": ("tfcore.figures.foundations.heads", "from pages.ui import text"),
    "a library with streamlit": ("tfcore.analysis.foundations.heads", "import streamlit as st"),
    "a figure with streamlit": ("tfcore.figures.foundations.heads", "from streamlit import cache_data"),
    "a model with plotly": ("tfcore.analysis.foundations.heads", "import plotly.graph_objects as go"),
    "ui that knows a page": ("pages.ui.page", "from pages.foundations import heads"),
    "a page that knows another": ("pages.foundations.heads.page", "from pages.foundations.masks.page import TEXT"),
    "a page that knows a part of one elsewhere": (
        "pages.foundations.heads.page",
        "import pages.block.normalisation.depth",
    ),
    "an experiment that needs the pages": ("pages.foundations.heads.experiments", "from pages.ui import cache"),
    "an experiment that shares with another": (
        "pages.foundations.heads.experiments",
        "from pages.foundations.masks.experiments import words",
    ),
    "a page with plotly": ("pages.foundations.heads.page", "import plotly.graph_objects as go"),
    "a page with tensors": ("pages.foundations.heads.page", "import torch"),
    "a page that knows the server": ("pages.foundations.heads.page", "import app"),
    "a relative import": ("tfcore.block", "from .model import Transformer"),
}


@pytest.mark.parametrize(("module", "source"), WRONG.values(), ids=list(WRONG))
def test_an_arrow_the_other_way_is_found(module, source):
    assert len(complaints(module, source)) == 1


def test_a_new_module_must_be_given_a_level():
    with pytest.raises(LookupError, match=r"tfcore\.wings has no level yet"):
        level("tfcore.wings")


def results_only(source: str, read=lambda module: (ROOT / (module.replace(".", "/") + ".py")).read_text("utf-8")):
    """What a figure imports from a measure, a training or an analysis that is neither a result dataclass, a type nor a
    constant."""
    found = []
    for module, name in imports(source):
        if module.startswith(("tfcore.measures", "tfcore.training", "tfcore.analysis")) and module not in WORDS:
            kinds = {node.name: node for node in ast.parse(read(module)).body if hasattr(node, "name")}
            node = kinds.get(name)
            marks = [ast.unparse(mark) for mark in node.decorator_list] if isinstance(node, ast.ClassDef) else []
            is_result = any(mark.startswith("dataclass") for mark in marks)
            if not name or (node is not None and not is_result):
                found.append(f"{module}.{name}")
    return found


def test_figures_take_result_types_alone():
    assert broken(results_only, files("tfcore/figures")) == {}


def test_a_figure_that_measures_is_found():
    source = "from tfcore.measures.heads.kinds import score_heads"
    assert results_only(source) == ["tfcore.measures.heads.kinds.score_heads"]
    assert results_only("import tfcore.analysis.foundations.heads") == ["tfcore.analysis.foundations.heads."]
    assert results_only("from tfcore.measures.heads.kinds import HeadScores, KINDS") == []
    assert results_only("from tfcore.measures.quantities import amount") == []
