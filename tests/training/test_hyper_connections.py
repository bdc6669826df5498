"""Hyper-connections: a pre-norm decoder at first, and afterwards a loop over single streams."""

import pytest
import torch

from tests import small
from tfcore.inspection.capture import ActivationRecorder
from tfcore.model import Transformer
from tfcore.training.hyper_connections import STREAMS, HyperBlock, HyperConnection, HyperTransformer, connections_of
from tfcore.training.optim import decay_groups

WIRING = {"positions": "rope", "n_kv_heads": 2, "n_layers": 3, "init_std": 0.3}


def made(seed=0):
    """A small model whose connections are far from where they begin."""
    model = HyperTransformer(small.config(**WIRING), seed).eval().requires_grad_(False)
    generator = torch.Generator().manual_seed(seed)
    for part in model.modules():
        if isinstance(part, HyperConnection):
            for weight in part.parameters():
                weight += 0.5 * torch.randn(weight.shape, generator=generator)
    return model


@pytest.mark.parametrize("seed", range(3))
def test_at_first_it_is_the_pre_norm_decoder_of_its_seed(seed):
    config, ids = small.config(**WIRING), small.ids()
    ours, plain = HyperTransformer(config, seed).eval()(ids).logits, Transformer(config, seed).eval()(ids).logits
    assert small.difference(ours, plain) < 1e-5 * float(plain.detach().abs().max())


def test_it_is_a_loop_over_streams():
    model, ids = made(), small.ids(2, 7)
    context, recorder = model.stack.attention_context(7, 0), ActivationRecorder()
    x = model.embed.weight[ids]
    streams = [x] * STREAMS
    for block in model.decoder.blocks:
        attention = ("ln1", lambda h, block=block: block.attn(block.ln1(h), context, recorder))
        feed_forward = ("ln2", lambda h, block=block: block.mlp(block.ln2(h), recorder))
        for name, layer in (attention, feed_forward):
            around = block.connections[name]
            read = sum(float(around.read[m]) * streams[m] for m in range(STREAMS))
            output = layer(read)
            mixed = [sum(float(around.mix[m, n]) * streams[m] for m in range(STREAMS)) for n in range(STREAMS)]
            streams = [mixed[n] + float(around.write[n]) * output for n in range(STREAMS)]
    last = model.decoder.ln_final(sum(streams) / STREAMS)
    assert small.difference(model(ids).hidden, last) < 1e-4
    assert small.difference(model(ids).hidden, Transformer(small.config(**WIRING)).eval()(ids).hidden) > 0.1


def test_the_streams_are_recorded():
    model, ids = made(), small.ids(2, 7)
    record = model.activations(ids, ("blocks.*.resid_post", "blocks.*.attn.pattern"))
    assert record["blocks.0.resid_post"].shape == (2, 7, STREAMS, 24)
    assert small.difference(model.decoder.ln_final(record["blocks.2.resid_post"].mean(2)), model(ids).hidden) < 1e-5


def test_one_matrix_has_all_weights():
    part = made().decoder.blocks[1].connections["ln2"]
    matrix = part.matrix()
    assert matrix[0, 0] == 0
    assert torch.equal(matrix[0, 1:], part.write)
    assert torch.equal(matrix[1:, 0], part.read)
    assert torch.equal(matrix[1:, 1:], part.mix)


def test_layers_read_one_stream_after_the_other_at_first():
    matrices = list(connections_of(HyperTransformer(small.config(**WIRING))))
    assert [int(matrix[1:, 0].argmax()) for matrix in matrices] == [0, 1, 2, 3, 0, 1]
    for matrix in matrices:
        assert torch.equal(matrix[1:, 1:], torch.eye(STREAMS))
        assert torch.equal(matrix[0, 1:], torch.ones(STREAMS))


def test_their_weights_do_not_decay_and_are_trained():
    model = HyperTransformer(small.config(**WIRING))
    decaying = {id(weight) for weight in decay_groups(model, 0.1)[0]["params"]}
    weights = [weight for part in model.modules() if isinstance(part, HyperConnection) for weight in part.parameters()]
    assert len(weights) == 3 * 6
    assert not decaying & {id(weight) for weight in weights}
    model(small.ids()).logits.logsumexp(-1).sum().backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in weights[:-1])


@pytest.mark.parametrize("wiring", [{"norm_placement": "post"}, {"parallel": True}])
def test_another_wiring_is_refused(wiring):
    with pytest.raises(ValueError, match="pre-norm layers one after the other, not placement="):
        HyperBlock(small.config(**wiring))
