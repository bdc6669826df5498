"""Views of the lab: what they say and tabulate of a run, given or trained by themselves."""

from tfcore.training.lab.spec import LabSpec
from tfcore.training.lab.tasks import task
from tfcore.training.lab.train import train_slice
from tfcore.views.training import lab

COPY = LabSpec(task="copy", symbols=4, length=3, n_layers=1, n_heads=1, d_model=8, rows=4, steps=3)


def test_a_view_trains_by_itself_unless_it_is_given_what_there_is():
    begun, ended = (train_slice(COPY, 0, None, most=most, seconds=60) for most in (1, 3))
    assert lab.course(COPY, so_far=begun.curves).result is begun.curves
    assert (
        lab.course(COPY).csv()
        == lab.course(COPY, so_far=ended.curves).csv()
        != lab.course(COPY, so_far=begun.curves).csv()
    )
    assert str(lab.answer(COPY)) == str(lab.answer(COPY, so_far=ended.look))
    one = lab.dropout([COPY], so_far=[begun.curves])
    assert [curves for _, curves in one.result] == [begun.curves]
    assert lab.compare([COPY], "loss").csv() == lab.compare([COPY], "accuracy", so_far=[ended.curves]).csv()


def test_tokens_are_said_as_they_are_and_escaped_for_plotly_alone():
    looked = train_slice(COPY, 0, None, most=0, seconds=60).look
    row = [task(COPY).names[int(i)] for i in looked.ids]
    assert row[3] == ">"
    assert f"the row begins: {' '.join(row[:4])}." in lab.maps(COPY, so_far=looked).caption
    shown = lab.answer(COPY, so_far=looked)
    assert shown.numbers()["right"].tolist() == row[4:]
    signs = LabSpec(task="characters", text="<&>" * 20, length=4, n_layers=1, n_heads=1, d_model=8, rows=4, steps=3)
    told = lab.answer(signs, so_far=train_slice(signs, 0, None, most=0, seconds=60).look)
    assert set(told.numbers()["right"]) <= {"<", "&", ">"}
    assert set(told.chart.data[1].text) <= {"&lt;", "&amp;", "&gt;"}
