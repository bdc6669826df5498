"""The facts of the history agree with themselves, and the timeline shows every one of them."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcore.views.reference.history import measure
from tfcore.views.reference.history.measure import FAMILIES, FIELDS, milestones

ARXIV = [entry for entry in milestones().values() if entry.source.startswith("arXiv")]
KNOWN = {  # a few that everybody can look up
    "neuron": (1943, None),
    "backprop": (1986, None),
    "lstm": (1997, None),
    "nplm": (2000, None),
    "word2vec": (2013, "1301.3781"),
    "seq2seq": (2014, "1409.3215"),
    "bahdanau": (2014, "1409.0473"),
    "transformer": (2017, "1706.03762"),
    "bert": (2018, "1810.04805"),
    "t5": (2019, "1910.10683"),
    "gpt3": (2020, "2005.14165"),
    "vit": (2020, "2010.11929"),
    "switch": (2021, "2101.03961"),
    "rope": (2021, "2104.09864"),
    "chinchilla": (2022, "2203.15556"),
    "flash": (2022, "2205.14135"),
    "llama": (2023, "2302.13971"),
    "mamba": (2023, "2312.00752"),
    "mixtral": (2024, "2401.04088"),
    "deepseek2": (2024, "2405.04434"),
    "deepseek3": (2024, "2412.19437"),
    "adamw": (2017, "1711.05101"),
    "bigbird": (2020, "2007.14062"),
    "grokking": (2022, "2201.02177"),
    "r1": (2025, "2501.12948"),
    "gptoss": (2025, "2508.10925"),
    "engram": (2026, "2601.07372"),
}


@pytest.mark.parametrize("entry", ARXIV, ids=lambda entry: entry.key)
def test_the_number_on_arxiv_says_the_year(entry):
    assert entry.arxiv is not None, entry.source
    assert 2000 + int(entry.arxiv[:2]) == entry.year
    assert 1 <= int(entry.arxiv[2:4]) <= 12
    assert len(entry.arxiv) == (9 if entry.year < 2015 else 10)


def test_known_years_and_numbers():
    entries = milestones()
    assert {key: (entries[key].year, entries[key].arxiv) for key in KNOWN} == KNOWN


def test_entries_are_complete_and_told_apart():
    entries = list(milestones().values())
    assert len(entries) >= 60
    for part in ("name", "brought", "source"):
        assert len({getattr(entry, part) for entry in entries}) == len(entries), part
    assert all(entry.who and entry.see and entry.brought.endswith(".") for entry in entries)
    assert all(len(entry.brought) <= 160 for entry in entries)
    assert {entry.field for entry in entries} == set(FIELDS)
    assert {entry.family for entry in entries} == set(FAMILIES)
    assert [entry.year for entry in entries] == sorted(entry.year for entry in entries)
    assert (entries[0].year, entries[-1].year) == (1943, 2026)


def test_filters_find_what_they_say_and_nothing_else():
    assert measure.matching() == list(milestones())
    assert all(milestones()[key].field == "biology" for key in measure.matching(field="biology"))
    both = measure.matching("vision", "convolutional")
    assert set(both) == set(measure.matching("vision")) & set(measure.matching(family="convolutional"))
    assert measure.matching(words="VASWANI 2017") == ["transformer"]
    assert measure.matching(words="  ") == list(milestones())
    assert measure.matching(words="$x$ nonsense") == []


def test_lineage_goes_both_ways():
    for key in ("transformer", "lstm", "gpt3"):
        assert key not in measure.ancestors(key) | measure.descendants(key)
        assert all(key in measure.descendants(earlier) for earlier in measure.ancestors(key))
    assert {"bahdanau", "backprop", "neuron"} <= measure.ancestors("transformer")
    assert measure.ancestors("neuron") == set()


@given(st.lists(st.integers(1900, 2030), min_size=1, max_size=40))
def test_years_follow_each_other_and_busy_ones_are_wide(years):
    start = measure.year_starts(years)
    places = list(start.values())
    assert places[0] == 0
    assert places[-1] == pytest.approx(1)
    assert places == sorted(places)
    width = {year: start[year + 1] - start[year] for year in set(years)}
    busiest = max(width, key=years.count)
    assert width[busiest] == pytest.approx(max(width.values()))


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0.1, 20)), max_size=30))
def test_labels_of_a_row_never_overlap(labels):
    labels = sorted(labels)
    rows = measure.rows_without_overlap(labels)
    for row in set(rows):
        inside = [label for label, at in zip(labels, rows, strict=True) if at == row]
        assert all(a + length <= b for (a, length), (b, _) in pairwise(inside))


def test_a_label_may_begin_where_another_ends():
    assert measure.rows_without_overlap([(0.0, 1.0), (0.5, 1.0), (1.0, 1.0)]) == [0, 1, 0]
    assert list(measure.shown_years({2001: 0.0, 2002: 0.5, 2003: 0.9, 2004: 1.0}, apart=0.5)) == [2001, 2002]


@pytest.mark.parametrize("by", ["field", "family"])
def test_every_entry_has_its_place_in_its_lane(by):
    layout, entries = measure.timeline(by), milestones()
    assert set(layout.x) == set(layout.row) == set(entries)
    assert len({(layout.x[key], layout.row[key]) for key in entries}) == len(entries)
    for key, entry in entries.items():
        first, count = layout.lanes[getattr(entry, by)]
        assert first <= layout.row[key] < first + count
    order = sorted(entries, key=layout.x.__getitem__)
    assert [entries[key].year for key in order] == [entry.year for entry in entries.values()]
    assert layout.rows == sum(count for _, count in layout.lanes.values())


def test_written_years_have_room():
    years = measure.timeline("field").years
    places = list(years.values())
    assert min(b - a for a, b in pairwise(places)) >= 0.03
    assert {1943, 2017} <= set(years)


def test_a_wrong_fact_is_refused(tmp_path, monkeypatch):
    for wrong in ("field", "after"):
        text = measure.FACTS.read_text("utf-8")
        if wrong == "field":
            text = text.replace('field = "audio"', 'field = "smell"', 1)
        else:
            text = re.sub(r'after = \["neuron"\]', 'after = ["r1"]', text, count=1)
        (tmp_path / "facts.toml").write_text(text, "utf-8")
        monkeypatch.setattr(measure, "FACTS", tmp_path / "facts.toml")
        milestones.cache_clear()
        with pytest.raises(ValueError, match=r"smell|builds on 'r1'"):
            milestones()
    monkeypatch.undo()
    milestones.cache_clear()


def test_no_sentence_of_the_history_says_what_was_found_wrong():
    entries = milestones()
    assert "by hand" in entries["information"].brought, "Shannon 1948, section 3: from books and tables"
    assert "content" in entries["rope"].brought
    assert "activations" in entries["mixed"].brought
    assert "position vectors" in entries["convs2s"].brought
