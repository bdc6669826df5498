"""The map of a round: a square for each question, in the row of its chapter."""

from tfcore.charts import theme
from tfcore.views.reference.check.draw import round_map


def test_squares_stand_in_the_rows_of_their_chapters_and_carry_their_numbers():
    figure = round_map(["Block", "Block", "Model"], ["right", "wrong", "open"], 1, 200)
    theme.check(figure)
    squares = figure.to_dict()["data"][0]
    assert squares["x"] == [0, 1, 0]
    assert squares["y"] == [0, 0, 1]
    assert squares["customdata"] == [[1], [2], [3]]
    assert squares["text"] == ["1 ✓", "2 ✗", "3"]
    assert squares["marker"]["line"]["width"] == [1, 3, 1]


def test_rows_count_what_is_right_of_what_is_answered():
    layout = round_map(["Block", "Block", "Model"], ["right", "wrong", "open"], -1, 200).to_dict()["layout"]
    assert layout["yaxis"]["ticktext"] == ["Block  1/2", "Model"]
