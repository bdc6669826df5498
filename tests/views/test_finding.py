"""Findings that state values in a template."""

import pickle

import pytest

from tfcore.views.finding import FORMS, state


def test_a_template_says_its_values_in_the_words_of_the_house():
    said = state(
        "all forms",
        "{a:bytes}; {b:size}; {c:whole}; {d:short}; {e:power}; {f:counted layer}; {g:counted layer}; {h:.1%}; {i}; "
        "{j:percent}; {k:each .1f}; {k:each percent}",
        a=85_899_345_920,
        b=1_500,
        c=124_439_808,
        d=8_030_000_000,
        e=5.8e23,
        f=1,
        g=2,
        h=0.125,
        i="{x}",
        j=0.00123,
        k={"int8": 0.1, "int4": 1.25},
    )
    assert str(said) == (
        "85.9 GB (80.0 GiB); 1.50 kB; 124,439,808; 8.03 B; 5.8 × 10²³; 1 layer; 2 layers; 12.5%; {x}; 0.12 %; "
        "int8 0.1; int4 1.2; int8 10 %; int4 125 %"
    )
    assert said.values["f"] == 1
    assert set(FORMS) == {"bytes", "size", "whole", "percent", "short", "power"}


def test_it_is_equal_to_one_of_the_same_values_and_can_be_kept():
    one, other = (state("n", "{n:whole} tokens", n=n) for n in (1, 2))
    assert one == state("n", "{n:whole} tokens", n=1) != other
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_name_without_a_value_is_an_error():
    with pytest.raises(KeyError, match="tokens"):
        str(state("n", "{tokens}", n=1))
