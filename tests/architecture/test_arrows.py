"""Imports point one way: config <- parts <- block <- model <- checkpoints <- measures <- training <- charts
<- views <- pages/ui <- pages. Each rule has a case that shows it can fail."""

import ast
import sys
from fnmatch import fnmatchcase

import pytest

from tests.architecture.sources import ROOT, broken, files, imports, module_name, targets

# From the bottom up; a module may import those below it and those on its own level that share its package.
CORE = (
    "pictures",
    "sounds",
    "positions",
    "masks",
    "half_weights",
    "onednn",
    "linear",
    "norms",
    "feedforward",
    "mixers",
    "attention",
    "experts",
    "routing",
)
BESIDE = ("kv_cache", "input_checks", "initialise")
LEVELS = [
    (
        *("tfcore.config", "tfcore.part_configs", "tfcore.checks", "tfcore.device", "tfcore.files", "tfcore.wanted"),
        "tfcore.moved",
    ),
    ("tfcore.tokenizers.*",),
    (
        *(f"tfcore.{part}" for part in CORE + BESIDE),
        "tfcore.inspection.*",
        "tfcore.kv_cache",
        "tfcore.generation.sampling",
    ),
    (
        "tfcore.disentangled_attention",
        "tfcore.input_convolution",
        "tfcore.latent_attention",
        "tfcore.mixing_layers",
        "tfcore.block",
        "tfcore.stack",
    ),
    ("tfcore.model", "tfcore.presets"),
    ("tfcore.loading.*", "tfcore.generation.*", "tfcore.minimal"),
    ("tfcore.measures.*",),
    ("tfcore.training.*",),
    (
        *("tfcore.views.*.measure", "tfcore.views.*.measure.*"),
        *("tfcore.views.kept", "tfcore.views.sources", "tfcore.views.finding"),  # kept and said
        "tfcore.views.versions",
    ),
    ("tfcore.charts.*",),
    ("tfcore.views.*",),
    # what the package re-exports, commands and exercises; for users of it, not for its own modules
    ("tfcore", "tfcore.commands.*", "tfcore.exercises.*"),
    ("pages.facts", "pages.*.facts"),
    ("pages.lessons.*",),
    ("pages.ui.*",),
    ("pages.*",),
]
CHARTS, VIEWS, FACTS, LESSONS, UI, PAGES = 9, 10, 12, 13, 14, 15
RESULTS = (0, 6, 7)  # what charts take: configs, and what was measured and trained
HALVES = {"measure": 0, "say": 1, "draw": 1}  # of a subject; each may import those of a lower number, and itself
LIGHT = {"torch", "streamlit", "transformers"}  # what charts are made without
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
    if own == FACTS and target != "pages.facts":
        return [f"{module} imports {target}: facts need nothing"]
    if own == PAGES and folder in (own_folder, own_folder.rpartition(".")[0]) and folder.count(".") > 0:
        return []  # a part of the same page, or what the pages of a chapter share
    other = level(target)
    if other == FACTS and target != "pages.facts":
        return [f"{module} imports {target}: the facts of other pages are found by pages.facts"]
    same = other == own and own not in (4, PAGES)
    if own == CHARTS and other not in (*RESULTS, CHARTS):
        return [f"{module} imports {target}: charts take configs and results only"]
    if own == other == VIEWS:
        return halves(module, target)
    if other < own or same:
        return []
    return [f"{module} imports {target}, which is above it"]


def half_of(module: str) -> tuple[str, str]:
    """The subject of a view's module, and which half of it: tfcore.views.<chapter>.<subject>.<half>."""
    parts = module.split(".")
    return ".".join(parts[2:4]), next((part for part in parts[4:5] if part in HALVES), "")


def halves(module: str, target: str) -> list[str]:
    """Measuring knows nothing of words and pictures; who shows a subject shares with others what they measure alone."""
    (subject, half), (other_subject, other_half) = half_of(module), half_of(target)
    if subject != other_subject and other_half in ("draw", "say"):
        return [f"{module} imports {target}: the words and pictures of another subject"]
    if half and other_half and half != other_half and HALVES[other_half] >= HALVES[half]:
        return [f"{module} imports {target}: measure knows neither say nor draw, and these two not each other"]
    return []


def top_of(module: str) -> str:
    return module.partition(".")[0]


def library(module: str, own: int, top: str) -> list[str]:
    if top == "streamlit" and own < UI:
        return [f"{module} imports streamlit: only pages do"]
    if own in (FACTS, LESSONS) and top not in sys.stdlib_module_names:
        return [f"{module} imports {top}: facts and lessons need nothing"]
    if top == "plotly" and own not in (CHARTS, UI) and half_of(module)[1] != "draw":
        return [f"{module} imports plotly: only charts do"]
    if own in (CHARTS, PAGES) and top in LIGHT - ({"streamlit"} if own == PAGES else set()):
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
    "a model that knows a measure": ("tfcore.model", "from tfcore.measures.heads.kinds import score_heads"),
    "a measure that trains": ("tfcore.measures.one_text", "from tfcore.training.loop import train"),
    "a measure that knows a finding": ("tfcore.measures.one_text", "from tfcore.views.finding import Finding"),
    "a training that knows a finding": ("tfcore.training.loop", "from tfcore.views.finding import Finding"),
    "a training that knows a view": ("tfcore.training.loop", "from tfcore.views.view import View"),
    "a checkpoint that knows a measure": ("tfcore.loading.hub", "from tfcore.measures.one_text import one_text"),
    "a generation that knows a measure": ("tfcore.generation.beam", "from tfcore.measures import one_text"),
    "an inspection that knows a finding": ("tfcore.inspection.edits", "import tfcore.views.finding"),
    "a measure that draws": ("tfcore.measures.heads.maps", "from tfcore.charts import theme"),
    "training that draws": ("tfcore.training.loop", "import tfcore.charts.theme"),
    "a module that goes through the package": ("tfcore.measures.heads.maps", "import tfcore"),
    "a chart that knows what one subject measures": (
        "tfcore.charts.bars",
        "from tfcore.views.inference.kv_cache.measure.serving import Service",
    ),
    "a chart that computes": ("tfcore.charts.bars", "from tfcore.attention import attention_scores"),
    "a chart with torch": ("tfcore.charts.bars", "import torch.nn as nn"),
    "a library that knows a page": ("tfcore.charts.bars", "from pages.ui import text"),
    "a library with streamlit": ("tfcore.measures.heads.maps", "import streamlit as st"),
    "a chart with streamlit": ("tfcore.charts.bars", "from streamlit import cache_data"),
    "a model with plotly": ("tfcore.measures.heads.maps", "import plotly.graph_objects as go"),
    "ui that knows a page": ("pages.ui.page", "from pages.foundations import heads"),
    "a page that knows another": ("pages.foundations.heads.page", "from pages.foundations.masks.page import TEXT"),
    "a page that knows a part of one elsewhere": (
        "pages.foundations.heads.page",
        "import pages.block.normalisation.numbers",
    ),
    "facts that know a library": ("pages.foundations.heads.facts", "import numpy"),
    "facts that know tfcore": ("pages.foundations.heads.facts", "from tfcore.presets import PRESETS"),
    "facts that know their page": ("pages.foundations.heads.facts", "from pages.foundations.heads import page"),
    "a page that knows the facts of another": (
        "pages.foundations.heads.page",
        "from pages.foundations.masks.facts import FACTS",
    ),
    "ui that knows the facts of a page": ("pages.ui.page", "from pages.foundations.masks.facts import FACTS"),
    "a page with plotly": ("pages.foundations.heads.page", "import plotly.graph_objects as go"),
    "a page with tensors": ("pages.foundations.heads.page", "import torch"),
    "a page that knows the server": ("pages.foundations.heads.page", "import app"),
    "a measurement that draws": (
        "tfcore.views.inference.kv_cache.measure.serving",
        "from tfcore.views.inference.kv_cache.draw.sizes import sizes_figure",
    ),
    "words that need a picture": (
        "tfcore.views.inference.kv_cache.say",
        "from tfcore.views.inference.kv_cache.draw import sizes_figure",
    ),
    "a view with a picture of another subject": (
        "tfcore.views.inference.kv_cache",
        "from tfcore.views.foundations.heads.draw import lines",
    ),
    "a measurement with plotly": ("tfcore.views.inference.kv_cache.measure", "import plotly.graph_objects as go"),
    "a relative import": ("tfcore.block", "from .model import Transformer"),
}


@pytest.mark.parametrize(("module", "source"), WRONG.values(), ids=list(WRONG))
def test_an_arrow_the_other_way_is_found(module, source):
    assert len(complaints(module, source)) == 1


def test_a_view_may_use_its_own_halves_and_what_another_measures():
    module = "tfcore.views.inference.kv_cache"
    assert complaints(f"{module}.draw.sizes", f"import plotly\nfrom {module}.measure.serving import Service") == []
    assert complaints(module, f"from {module}.draw import sizes\nfrom {module}.say import fit") == []
    assert complaints(module, "from tfcore.views.foundations.heads.measure import kinds") == []


def test_a_new_module_must_be_given_a_level():
    with pytest.raises(LookupError, match=r"tfcore\.wings has no level yet"):
        level("tfcore.wings")


def results_only(source: str, read=lambda module: (ROOT / (module.replace(".", "/") + ".py")).read_text("utf-8")):
    """What a chart imports from a measure or a training that is neither a result dataclass, a type nor a constant."""
    found = []
    for module, name in imports(source):
        if module.startswith(("tfcore.measures", "tfcore.training")) and module not in WORDS:
            kinds = {node.name: node for node in ast.parse(read(module)).body if hasattr(node, "name")}
            node = kinds.get(name)
            marks = [ast.unparse(mark) for mark in node.decorator_list] if isinstance(node, ast.ClassDef) else []
            is_result = any(mark.startswith("dataclass") for mark in marks)
            if not name or (node is not None and not is_result):
                found.append(f"{module}.{name}")
    return found


def test_charts_take_result_types_alone():
    assert broken(results_only, files("tfcore/charts")) == {}


def test_a_chart_that_measures_is_found():
    source = "from tfcore.measures.heads.kinds import score_heads"
    assert results_only(source) == ["tfcore.measures.heads.kinds.score_heads"]
    assert results_only("import tfcore.training.loop") == ["tfcore.training.loop."]
    assert results_only("from tfcore.measures.heads.kinds import HeadScores, KINDS") == []
    assert results_only("from tfcore.measures.quantities import amount") == []
