"""Pictures of heads: valid for plotly, in the order asked for, and each weight where it belongs."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.views.foundations.heads.draw import maps as figures

LAYERS, HEADS = 2, 3
PLACES = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
NAMES = {place: f"first token {place[0]}.{place[1]}0" for place in PLACES}
COLUMNS = 3


def labels(n):
    return ["the", "the", "&lt;b&gt;", "⏎", "·x"][:n] + [f"t{i}" for i in range(5, n)]


def patterns(n, *shape, seed=0):
    """Random causal attention: rows sum to 1."""
    raw = np.tril(np.random.default_rng(seed).random((*shape, n, n)))
    return (raw / raw.sum(-1, keepdims=True)).astype(np.float32)


def mosaic(n=4, order=PLACES, selected=(1, 2)):
    thumbnails = patterns(n, LAYERS, HEADS)
    shown, labels = np.stack([thumbnails[place] for place in order]), [NAMES[place] for place in order]
    return thumbnails, figures.mosaic(shown, labels, order, selected, columns=COLUMNS, height=500)


@pytest.mark.parametrize("n", [1, 2, 5, 64])
def test_plotly_accepts_every_picture(n):
    theme.check(mosaic(n)[1])
    maps = patterns(n, LAYERS, HEADS)
    for chosen in (None, 0, n - 1):
        theme.check(figures.lines(maps[0, 0], labels(n), labels(n), chosen, height=500))
    theme.check(figures.one_token(row(maps, n - 1), PLACES, labels(n), n - 1, (1, 0), height=400, log=True))


@pytest.mark.parametrize("order", [PLACES, PLACES[::-1], sorted(PLACES, key=lambda p: p[1])])
def test_a_click_names_the_head_whose_weights_are_drawn_there(order):
    thumbnails, figure = mosaic(order=order)
    image, targets = figure.data
    assert [tuple(place) for place in targets.customdata] == order
    for place, x, y in zip(order, targets.x, targets.y, strict=True):
        drawn = image.z[int(y) - 2 : int(y) + 2, int(x) - 2 : int(x) + 2]
        np.testing.assert_array_equal(drawn, np.round(255 * thumbnails[place]))


def test_the_mosaic_travels_as_bytes_and_shows_every_name():
    _, figure = mosaic()
    assert figure.data[0].z.dtype == np.uint8
    written = [note["text"] for note in figure.to_dict()["layout"]["annotations"]]
    assert len(written) == len(PLACES)
    for (layer, head), words in zip(PLACES, written, strict=True):
        assert f"{layer}.{head}" in words
        assert "first token" in words


def row(maps, token):
    """One row of every map, as one_token takes it."""
    return maps[:, :, token].reshape(-1, maps.shape[-1])


def test_exactly_the_selected_head_is_framed():
    _, figure = mosaic(selected=(0, 1))
    accent = [shape for shape in figure.to_dict()["layout"]["shapes"] if shape["line"]["color"] == "@accent"]
    targets = figure.data[1]
    at = PLACES.index((0, 1))
    assert len(accent) == 1
    assert accent[0]["x0"] < targets.x[at] < accent[0]["x1"]
    assert accent[0]["y0"] < targets.y[at] < accent[0]["y1"]


def segments(figure):
    """(query, key) -> opacity of the lines drawn."""
    drawn = {}
    for trace in figure.data:
        if trace.mode == "lines":
            ends = [y for y in trace.y if y is not None]
            drawn |= {(int(q), int(k)): trace.opacity for q, k in zip(ends[::2], ends[1::2], strict=True)}
    return drawn


def test_a_line_for_every_weight_worth_one_and_stronger_for_more():
    pattern = np.array([[1, 0, 0], [0.3, 0.7, 0], [0.01, 0.09, 0.9]], dtype=np.float32)
    drawn = segments(figures.lines(pattern, labels(3), labels(3), None, height=400))
    assert set(drawn) == {(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)}
    assert drawn[1, 1] > drawn[1, 0] > drawn[2, 1]


def test_the_chosen_token_has_the_strong_lines():
    drawn = segments(figures.lines(np.full((3, 3), 1 / 3, np.float32), labels(3), labels(3), 1, height=400))
    assert len(drawn) == 9
    others = [opacity for (query, _), opacity in drawn.items() if query != 1]
    assert all(drawn[1, key] > 3 * max(others) for key in range(3))


def test_equal_tokens_stay_two_in_both_columns():
    left, right = (t for t in figures.lines(patterns(5), labels(5), labels(5), 0, height=400).data if t.mode == "text")
    assert list(left.text) == list(right.text) == labels(5)
    assert list(left.y) == list(right.y) == [0, 1, 2, 3, 4]


def test_one_token_in_every_head_keeps_the_order_of_the_heads():
    weights = row(patterns(5, LAYERS, HEADS), 3)
    figure = figures.one_token(weights, PLACES, labels(5), 3, (1, 2), height=400)
    trace, layout = figure.data[0], figure.to_dict()["layout"]
    np.testing.assert_array_equal(np.asarray(trace.z), weights)
    assert (trace.zmin, trace.zmax) == (0, 1), "a fixed range, so that texts can be compared"
    assert layout["yaxis"]["ticktext"] == [f"{layer}.{head}" for layer, head in PLACES]
    frames = [shape for shape in layout["shapes"] if shape["type"] == "rect"]
    assert any(f["x0"] < 3 < f["x1"] and f["y1"] - f["y0"] == 6 for f in frames), "the query"
    assert any(f["y0"] < 5 < f["y1"] and f["y1"] - f["y0"] == 1 for f in frames), "the selected head"


@pytest.mark.parametrize("n", [1, 63, 64, 65, 256])
def test_tick_labels_stay_few_and_on_their_tokens(n):
    figure = figures.one_token(row(patterns(n, 1, 1), 0), [(0, 0)], labels(n), 0, (0, 0), height=400)
    axis = figure.to_dict()["layout"]["xaxis"]
    assert len(axis["tickvals"]) <= figures.MOST_KEYS
    assert list(axis["ticktext"]) == [labels(n)[i] for i in axis["tickvals"]]


def test_logarithmic_colours_tell_three_decades_apart():
    weights = np.array([0, 1e-4, 1e-3, 10**-1.5, 1], dtype=np.float64)
    np.testing.assert_allclose(figures.shades(weights, log=True), [0, 0, 0, 0.5, 1], atol=1e-12)
    np.testing.assert_array_equal(figures.shades(weights, log=False), weights)
    stops = dict(map(tuple, theme.scale("@logweights", "light")))
    plain = dict(map(tuple, theme.scale("@weights", "light")))
    assert (stops[0.0], stops[1.0]) == (plain[0.0], plain[1.0])
    assert stops[10**-1.5] == plain[0.5]


@pytest.mark.parametrize(
    ("tiles", "heads", "columns"), [(24, 6, 6), (36, 9, 6), (32, 32, 6), (1, 9, 3), (8, 9, 3), (16, 4, 4)]
)
def test_tiles_stay_squares_that_can_be_read(tiles, heads, columns):
    assert figures.mosaic_columns(tiles, heads) == columns
    assert figures.TILES_WIDTH / columns >= 55, "room for the name of a kind"
    assert figures.mosaic_height(tiles, columns) < 900
    maps = patterns(4, tiles)
    places = [(0, i) for i in range(tiles)]
    figure = figures.mosaic(maps, ["self 0.5"] * tiles, places, (0, 0), columns=columns, height=600)
    assert figure.to_dict()["layout"]["yaxis"]["scaleanchor"] == "x"
