"""The gradient that arrives at the token d steps back, by autograd, and as a product of Jacobians written out."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.checks import check_number, check_whole
from tfcore.training.alike_loop import logits_of
from tfcore.training.recurrent.networks import Kind, Network, NetworkConfig, RecurrentNetwork, network
from tfcore.training.recurrent.recall import SHORTEST, VOCABULARY, recall_rows

ROWS = 8  # over which norms are averaged


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientConfig:
    """A measurement of gradients at initialisation.

    Args:
        seq: tokens of a row; gradients are measured at distances 0 to seq - 1.
        gain, forget_bias, seed: see NetworkConfig.

    Raises:
        ValueError: naming the value and what would do.
    """

    seq: int = 64
    gain: float = 1.0
    forget_bias: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole(self, seq=(SHORTEST, 128), seed=(0, 9_999))
        check_number(self, gain=(0.0, 4.0), forget_bias=(-10.0, 10.0))

    @property
    def networks(self) -> NetworkConfig:
        """The settings of the networks that are measured."""
        return NetworkConfig(vocab_size=VOCABULARY, gain=self.gain, forget_bias=self.forget_bias, seed=self.seed)


@dataclass(frozen=True, slots=True)
class Arriving:
    """The gradient that arrives in one network, for a gradient of norm 1 at the logits of the last token.

    Args:
        measured: by distance from the last token: mean norm, over rows, of the gradient in the token's embedding.
        product: the same from the product of Jacobians, without autograd; None for the Transformer, which has no
            state that is handed on.
        cell: the part of it that comes along the LSTM's cell state alone, through the forget gates; None elsewhere.
        largest: the largest singular value of the RNN's recurrent weights; None elsewhere.
    """

    kind: Kind
    measured: Float[ndarray, " distance"]
    product: Float[ndarray, " distance"] | None = None
    cell: Float[ndarray, " distance"] | None = None
    largest: float | None = None


def arriving_in(config: GradientConfig, kind: Kind) -> Arriving:
    """One network at initialisation."""
    ids, answer, _ = recall_rows(ROWS, config.seq, torch.Generator().manual_seed(config.seed))
    return arriving(network(config.networks, kind), kind, ids, answer)


def relevant(config: GradientConfig, kind: Kind) -> GradientConfig:
    """The config with what does not concern this network at its default: the same result, and one entry in a cache."""
    plain = GradientConfig(seq=config.seq, seed=config.seed)
    if kind == "rnn":
        return replace(plain, gain=config.gain)
    return replace(plain, forget_bias=config.forget_bias) if kind == "lstm" else plain


def arriving(model: Network, kind: Kind, ids: Int[Tensor, "batch seq"], answer: Int[Tensor, " batch"]) -> Arriving:
    """All there is to measure of one network, which is in float64 afterwards: a gradient may fall by more than float32
    can hold.

    Args:
        answer: the token that should follow each row: the loss is its cross-entropy.
    """
    model = model.double().requires_grad_(False).eval()
    measured = by_distance(embedding_gradients(model, ids, answer))
    if not isinstance(model, RecurrentNetwork):
        return Arriving(kind, measured)
    if kind == "rnn":
        largest = float(torch.linalg.matrix_norm(model.recurrent, ord=2))
        return Arriving(kind, measured, by_distance(rnn_steps_back(model, ids, answer)), largest=largest)
    states = lstm_states(model, ids)
    whole, alone = map(by_distance, lstm_steps_back(model, states, answer))
    return Arriving(kind, measured, whole, cell=alone)


def by_distance(gradients: Float[Tensor, "batch seq width"]) -> Float[ndarray, " distance"]:
    """Mean norm over the rows, the last token first."""
    return gradients.norm(dim=2).flip(1).mean(0).cpu().numpy()


def output_gradient(
    logits: Float[Tensor, "batch vocab"], answer: Int[Tensor, " batch"]
) -> Float[Tensor, "batch vocab"]:
    """The gradient of the cross-entropy in the logits, softmax(logits) - one_hot(answer), brought to norm 1: what is
    compared is how it travels, not how large the loss is."""
    gradient = logits.softmax(1)
    gradient[torch.arange(len(answer), device=answer.device), answer] -= 1
    return gradient / gradient.norm(dim=1, keepdim=True)


def embedding_gradients(
    model: Network, ids: Int[Tensor, "batch seq"], answer: Int[Tensor, " batch"]
) -> Float[Tensor, "batch seq width"]:
    """The gradient of the loss at the last token with respect to every token's embedding, by autograd."""
    embedded: list[Tensor] = []

    def as_leaf(_: object, __: object, output: Tensor) -> Tensor:
        leaf = output.detach().requires_grad_()
        embedded.append(leaf)
        return leaf

    hook = model.embed.register_forward_hook(as_leaf)
    try:
        logits = logits_of(model, ids)[:, -1]
    finally:
        hook.remove()
    # A sum, and not `grad_outputs`, for which torch loads SymPy, 36 MB
    (gradient,) = torch.autograd.grad((logits * output_gradient(logits.detach(), answer)).sum(), embedded)
    return gradient


@torch.no_grad()
def rnn_steps_back(
    model: RecurrentNetwork, ids: Int[Tensor, "batch seq"], answer: Int[Tensor, " batch"]
) -> Float[Tensor, "batch seq width"]:
    """The product of Jacobians of a plain RNN, applied to the gradient at its last state, step by step.

    dL/dh_{t-d} = dL/dh_t  J_t  J_{t-1} ... J_{t-d+1},   J_k = diag(1 - h_k^2) W_h   (arXiv:1211.5063, equation 5)
    dL/dx_{t-d} = dL/dh_{t-d}  diag(1 - h_{t-d}^2) W_x

    The paper applies tanh before W_h, torch after; the factors are the same.
    """
    states, _ = model.layer(model.embed(ids))  # (batch, seq, width)
    gradient = output_gradient(model.unembed(states[:, -1]), answer) @ model.unembed.weight
    slopes = []
    for t in reversed(range(ids.shape[1])):
        slopes.append(gradient * (1 - states[:, t] ** 2))  # through tanh
        gradient = slopes[-1] @ model.recurrent
    return torch.stack(slopes[::-1], dim=1) @ model.inward


class LstmStates(NamedTuple):
    """The gates (i, f, g, o) and the cell state of an LSTM at every step, each (batch, width)."""

    gates: list[tuple[Tensor, Tensor, Tensor, Tensor]]
    cells: list[Tensor]


@torch.no_grad()
def lstm_states(model: RecurrentNetwork, ids: Int[Tensor, "batch seq"]) -> LstmStates:
    """c_t = f c_{t-1} + i g,  h_t = o tanh(c_t);  i, f, o = sigmoid, g = tanh of W_x x_t + W_h h_{t-1} + biases."""
    read = model.embed(ids) @ model.inward.T + model.biases  # (batch, seq, gates)
    h = c = read.new_zeros(len(ids), read.shape[-1] // 4)
    states = LstmStates([], [])
    for t in range(ids.shape[1]):
        i, f, g, o = (read[:, t] + h @ model.recurrent.T).chunk(4, dim=-1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        c = f * c + i * g
        h = o * c.tanh()
        states.gates.append((i, f, g, o))
        states.cells.append(c)
    return states


@torch.no_grad()
def lstm_steps_back(
    model: RecurrentNetwork, states: LstmStates, answer: Int[Tensor, " batch"]
) -> Float[Tensor, "2 batch seq width"]:
    """The product of Jacobians of an LSTM's state (h, c), applied to the gradient at its last state, step by step: the
    whole, and its part along the cell state alone.

    That part leaves out what goes back through h_{t-1} and so through W_h: what remains is multiplied by the forget
    gate at each step, and by nothing else.

    Args:
        states: of the rows; see lstm_states.
    """
    gates, cells = states
    last = gates[-1][3] * cells[-1].tanh()
    to_h = (output_gradient(model.unembed(last), answer) @ model.unembed.weight).expand(2, -1, -1)
    to_c = torch.zeros_like(to_h)  # (2, batch, width)
    through_h = to_h.new_tensor([1.0, 0.0])[:, None, None]
    slopes = []
    for t in reversed(range(len(cells))):
        i, f, g, o = gates[t]
        bounded, before = cells[t].tanh(), cells[t - 1] if t else torch.zeros_like(cells[0])
        to_c = to_c + to_h * o * (1 - bounded**2)
        through_o = to_h * bounded * o * (1 - o)
        inside = torch.cat(
            (to_c * g * i * (1 - i), to_c * before * f * (1 - f), to_c * i * (1 - g**2), through_o), dim=2
        )
        slopes.append(inside)
        to_c = to_c * f
        to_h = inside @ model.recurrent * through_h
    return torch.stack(slopes[::-1], dim=2) @ model.inward
