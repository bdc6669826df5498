"""The glossary's facts: every term once, complete, with a formula that can be drawn."""

import re

import pytest

from tfcore.training.recipes.quantisation import INTEGERS
from tfcore.views.reference.glossary import measure as glossary
from tfcore.views.reference.glossary.measure import terms

TERMS = list(terms().values())
IN_USE = (  # what the pages' own words were replaced by
    "query token",
    "key token",
    "long context",
    "weighted sum of values",
    "up-projection",
    "activation function",
    "bidirectional attention",
    "dynamic masking",
    "span corruption",
    "denoising",
    "prefill",
    "decode latency",
    "data type",
    "batch size",
    "KV cache",
    "reserved memory",
    "internal fragmentation",
    "external fragmentation",
    "draft length",
    "accepted draft tokens",
    "max new tokens",
    "KL divergence",
    "zero ablation",
    "mean ablation",
    "path patching",
    "expert specialisation",
    "routing consistency",
    "memorisation",
    "grokking",
    "autoregressive",
    "inference tokens",
    "PUE",
    "KV head",
)


def test_terms_are_told_apart_and_in_order():
    names = [term.name for term in TERMS]
    assert len({name.casefold() for name in names}) == len(names) >= 100
    assert names == sorted(names, key=str.casefold)
    assert len({term.means for term in TERMS}) == len(TERMS)
    assert set(IN_USE) <= set(names)


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_is_complete(term):
    assert term.means[0].isupper() or term.means.startswith("`")
    assert term.means.endswith(".")
    assert not re.search(r"[.] [A-Z]", term.means), "one sentence"
    assert len(term.means) <= 150
    for source in filter(None, term.source.split(", ")):
        assert re.fullmatch(
            r"(TopK: )?arXiv:\d{4}\.\d{5}|arXiv:(0[7-9]|1[0-4])\d\d\.\d{4}|transformer-circuits\.pub/\d{4}/\w+", source
        )


def test_papers_are_those_that_introduced_a_term():
    """Sources that were once those of other papers."""
    named = {term.name: term.source for term in TERMS}
    assert named["composition of heads"] == "transformer-circuits.pub/2021/framework"
    assert all(named[name].endswith("TopK: arXiv:2406.04093") for name in ("sparse autoencoder", "transcoder"))
    assert all("TopK" in source for name, source in named.items() if "TopK" in glossary.terms()[name].formula)


def test_the_smallest_data_type_is_one_that_is_offered():
    assert min(int(name.removeprefix("int")) for name in INTEGERS) == 8 / 4
    assert "down to a quarter of one" in glossary.terms()["data type"].means


@pytest.mark.parametrize("term", [term for term in TERMS if term.formula], ids=lambda term: term.name)
def test_a_formula_is_balanced_and_safe_between_dollars(term):
    assert term.formula.count("{") == term.formula.count("}")
    assert term.formula.count(r"\Big") % 2 == 0 or r"\big/" in term.formula.lower()
    assert not set(term.formula) & set("$|")
    assert term.formula == term.formula.strip()


def test_a_search_finds_what_it_says():
    assert glossary.matching() == TERMS
    assert [term.name for term in glossary.matching("Q")] == [t.name for t in TERMS if t.name[0] in "qQ"]
    found = {term.name for term in glossary.matching(words="KV HEAD")}
    assert {"KV head", "grouped-query attention (GQA)"} <= found
    assert all("kv head" in f"{term.name} {term.means}".casefold() for term in TERMS if term.name in found)
    assert glossary.matching(words="$x$ nothing") == []
    assert [letter for letter in glossary.letters() if not glossary.matching(letter)] == []
