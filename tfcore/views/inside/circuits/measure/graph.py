"""Attribution graphs of a text: which transcoder features write what later features, and the prediction, read.

In the local replacement model transcoders stand in the place of the feed-forward layers, each with an error term that
makes up what it misses, so that on this text every activation is the model's own. With attention patterns, the numbers
that norms divide by, and the choice of active features held fixed, what a feature reads is a linear function of what
was written before it: the sum of the contributions of token embeddings, of features and errors of lower layers, and of
biases (arXiv:2406.11944, section 4.1; "Circuit Tracing", transformer-circuits.pub 2025, "Constructing an attribution
graph for a prompt").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.block import Block
from tfcore.config import ModelConfig
from tfcore.inspection.transcoders import Transcoder
from tfcore.measures.lenses import unembedding
from tfcore.measures.one_text import next_logits, one_text
from tfcore.model import NO_LOGITS, Transformer

EMBEDDING, FEATURE, ERROR, OUTPUT = range(4)  # kinds of nodes
COVERED = 0.95  # of the probability, by the predictions that are explained together
MOST = 10  # of them
AT_ONCE = 8  # neighbouring positions whose features are traced back together


@dataclass(frozen=True, slots=True)
class Output:
    """A logit that is explained: of `token`, above that of `against`, or above the mean of all logits where that is
    None, after the last token.

    Args:
        weight: in the influence of nodes; a probability, and 1 where it stands alone.
    """

    token: int
    against: int | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of a graph, in the order of computation: embeddings, then layer by layer the features of each position
    and the errors, then outputs.

    Args:
        kind: EMBEDDING, FEATURE, ERROR or OUTPUT.
        layer: -1 of embeddings, one past the last of outputs.
        position: of the token; of outputs, the last.
        feature: its number in the transcoder of its layer; of embeddings and outputs the token's id; -1 of errors.
        activation: of features; of outputs the logit; 1 of embeddings and errors.
    """

    kind: Int[ndarray, " node"]
    layer: Int[ndarray, " node"]
    position: Int[ndarray, " node"]
    feature: Int[ndarray, " node"]
    activation: Float[ndarray, " node"]

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, slots=True)
class Graph:
    """An attribution graph.

    Args:
        ids: of the text.
        nodes: sources and targets.
        edges: edges[target, source] is the share of the source in what the target reads: in the activation of a
            feature, in the logit of an output. 0 in the rows of embeddings and errors, which read nothing.
        biases: what each target reads that is no node's: its own bias, and those of the transcoders below it.
        outputs: what is explained; the last nodes.
    """

    ids: tuple[int, ...]
    nodes: Nodes
    edges: Float[ndarray, "node node"]
    biases: Float[ndarray, " node"]
    outputs: tuple[Output, ...]

    @property
    def n_layers(self) -> int:
        """The number of layers of the model."""
        return int(self.nodes.layer[-1])

    @property
    def weights(self) -> Float[ndarray, " node"]:
        """How much each node counts by itself: outputs by their weights, all others 0."""
        weights = np.zeros(len(self.nodes))
        weights[len(weights) - len(self.outputs) :] = [output.weight for output in self.outputs]
        return weights

    def of_kind(self, kind: int) -> Int[ndarray, " some"]:
        """The places of the nodes of a kind."""
        places: Int[ndarray, " some"] = np.flatnonzero(self.nodes.kind == kind)
        return places


def check_graph_model(config: ModelConfig) -> None:
    """Refuse a model whose attention and norms are not linear once they are frozen as here.

    Raises:
        ValueError: saying what is needed.
    """
    plain = config.norm.kind == "rmsnorm" and config.norm.placement == "pre" and not config.parallel
    biases = config.bias or config.has_qkv_bias or config.has_out_bias or config.has_logit_bias
    if (
        config.architecture != "decoder"
        or config.head != "lm"
        or not plain
        or biases
        or config.positions.kind not in ("rope", "alibi", "relative", "none")
        or config.norm.of_embeddings
        or not config.norm.first
        or config.logit_softcap is not None
        or config.attention.clip is not None
        or config.experts is not None
        or config.ff_size == 0
    ):
        raise ValueError(
            "an attribution graph needs a decoder with a language head, RMSNorm before each sublayer, feed-forward "
            "layers, no biases, no position embeddings, no soft cap on its logits and no values that are cut off, such "
            "as stories"
        )


@torch.no_grad()
def likely_outputs(model: Transformer, ids: Sequence[int]) -> tuple[Output, ...]:
    """The most probable next tokens, until they have 95 % of the probability together, and at most ten."""
    probability = next_logits(model, ids).float().softmax(0)
    values, tokens = probability.topk(min(MOST, len(probability)))
    count = int(np.searchsorted(np.cumsum(values.cpu().numpy()), COVERED)) + 1
    kept = zip(tokens[:count].tolist(), values[:count].tolist(), strict=True)
    return tuple(Output(token, None, weight) for token, weight in kept)


def output_direction(model: Transformer, output: Output) -> Float[Tensor, " d_model"]:
    """The direction whose product with the last hidden state is the output's logit."""
    table = unembedding(model)
    other = table.mean(0) if output.against is None else table[output.against]
    return (table[output.token] - other) * model.config.logit_scale


@dataclass(frozen=True, slots=True)
class FrozenRun:
    """One run of a text, with what is held fixed.

    Args:
        patterns: of attention, by layer.
        attention_scale, mlp_scale: what the norms before attention and before the feed-forward layer divide by, by
            layer.
        final_scale: the same of the final norm, at the last position.
        hidden: after that norm, at the last position.
        embeddings: of the tokens.
        features, activations: of each layer, the numbers and activations of the active features; 0 is not active.
        errors: of each layer, what its transcoder misses of what the feed-forward layer writes; all of that where it
            has none.
    """

    patterns: Float[Tensor, "layer head query key"]
    attention_scale: Float[Tensor, "layer seq 1"]
    mlp_scale: Float[Tensor, "layer seq 1"]
    final_scale: float
    hidden: Float[Tensor, " d_model"]
    embeddings: Float[Tensor, "seq d_model"]
    features: Int[Tensor, "layer seq choice"]
    activations: Float[Tensor, "layer seq choice"]
    errors: Float[Tensor, "layer seq d_model"]


@torch.no_grad()
def frozen_run(model: Transformer, transcoders: Mapping[int, Transcoder], ids: Sequence[int]) -> FrozenRun:
    """Run a text, and the transcoders on what their feed-forward layers read. What a layer without one writes is error
    as a whole, and so is what any layer writes before the first position that its transcoder was trained on.

    Raises:
        ValueError: a model for which there is no such graph, or transcoders of layers that it has not.
    """
    check_graph_model(model.config)
    if beyond := [layer for layer in transcoders if not 0 <= layer < model.config.decoder_layers]:
        last = model.config.decoder_layers - 1
        raise ValueError(f"a transcoder of layer {beyond[0]} does not fit: the model has layers 0 to {last}")
    names = ("attn.pattern", "ln1.scale", "ln2.scale", "ln2.normalized", "mlp_out")
    wanted = ["embed", "ln_final.scale", *(f"blocks.*.{name}" for name in names)]
    output = model(one_text(model, ids), capture=wanted, logits_to_keep=NO_LOGITS)
    captured = {name: value.squeeze(0) for name, value in output.activations.items()}

    def layers(name: str) -> Tensor:
        return torch.stack([captured[f"blocks.{i}.{name}"] for i in range(model.config.decoder_layers)])

    read, errors = layers("ln2.normalized"), layers("mlp_out")
    most = max((one.config.top_k for one in transcoders.values()), default=0)
    activations = read.new_zeros(*read.shape[:2], most)
    features = torch.zeros_like(activations, dtype=torch.long)
    for layer, transcoder in transcoders.items():
        first, own = transcoder.config.first, transcoder.config.top_k
        values, chosen = transcoder.top_features(read[layer, first:])
        activations[layer, first:, :own], features[layer, first:, :own] = values, chosen
        predicted = torch.einsum("sc,scd->sd", values, transcoder.W_dec[chosen]) + transcoder.b_dec
        errors[layer, first:] -= predicted
    return FrozenRun(
        layers("attn.pattern"),
        layers("ln1.scale"),
        layers("ln2.scale"),
        float(captured["ln_final.scale"][-1]),
        output.hidden.squeeze(0)[-1],
        captured["embed"],
        features,
        activations,
        errors,
    )


def back_through_attention(
    gradient: Float[Tensor, "seq target d_model"],
    block: Block,
    pattern: Float[Tensor, "head query key"],
    scale: Float[Tensor, "seq 1"],
) -> Float[Tensor, "seq target d_model"]:
    """Gradients at the stream before an attention layer, given those at what the layer writes: the transpose
    of x -> sum over heads of A (norm(x) W_V) W_O, with the pattern A and the norm's scale fixed.

    Values of a query position go back to its key positions, so nothing comes back to a later token.
    """
    attn = block.attn
    heads, groups = attn.n_heads, attn.n_heads // attn.kv_heads
    seq, targets, _ = gradient.shape
    z = (gradient @ attn.out.weight).view(seq, targets, heads, attn.d_head)
    z = pattern.mT @ z.permute(2, 0, 1, 3).reshape(heads, seq, -1)  # (head, key, target * d_head)
    z = z.view(attn.kv_heads, groups, seq, targets, attn.d_head).sum(1)
    values = z.permute(1, 2, 0, 3).reshape(seq, targets, -1) @ attn.qkv.weight[-attn.kv_heads * attn.d_head :]
    return values * (block.ln1.weight / scale)[:, None]


@torch.no_grad()
def attribution_graph(
    model: Transformer,
    transcoders: Mapping[int, Transcoder],
    ids: Sequence[int],
    outputs: Sequence[Output] | None = None,
    most: int | None = None,
) -> Graph:
    """The graph of a text, with every active feature a node and every direct contribution an edge.

    Args:
        transcoders: layer -> its transcoder.
        outputs: what is explained; None means `likely_outputs`.
        most: features of a layer that are nodes, those with the most influence; all others count as error of their
            layer, so that the sums hold. None: all are nodes.

    Raises:
        ValueError: as `frozen_run`.
    """
    run = frozen_run(model, transcoders, ids)
    outputs = likely_outputs(model, ids) if outputs is None else tuple(outputs)
    return _Tracer(model, transcoders, run, outputs, most).graph(tuple(ids))


class _Tracer:
    """Fills in the edges of a graph, the features of a few positions at a time."""

    def __init__(
        self,
        model: Transformer,
        transcoders: Mapping[int, Transcoder],
        run: FrozenRun,
        outputs: Sequence[Output],
        most: int | None,
    ) -> None:
        self.most = most
        self.blocks: list[Block] = list(model.decoder.blocks)  # type: ignore[arg-type]
        self.transcoders, self.run, self.outputs = transcoders, run, tuple(outputs)
        self.seq, self.n_layers = len(run.embeddings), len(self.blocks)
        self.read = torch.stack([output_direction(model, output) for output in self.outputs])
        gain: Tensor = model.decoder.ln_final.weight
        self.directions = self.read * gain / run.final_scale  # (output, d_model)
        # Where the nodes of a layer begin: embeddings first, then features and errors of each layer, then outputs.
        self.active = list(run.activations > 0)
        self.chosen = list(self.active)  # of these, what is traced
        self.starts = [self.seq]
        for active in self.active:
            self.starts.append(self.starts[-1] + int(active.sum()) + self.seq)
        size = self.starts[-1] + len(self.outputs)
        self.edges = self.directions.new_zeros(size, size)
        self.biases = self.directions.new_zeros(size)
        self.influence = self.directions.new_zeros(size)  # of what reads a node, as far as it is traced

    def graph(self, ids: tuple[int, ...]) -> Graph:
        seed = self.directions.new_zeros(self.seq, *self.directions.shape)
        seed[-1] = self.directions
        places = torch.arange(self.starts[-1], len(self.edges), device=seed.device)
        self.influence[places] = seed.new_tensor([output.weight for output in self.outputs])
        self._trace(seed, self.n_layers, places, after_last=True)
        for layer in reversed(range(self.n_layers)):
            self._choose(layer)
            for start in range(0, self.seq, AT_ONCE):
                self._features(layer, start, min(start + AT_ONCE, self.seq))
        kept = self._joined()
        nodes = self._nodes(ids)
        columns = (one[kept] for one in (nodes.kind, nodes.layer, nodes.position, nodes.feature, nodes.activation))
        edges = self.edges[kept][:, kept] if len(kept) < len(nodes) else self.edges
        return Graph(ids, Nodes(*columns), edges.cpu().numpy(), self.biases[kept].cpu().numpy(), self.outputs)

    def _choose(self, layer: int) -> None:
        """Keep the features of a layer with the most influence, now that all that may read them is traced."""
        active = self.active[layer]
        if self.most is None or int(active.sum()) <= self.most:
            return
        influence = self.influence[self.starts[layer] :][: int(active.sum())]
        positions, choices = active.nonzero()[influence.topk(self.most).indices].unbind(1)
        self.chosen[layer] = torch.zeros_like(active)
        self.chosen[layer][positions, choices] = True

    def _joined(self) -> Int[ndarray, " kept"]:
        """Count the features that were not chosen as errors of their layer; returns the places of all other nodes."""
        kept = np.ones(len(self.edges), dtype=bool)
        for layer, (active, chosen) in enumerate(zip(self.active, self.chosen, strict=True)):
            position = active.nonzero()[:, 0]
            others = (~chosen[active]).nonzero()[:, 0]
            errors = self.starts[layer + 1] - self.seq + position[others]
            self.edges.index_add_(1, errors, self.edges[:, self.starts[layer] + others])
            kept[(self.starts[layer] + others).cpu().numpy()] = False
        return np.flatnonzero(kept)

    def _features(self, layer: int, start: int, stop: int) -> None:
        """The edges to the features of one layer at some positions; later positions do not matter to them."""
        rows = self.chosen[layer][start:stop].nonzero()  # (target, 2): position, choice
        if not len(rows):
            return
        transcoder, choice = self.transcoders[layer], rows[:, 1]
        position = rows[:, 0] + start
        feature = self.run.features[layer, position, choice]
        weight: Tensor = self.blocks[layer].ln2.weight
        gain = weight / self.run.mlp_scale[layer, position]  # (target, d_model)
        seed = self.directions.new_zeros(stop, len(rows), transcoder.W_enc.shape[1])
        seed[position, torch.arange(len(rows), device=seed.device)] = transcoder.W_enc[feature] * gain
        active = self.active[layer]
        place = self.starts[layer] + (active.flatten().cumsum(0).view_as(active) - 1)[position, choice]
        self.biases[place] = transcoder.b_enc[feature]
        self._trace(seed, layer, place)

    def _trace(self, gradient: Tensor, layer: int, place: Int[Tensor, " target"], after_last: bool = False) -> None:
        """Contributions of everything below to targets that multiply the stream with `gradient`.

        Args:
            gradient: (seq, target, d_model); of the stream between the two sublayers of `layer`, or after all layers.
            place: of the targets among the nodes.
        """
        run, seq = self.run, len(gradient)
        for below in reversed(range(layer if after_last else layer + 1)):
            if after_last or below < layer:
                self._written(gradient, below, place)
            gradient = gradient + back_through_attention(
                gradient, self.blocks[below], run.patterns[below, :, :seq, :seq], run.attention_scale[below, :seq]
            )
        self.edges[place, :seq] = torch.einsum("std,sd->ts", gradient, run.embeddings[:seq])
        size = self.edges[place].abs()
        self.influence += self.influence[place] @ (size / size.sum(1, keepdim=True).clamp(min=1e-10))

    def _written(self, gradient: Tensor, layer: int, place: Int[Tensor, " target"]) -> None:
        """Contributions of what one layer's transcoder writes, and of what it misses."""
        run, seq = self.run, len(gradient)
        errors = self.starts[layer + 1] - self.seq
        self.edges[place, errors : errors + seq] = torch.einsum("std,sd->ts", gradient, run.errors[layer, :seq])
        if (transcoder := self.transcoders.get(layer)) is None:
            return
        active = self.active[layer]
        rows = transcoder.W_dec[run.features[layer, :seq]] * run.activations[layer, :seq, :, None]
        written = gradient @ rows.mT  # (seq, target, choice)
        first = self.starts[layer]
        last = first + int(active[:seq].sum())
        self.edges[place, first:last] = written.permute(1, 0, 2)[:, active[:seq]]
        self.biases[place] += (gradient[transcoder.config.first :] @ transcoder.b_dec).sum(0)

    def _nodes(self, ids: Sequence[int]) -> Nodes:
        """The node of each row and column."""
        seq, n_layers, run = self.seq, self.n_layers, self.run
        places, size = torch.arange(seq), len(self.outputs)
        rows: list[tuple[Tensor, Tensor, Tensor]] = [(places, torch.tensor(ids), torch.ones(seq))]
        kinds = [(EMBEDDING, -1)]
        for layer, active in enumerate(self.active):
            columns = active.nonzero()[:, 0], run.features[layer][active], run.activations[layer][active]
            rows.append((columns[0].cpu(), columns[1].cpu(), columns[2].cpu()))
            rows.append((places, torch.full((seq,), -1), torch.ones(seq)))
            kinds += [(FEATURE, layer), (ERROR, layer)]
        tokens = torch.tensor([output.token for output in self.outputs])
        rows.append((torch.full((size,), seq - 1), tokens, (self.read @ run.hidden).cpu()))
        kinds.append((OUTPUT, n_layers))
        counts = [len(position) for position, _, _ in rows]
        kind, layers = (np.repeat([one[i] for one in kinds], counts) for i in (0, 1))
        position, feature, activation = (torch.cat([row[i] for row in rows]).numpy() for i in (0, 1, 2))
        return Nodes(kind, layers, position, feature, activation)
