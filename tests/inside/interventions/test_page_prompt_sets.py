"""The section on sets of prompts: templates that fit the model, tables, refusals, means of the prompts there are."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from pages.inside.interventions import sets
from pages.ui import cache, csv_table
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import run
from tfcore.views.inside import interventions as views
from tfcore.views.inside.interventions.measure import prompt_sets
from tfcore.views.inside.interventions.measure.prompt_sets import encode_prompts, pair_prompts
from tfcore.views.inside.interventions.measure.prompt_tables import TEMPLATES, read_prompts, written_prompts

opened = partial(visits.opened, "inside/interventions/page.py", show="A set of prompts", model="stories")
PAIR = TEMPLATES["genders"][:2]


def measure_set(model, encoded) -> list:
    return [one for one in prompt_sets.measure_set(model, encoded) if one is not None]


def test_it_opens_on_a_template_that_the_model_can_pair():
    test = opened()
    chooser = test.segmented_control(key="set")
    assert list(chooser.options) == ["genders", "copies", sets.OWN_LABEL]
    assert chooser.value == "genders"
    model, tokenizer = cache.model("stories")
    found = measure_set(model, encode_prompts(model, tokenizer, TEMPLATES["genders"]))
    mean = float(np.mean([one.clean for one in found[:8]]))
    assert [metric.value for metric in test.metric][::2] == [f"{mean:+.2f}", "8 of 8"]
    head, drawn = figures(test)["means"]
    assert "head 2.5" in head["alt"]
    assert array(drawn["data"][0]["x"]).shape == (80,)
    board = array(figures(test)["set-board"][1]["data"][0]["z"])
    assert np.allclose(board, np.mean([one.estimate for one in found[:8]], axis=0), atol=1e-4)
    test.segmented_control(key="board").set_value("patching")
    board = array(figures(run(test))["set-board"][1]["data"][0]["z"])
    assert np.allclose(board, np.mean([one.patched for one in found[8:]], axis=0), atol=1e-4)


def test_a_table_of_ones_own_and_its_row_that_does_not_fit():
    rows = (*PAIR, PAIR[0]._replace(corrupted="A cat"))
    test = opened(set=sets.OWN_LABEL, table=written_prompts(rows))
    assert test.info[0].value.replace("\\", "").startswith("1 row is left out. Row 3: the clean text has")
    assert test.metric[2].value == "2 of 2"
    assert "over 2 prompts" in figures(test)["means"][0]["caption"]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("a,b\n1,2", "the first row must name the columns"),
        (written_prompts(PAIR[:1]), "the table has 1 prompts; it needs 2 to 64"),
        (written_prompts([one._replace(wrong=one.answer) for one in PAIR]), "0 of 2 rows can be used"),
        ("clean,corrupted,answer,wrong\n<b>,$x$,%{y},:red[a]\n1,2,3", "row 2 has 3 columns"),
    ],
)
def test_what_is_no_table_gets_a_sentence(table, says):
    test = opened(set=sets.OWN_LABEL, table=table)
    assert says in test.info[0].value.replace("\\", "")
    assert not figures(test)


def test_cells_that_are_edited_are_in_the_link_and_a_row_counts_once_it_is_whole(monkeypatch):
    test = opened(set=sets.OWN_LABEL, table=written_prompts(PAIR))
    assert test.data_editor[0].value.to_numpy().tolist() == [list(one) for one in PAIR]

    def edited(begun, **_):
        begun = begun.copy()
        begun.loc[0, "wrong"] = " they"
        begun.loc[2, "clean"] = "A cat"  # what a new row has in its other cells is nothing
        return begun

    with monkeypatch.context() as hands:
        hands.setattr(csv_table.st, "data_editor", edited)
        test = run(test)
    changed = (PAIR[0]._replace(wrong=" they"), PAIR[1])
    assert read_prompts(visits.address(test, "table")) == changed
    assert "Row 3 is used as soon as none of its cells is empty." in visits.said(test, "caption")
    assert test.metric[2].value == "2 of 2"
    with monkeypatch.context() as hands:
        longer = pd.DataFrame([["a b " * 90, "a c " * 90, " b", " c"]] * 20, columns=sets.COLUMNS)
        hands.setattr(csv_table.st, "data_editor", lambda *_, **__: longer)
        test = run(test)
        assert "edits count up to 12,000" in visits.said(test, "caption")
        assert read_prompts(visits.address(test, "table")) == changed
    test.segmented_control(key="set").set_value("genders")
    run(test).segmented_control(key="set").set_value(sets.OWN)
    assert read_prompts(visits.address(run(test), "table")) == changed
    assert test.data_editor[0].value.to_numpy().tolist() == [list(one) for one in changed]


def test_a_cell_with_any_control_character_is_one_cell_of_the_table():
    cells = [[f"a{sign}b", f"{sign}c", f"d{sign}", f"{sign}e{sign}"] for sign in map(chr, range(32))]
    frame = pd.DataFrame(cells, columns=sets.COLUMNS)
    written = csv_table._written(frame, sets.TABLE)
    assert [list(row) for row in read_prompts(written)] == cells
    assert csv_table._frame(written, sets.TABLE).to_numpy().tolist() == cells


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xff\xfe\x00", "The file is no text in UTF-8"),
        (b"a,b,c\n", "The first row must name the columns"),
        (written_prompts(PAIR * 30).encode() + b" " * 70_000, "bytes; 65,536 are possible"),
        (written_prompts([one._replace(clean="a " * 190) for one in PAIR * 20]).encode(), "12,000 are possible"),
    ],
)
def test_a_file_that_is_no_table_is_refused_in_one_sentence(data, says):
    test = opened(set=sets.OWN_LABEL, table=written_prompts(PAIR))
    test.file_uploader(key="table file:file_uploader").upload("prompts.csv", data, "text/csv")
    test = run(test)
    assert says in test.warning[0].value.replace("\\", "")
    assert test.metric[2].value == "2 of 2"


def test_an_uploaded_table_takes_the_place_of_the_one_before(monkeypatch):
    test = opened(set=sets.OWN_LABEL, table=written_prompts(PAIR))
    three = TEMPLATES["copies"][:3]
    test.file_uploader(key="table file:file_uploader").upload(
        "prompts.csv", written_prompts(three).encode("utf-8-sig"), "text/csv"
    )
    test = run(test)
    assert read_prompts(visits.address(test, "table")) == three
    assert test.data_editor[0].value.to_numpy().tolist() == [list(one) for one in three]
    assert test.metric[2].value.endswith("of 3")
    with monkeypatch.context() as hands:
        hands.setattr(csv_table.st, "data_editor", lambda begun, **_: begun[1:])
        assert read_prompts(visits.address(run(test), "table")) == three[1:]
    assert read_prompts(visits.address(run(test), "table")) == three[1:]  # the file does not come again


def test_the_tables_hold_every_prompt_and_every_field():
    model, tokenizer = cache.model("stories")
    paired = pair_prompts(model, tokenizer, PAIR)
    found = measure_set(model, paired.encoded)
    table = written_prompts(PAIR)
    means = views.prompt_effects("stories", table, True, so_far=found).numbers()
    assert list(means.columns) == ["part", "mean", "low", "high", "prompt 1", "prompt 2"]
    assert np.allclose(means["mean"], (means["prompt 1"] + means["prompt 2"]) / 2)
    assert len(views.prompt_board("stories", table, False, so_far=found).numbers()) == 28
    board = views.prompt_board("stories", table, True, so_far=found).numbers()
    assert list(board["part"][:2]) == ["attention 0", "feed-forward 0"]
    rows = sets.prompt_table(paired, found[:1])
    assert rows.shape == (1, 6)
    assert rows["metric, clean"][0] == pytest.approx(found[0].clean, abs=0.006)


def test_it_fills_in_prompt_by_prompt(monkeypatch):
    """What is drawn with so many results there."""
    drawn = {}

    def some(key, operations, work, at_once, draw, total, step):
        drawn["total"] = total
        draw(at_once()[: drawn["there"]])

    monkeypatch.setattr(sets, "fill", some)
    for there, says in ((1, ""), (2, "Zero ablation, estimated, 2 of 8 prompts"), (10, "exact, 2 of 8 prompts")):
        drawn["there"] = there
        test = opened()
        assert drawn["total"] == 16
        if says:
            assert says in figures(test)["means"][0]["caption"]
        else:
            assert "an interval needs both" in test.info[0].value
