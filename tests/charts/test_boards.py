"""The board of a model's parts: the names of its columns have room, however many heads a layer has."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.charts.boards import board, board_height, named_columns

HEADS = {"stories": 6, "GPT-2": 12, "SmolLM2": 9, "LLaMA 2 7B": 32, "LLaMA 2 70B": 64}


@pytest.mark.parametrize("n_heads", HEADS.values(), ids=HEADS)
def test_names_of_columns_stand_apart(n_heads):
    parts = [*map(str, range(n_heads)), "FF"]
    named = named_columns(parts)
    assert named[0] == 0
    assert named[-1] == n_heads  # the feed-forward layer is always named
    gaps = np.diff(named)
    assert gaps.min() * 14 >= len(parts) or n_heads < 14
    figure = board(np.zeros((2, len(parts)), dtype=np.float32), parts, "%{text}", limit=1.0, height=board_height(2))
    theme.check(figure)
    assert list(figure.layout.xaxis.ticktext) == [parts[column] for column in named]


@pytest.mark.parametrize("n_layers", [4, 12, 30, 32, 48])
def test_no_board_is_higher_than_a_window(n_layers):
    assert board_height(n_layers) <= 900
