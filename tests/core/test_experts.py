"""The mixture of experts against plain loops over tokens, in training and out of it."""

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.expert_layers import Recorder, dense, feed, layer, options, plan, run
from tests.small import config, difference
from tfcore.experts import Experts, mix
from tfcore.inspection.capture import ActivationRecorder
from tfcore.routing import (
    choose_experts,
    choose_tokens,
    expert_capacity,
    expert_load,
    over_capacity,
    update_balance_bias_,
)


@given(
    options(),
    st.sampled_from(["swiglu", "relu", "geglu_tanh", "reglu", "gelu"]),
    st.integers(1, 3),
    st.integers(1, 9),
    st.integers(0, 99),
    st.booleans(),
)
def test_it_is_the_sum_that_plain_loops_give(values, activation, batch, seq, seed, padded):
    torch.manual_seed(seed)
    experts, x = layer(activation, **values), torch.randn(batch, seq, 8, dtype=torch.float64)
    real = torch.rand(batch, seq) < 0.7 if padded else None
    assume(real is None or bool(real.any()))
    with torch.no_grad():
        output, kept = run(experts, x, real)
        assert difference(output, dense(experts, x, real, activation)) < 1e-10
        assert difference(output, experts(x, ActivationRecorder(), real)) == 0  # recording changes nothing
    assert_slots_are(plan(experts, x, real), kept, batch, seq, experts.config)


def assert_slots_are(planned, kept, batch, seq, c):
    slots = c.n_experts if c.routing == "experts" else c.top_k
    assert kept["indices"].dtype == torch.int64
    assert kept["dropped"].dtype == torch.bool
    assert all(kept[name].shape == (batch, seq, slots) for name in ("indices", "weights", "dropped"))
    assert all(kept[name].shape == (batch, seq, c.n_experts) for name in ("logits", "probs"))
    for b in range(batch):
        for s in range(seq):
            found = zip(kept["indices"][b, s].tolist(), kept["weights"][b, s].tolist(), strict=True)
            assert {e: w for e, w in found if w} == pytest.approx(planned.get((b, s), {}), abs=1e-10)
            if (b, s) in planned and c.routing == "tokens":
                assert int(kept["dropped"][b, s].sum()) == c.top_k - len(planned[b, s])
            else:
                assert not kept["dropped"][b, s].any()


@pytest.mark.parametrize(
    ("values", "sums_to_one"),
    [
        ({"softmax": "after"}, True),
        ({"softmax": "before", "renormalize": True}, True),
        ({"softmax": "before", "top_k": 5}, True),
        ({"softmax": "before"}, False),
    ],
)
def test_weights_sum_to_one_or_to_the_probs_of_the_chosen(values, sums_to_one):
    _, kept = run(layer(**({"n_experts": 5, "top_k": 2} | values)), torch.randn(2, 7, 8, dtype=torch.float64))
    total = kept["weights"].sum(-1)
    if sums_to_one:
        assert difference(total, torch.ones(2, 7, dtype=torch.float64)) < 1e-12
    else:
        assert bool((total < 0.999).all())
        assert difference(total, kept["probs"].sort(dim=-1).values[..., -2:].sum(-1)) < 1e-12


def test_later_tokens_take_no_place_from_earlier_ones():
    experts, x = layer(capacity_factor=0.5, n_experts=4), torch.randn(1, 12, 8, dtype=torch.float64)
    full = run(experts, x)[1]["dropped"]
    room = expert_capacity(12, 4, 2, 0.5)
    alone = over_capacity(run(experts, x)[1]["indices"][:, :7], 4, room)
    assert full.any()
    assert torch.equal(full[:, :7], alone)


def test_experts_that_choose_are_equally_busy_and_look_into_the_future():
    probs = torch.rand(2, 10, 5).softmax(-1)
    assert choose_tokens(probs, 2).sum((0, 1)).tolist() == [8] * 5
    experts, x = layer(routing="experts", n_experts=4), torch.randn(1, 8, 8, dtype=torch.float64)
    other = torch.cat([x[:, :4], 3 * torch.randn(1, 4, 8, dtype=torch.float64)], 1)
    assert difference(run(experts, x)[0][:, :4], run(experts, other)[0][:, :4]) > 1e-3
    causal = layer(n_experts=4)
    assert difference(run(causal, x)[0][:, :4], run(causal, other)[0][:, :4]) < 1e-12


@pytest.mark.parametrize("routing", ["tokens", "experts"])
def test_padding_is_routed_nowhere_and_changes_nothing(routing):
    experts, x = layer(routing=routing, n_experts=4), torch.randn(2, 6, 8, dtype=torch.float64)
    real = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
    output, kept = run(experts, x, real)
    assert not output[~real].any()
    assert not kept["weights"][~real].any()
    changed = torch.where(real[..., None], x, 100 * torch.randn_like(x))
    assert difference(run(experts, changed, real)[0], output) < 1e-12
    nothing, _ = run(experts, x, torch.zeros_like(real))
    assert not nothing.any()


def test_padding_counts_in_no_loss():
    experts = layer(n_experts=4, z_loss=0.1, balance_loss=0.2).train()
    x, losses = torch.randn(1, 6, 8, dtype=torch.float64), []
    real = torch.tensor([[True] * 4 + [False] * 2])
    for tokens, mask in ((x, real), (x[:, :4], None)):
        tape = ActivationRecorder()
        experts(tokens, tape, mask)
        losses.append(tape.losses)
    assert set(losses[0]) == {"balance_loss", "z_loss"}
    for name, value in losses[0].items():
        assert float(value.detach()) == pytest.approx(float(losses[1][name].detach()))


def test_losses_in_training_only_and_only_those_that_are_set():
    x = torch.randn(1, 5, 8, dtype=torch.float64)
    for values, names in (({}, {"balance_loss"}), ({"balance_loss": 0.0, "z_loss": 1.0}, {"z_loss"})):
        experts, tape = layer(**values), ActivationRecorder()
        experts(x, tape)
        assert tape.losses == {}
        experts.train()(x, tape)
        assert set(tape.losses) == names
        assert sum(tape.losses.values()).requires_grad
    probs = run(experts, x)[1]["probs"]
    assert float(tape.losses["z_loss"].detach()) == pytest.approx(
        float((x @ experts.router.weight.T).exp().sum(-1).log().square().mean().detach())
    )
    assert difference(probs.sum(-1), torch.ones(1, 5, dtype=torch.float64)) < 1e-12


def test_the_balance_loss_counts_choices_before_drops():
    experts, x = layer(n_experts=3, top_k=1, capacity_factor=0.2).train(), torch.randn(1, 30, 8, dtype=torch.float64)
    tape = Recorder()
    experts(x, tape)
    f = torch.stack([(tape.kept["indices"] == e).double().mean() for e in range(3)])
    expected = 0.01 * 3 * (f * tape.kept["probs"].mean((0, 1))).sum()
    assert tape.kept["dropped"].any()
    assert float(tape.losses["balance_loss"].detach()) == pytest.approx(float(expected.detach()))


@pytest.mark.parametrize(
    "values",
    [
        {"n_shared": 1},
        {"softmax": "before"},
        {"softmax": "before", "capacity_factor": 0.6, "renormalize": True},
        {"routing": "experts", "softmax": "before"},
        {"routing": "experts", "activation": "gelu"},
    ],
)
def test_gradients(values):
    experts = layer(**({"d_model": 4, "d_ff": 3, "n_experts": 3, "z_loss": 0.3, "balance_loss": 0.2} | values)).train()
    names, weights = zip(*experts.named_parameters(), strict=True)

    def output(x, *weights):
        tape = ActivationRecorder()
        y = torch.func.functional_call(experts, dict(zip(names, weights, strict=True)), (x, tape))
        return y, *tape.losses.values()

    x = torch.randn(1, 5, 4, dtype=torch.float64, requires_grad=True)
    assert len(output(x, *weights)) == 3
    assert torch.autograd.gradcheck(output, (x, *weights), fast_mode=True)


def test_experts_nobody_chose_get_no_gradient_and_no_work():
    calls, x = [], torch.randn(3, 4)
    indices = torch.tensor([[2, 0], [2, 5], [0, 2]])

    def expert(e):
        return lambda rows: calls.append((e, len(rows))) or rows * (e + 1)

    weights = torch.tensor([[0.5, 0.25], [1.0, 0.0], [2.0, 1.0]])
    y = mix(x, indices, weights, None, [expert(e) for e in range(6)])
    assert calls == [(0, 2), (2, 3), (5, 1)]  # each expert once, with all its tokens
    assert difference(y, x * torch.tensor([0.5 * 3 + 0.25, 3, 2 + 3])[:, None]) < 1e-6
    experts = layer(n_experts=6, top_k=1)
    output, kept = run(experts, torch.randn(1, 2, 8, dtype=torch.float64))
    output.sum().backward()
    used = set(kept["indices"].flatten().tolist())
    assert {e for e in range(6) if experts.up.grad[e].any()} == used


def test_the_bias_chooses_but_does_not_weigh():
    experts = layer(n_experts=4, bias_rate=0.1, softmax="before")
    x = torch.randn(1, 9, 8, dtype=torch.float64)
    experts.balance_bias += torch.tensor([0, 5.0, 0, 0])
    _, kept = run(experts, x)
    assert bool((kept["indices"][..., 0] == 1).all())
    assert difference(kept["weights"], kept["probs"].gather(-1, kept["indices"])) == 0
    assert "balance_bias" in experts.state_dict()
    assert "balance_bias" not in dict(experts.named_parameters())
    assert "balance_bias" not in layer().state_dict()


def test_bias_steps_make_the_load_even():
    logits = torch.randn(4, 64, 8) + torch.tensor([2.0, 1, 0, 0, 0, 0, -1, -2])
    probs, bias, loads = logits.softmax(-1), torch.zeros(8), []
    first = update_balance_bias_(torch.zeros(4), torch.tensor([5, 1, 3, 3]), 0.5)
    assert first.tolist() == [-0.5, 0.5, 0.0, 0.0]
    for _ in range(300):
        load = expert_load(choose_experts(probs, 2, bias), 8)
        loads.append(load)
        assert update_balance_bias_(bias, load, 0.002) is bias
    assert int(loads[0].sum()) == int(loads[-1].sum()) == 4 * 64 * 2
    assert float(loads[0].max()) > 2 * 64
    assert float(loads[-1].max()) < 1.15 * 64


def test_padding_is_left_out_of_the_load():
    indices = torch.tensor([[[0, 1], [1, 2]]])
    real = torch.tensor([[True, False]])
    assert expert_load(indices, 4).tolist() == [1, 2, 1, 0]
    assert expert_load(indices, 4, real[..., None].expand_as(indices)).tolist() == [1, 1, 0, 0]


def test_noise_changes_the_choice_in_training_only():
    experts, x = layer(noise=2.0, n_experts=6), torch.randn(1, 200, 8, dtype=torch.float64)
    clean = run(experts, x)[1]["logits"]
    assert torch.equal(clean, run(experts, x)[1]["logits"])
    noise = run(experts.train(), x)[1]["logits"] - clean
    assert abs(float(noise.detach().mean())) < 0.2
    assert float(noise.detach().std()) == pytest.approx(2.0, rel=0.1)
    torch.manual_seed(5)
    once = experts(x, ActivationRecorder())
    torch.manual_seed(5)
    assert torch.equal(once, experts(x, ActivationRecorder()))
    assert difference(once, experts(x, ActivationRecorder())) > 1e-3


def test_edits_take_effect():
    experts, x = layer(n_experts=4, top_k=2), torch.randn(1, 6, 8, dtype=torch.float64)
    plain, kept = run(experts, x)

    def without(e):
        return lambda value: value.index_fill(-1, torch.tensor(e), 0)

    _, changed = run(experts, x, probs=without(2))
    assert 2 in kept["indices"]
    assert 2 not in changed["indices"]
    half, _ = run(experts, x, weights=lambda value: value / 2)
    assert difference(half, plain / 2) < 1e-12
    nothing, _ = run(experts, x, dropped=torch.ones_like)
    assert not nothing.any()
    third, kept = run(experts, x, indices=lambda value: torch.full_like(value, 3))
    expected = torch.stack([feed(experts, 3, token, "swiglu") for token in x[0]])[None]
    assert difference(third, expected) < 1e-10
    _, kept = run(experts, x, logits=lambda value: value * 0)
    assert difference(kept["probs"], torch.full((1, 6, 4), 0.25, dtype=torch.float64)) < 1e-12


@pytest.mark.parametrize("tokens", [1, 3, 40, 41, 100, 300])
def test_one_expert_is_a_feed_forward_layer(tokens):
    """With many tokens too, where products are padded and turned round."""
    experts, x = layer(n_experts=1, top_k=1), torch.randn(1, tokens, 8, dtype=torch.float64)
    gate, linear = (x @ experts.up[0].T).chunk(2, -1)
    assert difference(run(experts, x)[0], (torch.sigmoid(gate) * gate * linear) @ experts.down[0].T) < 1e-10


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_it_agrees_with_itself_in_lower_precision(dtype):
    experts, x = layer(n_experts=4, n_shared=1), torch.randn(2, 50, 8, dtype=torch.float64)
    x, state = x.to(dtype), {name: value.to(dtype) for name, value in experts.state_dict().items()}
    experts.load_state_dict(state)
    exact, kept = run(experts, x.double())
    low, tape = run(experts.to(dtype), x)
    assert low.dtype == dtype
    same = (kept["indices"] == tape["indices"]).all(-1)  # a near tie may fall the other way
    assert float(same.float().mean()) > 0.95
    close = 1e-5 if dtype == torch.float32 else 0.05
    assert difference(low.double()[same], exact[same]) < close * float(exact.detach().abs().max())


def test_shapes_of_its_weights_and_refusals():
    gated, plain = layer(d_expert=5, n_shared=3, n_experts=6), layer("relu", n_experts=6)
    shapes = {name: tuple(value.shape) for name, value in gated.named_parameters()}
    assert shapes == {
        "router.weight": (6, 8),
        "up": (6, 10, 8),
        "down": (6, 8, 5),
        "shared_up.weight": (30, 8),
        "shared_down.weight": (8, 15),
    }
    assert tuple(plain.up.shape) == (6, 12, 8)
    with pytest.raises(ValueError, match="experts=None"):
        Experts(config())
