"""Whatever reads text of a stranger gives something valid, or one sentence; quickly, and never anything else."""

import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.block.normalisation.numbers import read_numbers
from pages.foundations.attention import points as attention_points
from pages.lessons.from_file import NOTE, read, write
from pages.reference.check.round import draw, mark, unpacked
from pages.reference.check.typed_numbers import typed_number
from pages.ui import lesson_card, lesson_progress, links, text
from pages.ui.components import bars, dragging, figure
from pages.ui.server import messages
from tests import hostile
from tfcore import presets
from tfcore.measures.interventions import read_parts
from tfcore.views.foundations.tokens.measure.protein import read_protein
from tfcore.views.foundations.tokens.measure.signals import read_column

BARS, POINTS, CONFIG = (9_000, 1_000), ((0.5, -0.5), (1.0, 0.0)), presets.gpt2_small()
SLOTS = draw(1, ("block", "model"), 2)
anything = st.one_of(
    hostile.typed_texts, hostile.address_values, st.text(st.characters(exclude_categories=()), max_size=80)
)
EVENT = st.sampled_from(["curve", "point", "x", "y", "customdata"])
# What JSON can say, and so whatever a component may be told.
said = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | anything,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(EVENT, inner),
    max_leaves=12,
)


def valid_bars(word: object) -> bool:
    weights, _ = bars.parse(word, BARS)
    return len(weights) == 2 and any(weights) and all(0 <= w <= bars.UNITS for w in weights)


def valid_points(word: object) -> bool:
    found, _ = attention_points.parse(word, POINTS)
    return len(found) == 2 and all(abs(number) <= attention_points.LIMIT for point in found for number in point)


def valid_number(word: str) -> bool:
    typed = typed_number(word, "GB")
    return (typed.value is None) == bool(typed.problem) and "\n" not in typed.problem


def words_of_lesson(word: str) -> str:
    """The words of a stop, written to a file and read again."""
    note = word[:NOTE].encode("utf-8", "replace").decode()
    lesson = read(json.dumps({"title": "", "stops": [{"address": "masks", "note": note}]}))
    return read(write(lesson)).stops[0].words


READERS: dict[str, Callable[[str], object]] = {
    "bars": valid_bars,
    "points": valid_points,
    "a packed text": lambda word: len(links.unpack(word, 500) or "") <= 2_004,
    "a typed number": valid_number,
    "answers": lambda word: (found := unpacked(SLOTS, f"{mark(SLOTS)}~{word}")) is None or len(found) == len(SLOTS),
    "a stop of a lesson": lambda word: (stop := lesson_card.number_in(word, 9)) is None or 1 <= stop <= 9,
    "progress in lessons": lambda word: lesson_progress.read(word) == {},
    "a lesson": lambda word: bool(read(word)),
    "words of a lesson": lambda word: words_of_lesson(word) == words_of_lesson(words_of_lesson(word)),
    "numbers": lambda word: bool(read_numbers(word)),
    "a column": lambda word: len(read_column(word).values) > 0,
    "a protein": lambda word: read_protein(word) is not None,
    "parts": lambda word: read_parts(word, CONFIG) is not None,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@given(anything)
def test_any_text_is_read_or_refused_in_a_sentence(reader, word):
    start = time.process_time()
    refusal = "one sentence"
    try:
        assert reader(word)
    except ValueError as refused:
        refusal = str(refused)
    assert 5 < len(refusal) < 600
    assert "\n" not in refusal
    assert time.process_time() - start < 2


@given(said)
def test_whatever_a_component_says_is_valid_or_nothing(word):
    event = figure.checked(word)
    assert event is None or set(event) == {"curve", "point", "x", "y", "customdata"}
    assert valid_bars(word)
    assert valid_points(word)
    whole = dragging.whole(word, 9)
    assert whole is None or (type(whole) is int and 0 <= whole <= 9)
    index = text._chosen_index({"chosen": word}, 9)
    assert index is None or 0 <= index < 9


@given(anything)
def test_labels_and_sentences_show_markup_as_it_is(word):
    assert not hostile.TAG.search(text.label(word))
    assert not any(mark in text.escape(word) for mark in hostile.MARKUP)
    assert len(text.escape(word, 40)) <= 40 * 24


@given(anything)
def test_json_is_let_in_only_where_it_can_be_sent_back(word):
    assert messages._is_json(word) in (True, False)
