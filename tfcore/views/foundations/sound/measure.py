"""A sound as a model has heard it: what it writes down, where its heads look in time, and which of them follow it."""

import math
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.generation.generate import Reader
from tfcore.kv_cache import KVCache
from tfcore.measures.one_text import pieces_of
from tfcore.model import Transformer
from tfcore.sounds import HOP, RATE, STRIDE, log_mel
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.training.recipes.tones import HELD_OUT, SECONDS
from tfcore.training.tone_sounds import melody_of, played
from tfcore.views.foundations.tokens.measure import signals

Recording = Literal["speech", "tune"]  # sounds that are here
SPEECH = Path(__file__).parent / "ask_not.wav"
TUNE = HELD_OUT + 2  # the seed of a melody that no training makes, with two notes that come twice
PLACE = STRIDE * HOP / RATE  # seconds of a position of the encoder: 20 ms
MOST_WRITTEN = 160  # tokens; half a minute of fast speech has fewer
MOST_WEIGHTS = 40_000_000  # of cross-attention that are kept, 160 MB: a model of many heads writes fewer tokens
MOST_BINS = 150  # of an encoder's map, so that a picture of it is small
NEAR = 5  # positions to either side that count as one moment: a tenth of a second
LEAST = 0.1  # of alignment that a head must have to follow a sound
HALF = 0.5  # of the best head's alignment, from which another aligns, too
MULTILINGUAL = 51_865  # ids, of Whispers for many languages
START, END, TRANSCRIBE, UNTIMED = (
    f"<|{name}|>" for name in ("startoftranscript", "endoftext", "transcribe", "notimestamps")
)
LANGUAGE = re.compile(r"<\|[a-z]{2,3}\|>")


@dataclass(frozen=True, eq=False)
class HeardSound:
    """A sound as a model has heard it, and what it wrote.

    Args:
        samples: of the part that it read, 16,000 a second.
        spectrogram: its log-mel spectrogram, without the silence that was added.
        prompt: what its decoder was given to begin with.
        pieces: what it wrote, as readable pieces; the last one ends the text, unless there was no more room.
        probabilities: of each piece, when it was written.
        cross: (layer, head, piece, place), where the decoder looked when it wrote each piece, in places of the sound.
        encoder: (layer, head, bin, bin), the encoder's maps, some places in a bin: means of queries, sums of keys.
        places_a_bin: how many.
    """

    samples: Float[ndarray, " sample"]
    spectrogram: Float[ndarray, "mel frame"]
    prompt: tuple[str, ...]
    pieces: tuple[str, ...]
    probabilities: Float[ndarray, " piece"]
    cross: Float[ndarray, "layer head piece place"]
    encoder: Float[ndarray, "encoder_layer head query key"]
    places_a_bin: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return len(self.samples) / RATE

    @property
    def n_words(self) -> int:
        """Pieces that are no end of the text."""
        return len(self.pieces) - (self.pieces[-1:] == (END,))

    @property
    def ended(self) -> bool:
        """Whether it ended the text itself; without that there was no more room."""
        return self.n_words < len(self.pieces)

    @property
    def language(self) -> str:
        """The token of the language that it was given; empty of a model for one language alone."""
        return next((one for one in self.prompt if LANGUAGE.fullmatch(one)), "")

    @property
    def text(self) -> str:
        """What it wrote, in one."""
        return "".join(self.pieces[: self.n_words]).strip()

    @cached_property
    def alignment(self) -> Float[ndarray, "layer head"]:
        """How well each head follows the sound; see alignments."""
        return alignments(self.cross[:, :, : self.n_words])

    @property
    def best(self) -> tuple[int, int]:
        """The head that follows the sound best."""
        return divmod(int(self.alignment.argmax()), self.alignment.shape[1])

    @property
    def resting(self) -> tuple[int, int]:
        """The head with the largest share of its weight on the silence after the sound."""
        inside = self.cross.sum(-1).mean(-1)
        return divmod(int(inside.argmin()), inside.shape[1])

    @property
    def aligning(self) -> tuple[tuple[int, int], ...]:
        """The heads that follow it, best first: those with HALF of the best one's alignment, and LEAST."""
        least = max(LEAST, HALF * float(self.alignment.max()))
        order = np.argsort(-self.alignment, axis=None, kind="stable")
        heads = [divmod(int(one), self.alignment.shape[1]) for one in order]
        return tuple(head for head in heads if self.alignment[head] >= least)

    @cached_property
    def followed(self) -> Float[ndarray, "piece place"]:
        """The mean of the maps of these heads; of all where none follows the sound."""
        if not self.aligning:
            return self.cross.mean((0, 1))
        return np.mean([self.cross[head] for head in self.aligning], axis=0)

    @cached_property
    def path(self) -> Int[ndarray, " piece"]:
        """The place at which each piece was said: the path that only goes forward and has most of that map's weight."""
        weights = self.followed[: self.n_words]
        return forward_path(nearby(weights) + weights)  # its own place twice: the middle of a moment wins


def time_of(place: int) -> float:
    """The second at the middle of a place."""
    return (place + 0.5) * PLACE


@torch.inference_mode()
def hear(model: Transformer, tokenizer: Tokenizer | None, samples: Float[ndarray, " sample"]) -> HeardSound:
    """Let a model hear a sound and write down greedily what was said; it is read once, its maps head by head.

    Raises:
        ValueError: the model reads texts or pictures, or came without a tokenizer.
    """
    config = model.config
    if config.sound is None or not config.scores_tokens:
        raise ValueError(f"this model reads {config.reads}; take one that writes down sound, such as whisper")
    if tokenizer is None:
        raise ValueError("this model came without a tokenizer, so nobody can read what it writes; save one beside it")
    heard = samples[: config.sound.frames * HOP]
    spectrogram = log_mel(torch.tensor(heard)[None], config.sound)
    read = spectrogram.to(model.device, model.dtype)
    n_places = min(config.sound.places, max(1, math.ceil(len(heard) / RATE / PLACE)))
    special = _special(tokenizer)
    prompt = _prompt(model, special, read)
    a_token = config.decoder_layers * config.attention.n_heads * config.sound.places  # weights of it
    most = max(1, min(MOST_WRITTEN, MOST_WEIGHTS // a_token))
    reader = Reader(model, read, max_new_tokens=most, decoder_ids=prompt)
    names = [f"encoder.blocks.{i}.attn.{what}" for i in range(config.encoder_layers) for what in "qk"]
    first = model(read, decoder_ids=torch.tensor([prompt], device=model.device), cache=reader.cache, capture=names)
    seen = first.activations
    maps, width = _encoder_maps(
        model, [(seen[q], seen[k]) for q, k in zip(names[::2], names[1::2], strict=True)], n_places
    )
    end = special.get(END)
    ids, probabilities = _written(reader, first.logits[0, -1].float().cpu(), end)
    cross = _cross(model, read, [*prompt, *ids], reader.cache, len(ids))[..., :n_places]
    pieces = [END if one == end else piece for one, piece in zip(ids, pieces_of(tokenizer, ids), strict=True)]
    return HeardSound(
        samples=heard,
        spectrogram=spectrogram[0, :, : STRIDE * n_places].numpy(),
        prompt=tuple(name for one in prompt for name, number in special.items() if number == one),
        pieces=tuple(pieces),
        probabilities=np.array(probabilities, dtype=np.float32),
        cross=cross.numpy(),
        encoder=maps,
        places_a_bin=width,
    )


def _special(tokenizer: Tokenizer) -> dict[str, int]:
    """The tokens that are no text, by name; of a tokenizer of names alone, all."""
    if tokenizer.special_tokens:
        return dict(tokenizer.special_tokens)
    return {name: i for i, name in enumerate(tokenizer.tokens(range(tokenizer.vocab_size)))}


def _prompt(model: Transformer, special: dict[str, int], read: Float[torch.Tensor, "1 mel frame"]) -> list[int]:
    """What a decoder begins with: the start, of a Whisper of many languages the likeliest one and the task, and that no
    times are to be written (arXiv:2212.04356, figure 1)."""
    prompt = [model.config.start_id]
    languages = [number for name, number in special.items() if LANGUAGE.fullmatch(name)]
    if model.config.vocab_size >= MULTILINGUAL and languages and TRANSCRIBE in special:
        start = torch.tensor([prompt], device=model.device)
        scores = model(read, decoder_ids=start).logits[0, -1].float().cpu()
        prompt += [max(languages, key=lambda one: float(scores[one])), special[TRANSCRIBE]]
    return [*prompt, special[UNTIMED]] if UNTIMED in special else prompt


def _written(reader: Reader, logits: Float[torch.Tensor, " vocab"], end: int | None) -> tuple[list[int], list[float]]:
    """The likeliest token, again and again, until one ends the text or no room is left; and their probabilities."""
    ids: list[int] = []
    probabilities: list[float] = []
    while len(ids) < reader.capacity:
        shares = reader.constrained(logits, len(ids)).softmax(-1)
        ids.append(int(shares.argmax()))
        probabilities.append(float(shares.max()))
        if ids[-1] == end or len(ids) == reader.capacity:
            break
        logits = reader.read(torch.tensor([ids[-1:]]))[0, -1]
    return ids, probabilities


def _cross(
    model: Transformer, read: Float[torch.Tensor, "1 mel frame"], ids: list[int], heard: KVCache, n: int
) -> Float[torch.Tensor, "layer head piece place"]:
    """The cross-attention of the n positions that wrote the last n of these ids; the encoder is not run again."""
    config = model.config
    cache = KVCache(config, device=model.device, dtype=model.dtype)
    cache.memory, cache.memory_mask = heard.memory, None
    names = [f"decoder.blocks.{i}.cross_attn.pattern" for i in range(config.decoder_layers)]
    decoder_ids = torch.tensor([ids[:-1]], device=model.device)
    seen = model(read, decoder_ids=decoder_ids, cache=cache, capture=names, logits_to_keep=0).activations
    return torch.stack([seen[name][0, :, -n:].float().cpu() for name in names])


def _encoder_maps(
    model: Transformer, layers: list[tuple[torch.Tensor, torch.Tensor]], n_places: int
) -> tuple[Float[ndarray, "layer head query key"], int]:
    """The maps of every head of the encoder in bins, and how many places a bin has: made one head at a time, because
    all of them at 1,500 places would take hundreds of megabytes."""
    width = math.ceil(n_places / MOST_BINS)
    starts = torch.arange(0, n_places, width)
    found = []
    for layer, (q, k) in enumerate(layers):
        scale = model.config.scale_of(layer)
        for head in range(q.shape[1]):
            weights = (q[0, head, :n_places] @ k[0, head].mT * scale).float().softmax(-1)[:, :n_places].cpu()
            summed = np.add.reduceat(weights.numpy(), starts.numpy(), axis=1)
            counts = np.diff([*starts.tolist(), n_places])[:, None]
            found.append(np.add.reduceat(summed, starts.numpy(), axis=0) / counts)
    n = len(starts)
    return np.stack(found).reshape(len(layers), -1, n, n).astype(np.float32), width


def nearby(weights: Float[ndarray, "*more place"]) -> Float[ndarray, "*more place"]:
    """At each place the weight within NEAR places of it."""
    summed = np.cumsum(np.pad(weights, [(0, 0)] * (weights.ndim - 1) + [(NEAR + 1, NEAR)]), axis=-1)
    return summed[..., 2 * NEAR + 1 :] - summed[..., : -2 * NEAR - 1]


def forward_path(weights: Float[ndarray, "piece place"]) -> Int[ndarray, " piece"]:
    """A place for each piece, none before that of the piece before it, with the largest sum of weights that such a path
    can have (dynamic programming, as dynamic time warping: H. Sakoe and S. Chiba, 1978)."""
    best = np.zeros(weights.shape[1])
    reached = []
    for row in weights:
        best = np.maximum.accumulate(best) + row
        reached.append(best)
    path: list[int] = []
    for row in reversed(reached):
        path.append(int(row[: path[-1] + 1 if path else None].argmax()))
    return np.array(path[::-1], dtype=np.int64)


def alignments(cross: Float[ndarray, "layer head piece place"]) -> Float[ndarray, "layer head"]:
    """How well each head follows a sound: the share of its weight that lies within a tenth of a second of the best path
    that only goes forward, less that of the best single place; 0 of a head that rests somewhere, and of one piece.

    Whisper's own code has a fixed list of heads for times of words, of which this finds others: heads whose weight lies
    close together."""
    scores = np.zeros(cross.shape[:2])
    if cross.shape[2] == 0:
        return scores
    for head in np.ndindex(*scores.shape):
        near = nearby(cross[head].astype(np.float64))
        path = forward_path(near)
        scores[head] = near[np.arange(len(path)), path].mean() - near.mean(0).max()
    return scores


def recording(kind: Recording) -> Float[ndarray, " sample"]:
    """One of the sounds that are here: "speech", 7.5 seconds of 1961, or "tune", notes of the kind that `tones` is
    trained on."""
    if kind == "speech":
        return signals.read_sound(SPEECH.read_bytes())
    return played(*melody_of(TUNE, SECONDS), SECONDS, TUNE)
