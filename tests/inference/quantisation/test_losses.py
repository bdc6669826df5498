"""The table of losses: what it says, and one of its numbers measured again on a small model."""

import pytest
import torch

from tests.nightly import nightly
from tests.small import model
from tfcore.loading.checkpoints import load
from tfcore.measures.quantisation.formats import Scheme
from tfcore.measures.quantisation.matrices import model_bits, quantised_copy
from tfcore.measures.quantisation.rounded_activations import ActivationScheme, activation_edits
from tfcore.training import ladder
from tfcore.training.data import CorpusError
from tfcore.training.recipes.quantisation import QUANTISATION, _row, cases, mean_loss, quantisation
from tfcore.views.inference.quantisation import say
from tfcore.views.inference.quantisation.measure.losses import HOW, PARTS, SMALL, loss_table, types_of
from tfcore.views.inference.quantisation.measure.written import written

ROWS = ladder.read_table(ladder.SHIPPED / "quantisation.csv")
TEXTS = ([3, 14, 15, 9, 2, 6], [5, 3, 5, 8])


def row(data_type, how, loss, bits=4.5, part="weights"):
    what = {"model": "m", "text": "wikipedia", "part": part, "format": data_type, "how": how, "bits": bits}
    return {**what, "tokens": 90, "loss": loss}


PLANTED = [
    row("float32", "none", 2.0, 32),
    row("int8", "row", 2.01, 8.1),
    row("int4", "row", 2.5, 4.1),
    row("int3", "row", 2.019, 3.1),
    row("int8", "matrix", 3.0, 8.0),
    row("int8", "token", 2.2, "", "activations"),
]


def test_every_case_of_the_recipe_is_in_the_table_once():
    expected = [(case.part, case.format, case.how) for case in cases(model(), QUANTISATION)]
    for name, text, _ in QUANTISATION.models:
        assert {one["text"] for one in ROWS if one["model"] == name} == {text}
        own = [(one["part"], one["format"], one["how"]) for one in ROWS if one["model"] == name]
        assert sorted(own) == sorted(expected)
    assert {how for _, _, how in expected} == set(HOW)


def test_a_table_of_a_part():
    table = loss_table(PLANTED, "m", "weights")
    assert (table.unrounded, table.tokens, table.ways) == (2.0, 90, ["row", "matrix"])
    assert types_of(table) == ["int8", "int4", "int3"]
    assert loss_table(PLANTED, "m", "activations").points[0].bits == 8
    with pytest.raises(ValueError, match="nothing was measured of the cache of model='m'"):
        loss_table(PLANTED, "m", "cache")


def test_what_is_said_of_it():
    table = loss_table(PLANTED, "m", "weights")
    assert str(say.fewest(table)) == (
        "m has a loss of 2.000 nats per token on 90 tokens of English Wikipedia. The fewest bits of an integer type "
        "with which rounded weights raise it by at most 1%: one scale per row: int3 (2.019); one scale per matrix: "
        "none."
    )
    limit = [row("float32", "none", 2.0, 32), row("int8", "row", 2.0 * (1 + SMALL), 8.1)]
    assert say.fewest(loss_table(limit, "m", "weights")).best["row"] is not None
    assert str(say.same_losses(table, "int8")) == (
        "The loss with int8: one scale per row 2.01; one scale per matrix 3.00."
    )
    assert str(say.whole_model(table, "int8")) == (
        "Measured with all layers of m rounded (weights), 2.00 nats per token as it is. The loss with int8: one scale "
        "per row 2.01; one scale per matrix 3.00."
    )


@pytest.mark.parametrize("part", PARTS)
def test_the_shipped_table_says_what_the_papers_do(part):
    """Outliers break int8 with one scale per text in smollm2, and keys are better rounded by channel."""
    losses = {(p.format, p.how): p.loss for p in loss_table(ROWS, "smollm2", part).points}
    plain = loss_table(ROWS, "smollm2", part).unrounded
    if part == "weights":
        assert losses["int4", "group of 32, minimum"] == pytest.approx(plain, abs=1e-4)  # the grid of its file
        assert losses["int5", "group of 32, minimum"] > losses["int4", "group of 32, minimum"]
        assert losses["int8", "row"] < losses["int8", "matrix"]
    elif part == "activations":
        assert losses["int8", "tensor"] > 1.2 * plain > 1.18 * losses["int8", "tensor, outliers apart"]
        assert losses["int8", "token"] < 1.02 * plain
    elif part == "both":
        assert losses["int8", "tensor"] > 1.2 * plain
        for how in ("tensor, outliers apart", "token", "token, outliers apart"):
            assert plain < losses["int8", how] < 1.015 * plain
    else:
        best = min((loss, how) for (data_type, how), loss in losses.items() if data_type == "int2")
        assert best[1] == "channel, token"


def test_a_loss_is_the_mean_of_the_surprisals():
    of, scheme = model(), Scheme(format="int4", per="row")
    rounded, edits = quantised_copy(of, scheme), activation_edits(ActivationScheme(bits=4))
    for edited, given in ((rounded, []), (of, edits)):
        nats = []
        for text in TEXTS:
            logits = edited(torch.tensor([text]), edits=given).logits[0]
            log_p = [logits[i].double().log_softmax(0)[text[i + 1]] for i in range(len(text) - 1)]
            nats += [-float(one) for one in log_p]
        found = mean_loss(edited, given, TEXTS)
        assert found == pytest.approx(sum(nats) / len(nats), rel=1e-5)


def test_a_row_of_the_table():
    of = model()
    case = next(c for c in cases(of, QUANTISATION) if (c.format, c.how) == ("int4", "row"))
    scheme = Scheme(format="int4", per="row")
    assert _row(of, case, TEXTS) == {
        "part": "weights",
        "format": "int4",
        "how": "row",
        "bits": f"{model_bits(of, scheme):.4f}",
        "tokens": 8,
        "loss": round(mean_loss(quantised_copy(of, scheme), [], TEXTS), 5),
    }


def test_both_rounds_weights_and_activations():
    of = model()
    case = next(c for c in cases(of, QUANTISATION) if (c.part, c.format, c.how) == ("both", "int6", "token"))
    rounded, edits = quantised_copy(of, Scheme(format="int6", per="row")), activation_edits(ActivationScheme(bits=6))
    assert mean_loss(*case.make(), TEXTS) == pytest.approx(mean_loss(rounded, edits, TEXTS), abs=1e-6)
    assert mean_loss(*case.make(), TEXTS) != pytest.approx(mean_loss(rounded, [], TEXTS), abs=1e-6)


def test_without_a_corpus_it_is_one_sentence(tmp_path):
    with pytest.raises(CorpusError, match="is missing: it should hold"):
        quantisation(tmp_path, tmp_path / "out", print)


@nightly
def test_eight_bits_write_the_same_story_and_two_do_not():
    of, tokenizer = load("stories")
    found = written(of.eval(), tokenizer, "Once upon a time there was a", "int8", 6)
    assert all(ids == found.plain for how, ids in found.ways.items() if how != "matrix")
    assert found.agrees("row") == 6
    poor = written(of, tokenizer, "Once upon a time there was a", "int2", 6)
    assert poor.agrees("matrix") < 6
    assert "when the weights are int2: one scale per matrix" in str(say.written(poor))
