"""The stream of a model that tells classes apart: parts, lens, a part skipped; against sums and runs by hand."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.measures.lenses import stages
from tfcore.measures.logit_attribution import contributions, stream_parts
from tfcore.part_configs import ClassesConfig
from tfcore.tokenizers.tokenizer import NamedTokenizer
from tfcore.views.inside import stream as views
from tfcore.views.inside.stream.measure.lens import logit_lens
from tfcore.views.inside.stream.say.lens import correct_by_stage, correct_on_the_way
from tfcore.views.sources import Reading

LABELS = ("negative", "neutral", "positive")
TEXT = small.ids(1, 9)[0].tolist()
WORDS = NamedTokenizer(tuple(f"w{i}" for i in range(61)))
READ = " ".join(f"w{one}" for one in TEXT)


def named(*labels: str, **more: object):
    """A decoder with a head for classes."""
    return small.model(head="classes", classes=ClassesConfig(labels=labels, place="last", **more), tie_embeddings=False)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("against", ["nothing", "mean", 0])
def test_parts_add_up_to_the_score_of_a_class(bias, against):
    model = named(*LABELS, bias=bias)
    if bias:
        torch.nn.init.normal_(model.classes.score.bias, generator=torch.Generator().manual_seed(0))
    scores = model(torch.tensor([TEXT])).logits[0, -1]
    found = contributions(model, stream_parts(model, TEXT, len(TEXT) - 1), 2, against)
    reference = {"nothing": 0.0, "mean": float(scores.mean())}.get(against, float(scores[0]))
    assert found.total == pytest.approx(float(scores[2]) - reference, abs=1e-5)
    assert found.logit == pytest.approx(found.total, abs=1e-5)


def test_the_lens_reads_the_class_that_a_text_would_have_up_to_there():
    model = named(*LABELS)
    found, scores = logit_lens(model, TEXT), model(torch.tensor([TEXT])).logits[0]
    assert found.classes.tolist() == scores.argmax(-1).tolist()
    np.testing.assert_array_equal(found.best[-1], scores.softmax(-1).topk(3).indices)
    for place in range(len(TEXT)):
        alone = model(torch.tensor([TEXT[: place + 1]])).logits[0, -1].softmax(-1)
        assert found.next_probability[-1, place] == pytest.approx(float(alone.max()), abs=1e-5)
    assert found.correct_cells()[-1].all()
    right = (found.best[:, :, 0] == found.classes).sum(1).tolist()
    assert f"The class of the end of 9: {right[0]} read from the embedding" in str(correct_by_stage(found))
    half = len(found.stages) // 2
    assert f"framed, at {right[half]} of 9 positions." in str(correct_on_the_way(found))


def test_views_name_classes():
    model = named(*LABELS)
    reading, last = Reading((model, WORDS), READ), len(TEXT) - 1
    scores = model(torch.tensor([TEXT])).logits[0, -1].softmax(-1)
    best = int(scores.argmax())
    assert f"The logit of '{LABELS[best]}' adds up to" in views.summed(reading, last, best).described.sentence
    lens = views.lens(reading, stages(model.config), "logit", last)
    assert set(lens.table().prediction) <= set(LABELS)
    assert "right the class that the model names there in the end" in str(lens)
    written = views.promoted(reading, last, 0, 1)
    assert sorted(written.table()["class"]) == sorted(LABELS)
    assert "projected on the classes" in str(written)
    course = views.stage_by_stage(reading, last, (best, 1 - min(best, 1)), "logit")
    assert f"{scores[best]:.0%}" in str(course)
    skipped = views.without(reading, last, "attention 0", best)
    assert set(skipped.table()["class"]) == set(LABELS)


def test_a_class_is_looked_for_by_its_name_in_another_model():
    first, second, words = named(*LABELS), named(*reversed(LABELS)), small.model()
    here, there, other = (Reading((model, WORDS), READ) for model in (first, second, words))
    assert views.place_beside(here, there, (8, 2)) == (8, 0)
    assert views.place_beside(here, other, (8, 2)) is None
    assert views.place_beside(other, here, (8, 2)) is None
    assert views.place_beside(here, Reading((named("a", "b"), WORDS), READ), (8, 2)) is None
    shown = views.lens_beside(here, there, (8, 2), (8, 0))
    assert "'positive' is, for " in str(shown)
