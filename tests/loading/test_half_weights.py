"""Large models keep their matrices in 16 bits and compute in float32: the numbers of float32, in half the memory."""

import copy
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from tests.parity.checkpoints import DECODERS, ENCODERS, written
from tests.small import ids
from tfcore import Edit, load, save
from tfcore.generation import half_precision
from tfcore.generation.draft_models import early_exit
from tfcore.half_weights import BLOCK, widened_linear
from tfcore.loading import checkpoints, weights
from tfcore.measures.lenses import lens_logits, unembedding
from tfcore.measures.quantisation.formats import Scheme
from tfcore.measures.quantisation.matrices import model_bits, quantised_copy
from tfcore.views.foundations.heads.measure.head_splits import with_kv_heads
from tfcore.views.model.your_model import say

SHAPES = ("llama", "llama, tied", "mixtral", "gpt2", "gemma2", "deberta")


@pytest.fixture
def published(request, tmp_path, monkeypatch):
    """A tiny checkpoint in bfloat16, in several files, and every model counts as large."""
    class_, settings = (DECODERS | ENCODERS)[request.param]
    written(class_, settings, tmp_path / "first")
    theirs = class_.from_pretrained(tmp_path / "first", dtype=torch.bfloat16)
    theirs.save_pretrained(tmp_path / "model", max_shard_size="20KB")
    monkeypatch.setattr(checkpoints, "HALF_FROM", 0)
    return tmp_path / "model"


every = pytest.mark.parametrize("published", SHAPES, indirect=True)
one = pytest.mark.parametrize("published", ["llama"], indirect=True)


@every
def test_numbers_are_those_of_float32(published):
    large, whole = load(published, device="cpu")[0], load(published, device="cpu", dtype=torch.float32)[0]
    assert large.halved
    assert not whole.halved
    assert large.dtype == torch.float32
    kept = {name: tensor.dtype for name, tensor in large.state_dict().items()}
    assert all((dtype == torch.bfloat16) == (large.state_dict()[name].ndim > 1) for name, dtype in kept.items())
    assert large.weight_bytes < 0.6 * whole.weight_bytes
    names = ("blocks.*.attn.pattern", "blocks.*.resid_post", "blocks.*.attn.result")
    off = [Edit.zero("blocks.1.attn.z", heads=[0])]
    for edits in ([], off):
        a, b = (network(ids(), capture=names, edits=edits) for network in (large, whole))
        assert a.logits.dtype == torch.float32
        torch.testing.assert_close(a.logits, b.logits, rtol=1e-5, atol=1e-5)
        for name, value in a.activations.items():
            torch.testing.assert_close(value, b.activations[name], rtol=1e-5, atol=1e-5)
    for (name, a), (_, b) in zip(large.named_modules(), whole.named_modules(), strict=True):
        if hasattr(a, "stored"):
            assert torch.equal(a.weight, b.weight), name


@one
def test_logits_are_those_of_transformers_in_bfloat16_but_for_its_rounding(published):
    theirs = DECODERS["llama"][0].from_pretrained(published, dtype=torch.bfloat16).eval()
    exact = DECODERS["llama"][0].from_pretrained(published, dtype=torch.float32).eval()
    large = load(published, device="cpu")[0]
    with torch.no_grad():
        expected, rounded = exact(ids()).logits, theirs(ids()).logits.float()
    ours, largest = large(ids()).logits, expected.abs().max()
    assert (ours - expected).abs().max() < 1e-5 * largest
    assert (ours - rounded).abs().max() < 3e-2 * largest


@one
def test_gradients_are_those_of_float32(published):
    large, whole = load(published, device="cpu")[0], load(published, device="cpu", dtype=torch.float32)[0]
    found = []
    for network in (large, whole):
        stream = network.activations(ids(), "blocks.0.resid_pre")["blocks.0.resid_pre"].detach().requires_grad_()
        logits = lens_logits(network, network.resume(stream, 0))
        found.append(torch.autograd.grad(logits[..., 3].sum(), stream)[0])
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rows", [1, 3, 700])
def test_a_product_in_blocks_is_the_product(rows):
    weight = torch.randn(rows, BLOCK // 256, dtype=torch.float64).to(torch.bfloat16)
    x, bias = torch.randn(2, 3, weight.shape[1]), torch.randn(rows)
    assert rows < 700 or rows * weight.shape[1] > 2 * BLOCK
    torch.testing.assert_close(
        widened_linear(x, weight, bias), torch.nn.functional.linear(x, weight.float(), bias), rtol=1e-4, atol=1e-3
    )


@one
def test_there_is_no_second_copy_of_the_weights(published, monkeypatch):
    """What is read is copied into its place, one tensor at a time, and let go of before the next is read."""
    alive, largest = [0], [0]
    total = sum(one.nbytes for file in published.glob("*.safetensors") for one in load_file(file).values())
    read = weights.Weights.read

    class Counted(torch.Tensor):
        def __del__(self):
            alive[0] -= self.nbytes

    def counted(self, name):
        tensor = read(self, name).clone().as_subclass(Counted)
        alive[0] += tensor.nbytes
        largest[0] = max(largest[0], alive[0])
        return tensor

    monkeypatch.setattr(weights.Weights, "read", counted)
    network = load(published, device="cpu")[0]
    biggest = max(one.numel() * 2 for one in network.state_dict().values())
    assert 0 < largest[0] <= 2 * biggest < total / 3


@one
def test_a_model_is_large_from_more_than_a_number_of_parameters(published, monkeypatch):
    count = sum(p.numel() for p in load(published, device="cpu")[0].parameters())
    for limit, halved in ((count - 1, True), (count, False)):
        monkeypatch.setattr(checkpoints, "HALF_FROM", limit)
        assert load(published, device="cpu")[0].halved is halved


@one
def test_copies_compute_in_the_type_that_is_asked_for(published):
    large = load(published, device="cpu")[0]
    exact = copy.deepcopy(large).to(torch.float64)
    assert exact(ids()).logits.dtype == torch.float64
    assert (exact(ids()).logits - large(ids()).logits).abs().max() < 1e-4
    assert large.dtype == torch.float32, "it is left as it is"
    assert torch.equal(copy.deepcopy(large).to("cpu")(ids()).logits, large(ids()).logits)


@one
def test_a_copy_to_write_with_shares_the_matrices(published, monkeypatch):
    large = load(published, device="cpu")[0]
    monkeypatch.setattr(half_precision, "half_is_faster", lambda *_: True)
    half = half_precision.for_writing(large)
    assert half(ids()).logits.dtype == torch.bfloat16
    shared = [a.data_ptr() == b.data_ptr() for a, b in zip(large.parameters(), half.parameters(), strict=True)]
    assert shared == [one.ndim > 1 for one in large.parameters()]
    assert half_precision.copied_bytes(torch.device("cpu"), 10, halved=True) == 0
    assert half_precision.copied_bytes(torch.device("cpu"), 10) == 20


@one
def test_it_is_saved_as_it_is_kept(published, tmp_path_factory):
    large, again = load(published, device="cpu")[0], tmp_path_factory.mktemp("again")
    save(large, again)
    assert {t.dtype for t in load_file(again / "model.safetensors").values()} == {torch.float32, torch.bfloat16}
    assert torch.equal(load(again, device="cpu")[0](ids()).logits, large(ids()).logits)


DERIVED = {
    "its first blocks": lambda model: early_exit(model, 1),
    "fewer key/value heads": lambda model: with_kv_heads(model, 1),
    "rounded": lambda model: quantised_copy(model, Scheme(format="int8", per="row")),
    "another config": lambda model: model.with_weights(replace(model.config, max_seq_len=32), model.state_dict()),
}


@one
@pytest.mark.parametrize("made", DERIVED.values(), ids=list(DERIVED))
def test_models_made_of_it_compute_as_those_made_of_one_in_float32(published, made):
    large, whole = (load(published, device="cpu", dtype=dtype)[0] for dtype in (None, torch.float32))
    logits = [made(model)(ids()).logits for model in (large, whole)]
    torch.testing.assert_close(*logits, rtol=1e-5, atol=1e-5)


@one
def test_measures_read_the_matrices_in_float32(published):
    large, whole = (load(published, device="cpu", dtype=dtype)[0] for dtype in (None, torch.float32))
    for rows in (slice(None), [3, 5]):
        assert torch.equal(unembedding(large, rows), unembedding(whole, rows))
    assert model_bits(large, Scheme(format="int8", per="row")) == model_bits(whole, Scheme(format="int8", per="row"))


@one
def test_matrices_in_float16_stay_in_it(published, tmp_path_factory):
    """Turned into bfloat16 they would lose digits."""
    folder = tmp_path_factory.mktemp("float16")
    theirs = DECODERS["llama"][0].from_pretrained(published, dtype=torch.float32)
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.copy_((weight * 1.001).half())
    theirs.half().save_pretrained(folder)
    large, whole = (load(folder, device="cpu", dtype=dtype)[0] for dtype in (None, torch.float32))
    assert {one.dtype for one in large.parameters()} == {torch.float16, torch.float32}
    assert large.halved
    torch.testing.assert_close(large(ids()).logits, whole(ids()).logits, rtol=1e-5, atol=1e-5)


@one
def test_a_matrix_that_is_trained_gets_its_gradient(published):
    large = load(published, device="cpu")[0].requires_grad_(True)
    large(ids()).logits[..., 3].sum().backward()
    assert all(one.grad is not None and one.grad.abs().sum() > 0 for one in large.parameters())


def test_the_sentence_says_how_weights_are_kept():
    assert str(say.kept(1_200_000_000, 2_400_000_000, halved=True)) == (
        "1,200,000,000 parameters take 2.4 GB: matrices are kept in 16 bits, as the file has them or rounded to "
        "bfloat16, and computed in float32."
    )
    assert str(say.kept(1_000, 4_000_000_000, halved=False)) == "1,000 parameters take 4.0 GB, in float32."
    words = "Opened here in float32; above 1 B parameters, matrices are kept in 16 bits."
    assert str(say.types_here(halved=True)) == words
    assert str(say.types_here(halved=False)) == "Opened here in float32."
