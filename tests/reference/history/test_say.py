"""What is said of the history, counted again, and of sequences, against counts by hand."""

import pytest

from tfcore.measures.token_counts import SEQUENCES
from tfcore.views.reference import history
from tfcore.views.reference.history import say
from tfcore.views.reference.history.measure import milestones, sequence_length


def test_the_share_of_a_stretch_of_years_is_that_of_its_entries():
    years = [entry.year for entry in milestones().values()]
    found = say.recent_share(2020)
    assert found.values["share"] == pytest.approx(len([year for year in years if year > 2019]) / len(years))
    assert say.recent_share(1943).values["share"] == 1
    assert str(found) == f"{100 * found.values['share']:.0f}% of the entries, and so of the width, are from 2020 on."


def test_what_is_shown_is_counted():
    keys = list(milestones())
    shown = [key for key in keys if milestones()[key].field == "audio"]
    found = say.entries_shown(shown, shown[2], lineage=True)
    entry = milestones()[shown[2]]
    years = [milestones()[key].year for key in shown]
    assert (found.values["first"], found.values["last"]) == (min(years), max(years))
    edges = [(old, key) for key, one in milestones().items() for old in one.after]
    for start, way, count in ((shown[2], 1, found.values["before"]), (shown[2], 0, found.values["after"])):
        seen, todo = set(), [start]
        while todo:
            at = todo.pop()
            new = {edge[1 - way] for edge in edges if edge[way] == at} - seen
            seen |= new
            todo += new
        assert len(seen) == count
    assert str(found) == (
        f"{len(shown)} of {len(keys)} entries from {min(years)} to {max(years)}; chosen: {entry.name} ({entry.year}), "
        f"which builds on {found.values['before']} others and led to {found.values['after']}."
    )
    assert str(say.entries_shown(shown, shown[2], lineage=False)).endswith(f"chosen: {entry.name} ({entry.year}).")
    assert str(say.entries_shown([], None, lineage=True)) == f"None of {len(keys)} entries is shown."


def test_an_image_is_counted_by_hand():
    found = sequence_length("image", {"side": 224, "patch": 16})
    assert (found.tokens, found.scores, found.is_published) == (197, 197 * 197, True)
    d, layers, n = 768, 12, 197
    assert found.quadratic_share == pytest.approx(4 * n * d / (4 * n * d + 24 * d * d), rel=1e-6), layers
    assert str(say.length(found)) == "Image as in ViT-B/16: 197 tokens, so 38,809 scores per head."
    small = sequence_length("image", {"side": 224, "patch": 8})
    assert str(say.length(small)) == "Image, cut your way (ViT-B/16: 197): 785 tokens, so 616,225 scores per head."


def test_a_view_of_lengths_has_its_numbers_beside_it():
    shown = history.lengths("image", {"side": 224, "patch": 8})
    share = f"{100 * shown.result.quadratic_share:.1f}%"
    assert [one.value for one in shown.metrics] == ["785", "616,225", share]
    published = {kind: one.published() for kind, one in SEQUENCES.items()}
    assert dict(zip(SEQUENCES, shown.numbers()["tokens"], strict=True)) == published


def test_the_range_is_that_of_a_loop():
    lengths = sorted((one.published(), one.name, one.model) for one in SEQUENCES.values())
    found = say.length_range()
    (low, first, reads), (high, last, other) = lengths[0], lengths[-1]
    assert str(found) == (
        f"From the {low:,} tokens of “{first}” ({reads}) to the {high:,} tokens of “{last}” ({other}) is a factor of "
        f"{high / low:.0f}."
    )
