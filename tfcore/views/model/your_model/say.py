"""Findings on models of one's own."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.config import ModelConfig
from tfcore.loading.adapters import AdapterSummary
from tfcore.loading.checkpoints import HALF_FROM
from tfcore.measures.precision import Dtype
from tfcore.measures.quantities import counted, gigabytes, round_count, span, whole
from tfcore.measures.token_text import visible
from tfcore.part_configs import PatchesConfig, SoundConfig
from tfcore.sounds import HOP, RATE
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.model.your_model.measure import FirstWords, Need, RoundTrip

MOST_NAMED = 8  # modules, tensors, layers in a sentence


@dataclass(frozen=True, slots=True)
class ModelsThatFit(Finding):
    """How many models fit into memory, and whether one of them does.

    Args:
        name, need, fits: of that one; "" and None where none is asked about.
        dtype: of weights and cache, as they are counted here.
        fitting, models: how many fit, of how many.
        room: bytes that are free; None where the system does not tell.
    """

    name: str
    need: Need | None
    fits: bool
    fitting: int
    models: int
    room: int | None
    dtype: Dtype = "float32"

    @property
    def sentence(self) -> str:
        one = ""
        if self.need is not None:
            one = (
                f"{self.name} needs {gigabytes(self.need.weights)} for {self.need.parameters:,} parameters in "
                f"{self.dtype} and {gigabytes(self.need.cache)} for the KV cache of {self.need.tokens:,} tokens, and "
                f"{'fits' if self.fits else 'does not fit'}; "
            )
        free = "How much is free the system does not tell" if self.room is None else f"{gigabytes(self.room)} are free"
        return f"{one}{self.fitting} of these {self.models} models fit. {free}."


def models_that_fit(
    rows: Sequence[Need], name: str, room: int | None, limit: int | None, dtype: Dtype = "float32"
) -> ModelsThatFit:
    """Compare what models need with what there is.

    Args:
        rows: the first of them is that of `name`, unless that is "".
        room, limit: bytes that are free, and that may be used; None where there is no bound.
        dtype: in which the rows are counted.
    """
    end = min((bound for bound in (room, limit) if bound is not None), default=None)
    fitting = [end is None or row.fits(end) for row in rows]
    return ModelsThatFit(name, rows[0] if name else None, fitting[0], sum(fitting), len(rows), room, dtype)


@dataclass(frozen=True, slots=True)
class Built(Finding):
    """How a model is built, in a sentence; all settings stand in a table."""

    config: ModelConfig

    @property
    def sentence(self) -> str:
        one = self.config
        sides = {"encoder": one.encoder_layers, "decoder": one.decoder_layers}
        layers = " and ".join(f"{counted(n, 'layer')} of the {side}" for side, n in sides.items() if n)
        heads, kind = one.attention, one.feed_forward.activation
        made = f", keys and values from a latent of {heads.kv_latent:,} (MLA)" if heads.kv_latent is not None else ""
        alone = "attention alone" if one.mixer is None else "no feed-forward layers"
        hidden = f"feed-forward layers of {one.ff_size:,} ({kind})" if one.ff_size else alone
        windows = [w for i in range(one.n_layers) if (w := one.window_of(i)) is not None]
        near = f"; {counted(len(windows), 'layer')} with a window of {max(windows):,} tokens" if windows else ""
        return (
            f"{layers[0].upper()}{layers[1:]}{self._mixes}{made}, "
            f"width {one.d_model:,}, {self._experts or hidden}; positions: {one.positions.kind}{near}; "
            f"{one.norm.kind}, {one.norm.placement}."
        )

    @property
    def _mixes(self) -> str:
        """The heads of each layer; of a hybrid what mixes the tokens in how many layers."""
        one, heads = self.config, self.config.attention
        shared = f" on {counted(heads.kv_heads, 'KV head')}" if heads.kv_heads != heads.n_heads else ""
        kinds = Counter(one.mixer_of(layer) for layer in range(one.n_layers))
        if {*kinds} <= {"attention"}:
            return f", {counted(heads.n_heads, 'head')}{shared} each"
        attention = f"attention of {counted(heads.n_heads, 'head')}{shared}"
        state = f"a state of {counted(one.mixer.n_heads, 'head')}" if one.mixer is not None else ""
        words = {"attention": attention, "attention+ssm": f"{attention} beside {state}", "conv": "a short convolution"}
        words["none"] = "nothing that mixes tokens"
        return ": " + ", ".join(f"{words.get(kind, state)} in {n}" for kind, n in kinds.items())

    @property
    def _experts(self) -> str:
        """Experts and what goes with them; empty where there are none."""
        one, experts = self.config, self.config.experts
        if experts is None:
            return ""
        always = f" and {experts.n_shared} that all go through" if experts.n_shared else ""
        dense = one.n_layers - len(one.routed_layers)
        plain = f"; {counted(dense, 'layer')} with {one.ff_size:,} for all tokens in their place" if dense else ""
        return (
            f"for each token {experts.top_k} of {experts.n_experts} experts of {one.expert_size:,} "
            f"({one.feed_forward.activation}){always}{plain}"
        )


def tokens_of_picture(patches: PatchesConfig) -> Statement:
    """The tokens that a model makes of a picture."""
    words = "A picture of {side} by {side} pixels is {n} patches of {size} by {size}, after {learned}: {names}."
    return state(
        "tokens of a picture",
        words,
        side=patches.side,
        n=patches.rows**2,
        size=patches.size,
        learned=counted(len(patches.tokens), "learned token"),
        names=", ".join(patches.tokens),
    )


def tokens_of_sound(sound: SoundConfig) -> Statement:
    """The positions that a model makes of a sound."""
    words = (
        "A sound of up to {seconds:g} seconds is a spectrogram of {frames:,} frames by {mels} bands, of which two "
        "convolutions make {places:,} positions; its decoder writes down what was said."
    )
    return state(
        "positions of a sound",
        words,
        seconds=sound.frames * HOP / RATE,
        frames=sound.frames,
        mels=sound.mels,
        places=sound.places,
    )


@dataclass(frozen=True, slots=True)
class Adapted(Finding):
    """The changes that an adapter makes to its base.

    Args:
        base: its name.
        matrices: how many are changed.
        modules: the ends of their names.
        layers: in which they are.
        ranks, scales: r and s of the updates s B A.
        parameters: how many numbers the adapter has.
        whole: names of tensors that it brings whole.
    """

    base: str
    matrices: int
    modules: tuple[str, ...]
    layers: tuple[int, ...]
    ranks: tuple[int, ...]
    scales: tuple[float, ...]
    parameters: int
    whole: tuple[str, ...]

    @property
    def sentence(self) -> str:
        ends = ", ".join(self.modules[:MOST_NAMED]) + (", …" if self.modules[MOST_NAMED:] else "")
        brought = ""
        if self.whole:
            named = ", ".join(self.whole[:MOST_NAMED]) + (", …" if self.whole[MOST_NAMED:] else "")
            brought = f" It brings {counted(len(self.whole), 'tensor')} whole: {named}."
        return (
            f"{'1 matrix' if self.matrices == 1 else f'{self.matrices:,} matrices'} of {self.base} ({ends}) in "
            f"{_layers(self.layers)}: to each it adds B A of rank {span(self.ranks, 'd')}, scaled by "
            f"{span(self.scales, '.3g')}. The adapter has {whole(self.parameters)} numbers.{brought}"
        )


def _layers(layers: tuple[int, ...]) -> str:
    """Their numbers, in a row or one by one."""
    if not layers:
        return "no layer"
    if len(layers) == 1:
        return f"layer {layers[0]}"
    if layers == tuple(range(layers[0], layers[-1] + 1)):
        return f"layers {layers[0]} to {layers[-1]}"
    more = ", …" if layers[MOST_NAMED:] else ""
    return f"{len(layers)} layers ({', '.join(map(str, layers[:MOST_NAMED]))}{more})"


def adapted(summary: AdapterSummary) -> Adapted:
    """The finding on an adapter."""
    updates = summary.updates.values()
    return Adapted(
        base=summary.base.name,
        matrices=len(updates),
        modules=summary.modules,
        layers=summary.layers,
        ranks=tuple(sorted({update.rank for update in updates})),
        scales=tuple(sorted({update.scale for update in updates})),
        parameters=summary.parameters,
        whole=summary.whole,
    )


def kept(parameters: int, memory: int, halved: bool) -> Statement:
    """How the weights of a model are kept in memory.

    Args:
        memory: bytes that they take.
        halved: see Estimate.
    """
    words = "{parameters:,} parameters take {memory}, in float32."
    if halved:
        words = (
            "{parameters:,} parameters take {memory}: matrices are kept in 16 bits, as the file has them or rounded to "
            "bfloat16, and computed in float32."
        )
    return state("kept", words, parameters=parameters, memory=gigabytes(memory))


def types_here(halved: bool) -> Statement:
    """The types in which models are opened here.

    Args:
        halved: whether large ones are kept in 16 bits.
    """
    words = "Opened here in float32; above {limit} parameters, matrices are kept in 16 bits."
    return state("types_here", words if halved else "Opened here in float32.", limit=round_count(HALF_FROM))


def round_trip(trip: RoundTrip) -> Statement:
    """Whether a text comes back from its tokens."""
    if trip.same:
        verdict = "and decoding gives the same text"
    elif trip.nearly:
        verdict = "and decoding gives the same text but for capitals and spaces"
    else:
        verdict = "but decoding gives another text: its vocabulary does not cover all of this"
    return state(
        "round trip",
        "{characters:,} characters, {tokens:,} tokens, {verdict}.",
        characters=trip.characters,
        tokens=len(trip.ids),
        verdict=verdict,
    )


def first_token(words: FirstWords, vocab: int) -> Statement:
    """The likeliest token at the place in question, or the likeliest class, of a model with a head.

    Args:
        vocab: tokens, or classes, that it is chosen from.
    """
    if words.way == "classes":
        return state(
            "first classes",
            "The likeliest classes of the text, each judged by itself: first '{label}' with {probability:.1%}, of "
            "{count:,}.",
            label=visible(words.best[0]),
            probability=words.probabilities[0],
            count=vocab,
        )
    if words.way == "span":
        return state(
            "first of an answer",
            "The tokens with which an answer within the text most likely starts: first '{token}' with "
            "{probability:.1%}.",
            token=visible(words.best[0]),
            probability=words.probabilities[0],
        )
    if words.way == "class":
        return state(
            "first class",
            "The likeliest classes of {what}: first '{label}' with {probability:.1%}, of {count:,}.",
            what="the text" if words.token is None else f"'{visible(words.token)}' ({words.place})",
            label=visible(words.best[0]),
            probability=words.probabilities[0],
            count=vocab,
        )
    return state(
        "first token",
        "The likeliest tokens {where}: first '{token}' with {probability:.1%}, of {vocab:,}.",
        where="at the masked position" if words.way == "blank" else "as the next token",
        token=visible(words.best[0]),
        probability=words.probabilities[0],
        vocab=vocab,
    )
