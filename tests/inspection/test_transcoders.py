"""Transcoders: shapes, TopK, and what takes the place of a layer, each beside a plain loop."""

import pytest
import torch

from tests.small import difference, ids, model
from tfcore.inspection.transcoders import SparseAutoencoder, Transcoder, TranscoderConfig, module_of, substitute

SHAPE = {"d_model": 24, "n_features": 50, "top_k": 4}


def drawn(config=None, seed=1):
    """A transcoder with no weight at 0."""
    subject = Transcoder(config or TranscoderConfig.of_mlp(0, **SHAPE), seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in subject.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return subject.eval().requires_grad_(False)


def by_hand(subject, x):
    """Activations of one vector and what they write, number by number."""
    found = []
    for row, bias in zip(subject.W_enc.tolist(), subject.b_enc.tolist(), strict=True):
        found.append(max(0.0, sum(a * b for a, b in zip(row, x.tolist(), strict=True)) + bias))
    least = sorted(found)[-subject.config.top_k]
    kept = [value if value >= least else 0.0 for value in found]
    written = subject.b_dec.tolist()
    for value, row in zip(kept, subject.W_dec.tolist(), strict=True):
        written = [w + value * r for w, r in zip(written, row, strict=True)]
    return torch.tensor(kept), torch.tensor(written)


def test_it_is_its_equations():
    subject, x = drawn(), torch.randn(2, 3, 24)
    features, output = subject.encode(x), subject(x)
    assert features.shape == (2, 3, 50)
    assert output.shape == (2, 3, 24)
    for row in range(2):
        for place in range(3):
            kept, written = by_hand(subject, x[row, place])
            assert difference(features[row, place], kept) < 1e-5
            assert difference(output[row, place], written) < 1e-5
    assert ((features > 0).sum(-1) <= 4).all()


def test_features_below_zero_do_not_fire_even_among_the_top():
    subject = drawn()
    with torch.no_grad():
        subject.b_enc.fill_(-100.0)
        subject.b_enc[7] = 100.0
    x = torch.randn(5, 24)
    assert (subject.encode(x) > 0).nonzero()[:, 1].tolist() == [7] * 5
    values, indices = subject.top_features(x)
    assert values.shape == indices.shape == (5, 4)
    assert (values[:, 1:] == 0).all()
    assert (indices[:, 0] == 7).all()


def test_seeds_make_the_weights_and_rows_of_the_decoder_have_length_one():
    one, same, other = (Transcoder(TranscoderConfig.of_mlp(0, **SHAPE), seed) for seed in (3, 3, 4))
    assert difference(one.W_enc, same.W_enc) == 0
    assert difference(one.W_enc, other.W_enc) > 0
    assert difference(one.W_dec.norm(dim=-1), torch.ones(50)) < 1e-6


def test_a_substitute_reads_what_its_layer_is_given_in_that_pass():
    subject = model()
    both = [drawn(TranscoderConfig.of_mlp(layer, **SHAPE), layer) for layer in (0, 1)]
    names = [name for one in both for name in (one.config.reads, one.config.writes)]
    found = subject(ids(), capture=names, edits=substitute(both)).activations
    for one in both:
        assert difference(found[one.config.writes], one(found[one.config.reads])) < 1e-5
    plain = subject(ids(), capture=names).activations
    assert difference(plain[names[0]], found[names[0]]) == 0  # nothing was changed before it
    assert difference(plain[names[2]], found[names[2]]) > 1e-2  # the error of layer 0 reaches layer 1


def test_an_autoencoder_stands_in_the_stream():
    subject, one = model(), SparseAutoencoder(TranscoderConfig.of_stream(0, **SHAPE))
    name = one.config.reads
    stream = subject(ids(), capture=[name]).activations[name]
    found = subject(ids(), capture=[name], edits=substitute([one])).activations[name]
    assert difference(found, one(stream)) < 1e-5


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"top_k": 51}, "top_k=51 is more than n_features=50"),
        ({"n_features": 0}, "n_features=0 must be between"),
        ({"d_model": -1}, "d_model=-1 must be between"),
    ],
)
def test_what_does_not_fit_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        TranscoderConfig.of_mlp(0, **(SHAPE | changed))


def test_an_autoencoder_of_two_activations_is_refused():
    with pytest.raises(ValueError, match="use Transcoder"):
        SparseAutoencoder(TranscoderConfig.of_mlp(0, **SHAPE))
    with pytest.raises(ValueError, match="writes='' must be the name"):
        TranscoderConfig(reads="blocks.0.mlp_out", writes="", **SHAPE)
    assert isinstance(module_of(TranscoderConfig.of_stream(0, **SHAPE)), SparseAutoencoder)


@pytest.mark.parametrize("of", [TranscoderConfig.of_mlp, TranscoderConfig.of_stream])
def test_positions_before_the_first_stay_as_they_are(of):
    subject, tokens = model(), ids(2, 7)
    given, name = drawn(of(1, **SHAPE, first=2)), of(1, **SHAPE).writes
    as_is = subject.activations(tokens, (name,))[name]
    changed = subject(tokens, edits=substitute([given]), capture=(name,)).activations[name]
    read = subject.activations(tokens, (given.config.reads,))[given.config.reads]
    assert difference(changed[:, :2], as_is[:, :2]) == 0
    assert difference(changed[:, 2:], given(read)[:, 2:]) < 1e-5
