"""What somebody types is read as a value of the type that a view takes, or refused in one sentence."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.commands.typed import as_text
from tfcore.commands.values import read, record_help, type_name
from tfcore.config import ModelConfig
from tfcore.measures.kv_bytes import CacheShape
from tfcore.measures.mask_patterns import MaskConfig
from tfcore.presets import PRESETS
from tfcore.views.foundations.heads.measure.attention import Order
from tfcore.views.inference.kv_cache.measure.paging import Traffic
from tfcore.views.inference.kv_cache.measure.serving import Model
from tfcore.views.sources import File, Source

SHAPE = CacheShape(layers=1, heads=2, kv_heads=1, d_head=8)
READ: dict[str, tuple[str, Any, Any]] = {
    "a whole number": ("12", int, 12),
    "below nothing": ("-3", int, -3),
    "a number": ("1e-3", float, 0.001),
    "a whole number for a number": ("2", float, 2.0),
    "yes": ("yes", bool, True),
    "false": ("false", bool, False),
    "a text as it is": (' [1,2] {"a": 1} = ,', str, ' [1,2] {"a": 1} = ,'),
    "a choice": ("mean", Literal["sum", "mean"], "mean"),
    "a number among choices": ("3", int | Literal["mean"], 3),
    "a whole number in any order": ("3", float | int, 3),
    "a choice beside numbers": ("mean", int | Literal["mean"], "mean"),
    "nothing": ("none", int | None, None),
    "nothing before a text": ("none", str | None, None),
    "numbers": ("1, 2.5,-3", tuple[float, ...], (1.0, 2.5, -3.0)),
    "no numbers": ("", Sequence[int], ()),
    "a pair": ("3,4", tuple[int, int], (3, 4)),
    "pairs": ("[[1, 2], [3, 4]]", tuple[tuple[int, int], ...], ((1, 2), (3, 4))),
    "words": ("the,cat", Sequence[str], ("the", "cat")),
    "words with commas": ('["a, b", "c"]', Sequence[str], ("a, b", "c")),
    "values by name": ("a=1,b=2.5", Mapping[str, float], {"a": 1.0, "b": 2.5}),
    "a record": ("window=8, kind=dilated", MaskConfig, MaskConfig(window=8, kind="dilated")),
    "a record of another": (as_text(Model("a", 3, SHAPE)), Model, Model("a", 3, SHAPE)),
    "a record at its defaults": ("", Traffic, Traffic()),
    "a published model": ("gpt2_small", ModelConfig, PRESETS["gpt2_small"]()),
    "models by name": (
        as_text({"a": PRESETS["gpt2_small"](), "b": PRESETS["mixtral_8x7b"]()}),
        Mapping[str, ModelConfig],
        {"a": PRESETS["gpt2_small"](), "b": PRESETS["mixtral_8x7b"]()},
    ),
    "a model": ("./folder, with=signs", Source, "./folder, with=signs"),
    "a file": ("a=b.png", File | None, File("a=b.png")),
    "a record or a file": ("sound.wav", Traffic | File, File("sound.wav")),
}
REFUSED: dict[str, tuple[str, Any, str]] = {
    "letters": ("x", int, "'x' is no INT"),
    "a part of one": ("1.5", int, "'1.5' is no INT"),
    "a part of one in JSON": ("[1.5]", tuple[int, ...], "1.5 is no INT"),
    "yes as a number": ("[true]", tuple[int, ...], "true is no INT"),
    "no number": ("nan", float, "'nan' is no NUMBER"),
    "perhaps": ("perhaps", bool, "'perhaps' is no yes|no"),
    "another choice": ("max", Literal["sum", "mean"], "'max' is none of sum, mean"),
    "neither": ("x", int | Literal["mean"] | None, "'x' is no INT|mean|none"),
    "three for two": ("1,2,3", tuple[int, int], "'1,2,3' has 3 values, and these are 2: INT,INT"),
    "broken JSON": ("[1,", tuple[int, ...], "'[1,' is no JSON: "),
    "too deep JSON": ("[" * 100_000, Sequence[str], "is no JSON: "),
    "another field": ("windows=8", MaskConfig, "'windows' is no field of MASKCONFIG; there are kind"),
    "no field at all": ("8", MaskConfig, "'8' is no MASKCONFIG; write it as name=value,name=value, or as JSON"),
    "a field that is missing": ("layers=1", CacheShape, "CACHESHAPE needs heads, kv_heads, d_head, as in heads=..."),
    "a field of another type": ("requests=few", Traffic, "in requests, 'few' is no INT"),
    "a number for a name": ('{"name": 3, "parameters": 1, "shape": {}}', Model, "in name, 3 is no TEXT"),
    "a value of a map": ("a=x", Mapping[str, float], "'x' is no NUMBER"),
    "what nobody can type": ("x", bytes, "nothing that is typed says a <class 'bytes'>"),
}


@pytest.mark.parametrize(("said", "hint", "value"), READ.values(), ids=list(READ))
def test_a_text_is_read_by_the_type_of_the_argument(said, hint, value):
    assert read(said, hint) == value


@pytest.mark.parametrize(("said", "hint", "sentence"), REFUSED.values(), ids=list(REFUSED))
def test_what_says_no_value_is_refused_in_a_sentence(said, hint, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)) as refused:
        read(said, hint)
    assert len(str(refused.value)) < 300


@given(st.text())
def test_a_text_is_taken_as_it_is(text):
    assert read(text, str) == text
    assert read(as_text((text,)), Sequence[str]) == (text,)


@given(st.text(max_size=50))
def test_whatever_is_typed_is_read_or_refused(text):
    for hint in (int, float, bool, tuple[int, int], Mapping[str, float], Order, int | Literal["mean"] | None):
        with suppress(ValueError):
            read(text, hint)


def test_a_type_is_said_in_a_few_signs():
    assert type_name(int | Literal["mean", "nothing"] | None) == "INT|mean|nothing|none"
    assert type_name(tuple[tuple[int, int], ...]) == "INT,INT,..."
    assert type_name(Mapping[str, float]) == "NAME=NUMBER,..."
    assert record_help(Order) == "ORDER: by=TEXT, query=INT, key=INT, sort=TEXT, kind=TEXT"
    assert record_help(tuple[int, ...]) == ""
    assert "or one of " in record_help(Mapping[str, ModelConfig])
