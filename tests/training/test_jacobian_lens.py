"""Mean Jacobians against torch's own, stopped and gone on with; and the recipe of both lenses on a tiny model."""

import pytest
import torch
from torch.autograd.functional import jacobian

from tests.small import ids, model
from tfcore.inspection.edits import Edit
from tfcore.measures.lenses import stages
from tfcore.training.jacobian_lenses import STATE, mean_jacobians
from tfcore.training.tuned_lenses import least_squares

ROWS, FIRST = ids(2, 9), 2


@pytest.fixture(scope="module")
def small():
    return model().requires_grad_(False)


def test_they_are_torchs_own_summed_over_later_and_averaged_over_earlier_positions(small):
    names, last = stages(small.config)[:-1], stages(small.config)[-1]
    found = mean_jacobians(small, ROWS, names, first=FIRST, at_once=5)
    for s, name in enumerate(names):
        wanted = []
        for row in ROWS:
            x = small.activations(row[None], [name])[name]

            def final(state, name=name, row=row):
                edit = Edit(name, lambda _: state)
                return small.activations(row[None], [last], edits=[edit])[last][0]

            whole = jacobian(final, x)[:, :, 0]  # (target, to, source, from)
            wanted.append(whole[FIRST:, :, FIRST:].sum(0).mean(1))
        torch.testing.assert_close(found.halves[:, s], torch.stack(wanted), atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(found.mean[s], sum(wanted) / 2, atol=1e-4, rtol=1e-4)


def test_halves_of_equal_texts_agree(small):
    twice = mean_jacobians(small, ROWS[:1].expand(2, -1), stages(small.config)[:2], first=FIRST)
    torch.testing.assert_close(twice.agreement, torch.ones(2))


def test_a_stopped_fit_goes_on(small, tmp_path):
    rows, names, seen = ids(4, 6), stages(small.config)[:1], []

    def stop(done):
        seen.append(done)
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mean_jacobians(small, rows, names, first=FIRST, folder=tmp_path, report=stop)
    assert (tmp_path / STATE).is_file()
    rest = mean_jacobians(small, rows, names, first=FIRST, folder=tmp_path, report=seen.append)
    assert seen == [1, 2, 3, 4]
    assert torch.equal(rest.halves, mean_jacobians(small, rows, names, first=FIRST).halves)


@pytest.mark.parametrize("rows", [ids(3, 9), ids(2, FIRST)])
def test_what_cannot_be_halved_or_is_too_short_is_refused(small, rows):
    with pytest.raises(ValueError, match="an even number of texts longer than 2 tokens"):
        mean_jacobians(small, rows, stages(small.config)[:1], first=FIRST)


def test_the_regression_is_that_of_numpys_least_squares(small):
    rows, name, last = ids(40, 9), stages(small.config)[1], stages(small.config)[-1]
    lens = least_squares(small, rows, (name,)).requires_grad_(False)
    states = small.activations(rows, (name, last))
    x, wanted = (states[one][:, 1:].flatten(0, 1).double() for one in (name, last))
    x1 = torch.cat((x, torch.ones(len(x), 1).double()), 1)
    best = torch.linalg.lstsq(x1, wanted).solution
    errors = [float((y.double() - wanted).square().mean()) for y in (lens(name, x.float()), x1 @ best)]
    assert errors[0] == pytest.approx(errors[1], rel=0.02)
