"""Findings on the switches from the block of 2017 to today's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tfcore.measures.token_text import visible
from tfcore.training.multi_token import SecondGuesses
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.model.modern import measure
from tfcore.views.model.modern.measure import (
    READ,
    FirstTokenWeights,
    SecondWave,
    Switch,
    SwitchedHead,
    Trained,
    TrainedSwitch,
    Version,
    loss_effects,
)


@dataclass(frozen=True, slots=True)
class SwitchEffect(Finding):
    """The effect of one switch on the numbers that can be counted.

    Args:
        step: its place in SWITCHES, `last` the last one's; 0 is where it begins.
        before, after: the versions without it and with it; the same at step 0.
        size: the model that is counted, in words.
    """

    step: int
    last: int
    before: Version
    after: Version
    size: str

    @property
    def sentence(self) -> str:
        return f"Switch {self.step} of {self.last}, {self.after.name}: {self.effect} Counted for {self.size}."

    @property
    def effect(self) -> str:
        """The change of the parameters, and that of the KV cache at 16 bits."""
        before, after = self.before, self.after
        if not self.step:
            return f"{after.parameters:,} parameters, {after.cached_bytes:,} bytes of KV cache per token at 16 bits."
        more = after.parameters - before.parameters
        size = f"{more:+,} parameters ({more / before.parameters:+.2%})" if more else "no change in parameters"
        if after.cached == before.cached:
            return f"{size}; the KV cache stays as it is."
        return f"{size}; the KV cache shrinks from {before.cached_bytes:,} to {after.cached_bytes:,} bytes per token."


def switch_effect(versions: Sequence[Version], step: int, size: str) -> SwitchEffect:
    """Compare a version with the one before it."""
    return SwitchEffect(step, len(versions) - 1, versions[max(0, step - 1)], versions[step], size)


LEAST_SUNK = 0.0005  # share of the weight that is on no token of the text, from which on it is named
WORTH_NAMING = 0.01  # change of the parameters, as a share, from which on a switch is named


@dataclass(frozen=True, slots=True)
class SizeChanges(Finding):
    """Which switches change the size of a model.

    Args:
        parameters: switch -> change of the parameters, as a share, where it is WORTH_NAMING or more.
        cached: switch -> the KV cache over that before, where it changes.
    """

    parameters: dict[str, float]
    cached: dict[str, float]

    @property
    def sentence(self) -> str:
        changed = ", ".join(f"{name} ({change:+.0%})" for name, change in self.parameters.items())
        cached = ", ".join(f"{name} (to {share:.0%})" for name, share in self.cached.items())
        return (
            f"Parameters, changed by {WORTH_NAMING:.0%} or more: {changed or 'none of them'}. KV cache, which long "
            f"contexts fill: {cached or 'none of them'}."
        )


def size_changes(versions: Sequence[Version]) -> SizeChanges:
    """Compare each version with the one before it."""
    changes = {b.name: b.parameters / a.parameters - 1 for a, b in pairwise(versions)}
    return SizeChanges(
        {name: change for name, change in changes.items() if abs(change) >= WORTH_NAMING},
        {b.name: b.cached / a.cached for a, b in pairwise(versions) if b.cached != a.cached},
    )


@dataclass(frozen=True, slots=True)
class LossChanges(Finding):
    """Which switches changed the held-out loss by more than another seed does.

    Args:
        clear: switch -> change, nats per token.
        others: how many switches did not.
    """

    clear: dict[str, float]
    others: int

    @property
    def sentence(self) -> str:
        if not self.clear:
            return "No switch changes the loss by more than another seed does."
        changed = ", ".join(f"{name} ({change:+.2f})" for name, change in self.clear.items())
        return (
            f"Loss, changed by more than another seed does: {changed} nats per token. What the others do "
            f"({self.others}) cannot be told from chance in models this small."
        )


def loss_changes(losses: Mapping[str, Sequence[float]]) -> LossChanges:
    """See `loss_effects`."""
    effects = loss_effects(losses)
    clear = {effect.name: effect.change for effect in effects if effect.clear}
    return LossChanges(clear, len(effects) - len(clear))


def timed_models() -> Statement:
    """The models that are timed, and how."""
    return state(
        "timed models",
        "Times: measured here and now on models of width {width} with {layers} layers (prefill of {read} tokens), the "
        "fastest of up to {rounds} runs.",
        width=measure.SPEED["d_model"],
        layers=measure.SPEED["n_layers"],
        read=READ,
        rounds=measure.ROUNDS,
    )


def trained_models(trained: Trained) -> Statement:
    """The training of the models whose losses are drawn, and how many seeds there are of each switch."""
    return state(
        "trained models",
        "Losses: models of width {width} with {layers} layers after {tokens:.1f} M tokens of stories, {seeds} seeds "
        "each (dots) and their mean.",
        width=trained.width,
        layers=trained.layers,
        tokens=trained.tokens / 1e6,
        seeds=min(map(len, trained.losses.values())),
    )


# ---- after 2023 ----


@dataclass(frozen=True, slots=True)
class SwitchDifference(Finding):
    """The difference of the held-out loss that a switch makes, over models trained alike.

    Args:
        name: of the switch.
        mean, low, high: of the difference to the base seed by seed, nats per token, with its 95 % interval.
        seeds: of each.
    """

    name: str
    mean: float
    low: float
    high: float
    seeds: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return not self.low <= 0 <= self.high

    @property
    def sentence(self) -> str:
        interval = f"95 % interval {self.low:+.3f} to {self.high:+.3f}, {self.seeds} seeds"
        if not self.is_clear:
            return f"{self.name}: no difference of the loss at this size ({self.mean:+.3f} nats per token, {interval})."
        return f"{self.name}: the loss differs from the base's by {self.mean:+.3f} nats per token ({interval})."


def switch_difference(one: TrainedSwitch) -> SwitchDifference:
    """The difference of a switch to the base."""
    apart = one.difference
    return SwitchDifference(one.version.name, apart.mean, apart.low, apart.high, len(one.losses))


@dataclass(frozen=True, slots=True)
class ClearDifferences(Finding):
    """Which switches change the loss by more than chance, and which do not.

    Args:
        clear: switch -> mean difference to the base, nats per token, where its interval leaves 0 out.
        others: all other switches.
    """

    clear: dict[str, float]
    others: tuple[str, ...]

    @property
    def sentence(self) -> str:
        clear = ", ".join(f"{name} ({mean:+.3f})" for name, mean in self.clear.items())
        if not self.clear:
            return "No switch changes the loss by more than chance at this size."
        none = f" No difference at this size: {', '.join(self.others)}." if self.others else ""
        return f"Loss, nats per token, where the interval leaves 0 out: {clear}.{none}"


def clear_differences(wave: SecondWave) -> ClearDifferences:
    """Compare all switches with the base."""
    apart = [switch_difference(one) for one in wave.switches[1:]]
    return ClearDifferences(
        {one.name: one.mean for one in apart if one.is_clear}, tuple(one.name for one in apart if not one.is_clear)
    )


def switch_sizes(wave: SecondWave, one: TrainedSwitch) -> Statement:
    """Scores, weights on the first token and the stream with a switch, and in the base."""
    was, now = wave.base.sizes, one.sizes
    half = range(wave.seq // 2, wave.seq)
    sunk = " {sunk:.1%} of their weight is on no token of the text." if now.sunk >= LEAST_SUNK else ""
    return state(
        "sizes",
        "The largest score of a text is {score:.1f} ({old_score:.1f} in the base); the first token has {first:.1%} of "
        "the weight of the queries in the second half ({old_first:.1%}; an even share would be {even:.1%})."
        f"{sunk} The stream after the last layer has an rms of {{stream:.2f}} ({{old_stream:.2f}}).",
        score=now.score,
        old_score=was.score,
        first=now.first,
        old_first=was.first,
        even=sum(1 / (query + 1) for query in half) / len(half),
        sunk=now.sunk,
        stream=now.stream,
        old_stream=was.stream,
    )


def second_wave_models(wave: SecondWave) -> Statement:
    """The training of the models that are compared."""
    config = wave.base.version.config
    return state(
        "second wave",
        "Models of width {width} with {layers} layers after {tokens:.2f} M tokens of stories in texts of {seq}, the "
        "same batches for all, {seeds} seeds each. Differences are taken seed by seed, with Student's 95 % interval; "
        "scores, weights and the stream are means over the seeds, on held-out texts.",
        width=config.d_model,
        layers=config.n_layers,
        tokens=wave.tokens / 1e6,
        seq=wave.seq,
        seeds=len(wave.base.losses),
    )


# ---- two tokens ahead, several streams ----


def guesses_confirmed(guesses: Sequence[SecondGuesses]) -> Statement:
    """The second prediction over all seeds: its loss, how often it is confirmed, what that saves."""

    def mean(name: str) -> float:
        return float(np.mean([getattr(one, name) for one in guesses]))

    return state(
        "second prediction",
        "Means over {seeds} seeds: the second prediction has a loss of {second:.2f} nats per token on held-out texts, "
        "the decoder {first:.2f} on the same tokens, of which it has read as many, with one block less. The "
        "decoder then finds the same token likeliest in {confirmed:.0%} of the places ({constant:.0%} for one fixed "
        "token), and in {written:.0%} of what it writes itself. With one guess per pass that is 1 + {written:.2f} = "
        "{formula:.2f} tokens per pass by formula; {measured:.2f} were measured.",
        seeds=len(guesses),
        second=mean("second_loss"),
        first=mean("first_loss"),
        confirmed=mean("confirmed"),
        constant=mean("constant"),
        written=mean("written"),
        formula=1 + mean("written"),
        measured=mean("per_pass"),
    )


def layer_names(count: int) -> list[str]:
    """Attention and feed-forward layers in their order."""
    return [f"layer {place // 2}, {('attention', 'feed-forward')[place % 2]}" for place in range(count)]


def streams_mixed(connections: np.ndarray, seed: int) -> Statement:
    """How far the weights between the streams of one model are from those they began with, and over all seeds.

    Args:
        connections: (seed, layer, row, column), see measure.connections.
    """
    size = connections.shape[-1] - 1
    mixes, apart = connections[..., 1:, 1:], ~np.eye(size, dtype=bool)
    crossing = np.abs(mixes[..., apart]).mean((1, 2))
    own = mixes[seed] * apart
    layer, source, target = np.unravel_index(np.abs(own).argmax(), own.shape)
    writes = connections[seed, :, 0, 1:]
    return state(
        "streams mixed",
        "From row to column. A stream keeps {kept:.2f} of itself through a layer in the mean (1 at first), and "
        "{crossing:.2f} of it goes into each other one, in absolute value (0 at first; {least:.2f} to {most:.2f} over "
        "the seeds). The largest such weight is {weight:.2f}, of stream {source} into {target} at {layer}. Layers "
        "write {low:.2f} to {high:.2f} of their output to a stream (1 at first).",
        kept=float(mixes[seed][..., ~apart].mean()),
        crossing=float(crossing[seed]),
        least=float(crossing.min()),
        most=float(crossing.max()),
        weight=float(own[layer, source, target]),
        source=int(source),
        target=int(target),
        layer=layer_names(len(own))[layer],
        low=float(writes.min()),
        high=float(writes.max()),
    )


# ---- one head ----

SWITCHED: dict[Switch, str] = {
    "cap": "Scores from {low:.1f} to {high:.1f} become {new_low:.1f} to {new_high:.1f}: a cap of {amount:g} lets none "
    "beyond it.",
    "sink": "A sink of score {amount:g} takes {sunk:.0%} of a query's weight in the mean, most of '{most}' "
    "({largest:.0%}), least of '{least}' ({smallest:.0%}).",
    "norm": "Scores from {low:.1f} to {high:.1f} become {new_low:.1f} to {new_high:.1f}: {factor:.3g} times the cosine "
    "of query and key.",
}


def peaks(result: SwitchedHead, which: int) -> float:
    """The largest weight of a query, in the mean: of the head as it is (0), or with the switch (1)."""
    return float(result.weights[which].max(-1).mean())


def head_as_it_is(result: SwitchedHead) -> Statement:
    """The largest weight of a query, in the mean, and the weight on the first token."""
    return state(
        "as it is",
        "As the model has it: the largest weight of a query is {peak:.2f} in the mean, the first token's {first:.2f}.",
        peak=peaks(result, 0),
        first=float(result.weights[0, :, 0].mean()),
    )


def head_switched(result: SwitchedHead, switch: Switch, amount: float, tokens: Sequence[str]) -> Statement:
    """The change of a head's scores and weights by a switch."""
    before, after = (scores[result.allowed] for scores in result.scores)
    sunk = result.sunk[1]
    return state(
        "switched",
        SWITCHED[switch] + " The largest weight of a query, in the mean: {peak:.2f}, it was {was:.2f}.",
        low=float(before.min()),
        high=float(before.max()),
        new_low=float(after.min()),
        new_high=float(after.max()),
        amount=amount,
        factor=result.factor,
        sunk=float(sunk.mean()),
        most=visible(tokens[int(sunk.argmax())]),
        largest=float(sunk.max()),
        least=visible(tokens[int(sunk.argmin())]),
        smallest=float(sunk.min()),
        peak=peaks(result, 1),
        was=peaks(result, 0),
    )


# ---- the first token ----

HALF = 0.5  # of a query's weight


def first_token_weight(result: FirstTokenWeights, name: str) -> Statement:
    """The weight on the first token over all heads, and how long its vectors are where its values are shortest."""
    weights, at = result.weights, int(result.values.argmin())
    return state(
        "first token",
        "{name}: the first token has {mean:.0%} of the weight of the queries in the second half of this text (an even "
        "share would be {even:.1%}), more than half of it in {many} of {heads:counted head}. Before layer {layer} its "
        "vector in the stream is {stream:.1f} times as long as the median of the others, its values there {values:.2f} "
        "times.",
        name=name,
        mean=float(weights.mean()),
        even=result.even,
        many=int((weights > HALF).sum()),
        heads=weights.size,
        layer=result.layers[at],
        stream=float(result.stream[at]),
        values=float(result.values[at]),
    )
