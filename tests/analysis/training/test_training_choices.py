"""Label smoothing, against torch's own."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tfcore.analysis.training.training_choices import smoothing, smoothing_target


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
def test_the_loss_is_torchs(epsilon):
    found = smoothing(epsilon, 7)
    for i in (3, 90, 180):
        p = torch.full((7,), (1 - found.probability[i]) / 6, dtype=torch.float64)
        p[0] = found.probability[i]
        theirs = F.cross_entropy(p.log()[None], torch.tensor([0]), label_smoothing=epsilon)
        assert found.loss[i] == pytest.approx(float(theirs))


def test_the_floor_is_where_the_model_says_the_target():
    found = smoothing(0.1, 10)
    assert smoothing_target(0.1, 10).sum() == pytest.approx(1)
    assert found.best == pytest.approx(0.91)
    assert found.floor <= found.loss.min() + 1e-9
    assert found.probability[found.loss.argmin()] == pytest.approx(found.best, abs=0.01)
    assert smoothing(0.0, 10).floor == 0
    assert np.isfinite(found.loss).all()
