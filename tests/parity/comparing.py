"""What is compared with `transformers`, at real tokens alone: what stands at padding means nothing."""

import torch

from tests.small import difference

TOLERANCE = 1e-4


def padding(pad, batch=2, seq=13):
    """True at real tokens: in the second row, the last (first) ones are padding."""
    mask = torch.ones(batch, seq, dtype=torch.bool)
    if pad:
        mask[1, slice(seq - pad, None) if pad > 0 else slice(None, -pad)] = False
    return mask


def alike(ours, theirs, real):
    """Largest difference of two (batch, ..., seq, feature) tensors at real tokens, over the largest value where that is
    above 1."""
    pairs = [(ours[i][..., real[i], :], theirs[i][..., real[i], :]) for i in range(len(real))]
    return max(difference(*pair) for pair in pairs) / max(1.0, *(float(expected.abs().max()) for _, expected in pairs))


def scores(expected):
    """Their logits, or the last hidden states of a model without a head."""
    return next(expected[name] for name in ("logits", "prediction_logits", "last_hidden_state") if name in expected)


def assert_scores(output, expected, real, tolerance=TOLERANCE):
    """The logits, or the last hidden states of a model without a head."""
    has_head = "logits" in expected or "prediction_logits" in expected
    assert alike(output.logits if has_head else output.hidden, scores(expected), real) < tolerance


def assert_patterns(activations, name, attentions, real, layers=None):
    """The attention maps of all layers, or of those given; the name has {} for the layer."""
    for i, expected in zip(range(len(attentions)) if layers is None else layers, attentions, strict=True):
        assert alike(activations[name.format(i)], expected, real) < TOLERANCE, i
