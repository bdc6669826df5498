"""Continue a text token by token, each new token read with a KV cache."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.generation.captured_steps import CAPTURED_FROM, CapturedSteps, can_be_captured
from tfcore.generation.sampling import UNFILTERED, Sampling, Stage, pick, uniform
from tfcore.input_checks import ModelInput, check_vocabulary
from tfcore.inspection.edits import Edit
from tfcore.kv_cache import KVCache
from tfcore.model import Output, Transformer

Ids = Sequence[int] | Int[Tensor, " seq"] | Int[Tensor, "1 seq"]
Read = Ids | Float[Tensor, "1 mel frame"]  # a spectrogram, of a model that reads sound
Record = TypeVar("Record")


def generate(
    model: "Transformer | DraftModel",
    ids: Read,
    sampling: Sampling = UNFILTERED,
    *,
    max_new_tokens: int = 64,
    seed: int = 0,
    stop_ids: Collection[int] = (),
    decoder_ids: Ids | None = None,
    edits: Iterable[Edit] = (),
) -> list[int]:
    """The ids that continue `ids`, at most max_new_tokens of them; fewer where the context is full.

    Args:
        ids: the text so far; of an encoder-decoder, what its encoder reads, ids or a sound (tfcore.sounds.log_mel).
        sampling: how each is drawn; with a temperature of 0 the most likely one is taken.
        seed: of the draws; the same seed gives the same text.
        stop_ids: each of them ends the text, as its last id.
        decoder_ids: what an encoder-decoder's decoder starts with; None means config.start_id.
        edits: changes to activations in every pass.

    Returns:
        The new ids alone.

    Raises:
        ValueError: nothing to continue, a model that does not continue texts, or a setting outside its range.
    """
    reader = Reader(model, ids, max_new_tokens=max_new_tokens, decoder_ids=decoder_ids, edits=edits, one_by_one=True)
    generator = torch.Generator().manual_seed(seed)

    def choose(logits: Tensor, previous: Tensor | None) -> tuple[int, int]:
        token = sampling.draw(logits, previous, generator)
        return token, token

    return list(_continue(reader, sampling, choose, stop_ids))


@dataclass(frozen=True, slots=True)
class Step:
    """How one token came about.

    Args:
        token: the id that was drawn.
        u: the number from 0 to 1 that decided; see tfcore.generation.sampling.pick.
        filters: the distribution of the model, and after each filter that is on; the last was drawn from.
    """

    token: int
    u: float
    filters: tuple[Stage, ...]

    @property
    def probability(self) -> float:
        """The token's probability in the distribution it was drawn from."""
        return float(self.filters[-1].probabilities[self.token])


def stream(
    model: Transformer,
    ids: Ids,
    sampling: Sampling = UNFILTERED,
    *,
    max_new_tokens: int = 64,
    seed: int = 0,
    stop_ids: Collection[int] = (),
    decoder_ids: Ids | None = None,
) -> Iterator[Step]:
    """The same as generate, one record per token, as soon as it is drawn; whoever has enough stops asking."""
    reader = Reader(model, ids, max_new_tokens=max_new_tokens, decoder_ids=decoder_ids, one_by_one=True)
    generator = torch.Generator().manual_seed(seed)

    def choose(logits: Tensor, previous: Tensor | None) -> tuple[int, Step]:
        step = one_step(logits, previous, sampling, generator)
        return step.token, step

    return _continue(reader, sampling, choose, stop_ids)


def one_step(
    logits: Float[Tensor, " vocab"],
    previous: Int[Tensor, " seq"] | None,
    sampling: Sampling,
    generator: torch.Generator,
) -> Step:
    """One token drawn from the logits of a place.

    Args:
        previous: ids that the repetition penalty counts; None where it is off.
    """
    stages = sampling.stages(logits, previous)
    u = uniform(generator)
    return Step(pick(stages[-1].probabilities, u), u, stages)


def _continue(
    reader: "Reader",
    sampling: Sampling,
    choose: Callable[[Tensor, Tensor | None], tuple[int, Record]],
    stop_ids: Collection[int],
) -> Iterator[Record]:
    """Read, choose, yield what there is to tell of the choice; and again with the chosen token."""
    text = list(reader.prompt)
    new, stop = text, frozenset(stop_ids)
    for n in range(reader.capacity):
        logits = reader.constrained(reader.read(torch.tensor([new]))[0, -1], n)  # (vocab)
        previous = torch.tensor(text) if sampling.repetition_penalty != 1 else None
        token, record = choose(logits, previous)
        yield record
        if token in stop:
            return
        new = [token]
        text += new


@runtime_checkable
class DraftModel(Protocol):
    """The model that a Reader needs: every Transformer is one, and so is a table of next-token logits."""

    config: ModelConfig

    @property
    def device(self) -> torch.device: ...

    @property
    def dtype(self) -> torch.dtype: ...

    def __call__(self, ids: Tensor, *, cache: KVCache, edits: Iterable[Edit] = ()) -> Output:
        """Logits of the token after each of the ids, which follow those that the cache has counted."""


class Reader:
    """A model that reads a text piece by piece, and its cache; decoder-only or encoder-decoder is all the same here.

    Args:
        model, ids, max_new_tokens, decoder_ids, edits: see generate.
        rollback: how many tokens the caller may take back from the cache.
        one_by_one: after the prompt each read is of one token, and nobody else touches the cache; on a GPU these steps
            are recorded once, if there are enough of them.

    Attributes:
        prompt: ids the decoder starts with; read them first.
        capacity: how many new tokens there can be: max_new_tokens, or as many as the context has room for.

    Raises:
        ValueError: nothing to continue, a model that does not continue texts, or more ids than it can take.
    """

    def __init__(
        self,
        model: Transformer | DraftModel,
        ids: Read,
        *,
        max_new_tokens: int,
        decoder_ids: Ids | None = None,
        rollback: int = 0,
        edits: Iterable[Edit] = (),
        one_by_one: bool = False,
    ) -> None:
        config = model.config
        if max_new_tokens < 0:
            raise ValueError(f"max_new_tokens={max_new_tokens} must be 0 or more")
        if config.architecture == "encoder" or not config.scores_tokens:
            raise ValueError(
                f"a model with architecture={config.architecture!r} and head={config.head!r} does not continue texts; "
                "take a decoder or an encoder-decoder with head='lm'"
            )
        self.model, self.edits = model, tuple(edits)
        self.source: ModelInput | None = None
        if config.architecture == "encoder-decoder":
            is_sound = config.sound is not None
            read = torch.as_tensor(ids, dtype=model.dtype) if is_sound else torch.tensor([_listed(ids, config)])
            self.source = read.to(model.device)
            self.prompt = [config.start_id] if decoder_ids is None else _listed(decoder_ids, config)
        else:
            self.prompt = _listed(ids, config)
            if decoder_ids is not None:
                raise ValueError("decoder_ids go with an encoder-decoder; give ids alone to a decoder-only model")
        if config.max_seq_len < len(self.prompt):
            raise ValueError(f"{len(self.prompt)} tokens are more than max_seq_len={config.max_seq_len}; give fewer")
        self.capacity = min(max_new_tokens, config.longest(len(self.prompt)) - len(self.prompt))
        self.cache = KVCache(
            config, capacity=len(self.prompt) + self.capacity, rollback=rollback, device=model.device, dtype=model.dtype
        )
        self._steps: CapturedSteps | None = None
        self._captured = (
            one_by_one
            and not self.edits
            and self.capacity >= CAPTURED_FROM
            and isinstance(model, Transformer)
            and can_be_captured(model, self.cache)
        )

    @torch.inference_mode()  # here, not on what calls it: around a generator it depends on who wraps it
    def read(self, tokens: Int[Tensor, "batch new"]) -> Float[Tensor, "batch new vocab"]:
        """Logits of the token after each of these, which follow those read before; on the CPU in float32."""
        if self._captured and self.cache.length:
            return self._step(int(tokens))
        tokens = tokens.to(self.model.device)
        if self.source is None:
            output = self.model(tokens, cache=self.cache, edits=self.edits)
        else:
            source = self.source.expand(len(tokens), *self.source.shape[1:])
            assert isinstance(self.model, Transformer)  # only these have an encoder
            output = self.model(source, decoder_ids=tokens, cache=self.cache, edits=self.edits)
        return output.logits.float().cpu()

    def constrained(self, scores: Float[Tensor, "*batch vocab"], n: int) -> Float[Tensor, "*batch vocab"]:
        """Scores of the next id, -inf where the model's texts may not have it at this place (`config.writing`).

        Args:
            scores: logits, or their log-softmax as in a beam search, which is not normalised again.
            n: how many new ids there are already.
        """
        writing = self.model.config.writing
        never = (*writing.never, *writing.not_first) if n == 0 else writing.never
        if never:
            scores = scores.index_fill(-1, torch.tensor(never), -math.inf)
        forced = writing.first if n == 0 and len(self.prompt) == 1 else None
        if n == self.capacity - 1 and writing.last is not None:
            forced = writing.last
        if forced is None:
            return scores
        return torch.full_like(scores, -math.inf).index_fill(-1, torch.tensor([forced]), 0.0)

    def _step(self, token: int) -> Float[Tensor, "1 1 vocab"]:
        """`read` of one token, as a CUDA graph."""
        if self._steps is None:
            assert isinstance(self.model, Transformer)
            self._steps = CapturedSteps(self.model, self.cache)
        logits = self._steps.read(token, self.cache.length)
        self.cache.advance(1)
        return logits.float().cpu()


def _listed(ids: Read, config: ModelConfig) -> list[int]:
    """The ids as a list, whether they come as one or as a tensor of one row."""
    if isinstance(ids, Tensor):
        if ids.is_floating_point() or ids.ndim not in (1, 2) or (ids.ndim == 2 and len(ids) != 1):
            raise ValueError(f"ids {tuple(ids.shape)} of {ids.dtype} must be whole numbers of shape (seq) or (1, seq)")
        ids = ids.flatten().tolist()
    if len(ids) == 0:
        raise ValueError("there is nothing to continue; give at least one id")
    check_vocabulary("ids", int(min(ids)), int(max(ids)), config)
    return [int(i) for i in ids]
