"""Interventions on models that tell classes of a text apart, against runs written out by hand."""

import numpy as np
import pytest
import torch

from tests import small
from tests.nightly import often
from tfcore.inspection.edits import Edit
from tfcore.measures.answers import answers_of
from tfcore.measures.counterfactual import counterfactual
from tfcore.measures.effect_metric import Quantity, measured, quantity_name
from tfcore.measures.interventions import effect, flat_parts, part_title, parts_of
from tfcore.measures.knock_outs import all_effects, knock_out_each
from tfcore.part_configs import ClassesConfig
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.inside import interventions as views
from tfcore.views.inside.changes import PredictionChange
from tfcore.views.inside.interventions.measure.input_attribution import attribute_by_steps
from tfcore.views.inside.interventions.measure.patching import all_shares, groups, pair, patch_each, patched_names
from tfcore.views.inside.interventions.switches import Changes
from tfcore.views.sources import Reading

TEXT = small.ids(1, 9)[0].tolist()
OTHER = [*TEXT[:3], (TEXT[3] + 1) % 61, *TEXT[4:]]
LABELS = ("negative", "neutral", "positive")
KINDS = {
    "encoder": {
        "architecture": "encoder",
        "norm": "layernorm",
        "norm_placement": "post",
        "positions": "learned",
        "head": "classes",
        "classes": ClassesConfig(labels=LABELS, place="first", dense="tanh"),
    },
    "decoder": {"head": "classes", "classes": ClassesConfig(labels=LABELS, place="last", bias=False)},
    "means": {
        "architecture": "encoder",
        "head": "classes",
        "classes": ClassesConfig(labels=LABELS, place="mean", dense="gelu", normed=True),
    },
    "both": {
        "architecture": "encoder-decoder",
        "norm": "layernorm",
        "norm_placement": "post",
        "positions": "learned",
        "n_encoder_layers": 3,
        "head": "classes",
        "classes": ClassesConfig(labels=LABELS, place="last", dense="tanh"),
    },
    "both, pre-norm": {
        "architecture": "encoder-decoder",
        "positions": "relative",
        "head": "classes",
        "classes": ClassesConfig(labels=LABELS, place="last"),
    },
}
AT = {"encoder": 0, "decoder": -1, "means": 4, "both": -1, "both, pre-norm": -1}  # of a mean, any
each_kind = pytest.mark.parametrize("kind", often(KINDS, ["encoder", "decoder", "means", "both"]))
WORDS = NamedTokenizer(tuple(f"w{i}" for i in range(61)))
READ = " ".join(f"w{one}" for one in TEXT)


def scores(kind, model, ids, *edits):
    return model(torch.tensor([list(ids)]), edits=edits).logits[0, AT[kind]]


@pytest.mark.usefixtures("unchecked")  # so many runs
@each_kind
@pytest.mark.parametrize(
    "quantity", [Quantity("prediction", 2), Quantity("difference", 2, 0)], ids=lambda one: one.kind
)
def test_what_falls_when_a_part_is_ablated_is_the_class(kind, quantity):
    model = small.model(**KINDS[kind])

    def value(*edits):
        found = scores(kind, model, TEXT, *edits)
        return float(found[2] - found[0] if quantity.kind == "difference" else found.log_softmax(0)[2])

    every = parts_of(model.config)
    exact = all_effects(list(knock_out_each(model, TEXT, quantity, "zero")), len(every))
    for layer, parts in enumerate(every):
        for i, part in enumerate(parts):
            if part is None:
                assert np.isnan(exact[layer, i])
                continue
            expected = value() - value(Edit.zero(part.name(model.config), **part.heads))
            assert exact[layer, i] == pytest.approx(expected, abs=1e-4), part
    hidden = model(torch.tensor([TEXT])).hidden
    assert float(measured(model, hidden, TEXT, quantity)) == pytest.approx(value(), abs=1e-5)


@pytest.mark.usefixtures("unchecked")  # so many runs
@each_kind
@pytest.mark.parametrize("what", often(["residual", "attention", "cross-attention", "feed-forward"], ["residual"]))
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_a_patch_is_measured_on_the_classes(kind, what, stack):
    model = small.model(**KINDS[kind])
    both, names = pair(model, TEXT, OTHER), patched_names(model.config, what, stack)
    if "both" not in kind and (stack == "decoder" or what == "cross-attention"):
        return  # there is one stack
    if what == "cross-attention" and stack == "encoder":
        assert names == ()
        return
    found = list(patch_each(model, both, what, stack))
    assert len(found) == groups(model.config, both)
    shares = all_shares(found, len(OTHER))
    values = model.activations(torch.tensor([TEXT]), names)
    mine, theirs = both.answers

    def difference(*edits):
        read = scores(kind, model, OTHER, *edits)
        return float(read[mine] - read[theirs])

    source, target = both.difference
    for row, name in enumerate(names):
        for position in range(len(OTHER)):
            edit = Edit.replace(name, values[name][0, position], positions=[position])
            expected = (difference(edit) - target) / (source - target)
            assert shares[row, position] == pytest.approx(expected, abs=2e-4), (name, position)
    assert np.abs(shares).max() > 0.05


@each_kind
def test_a_token_left_out_is_one_run_less_than_the_text(kind):
    model, quantity = small.model(**KINDS[kind]), Quantity("prediction", 1)
    *_, found = attribute_by_steps(model, TEXT, quantity, "mean", 4)
    whole = scores(kind, model, TEXT).log_softmax(0)[1]
    for i in range(len(TEXT)):
        without = scores(kind, model, [*TEXT[:i], *TEXT[i + 1 :]]).log_softmax(0)[1]
        assert found.left_out[i] == pytest.approx(float(whole - without), abs=1e-4)


@each_kind
def test_views_name_the_classes(kind):
    model = small.model(**KINDS[kind])
    reading, now = Reading((model, WORDS), READ), scores(kind, model, TEXT).softmax(0)
    best = int(now.argmax())
    assert quantity_name(Quantity("prediction", best), answers_of(model, WORDS)) == (
        f"log-probability of '{LABELS[best]}'"
    )
    part, *_ = flat_parts(parts_of(model.config))
    shown = views.edited(reading, Changes(str(part), "zero"))
    change = shown.findings[0]
    assert isinstance(change, PredictionChange)
    assert (change.token, change.before) == (LABELS[best], pytest.approx(float(now[best]), abs=1e-5))
    assert change.sentence.startswith(f"The class of the text, {part_title(part)} zero-ablated: ")
    assert change.loss_before is None
    assert set(shown.table()["class"]) == set(LABELS)
    after = effect(model, TEXT, [Edit.zero(part.name(model.config), heads=[0])]).after
    assert change.after == pytest.approx(float(after[best]), abs=1e-5)
    other = " ".join(f"w{one}" for one in OTHER)
    said = views.patched(reading, other, "residual", 0, 3).findings[0].sentence
    assert any(f"'{label}'" in said for label in LABELS)


@each_kind
@pytest.mark.parametrize("space", [" ", ""], ids=["words with their space", "words alone"])
def test_the_word_put_in_another_s_place_changes_the_class(kind, space):
    model, letters = small.model(**KINDS[kind]), "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghi"
    tokenizer = NamedTokenizer([f"{space}{one}{i % 7 * 'x'}word{chr(97 + i % 5)}" for i, one in enumerate(letters)])
    text = tokenizer.decode(TEXT)
    found = counterfactual(model, tokenizer, text, 32)
    assert found is not None
    ids = tokenizer.encode(found)
    assert sum(one != other for one, other in zip(ids, TEXT, strict=True)) == 1
    assert not torch.allclose(scores(kind, model, ids), scores(kind, model, TEXT), atol=1e-3)
