"""Who sees whom, against what trained-free models of the three kinds do."""

import numpy as np
import pytest
import torch

from tests import small
from tfcore.analysis.model.architectures import seen

READ, WRITTEN = 4, 3


def test_the_squares_and_triangles():
    n = READ + WRITTEN
    assert seen("encoder", READ, WRITTEN).all()
    np.testing.assert_array_equal(seen("decoder", READ, WRITTEN), np.tri(n, dtype=bool))
    both = seen("encoder-decoder", READ, WRITTEN)
    assert both[:READ, :READ].all()
    assert not both[:READ, READ:].any()
    assert both[READ:, :READ].all()
    np.testing.assert_array_equal(both[READ:, READ:], np.tri(WRITTEN, dtype=bool))


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
def test_a_model_of_one_stack_sees_as_drawn(architecture):
    head = {"head": "mlm"} if architecture == "encoder" else {}
    model = small.model(architecture=architecture, **head)
    np.testing.assert_array_equal(
        reached(lambda ids: model(ids).logits, READ + WRITTEN), seen(architecture, READ, WRITTEN)
    )


def test_an_encoder_decoder_sees_as_drawn():
    model = small.model(architecture="encoder-decoder")

    def states(ids):
        name = "encoder.blocks.1.resid_post"
        output = model(ids[:, :READ], decoder_ids=ids[:, READ:], capture=[name])
        return torch.cat((output.activations[name].mean(-1), output.logits.mean(-1)), dim=1)[..., None]

    np.testing.assert_array_equal(reached(states, READ + WRITTEN), seen("encoder-decoder", READ, WRITTEN))


@torch.no_grad()
def reached(states, n):
    """Whether a change of the token `key` changes what the model has at `query`."""
    ids, found = torch.arange(1, n + 1)[None], np.zeros((n, n), dtype=bool)
    before = states(ids)
    for key in range(n):
        other = ids.clone()
        other[0, key] += 20
        found[:, key] = ((states(other) - before).abs().amax(-1)[0] > 1e-7).numpy()
    return found
