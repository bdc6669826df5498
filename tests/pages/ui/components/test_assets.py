"""The files that browsers keep: plotly's script, wrapped so that it is compiled at once."""

from pages.ui.components import assets


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
