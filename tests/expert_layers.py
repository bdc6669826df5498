"""Small mixtures of experts for tests, and what they must give by plain loops over tokens."""

import math

import torch
from hypothesis import strategies as st

from tests.small import config
from tfcore.experts import Experts
from tfcore.feedforward import ACTIVATIONS
from tfcore.inspection.capture import ActivationRecorder
from tfcore.part_configs import ExpertsConfig


class Recorder(ActivationRecorder):
    """A tape that keeps everything and takes edits as plain functions."""

    def __init__(self, **edits):
        super().__init__()
        self.changes, self.kept = edits, {}

    def wants(self, name):
        return bool(name)

    def __call__(self, name, value):
        name = name.removeprefix("mlp.router.")
        self.kept[name] = self.changes.get(name, lambda value: value)(value)
        return self.kept[name]


def layer(activation="swiglu", d_model=8, d_ff=12, **values):
    """An Experts layer in float64 with large random weights, in eval mode."""
    experts = Experts(config(d_model=d_model, n_heads=2, d_ff=d_ff, activation=activation, experts=settings(**values)))
    experts = experts.double().eval()
    for parameter in experts.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return experts


def settings(**values):
    return ExpertsConfig(**values)


def run(experts, x, padding_mask=None, **edits):
    """The output and what was kept."""
    tape = Recorder(**edits)
    return experts(x, tape, padding_mask), tape.kept


def feed(experts, e, token, activation):
    """One expert on one token, written out."""
    h = experts.up[e] @ token
    act = ACTIVATIONS[activation]
    gated = experts.down.shape[-1] * 2 == len(h)
    return experts.down[e] @ (act(h[: len(h) // 2]) * h[len(h) // 2 :] if gated else act(h))


def plan(experts, x, padding_mask):
    """{(row, position): {expert: weight}} by plain loops; what over a capacity is dropped is left out."""
    c = experts.config
    places = [
        (b, s) for b in range(x.shape[0]) for s in range(x.shape[1]) if padding_mask is None or padding_mask[b, s]
    ]
    scores = {p: (experts.router.weight @ x[p]).tolist() for p in places}
    probs = {p: [math.exp(s) / sum(map(math.exp, row)) for s in row] for p, row in scores.items()}
    chosen = {p: [] for p in places}
    if c.routing == "experts":
        take = max(int(c.top_k * len(places) / c.n_experts), 1)
        for e in range(c.n_experts):
            for p in sorted(places, key=lambda p, e=e: -probs[p][e])[:take]:
                chosen[p].append(e)
    else:
        for p in places:
            chosen[p] = sorted(range(c.n_experts), key=lambda e, p=p: -probs[p][e])[: c.top_k]
    room = math.inf
    if c.capacity_factor is not None:
        room = max(math.floor(c.capacity_factor * c.top_k * len(places) / c.n_experts + 1e-6), 1)
    taken, result = [0] * c.n_experts, {}
    for p in places:
        result[p] = {}
        total = sum(probs[p][e] for e in chosen[p])
        after = {e: math.exp(scores[p][e]) / sum(math.exp(scores[p][o]) for o in chosen[p]) for e in chosen[p]}
        for e in chosen[p]:
            taken[e] += 1
            if taken[e] <= room:
                before = probs[p][e] / total if c.renormalize else probs[p][e]
                result[p][e] = after[e] if c.softmax == "after" else before
    return result


def dense(experts, x, padding_mask, activation):
    """The layer by plain loops."""
    out = torch.zeros_like(x)
    for place, weights in plan(experts, x, padding_mask).items():
        for e, weight in weights.items():
            out[place] += weight * feed(experts, e, x[place], activation)
    if experts.config.n_shared:
        h = x @ experts.shared_up.weight.T
        act = ACTIVATIONS[activation]
        gated = experts.shared_down.in_features * 2 == h.shape[-1]
        half = h.shape[-1] // 2
        h = act(h[..., :half]) * h[..., half:] if gated else act(h)
        out = out + h @ experts.shared_down.weight.T
    return out


@st.composite
def options(draw):
    n = draw(st.integers(1, 7))
    routing = draw(st.sampled_from(["tokens", "experts"]))
    factor = draw(st.sampled_from([None, 0.3, 0.75, 1.0, 1.25, 10.0])) if routing == "tokens" else None
    return {
        "n_experts": n,
        "top_k": draw(st.integers(1, n)),
        "d_expert": draw(st.sampled_from([None, 5])),
        "n_shared": draw(st.integers(0, 2)),
        "routing": routing,
        "softmax": draw(st.sampled_from(["before", "after"])),
        "renormalize": draw(st.booleans()),
        "capacity_factor": factor,
    }
