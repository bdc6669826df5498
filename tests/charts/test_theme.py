"""The colours: readable on both papers, told apart by every eye, and the same everywhere they are named."""

import tomllib
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tfcore.charts import oklab, theme

ROOT = Path(__file__).resolve().parents[2]
THEMES = ("light", "dark")
# Machado, Oliveira and Fernandes (2009), full severity, for linear RGB.
BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


@pytest.mark.parametrize("which", THEMES)
@pytest.mark.parametrize("role", [r for r in theme.ROLES if r not in ("paper", "grid")])
def test_roles_stand_out_from_the_paper(role, which):
    ratio = oklab.contrast(theme.colour("@" + role, which), theme.colour("@paper", which))
    assert ratio >= (4.5 if role in ("ink", "muted") else 3.0)


@pytest.mark.parametrize("which", THEMES)
def test_categories_stand_out_and_differ_from_each_other_for_every_eye(which):
    colours = [theme.colour(f"@cat{i}", which) for i in range(len(theme.CATEGORIES))]
    assert min(oklab.contrast(c, theme.colour("@paper", which)) for c in colours) >= 3.0
    for name, matrix in {"full": np.eye(3), **BLINDNESS}.items():
        seen = [oklab.to_oklab(_as_seen(c, np.asarray(matrix))) for c in colours]
        nearest = min(np.linalg.norm(np.subtract(a, b)) for a, b in combinations(seen, 2))
        assert nearest >= 0.07, f"{name}: two of the colours are only {nearest:.3f} apart"


def _as_seen(colour: str, matrix: np.ndarray) -> str:
    seen = matrix @ [oklab.linear(c) for c in oklab.rgb(colour)]
    return oklab.hex_of(*(oklab.encoded(max(float(c), 0.0)) for c in seen))


@pytest.mark.parametrize("which", THEMES)
@pytest.mark.parametrize("name", ["@weights", "@seq:query", "@seq:key", "@seq:value"])
def test_sequential_scales_start_at_the_paper_and_change_evenly(name, which):
    stops = theme.scale(name, which)
    assert [t for t, _ in stops] == pytest.approx(np.linspace(0, 1, len(stops)))
    assert stops[0][1] == theme.colour("@paper", which)
    steps = np.diff([oklab.to_oklab(c)[0] for _, c in stops])
    assert np.all(np.sign(steps) == np.sign(steps[0]))
    assert np.ptp(steps) < 0.02


@pytest.mark.parametrize("which", THEMES)
def test_signed_scale_has_the_paper_in_the_middle_and_equally_strong_ends(which):
    stops = theme.scale("@signed", which)
    assert stops[len(stops) // 2] == [0.5, theme.colour("@paper", which)]
    ends = [oklab.to_oklab(stops[i][1])[0] for i in (0, -1)]
    assert abs(ends[0] - ends[1]) < 0.06


def test_the_palette_is_that_of_the_streamlit_theme():
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
    names = {"paper": "backgroundColor", "ink": "textColor", "grid": "borderColor", "accent": "primaryColor"}
    for which in THEMES:
        assert {r: config[which][n] for r, n in names.items()} == {r: theme.colour("@" + r, which) for r in names}
        categories = [theme.colour(f"@cat{i}", which) for i in range(len(theme.CATEGORIES))]
        assert config[which]["chartCategoricalColors"] == categories
        assert oklab.contrast("#ffffff", config[which]["primaryColor"]) >= 3.5  # white text on buttons


def test_resolve_replaces_colours_and_nothing_else():
    text = "@query says hi"
    figure = {
        "data": [
            {
                "line": {"color": "@query"},
                "marker": {"colors": ["@cat1", "#123456"]},
                "text": ["@query"],
                "colorscale": [[0, "@paper"], [1, "@key/0.5"]],
                "name": text,
            }
        ],
        "layout": {"title": {"text": text}, "colorway": ["@head9"], "coloraxis": {"colorscale": "@signed"}},
    }
    light = theme.resolve(figure, "light")
    trace, layout = light["data"][0], light["layout"]
    assert trace["line"]["color"] == "#d55e00"
    assert trace["marker"]["colors"] == ["#d55e00", "#123456"]
    assert trace["colorscale"] == [[0, "#fcfbf8"], [1, "rgba(0,114,178,0.5)"]]
    assert (trace["text"], trace["name"], layout["title"]["text"]) == (["@query"], text, text)
    assert layout["colorway"] == [theme.colour("@cat1", "light")]
    assert layout["coloraxis"]["colorscale"] == theme.scale("@signed", "light")
    assert figure["data"][0]["line"]["color"] == "@query", "the figure itself stays as it was"


@pytest.mark.parametrize("name", ["@nothing", "@query3", "query", "@", "@cat", "@key/2", "@seq:nothing"])
def test_unknown_names_are_refused(name):
    with pytest.raises(ValueError, match="no colour role"):
        theme.resolve({"color": name if name[:1] == "@" else "@" + name + "!"}, "light")


def test_base_layout_is_valid_plotly_and_merges():
    layout = theme.base_layout(
        300, xaxis={"title": "key"}, yaxis2={"title": {"text": "q"}, "side": "right"}, margin={"l": 1}
    )
    figure = theme.build([{"type": "scatter", "y": [1, 2], "line": {"color": "@query/0.4"}}], layout)
    theme.check(figure)
    assert layout["margin"] == {"l": 1, "r": 16, "t": 28, "b": 44}
    assert layout["xaxis"]["title"]["text"] == "key"
    assert layout["yaxis2"]["side"] == "right"


def test_check_finds_misspelt_properties():
    with pytest.raises(ValueError, match="colour"):
        theme.check(theme.build([{"type": "scatter", "line": {"colour": "@query"}}], {}))


def test_browser_tables_hold_what_resolve_uses():
    tables = theme.browser_tables()
    for which in THEMES:
        assert tables[which]["roles"]["query"] == theme.colour("@query", which)
        assert tables[which]["scales"]["@weights"] == theme.scale("@weights", which)
        assert tables[which]["categories"][2] == theme.colour("@cat2", which)


@pytest.mark.parametrize("colour", ["#000000", "#ffffff", "#d55e00", "#5aa9e0", "#010203"])
def test_oklab_round_trip(colour):
    assert oklab.from_oklab(*oklab.to_oklab(colour)) == colour


def test_contrast_of_black_and_white_is_21():
    assert oklab.contrast("#000000", "#ffffff") == pytest.approx(21)
    with pytest.raises(ValueError, match="#rrggbb"):
        oklab.rgb("red")
