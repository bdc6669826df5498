"""The scan of neurons against a plain search, the shipped one against the shipped weights, and what neurons write."""

import numpy as np
import pytest
import torch

from tests import small
from tests.training.tiny_run import write_corpus
from tfcore.files import CheckpointError
from tfcore.inspection.edits import Edit
from tfcore.loading.checkpoints import load
from tfcore.measures import neuron_scan
from tfcore.training.recipes.neurons import LICENCE, NeuronsRecipe
from tfcore.training.recipes.neurons import neurons as recipe
from tfcore.views.block.feedforward import say
from tfcore.views.block.feedforward.measure import neurons

KEPT = 3


@pytest.fixture(scope="module")
def scanned():
    documents = [small.ids(1, n, seed=n)[0].tolist() for n in (9, 12, 20, 31, 14, 17)]
    windows = neuron_scan.cut_documents(documents, length=16, stride=10)
    return windows, neuron_scan.scan_neurons(small.model(), windows, KEPT, rows=4)


def test_windows_cover_the_documents_and_end_with_padding():
    windows = neuron_scan.cut_documents([list(range(21))], length=16, stride=10)
    assert windows.tolist()[0] == list(range(16))
    assert windows.tolist()[1] == [*range(10, 21), *[neuron_scan.PADDING_ID] * 5]
    assert neuron_scan.cut_documents([[1, 2]], length=4, stride=1).tolist() == [[1, 2, *[neuron_scan.PADDING_ID] * 2]]


def test_the_scan_finds_what_a_plain_search_finds(scanned):
    windows, found = scanned
    best = []
    for row in windows:
        ids = row[row != neuron_scan.PADDING_ID].astype(int).tolist()
        values = neurons.text_activations(small.model(), ids)[:, neuron_scan.SETTLED :]
        best.append((values.max(1), values.min(1)))
    largest, smallest = (np.sort(np.stack(side), axis=0) for side in zip(*best, strict=True))
    np.testing.assert_allclose(found.value[..., 0, :], np.moveaxis(largest[::-1][:KEPT], 0, -1), atol=1e-4)
    np.testing.assert_allclose(found.value[..., 1, :], np.moveaxis(smallest[:KEPT], 0, -1), atol=1e-4)


def test_each_place_holds_the_activation_that_is_kept(scanned):
    _, found = scanned
    for layer, neuron, side in ((0, 0, 0), (1, 5, 1), (1, 63, 0)):
        for one in neuron_scan.snippets(small.model(), found, layer, neuron, side):
            assert one.values[one.peak] == pytest.approx(one.stored, abs=1e-4)
            assert one.peak >= neuron_scan.SETTLED


@pytest.mark.parametrize(("layer", "neuron", "side"), [(0, 100, 0), (1, 63, 1), (2, 294, 0), (3, 18, 1), (3, 462, 0)])
def test_the_shipped_scan_belongs_to_the_shipped_weights(layer, neuron, side):
    model = load("stories", device="cpu")[0]
    found = neuron_scan.load_neuron_scan("stories")
    assert found.value.shape == (model.config.n_layers, model.config.ff_size, 2, 5)
    assert int(found.windows[found.windows != neuron_scan.PADDING_ID].max()) < model.config.vocab_size
    for one in neuron_scan.snippets(model, found, layer, neuron, side):
        assert one.values[one.peak] == pytest.approx(one.stored, rel=2e-3, abs=5e-3)
        assert (one.values[one.peak] > 0) == (side == 0)


def test_the_neurons_the_page_shows_do_what_it_says():
    model, tokenizer = load("stories", device="cpu")
    found = neuron_scan.load_neuron_scan("stories")

    def lifted(layer, neuron, side, count):
        effect = neurons.neuron_effect(model, layer, neuron, neuron_scan.snippets(model, found, layer, neuron, side)[0])
        return tokenizer.tokens(np.argsort(-effect.lift)[:count].tolist()), effect

    thanks, effect = lifted(3, 462, 0, 1)
    assert thanks == [" you"]
    assert effect.with_it > effect.without_it
    assert sum(token.strip()[0].lower() in "aeiou" for token in lifted(3, 18, 1, 8)[0]) >= 7
    assert " time" in lifted(2, 206, 1, 2)[0]


def test_the_lift_is_the_neurons_own_part_of_the_logits():
    model, ids = small.model(), small.ids(1, 13)[0].tolist()
    values = neurons.text_activations(model, ids)[1, :, 7]
    snippet = neuron_scan.Snippet(tuple(ids), 10, values, float(values[10]))
    found = neurons.neuron_effect(model, 1, 7, snippet)
    # With the final norm's scale held at its value, the logits without the neuron are lower by exactly the lift.
    scale = model(torch.tensor([ids]), capture=("ln_final.scale",)).activations["ln_final.scale"]

    def off(post):
        post[..., 7] = 0
        return post

    edits = [Edit("blocks.1.mlp.post", off, positions=[10]), Edit.replace("ln_final.scale", scale)]
    with_it, without = (model(torch.tensor([ids]), edits=e).logits[0, 10] for e in (edits[1:], edits))
    np.testing.assert_allclose(found.lift, (with_it - without).numpy(), atol=2e-5)
    assert found.followed == ids[11]
    assert found.with_it == pytest.approx(float(model(torch.tensor([ids])).logits[0, 10].softmax(-1)[ids[11]]))
    last = neurons.neuron_effect(model, 1, 7, neuron_scan.Snippet(tuple(ids), 12, values, float(values[12])))
    assert last.followed is None
    assert np.isnan([last.with_it, last.without_it]).all()
    assert (
        neurons.neuron_effect(model, 1, 7, neuron_scan.Snippet(tuple(ids), 11, values, float(values[11]))).followed
        == ids[12]
    )


def test_a_neuron_that_is_off_is_0_and_no_other_is():
    assert neurons.neuron_off(1, 2, 5).function(torch.ones(1, 4)).tolist() == [[1, 1, 0, 1]]


def test_most_active_are_those_nearest_to_their_records():
    records = np.array([[[2.0, -1.0], [4.0, -4.0], [0.0, -8.0]]])
    found = neurons.most_active(np.array([[1.0, -3.0, 5.0]]), records, 3)
    assert [(one.neuron, one.side, one.share) for one in found[:2]] == [(1, 1, 0.75), (0, 0, 0.5)]
    assert all(np.isfinite(one.share) for one in found)


def test_a_missing_scan_is_one_sentence():
    with pytest.raises(CheckpointError, match=r"neurons\.safetensors cannot be read.*makes it"):
        neuron_scan.load_neuron_scan("induction")


def test_nothing_to_scan_is_refused():
    with pytest.raises(ValueError, match="no windows"):
        neuron_scan.scan_neurons(small.model(), np.zeros((0, 16), dtype=np.uint16), 2)


def test_the_recipe_writes_a_scan_with_the_licence_of_its_texts(tmp_path, monkeypatch):
    from safetensors import safe_open

    corpus, out = write_corpus(tmp_path / "corpus"), tmp_path / "out"
    said = recipe(corpus, out, lambda _: None, NeuronsRecipe(length=24, stride=16, kept=2))
    assert said["neurons"] == 2_048
    assert 0 < said["windows kept"] <= said["windows read"]
    with safe_open(out / neuron_scan.SCAN_FILE, "np") as file:
        assert file.metadata() == {"licence": LICENCE}
        assert file.get_tensor("value").shape == (4, 512, 2, 2)


def test_what_a_neuron_promotes_is_ordered_by_its_lift():
    model, tokenizer = load("stories", device="cpu")
    found = neurons.promotion(model, tokenizer, "stories", 3, 462, 0, raised=5, lowered=2)
    text = neuron_scan.load_neuron_scan("stories")
    effect = neurons.neuron_effect(model, 3, 462, neuron_scan.snippets(model, text, 3, 462, 0)[0])
    ranked = sorted(range(len(effect.lift)), key=lambda i: -effect.lift[i])
    assert found.tokens == tuple(tokenizer.tokens([*ranked[:5], *ranked[-2:]]))
    assert found.lifts == pytest.approx([effect.lift[i] for i in [*ranked[:5], *ranked[-2:]]])
    assert found.followed == tokenizer.tokens([effect.followed])[0] == " you"
    assert (found.with_it, found.without_it, found.activation) == (effect.with_it, effect.without_it, effect.activation)
    assert (found.d_model, found.vocab) == (model.config.d_model, model.config.vocab_size)


def test_promoted_tokens_of_the_two_sides_are_opposite_ends():
    model, tokenizer = load("stories", device="cpu")
    lift = neurons.promoted(model, 3, 18)
    for side, sign in ((0, 1), (1, -1)):
        best = sorted(range(len(lift)), key=lambda i, sign=sign: -sign * float(lift[i]))[:3]
        assert neurons.promoted_tokens(model, tokenizer, 3, 18, side, 3) == tokenizer.tokens(best)


def test_what_is_said_of_a_neuron():
    found = neurons.Promotion(
        3, 462, 192, 2048, 4.516, (" you", "a", "b", "\n", "c"), (5.2, 3.0, 2.0, 1.0, -4.0), " you", 0.912, 0.345
    )
    assert str(say.promotion(found)) == (
        "Neuron 3.462 lifts '·you' by 5.20, 'a' by 3.00, 'b' by 2.00, '⏎' by 1.00 logits where its activation is 4.52."
    )
    assert str(say.shapes(found)) == (
        "Shape (192) → (2,048): column 462 of W_down in layer 3, through the final norm and the unembedding, times "
        "its activation 4.52."
    )


@pytest.mark.parametrize(("record", "at"), [(4.0, 2), (-4.0, 1)])
def test_a_neuron_is_most_active_where_it_comes_nearest_to_its_record(record, at):
    values = np.array([1.0, -3.0, 2.0, -0.5])
    found = say.peak(values, record, ["a", "b", "c", "d"], 1, 7).values
    assert (found["token"], found["value"], found["share"]) == ("abcd"[at], values[at], values[at] / record)


def test_what_is_said_of_the_most_active():
    assert str(say.peak(np.array([1.0, -3.0] + [0.0] * 10), -4.0, ["a", " b", *"cdefghijkl"], 1, 7)) == (
        "On this text neuron 1.7 is most active at '·b', with -3.00, 75% of its record, -4.00. 12 tokens."
    )
    found = [neurons.ActiveNeuron(layer, layer + 10, 0, 1 - layer / 10, 2.0) for layer in range(6)]
    assert (
        str(say.most_active(found, " b", 2))
        == "Neurons most active at '·b': 0.10 at 100% of its record, 1.11 at 90% of its record."
    )
    assert neuron_scan.activation_words(np.array([1.0, -2.345])) == ["activation 1.00", "activation -2.35"]
    snippet = neuron_scan.Snippet((1, 2, 3), 1, np.array([1.0, 4.5, 2.0]), 4.4)
    assert snippet.largest == "activation 4.50"


def test_the_record_is_the_first_of_its_side_and_never_zero():
    value = np.array([[[[3.0, 2.0], [-5.0, -1.0]], [[0.0, 0.0], [-1.0, 0.0]]]])
    place = np.zeros_like(value, dtype=int)
    scan = neuron_scan.NeuronScan(np.zeros((1, 1), dtype=int), place, place, value)
    assert [scan.record(0, neuron, side) for neuron in (0, 1) for side in (0, 1)] == [3.0, -5.0, 1.0, -1.0]
