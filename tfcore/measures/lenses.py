"""The stream read as a prediction at each stage: by the unembedding alone, by an affine lens, by the model itself."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.inspection.affine_lens import AffineLens
from tfcore.inspection.capture import known_names, layer_of
from tfcore.kv_cache import KVCache
from tfcore.linear import Embedding, Linear
from tfcore.measures import information
from tfcore.measures.one_text import one_text
from tfcore.measures.shared_layers import prefix_cache, rows_at_once, run_joined
from tfcore.model import Transformer

Kind = TypeVar("Kind", bound=str)  # the name of a lens
States: TypeAlias = Mapping[str, Float[Tensor, "*batch position d_model"]]  # of the stream, by the name of the stage


def unembedding(model: Transformer, ids: slice | list[int] = slice(None)) -> Float[Tensor, "token d_model"]:
    """One row a token, or a class, of all or of these: the direction along which its logit is read."""
    layer: Embedding | Linear = model.unembed if hasattr(model, "unembed") else model.embed
    if model.config.classes is not None:
        layer = model.classes.score
    return layer.stored[ids].to(layer.dtype)


def check_model(model: Transformer) -> None:
    """Check that a model's final state is the norm of a plain sum, and its logits, of tokens or of classes of which one
    is the text's, linear in that.

    Raises:
        ValueError: it is not; the message names what the model is.
    """
    config = model.config
    classes = config.classes
    linear = config.head == "lm" or (classes is not None and classes.meaning == "one" and classes.dense is None)
    if config.architecture != "decoder" or not config.norm.final or not linear:
        raise ValueError(
            f"a logit is split for decoders with a final norm; this model is architecture={config.architecture!r}, "
            f"norm_placement={config.norm.placement!r}, head={config.head!r}"
        )


def stages(config: ModelConfig) -> tuple[str, ...]:
    """Names of the stream's states in the order of computation: before the first block, and after each sublayer; after
    each block alone, where not all have the same two sublayers."""
    alike = all(config.mixer_of(i) == "attention" and not config.layer(i).alone for i in range(config.n_layers))
    ends = (".resid_mid", ".resid_post") if alike else (".resid_post",)
    return ("blocks.0.resid_pre", *(name for name in known_names(config) if name.endswith(ends)))


def stage_names(names: Sequence[str]) -> list[str]:
    """blocks.0.resid_pre -> "embed"; blocks.2.resid_mid -> "attn 2"; the resid_post after it -> "FF 2".

    Where a model has one state a block, each is named after its block.
    """
    halves = any(name.endswith("resid_mid") for name in names)
    listed = []
    for name in names:
        if name.endswith("resid_pre"):
            listed.append("embed")
            continue
        layer = layer_of(name)
        kind = "FF" if name.endswith("resid_post") else "attn"
        listed.append(f"{kind} {layer}" if halves else f"block {layer}")
    return listed


def lens_logits(model: Transformer, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
    """LogitLens(x) = FinalNorm(x) W_U: any state of the stream, read as if it were the final one.

    The norm is computed anew for each state, as the model would do if it stopped there. (TransformerLens can instead
    divide by the scale of the true final state: other probabilities, and with the bias of a LayerNorm, whose share in
    the logits then differs, another order of the tokens too.)

    Source: section 2 of arXiv:2303.08112, which also says where it misleads: early layers may write in other
    directions than the ones the unembedding reads.
    """
    return cast("Tensor", model.to_logits(model.decoder.ln_final(x)))


@torch.no_grad()
def stage_states(model: Transformer, ids: Sequence[int]) -> dict[str, Float[Tensor, "seq d_model"]]:
    """The stream after every stage, by its name, at every position of a text; errors as of check_model."""
    check_model(model)
    states = model.activations(one_text(model, ids), stages(model.config))
    return {name: state.squeeze(0) for name, state in states.items()}


@dataclass(frozen=True, slots=True)
class LensReader:
    """One way to read states of the stream as predictions.

    Args:
        stages: names of the states that it reads, in the order of computation; the last is the model's own output.
        hidden: states at some positions, by name and in the order of computation -> what the unembedding reads there.
        unembed: that -> logits.
    """

    stages: tuple[str, ...]
    hidden: Callable[[States], Float[Tensor, "stage *batch position d_model"]]
    unembed: Callable[[Float[Tensor, "*row d_model"]], Float[Tensor, "*row vocab"]]

    def read(self, name: str, x: Float[Tensor, "*batch position d_model"]) -> Float[Tensor, "*batch position vocab"]:
        """The logits that are read in a state at some positions."""
        return self.unembed(self.hidden({name: x}))[0]

    def at(self, chosen: Sequence[str]) -> "LensReader":
        """The same at those of its states that are chosen, and at the last."""
        some = *(name for name in self.stages[:-1] if name in chosen), self.stages[-1]
        return replace(self, stages=some)


def _unembedder(model: Transformer) -> Callable[[Tensor], Tensor]:
    return lambda hidden: cast("Tensor", model.to_logits(hidden))  # None is of models without logits, see check_model


def logit_reader(model: Transformer) -> LensReader:
    """The logit lens, which reads every state."""
    return LensReader(stages(model.config), lambda states: _normed(model, states.values()), _unembedder(model))


def affine_reader(model: Transformer, lens: AffineLens) -> LensReader:
    """A tuned lens or a Jacobian lens: Lens(x) = LogitLens(A x + b), at the states that have a map and the last."""
    *names, last = stages(model.config)
    mapped = (*(name for name in names if name in lens.stages), last)
    return LensReader(
        mapped, lambda states: _normed(model, (lens(name, x) for name, x in states.items())), _unembedder(model)
    )


def _normed(model: Transformer, states: Iterable[Tensor]) -> Tensor:
    return cast("Tensor", model.decoder.ln_final(torch.stack(list(states))))


ROWS_AT_ONCE = 64  # whose logits are held: all at once would be stage * seq * vocab numbers
IDENTITY = "cat -> cat\n1135 -> 1135\nhello -> hello\n?"  # the prompt in the code of arXiv:2401.06102


def patchscope_reader(model: Transformer, prompt: Sequence[int]) -> LensReader:
    """A Patchscope with a prompt of token identity (arXiv:2401.06102, section 4.1): the model itself reads a state,
    which takes the place of the last token's after the same block, behind a prompt of which every line repeats a word.

    It reads the states between blocks. After the last one nothing is left to compute: the model's own output.

    Args:
        prompt: ids of IDENTITY.
    """
    names = tuple(name for name in stages(model.config) if not name.endswith("resid_mid"))

    @functools.cache
    def prompted(rows: int) -> KVCache:
        """The keys and values of the prompt, once for each state that is read."""
        return prefix_cache(model, prompt, len(prompt) - 1, rows)

    @torch.no_grad()
    def hidden(states: States) -> Float[Tensor, "stage position d_model"]:
        positions = len(next(iter(states.values())))
        together = rows_at_once(model.config, ROWS_AT_ONCE // positions)
        starts = [(names.index(name), x[:, None]) for name, x in states.items()]
        cache = prompted(positions * min(together, len(starts)))
        groups = (starts[i : i + together] for i in range(0, len(starts), together))
        parts = [run_joined(model, some, cache) for some in groups]
        return torch.cat(parts)[:, 0].unflatten(0, (len(starts), positions))

    return LensReader(names, hidden, _unembedder(model))


def divergence(final: Float[Tensor, "*batch vocab"], read: Float[Tensor, "*batch vocab"]) -> Float[Tensor, "*batch"]:
    """KL(final || read) = sum_v p_final(v) (ln p_final(v) - ln p_read(v)), in nats, of two sets of logits: 0 where both
    predict the same."""
    return information.divergence(final.float().log_softmax(-1), read.float().log_softmax(-1))


@dataclass(frozen=True, slots=True)
class LensReading:
    """What one lens reads at its stages and at some positions of a text.

    Args:
        stages: names of the states.
        divergence: KL divergence of the model's prediction from what is read, nats.
        best: ids of the top predictions.
    """

    stages: tuple[str, ...]
    divergence: Float[ndarray, "stage seq"]
    best: Int[ndarray, "stage seq"]

    def at(self, place: int) -> "LensReading":
        """The same at one of its positions alone."""
        return LensReading(self.stages, self.divergence[:, place : place + 1], self.best[:, place : place + 1])


@torch.no_grad()
def compare_lenses(
    model: Transformer, readers: Mapping[Kind, LensReader], states: Mapping[str, Float[Tensor, "seq d_model"]]
) -> dict[Kind, LensReading]:
    """Read the states of a text, as stage_states gives them, by several lenses, each under its name."""
    final = lens_logits(model, states[stages(model.config)[-1]])
    positions = torch.arange(len(final), device=final.device)
    found = {}
    for kind, reader in readers.items():
        hidden = reader.hidden({name: states[name] for name in reader.stages}).flatten(0, 1)
        at = positions.repeat(len(reader.stages))
        parts = []
        for some, own in zip(hidden.split(ROWS_AT_ONCE), at.split(ROWS_AT_ONCE), strict=True):
            read = reader.unembed(some)
            parts.append((divergence(final[own], read), read.argmax(1)))
        rows = (torch.cat(part).view(len(reader.stages), -1).cpu().numpy() for part in zip(*parts, strict=True))
        found[kind] = LensReading(reader.stages, *rows)
    return found


def mean_divergences(
    model: Transformer, readers: Mapping[Kind, LensReader], texts: Iterable[Sequence[int]]
) -> tuple[int, dict[Kind, Float[ndarray, " stage"]]]:
    """(tokens, by each lens): the mean KL divergence at its stages over all tokens of texts; errors of check_model."""
    compared = [compare_lenses(model, readers, stage_states(model, ids)) for ids in texts]
    found = {kind: np.concatenate([one[kind].divergence for one in compared], axis=1) for kind in readers}
    return next(iter(found.values())).shape[1], {kind: values.mean(1) for kind, values in found.items()}
