"""Information flow routes: from which tokens and through which heads a model's state at one token came about, traced
back from the last layer to the embeddings (arXiv:2403.00824)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.logit_attribution import frozen_norm
from tfcore.analysis.inside.logit_lens import lens_logits
from tfcore.analysis.one_text import first_tokens, one_text
from tfcore.analysis.token_text import visible
from tfcore.block import Block
from tfcore.generation.sampling import distribution, draw
from tfcore.inspection.capture import known_names
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

NEEDED = ("resid_pre", "attn.v", "attn.pattern", "attn_out", "ln1_post.scale", "resid_mid", "mlp_out", "resid_post")
AT_ONCE = 16_000_000  # numbers of what heads write that are in memory together
LARGEST = 2.0  # factor of a head
LEAST = 1e-5  # share of the state at a token that is still followed
SMALLEST = 1e-3  # share of a route that is told apart

Factors = Mapping[tuple[int, int], float]  # (layer, head) -> what its output is multiplied by


@dataclass(frozen=True, slots=True)
class Route:
    """What one head carries from one token to another, as a share of the state that is explained."""

    layer: int
    head: int
    query: int
    key: int
    share: float


@dataclass(frozen=True, slots=True)
class Flow:
    """The state at one token after the last layer, traced back: every share is of that state, which is 1.

    Args:
        target: the token that is explained.
        threshold: routes below that share of the state they flow into are not followed.
        stream: share in the residual stream before each layer, and after the last one.
        straight: share that passes attention in the stream of its own token.
        feedforward: share that each feed-forward layer wrote; it flows on into the layer's input, the same stream.
        faint: share that routes below the threshold brought together to each token; it is not followed.
        carried: share that each layer's attention brought from other tokens.
        moved: of the state at each token after a layer's attention, the share that came from each token before it.
        routes: of all heads, those of at least SMALLEST, the largest share first.
    """

    target: int
    threshold: float
    stream: Float[ndarray, "stage seq"]
    straight: Float[ndarray, "layer seq"]
    feedforward: Float[ndarray, "layer seq"]
    faint: Float[ndarray, "layer seq"]
    carried: Float[ndarray, " layer"]
    moved: Float[ndarray, "layer seq seq"]
    routes: tuple[Route, ...]

    @property
    def followed(self) -> float:
        """Share of the state that is traced back to embeddings."""
        return float(self.stream[0].sum())


def edits_of(factors: Factors) -> list[Edit]:
    """The heads multiplied, as edits of one pass."""
    return [Edit.scale(f"blocks.{layer}.attn.z", by, heads=[head]) for (layer, head), by in sorted(factors.items())]


@torch.no_grad()
def trace(
    model: Transformer, ids: Sequence[int], target: int, threshold: float = 0.0, factors: Factors | None = None
) -> Flow:
    """Trace the state at a token back through the model, from one pass.

    In each layer the stream at a token is a sum: of itself before, and of what every head brings from every token,
    A[i, j] v[j] W_O; then again of itself and of what the feed-forward layer writes. A term's share in its sum is its
    proximity, max(0, |sum|_1 - |term - sum|_1), over that of all terms: they add up to 1 (arXiv:2403.00824, section
    2, after arXiv:2203.04212). Shares multiply along a route. Biases have no share, and norms after a sublayer are held
    at the scale they have in this pass.

    Args:
        target: the token whose last state is explained.
        threshold: at each token, heads' contributions below this share are not followed.
        factors: heads whose output is multiplied.

    Raises:
        ValueError: an encoder-decoder, whose stream is not one.
    """
    config = model.config
    if config.architecture == "encoder-decoder":
        raise ValueError("routes are traced in models of one stack, and this one has an encoder and a decoder")
    factors = factors or {}
    names = [name for name in known_names(config) if name.startswith("blocks.") and name.endswith(NEEDED)]
    found = model(one_text(model, ids), capture=names, edits=edits_of(factors)).activations
    here = {name: value[0] for name, value in found.items()}
    n_layers, n = config.n_layers, len(ids)
    stream = np.zeros((n_layers + 1, n))
    straight, feedforward, faint = (np.zeros((n_layers, n)) for _ in range(3))
    carried, moved = np.zeros(n_layers), np.zeros((n_layers, n, n))
    routes: list[Route] = []
    stream[-1, target] = 1.0
    for layer in reversed(range(n_layers)):
        block = cast("Block", model.stack.blocks[layer])
        start = f"blocks.{layer}."
        mine = {name.removeprefix(start): value for name, value in here.items() if name.startswith(start)}
        by = torch.ones(config.n_heads)
        for head in range(config.n_heads):
            by[head] = factors.get((layer, head), 1.0)
        arrived = stream[layer + 1].copy()
        reached = [i for i in range(n) if arrived[i] >= LEAST]
        if block.has_mlp and not block.parallel:
            parts = torch.stack([mine["resid_mid"], mine["mlp_out"]])[:, reached]  # (part, row, d_model)
            feedforward[layer, reached] = arrived[reached] * shares(parts, parts.sum(0))[1]
        heads, kept = attended(block, mine, reached, by)  # (row, head, key), (row, part)
        here_now = arrived[reached]
        straight[layer, reached] = here_now * kept.sum(1)
        if block.parallel:  # the feed-forward layer reads the same stream
            feedforward[layer, reached] = here_now * kept[:, -1]
        brought = heads * here_now[:, None, None]
        followed = brought * (heads >= threshold)
        faint[layer, reached] = (brought - followed).sum((1, 2))
        stream[layer] = straight[layer] + followed.sum((0, 1))
        own = sum(brought[row, :, i].sum() for row, i in enumerate(reached))
        carried[layer] = brought.sum() - own
        moved[layer, reached] = (heads * (heads >= threshold)).sum(1)
        moved[layer, reached, reached] += kept.sum(1)
        for row, head, j in zip(*(followed >= SMALLEST).nonzero(), strict=True):
            routes.append(Route(layer, int(head), reached[row], int(j), float(followed[row, head, j])))
    routes.sort(key=lambda route: -route.share)
    return Flow(target, threshold, stream, straight, feedforward, faint, carried, moved, tuple(routes))


def attended(
    block: Block, here: Mapping[str, Tensor], rows: Sequence[int], by: Float[Tensor, " head"]
) -> tuple[Float[ndarray, "row head key"], Float[ndarray, "row part"]]:
    """Shares of what each head brings from each token in the sum after attention, and of what was there: the stream,
    and in a parallel block what its feed-forward layer writes.

    Args:
        here: activations of this block, without the row of the batch.
        rows: tokens whose sums these are.
        by: what each head's output is multiplied by.
    """
    pattern, v = here["attn.pattern"], here["attn.v"]  # (head, query, key), (kv_head, key, d_head)
    n_heads, n = len(pattern), pattern.shape[-1]
    w_out = block.attn.out.weight.unflatten(1, (n_heads, -1))  # (d_model, head, d_head)
    values = torch.einsum("hke,dhe->hkd", v.repeat_interleave(n_heads // len(v), dim=0), w_out)
    values = values * by.to(values)[:, None, None]
    terms = [here["resid_pre"], *([here["mlp_out"]] if block.parallel else [])]
    summed = torch.stack(terms).sum(0) + here["attn_out"]
    scale = here.get("ln1_post.scale")
    found, kept = [], []
    for some in torch.tensor(rows).split(max(1, AT_ONCE // values.numel())):
        at = some.tolist()
        written = pattern[:, at, :, None].transpose(0, 1) * values  # (row, head, key, d_model)
        if scale is not None:
            written = frozen_norm(block.ln1_post, written, scale[at][:, None, None]).to(values)
        parts = torch.cat([written.flatten(1, 2), torch.stack(terms, 1)[at]], dim=1)  # (row, part, d_model)
        share = shares(parts.transpose(0, 1), summed[at]).T  # (row, part)
        found.append(share[:, : n_heads * n].reshape(len(at), n_heads, n))
        kept.append(share[:, n_heads * n :])
    return np.concatenate(found), np.concatenate(kept)


def shares(
    parts: Float[Tensor, "part row d_model"], summed: Float[Tensor, "row d_model"]
) -> Float[ndarray, "part row"]:
    """The share of each part in a sum: max(0, |sum|_1 - |part - sum|_1), over that of all parts."""
    apart = torch.cdist(parts.transpose(0, 1).contiguous(), summed[:, None], p=1)[..., 0]  # (row, part)
    near = (summed.abs().sum(-1, keepdim=True) - apart).clamp_min(0).double()
    near[:, -1] += near.sum(-1) == 0  # nothing points where the sum does: all of it to what was there
    return (near / near.sum(-1, keepdim=True)).T.cpu().numpy()


@dataclass(frozen=True, slots=True)
class LayerGuesses:
    """The top prediction after each layer, and the model's own probabilities.

    Args:
        best: id of the most probable token, read from the stream after each layer.
        probability: of it.
        final: probability of every token, after the last layer.
    """

    best: tuple[int, ...]
    probability: tuple[float, ...]
    final: Float[ndarray, " vocab"]


@torch.no_grad()
def layer_guesses(model: Transformer, ids: Sequence[int], factors: Factors | None = None) -> LayerGuesses:
    """What the last token's stream predicts after each layer (the logit lens, see `lens_logits`), with some heads
    multiplied."""
    output = model(one_text(model, ids), capture=["blocks.*.resid_post"], edits=edits_of(factors or {}))
    states = torch.stack([state[0, -1] for state in output.activations.values()])
    probability, best = lens_logits(model, states).float().softmax(-1).max(-1)
    final = output.logits[0, -1].float().softmax(-1).cpu().numpy()
    return LayerGuesses(tuple(best.tolist()), tuple(probability.tolist()), final)


def read_flow(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, threshold: float = 0.0, heads: str = ""
) -> Flow:
    """The state at the end of a text's first tokens traced back.

    Args:
        limit: tokens.
        threshold: see trace.
        heads: what is multiplied, as in "2.5*0 1.3*-1".
    """
    ids = first_tokens(model, tokenizer, text, limit).ids
    return trace(model, ids, len(ids) - 1, threshold, factors_of(model, heads))


def read_guesses(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, heads: str = "") -> LayerGuesses:
    """What the model would predict after each layer at the end of a text's first tokens; arguments as of read_flow."""
    return layer_guesses(model, first_tokens(model, tokenizer, text, limit).ids, factors_of(model, heads))


def factors_of(model: Transformer, heads: str) -> Factors:
    """The heads of a model that a text changes, as in "2.5*0 1.3*-1"."""
    return read_factors(heads, model.config.n_layers, model.config.n_heads)[0]


def draw_token(guesses: LayerGuesses, temperature: float, seed: int) -> int:
    """The next token: at a temperature of 0 the most probable, else drawn.

    Args:
        seed: the same one draws the same token from the same probabilities.
    """
    if temperature == 0:
        return int(guesses.final.argmax())
    logits = torch.from_numpy(guesses.final).double().log()
    return draw(distribution(logits, temperature=temperature), torch.Generator().manual_seed(seed))


def read_factors(text: str, n_layers: int, n_heads: int) -> tuple[dict[tuple[int, int], float], bool]:
    """Heads and what they are multiplied by, of a text such as "2.5*0 1.3*-1.5", and whether all of it made sense."""
    found: dict[tuple[int, int], float] = {}
    exact = True
    for word in text.split():
        head, _, by = word.partition("*")
        layer, _, number = head.partition(".")
        try:
            place, factor = (int(layer), int(number)), float(by)
        except ValueError:
            exact = False
            continue
        if 0 <= place[0] < n_layers and 0 <= place[1] < n_heads and abs(factor) <= LARGEST:
            found[place] = factor
        else:
            exact = False
    return {place: by for place, by in sorted(found.items()) if by != 1}, exact


def written_factors(factors: Factors) -> str:
    """Heads and factors as `read_factors` reads them."""
    return " ".join(f"{layer}.{head}*{by:g}" for (layer, head), by in sorted(factors.items()) if by != 1)


# ---- findings ----


@dataclass(frozen=True, slots=True)
class Story(Finding):
    """In a sentence, where a prediction came from.

    Args:
        token, probability: the top prediction.
        widest: the widest route from another token: layer.head, that token, its share; None where there is none.
        origins: the tokens whose embeddings most of the state is traced back to, with their shares.
        followed: share that is traced back at all.
        threshold: of the routes that are followed.
        edited: the heads that are multiplied.
    """

    token: str
    probability: float
    widest: tuple[str, str, float] | None
    origins: tuple[tuple[str, float], ...]
    followed: float
    threshold: float
    edited: str

    @property
    def sentence(self) -> str:
        told = f"'{visible(self.token)}', {self.probability:.0%}"
        told += f" with {self.edited}: " if self.edited else ": "
        if self.widest is not None:
            head, source, share = self.widest
            told += f"the widest ribbon comes from '{visible(source)}' through head {head}, {share:.1%} of the state. "
        else:
            told += "no head brings anything from another token that is above the threshold. "
        first = ", ".join(f"'{visible(token)}' {share:.0%}" for token, share in self.origins)
        told += f"Traced back to the embeddings: {first}"
        if not self.threshold:
            return f"{told}."
        lost = f"{1 - self.followed:.0%} is in routes below {self.threshold:.1%} of a sum, which are not followed"
        return f"{told}; {lost}."


def story(flow: Flow, tokens: Sequence[str], guess: str, probability: float, factors: Factors, most: int = 3) -> Story:
    """Of a traced state: the widest route between two tokens, and the tokens it began at."""
    between = [route for route in flow.routes if route.query != route.key]
    widest = None
    if between:
        first = max(between, key=lambda route: route.share)
        widest = (f"{first.layer}.{first.head}", tokens[first.key], first.share)
    order = flow.stream[0].argsort()[::-1][:most]
    origins = tuple((tokens[i], float(flow.stream[0, i])) for i in order if flow.stream[0, i] > 0)
    edited = ", ".join(f"head {layer}.{head} × {by:g}" for (layer, head), by in sorted(factors.items()))
    return Story(guess, probability, widest, origins, flow.followed, flow.threshold, edited)
