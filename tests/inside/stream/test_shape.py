"""Norm and cosine of the stream against loops over captured states, and what is said of them."""

import math

import numpy as np
import pytest
import torch

from tests import small
from tfcore.measures.lenses import stage_names
from tfcore.views.inside.stream.measure.shape import StreamShape, stream_shape
from tfcore.views.inside.stream.measure.skip import part_name
from tfcore.views.inside.stream.say.shape import largest_turn, stream_curve, written_norms

TEXT = small.ids(1, 9)[0].tolist()


@pytest.mark.parametrize("kind", small.WIRINGS)
def test_lengths_and_angles_of_the_stream(kind):
    model = small.model(**small.WIRINGS[kind])
    found = stream_shape(model, TEXT)
    kept = model(torch.tensor([TEXT]), capture=("*resid*", "*_out")).activations
    last = kept[found.stages[-1]][0, 3].tolist()

    def cosine(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))

    for row, name in enumerate(found.stages):
        state = kept[name][0, 3].tolist()
        assert found.norm[row, 3] == pytest.approx(math.hypot(*state), rel=1e-5)
        assert found.cosine[row, 3] == pytest.approx(cosine(state, last), abs=1e-5)
    np.testing.assert_allclose(found.cosine[-1], 1, atol=1e-6)
    for row, name in enumerate(found.parts):
        written = kept[name][0, 3].tolist()
        before = name.replace("attn_out", "resid_pre")
        before = before.replace("mlp_out", "resid_pre" if model.config.parallel else "resid_mid")
        assert found.added[row, 3] == pytest.approx(math.hypot(*written), rel=1e-5)
        assert found.along[row, 3] == pytest.approx(cosine(written, kept[before][0, 3].tolist()), abs=1e-5)


def test_other_models_are_refused():
    with pytest.raises(ValueError, match="post"):
        stream_shape(small.model(norm_placement="post"), TEXT)


def test_where_the_stream_turns_most():
    found = stream_shape(small.model(), TEXT)
    turn = largest_turn(found)
    rises = {
        i: np.mean([found.cosine[i, j] - found.cosine[i - 1, j] for j in range(len(TEXT))])
        for i in range(1, len(found.stages))
    }
    assert turn.values["stage"] == stage_names(found.stages)[max(rises, key=lambda i: rises[i])]
    assert turn.values["rise"] == pytest.approx(max(rises.values()))


STAGES = ("blocks.0.resid_pre", "blocks.0.resid_mid", "blocks.0.resid_post")
PARTS = ("blocks.0.attn_out", "blocks.0.mlp_out")


def planted() -> StreamShape:
    """Three stages, two parts, two positions, all numbers different."""
    return StreamShape(
        STAGES,
        np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 9.0]]),
        np.array([[0.1, 0.2], [0.3, 0.9], [1.0, 1.0]]),
        PARTS,
        np.array([[7.0, 2.5], [6.0, 8.25]]),
        np.array([[0.4, -0.3], [-0.6, 0.2]]),
    )


def test_names_of_states_and_parts():
    assert stage_names(STAGES) == ["embed", "attn 0", "FF 0"]
    assert stage_names((STAGES[0], "blocks.0.resid_post", "blocks.11.resid_post")) == ["embed", "block 0", "block 11"]
    config = small.config()
    assert part_name(config, "blocks.1.attn_out") == "attention 1"
    assert part_name(config, "blocks.0.mlp_out", short=True) == "FF 0"
    assert part_name(small.config(**small.HYBRID), "blocks.1.attn_out") == "mixer 1"


def test_the_course_of_one_position_in_words():
    assert str(stream_curve(planted(), "norm", " a", 1)) == (
        "Norm of the stream of '·a', position 1: from 2.0 to 9.0, 4.5 times as large."
    )
    assert str(stream_curve(planted(), "cosine", "b", 0)) == (
        "Cosine to the final state of 'b', position 0: from 0.10 to 1; half way through 0.30."
    )


def test_what_each_part_adds_in_words():
    names = ["attn 0", "FF 0"]
    norms, extremes = written_norms(planted(), 1, names)
    assert str(written_norms(planted(), 0, names)[1]) == "Largest norm: attn 0, 7.0. Lowest cosine: FF 0, -0.60."
    assert str(norms) == "Norm of what each part adds: attn 0 2.5, FF 0 8.2."
    assert str(extremes) == "Largest norm: FF 0, 8.2. Lowest cosine: attn 0, -0.30."
    turn = largest_turn(planted())
    assert str(turn) == "In the mean over this text it rises most with attn 0, by 0.45."


def test_of_many_parts_those_with_the_largest_norms_are_named():
    parts = tuple(f"blocks.{i // 2}.{'mlp' if i % 2 else 'attn'}_out" for i in range(40))
    added = np.arange(40.0)[:, None] % 17
    found = StreamShape((), np.zeros((0, 1)), np.zeros((0, 1)), parts, added, added)
    names = [f"{'FF' if i % 2 else 'attn'} {i // 2}" for i in range(40)]
    norms = written_norms(found, 0, names)[0]
    kept = dict(one.rsplit(" ", 1) for one in norms.values["norms"].split(", "))
    assert len(kept) == 12
    assert min(map(float, kept.values())) >= sorted(added[:, 0].tolist())[-12]
    assert list(kept) == sorted(kept, key=lambda name: (int(name.split()[1]), name.startswith("FF")))
    assert str(norms).startswith("Norm of what each of 40 parts adds; the largest 12: ")
