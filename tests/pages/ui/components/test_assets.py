"""The files that browsers keep: plotly's script, wrapped so that it is compiled at once."""

import re

from pages.ui.components import assets
from tfcore.charts import bundle


def test_the_function_that_wraps_plotly_is_in_brackets_and_nothing_else_changes():
    ours, theirs = assets.plotly_script(), assets.PLOTLY.read_bytes()
    assert ours.count(b"this, (() => {") == 1
    assert ours.endswith(b"})));")
    assert len(ours) == len(theirs) + 2
    assert ours.replace(b"this, (() => {", b"this, () => {", 1)[:-5] == theirs[:-4]


def test_a_plotly_that_is_wrapped_in_another_way_is_served_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(assets, "PLOTLY", tmp_path / "plotly.min.js")
    for script in (b"window.Plotly = {}", b"(f(): this, () => {\nreturn 1}));more()"):
        assets.PLOTLY.write_bytes(script)
        assert assets.plotly_script() == script


def test_the_plotly_of_saved_pages_is_of_the_same_release_and_draws_what_figure_js_says():
    """A new release: `npm pack plotly.js-cartesian-dist-min@VERSION`, and its file into tfcore/charts/plotly."""
    small = bundle.CARTESIAN.read_text("utf-8")
    versions = [
        re.search(rb"plotly\.js .*?v([\d.]+)", one.read_bytes()[:300]) for one in (bundle.CARTESIAN, assets.PLOTLY)
    ]
    assert versions[0] is not None
    assert versions[1] is not None
    assert versions[0][1] == versions[1][1]
    used = re.search(r"const CARTESIAN = \[(.*?)\]", assets.contents()["figure.js"].decode())
    assert used is not None
    assert set(re.findall(r"\w+", used[1])) == set(bundle.TRACES)
    assert set(bundle.TRACES) <= set(re.findall(r'moduleType:"trace",name:"(\w+)"', small))
    assert (bundle.CARTESIAN.parent / "LICENSE").is_file()
