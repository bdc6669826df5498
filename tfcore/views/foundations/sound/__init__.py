"""Cross-attention over a sound: what is written, where each token looks in time, and which heads follow the sound."""

from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts.heads_by_layer import by_layer
from tfcore.measures.token_text import shorten, tick_labels, visible
from tfcore.sounds import SoundEmbedding, log_mel, mel_filters
from tfcore.views.finding import Finding, state
from tfcore.views.foundations.sound import draw, measure
from tfcore.views.foundations.sound.measure import PLACE, HeardSound, Recording, time_of
from tfcore.views.foundations.tokens.measure.signals import read_sound
from tfcore.views.kept import kept
from tfcore.views.sources import File, Source, opened
from tfcore.views.view import View, view

HEIGHT = 330
LONGEST = 200  # characters of what is written, in a sentence
SHOWN = 3  # heads that a sentence names
PAPER = "arXiv:2212.04356, section 2.2"
Whose = Literal["followers", "head"]  # whose map: the mean of the heads that follow the sound, or one head's


def hear(source: Source, samples: Float[ndarray, " sample"]) -> HeardSound:
    """A sound as a model hears it; see measure.hear, also for what it refuses."""
    model, tokenizer = opened(source)
    return measure.hear(model, tokenizer, samples)


def _here(source: Source, kind: Recording) -> HeardSound:
    return hear(source, measure.recording(kind))


heard_here = kept(_here, entries=4)


def heard_of(model: Source, sound: Recording | File) -> HeardSound:
    """A sound as a model has heard it; one of your own is kept nowhere.

    Args:
        sound: one that is here, or a file, which an application may have played to the model already.
    """
    if not isinstance(sound, File):
        return heard_here(model, sound)
    content: Any = sound.read(read_sound)
    return content if isinstance(content, HeardSound) else hear(model, content)


def _piece(heard: HeardSound, token: int) -> str:
    return visible(heard.pieces[token])


def _name(head: tuple[int, int]) -> str:
    return f"{head[0]}.{head[1]}"


def _said(heard: HeardSound, token: int) -> float:
    """The second at which a piece was said; of the end of the text, that of the piece before it."""
    return time_of(int(heard.path[min(token, len(heard.path) - 1)])) if len(heard.path) else 0.0


def _nothing(heard: HeardSound) -> bool:
    return not heard.n_words


@view
def written(model: Source, sound: Recording | File, token: int) -> View:
    """The text that the model writes, token by token, always the likeliest, and how sure it was of each.

    Args:
        sound: "speech", "tune", or a file of your own.
        token: the piece that is framed.
    """
    heard = heard_of(model, sound)
    lowest = int(heard.probabilities.argmin())
    how_many = "{n:counted token}" if heard.ended else "{n:counted token} without an end"
    finding = state(
        "written",
        f"It writes{{language}} “{{text}}”: {how_many}, least sure of '{{unsure}}' ({{least:percent}})."
        if heard.n_words
        else "It writes nothing{language}, and ends the text at once ({least:percent}).",
        text=shorten(heard.text, LONGEST),
        language=f", in {heard.language}," if heard.language else "",
        n=heard.n_words,
        unsure=_piece(heard, lowest),
        least=float(heard.probabilities[lowest]),
    )
    table = pd.DataFrame(
        {
            "token": [visible(piece) for piece in heard.pieces],
            "probability": heard.probabilities,
            "said at (s)": [_said(heard, i) for i in range(len(heard.pieces))],
        }
    )
    return View(
        key="written",
        title="What it writes",
        result=heard.pieces,
        chart=draw.confidence(heard.probabilities, tick_labels(heard.pieces), token, height=210),
        findings=(finding,),
        note="Each token is the likeliest one.",
        table=lambda: table,
        papers="arXiv:2212.04356, figure 1",
    )


def _on_silence(inside: float) -> float:
    """The share of weight after the sound, by that on the sound: what rounding leaves of a sum of 1 is none."""
    return round(max(0.0, 1 - inside), 6)


@view
def head(model: Source, sound: Recording | File, layer: int, head: int, token: int) -> View:
    """The weights of one head of the decoder over time when one token is written, above what it hears.

    Args:
        token: the piece that is being written.
    """
    heard = heard_of(model, sound)
    weights = heard.cross[layer, head, token]
    inside = float(weights.sum())
    peak = int(weights.argmax())
    near = float(measure.nearby(weights)[peak])
    finding = state(
        "where it looks",
        "Head {layer}.{head}, writing '{piece}': most weight at {at:.2f} s, {near:percent} within a tenth of a second; "
        "{after:percent} on the silence after the sound.",
        layer=layer,
        head=head,
        piece=_piece(heard, token),
        at=time_of(peak),
        near=near,
        after=_on_silence(inside),
    )
    return View(
        key="head",
        title="One head over the sound",
        result=weights,
        chart=draw.over_spectrogram(
            heard.spectrogram,
            PLACE,
            weights,
            heard.followed[token],
            (f"head {layer}.{head}", "mean of the heads that follow" if heard.aligning else "mean of all heads"),
            _said(heard, token),
            height=HEIGHT,
        ),
        findings=(finding,),
        note="Line: where it was said, by the map below.",
        table=lambda: pd.DataFrame({"time (s)": time_of(0) + PLACE * np.arange(len(weights)), "weight": weights}),
        formula=(
            r"A = \mathrm{softmax}\!\left(\frac{(h W_Q)(m W_K)^\top}{\sqrt{d_k}}\right), \qquad "
            r"m = \mathrm{encoder}(\mathrm{gelu}(\mathrm{conv}_2(\mathrm{gelu}(\mathrm{conv}_1(\text{log-mel})))) + P)"
        ),
        papers=f"{PAPER}; Slaney's mel scale: Auditory Toolbox, 1998",
        terms=("log-mel spectrogram", "cross-attention"),
        code=(mel_filters, log_mel, SoundEmbedding, measure.hear),
    )


@view
def over_time(model: Source, sound: Recording | File, layer: int, head: int, token: int, whose: Whose) -> View:
    """The decoder's weights over time for all that was written: when each word was said.

    Args:
        token: the piece that is framed.
        whose: the mean of the heads that follow the sound, or the map of the one head.
    """
    heard = heard_of(model, sound)
    of_head = whose == "head"
    weights = heard.cross[layer, head] if of_head else heard.followed
    findings: list[Finding] = []
    if _nothing(heard):
        findings.append(state("nothing", "Nothing was written, so no token looks anywhere but the one that ends it."))
    elif of_head:
        findings.append(
            state(
                "one head",
                "Head {layer}.{head} follows the sound with an alignment of {more:.2f}.",
                layer=layer,
                head=head,
                more=float(heard.alignment[layer, head]),
            )
        )
    elif heard.aligning:
        findings.append(
            state(
                "followers",
                "By the mean of {n:counted head}, '{piece}' was said at {at:.2f} s, all from {first:.2f} to {last:.2f} "
                "s.",
                n=len(heard.aligning),
                piece=_piece(heard, min(token, heard.n_words - 1)),
                at=_said(heard, min(token, heard.n_words - 1)),
                first=time_of(int(heard.path[0])),
                last=time_of(int(heard.path[-1])),
            )
        )
    elif heard.n_words == 1:
        findings.append(state("one token", "One token alone shows no head that moves on, so this is the mean of all."))
    else:
        findings.append(
            state(
                "none follows",
                "No head follows this sound (best: {best:.2f}, and {least} is asked for), so this is the mean of all.",
                best=float(heard.alignment.max()),
                least=measure.LEAST,
            )
        )
    labels = tick_labels(heard.pieces)
    return View(
        key="over_time",
        title="Tokens by time",
        result=weights,
        chart=draw.tokens_by_time(weights, PLACE, labels, heard.path, token),
        findings=tuple(findings),
        note="Marks: the best path forward.",
        table=lambda: pd.DataFrame(weights.T, columns=[f"{i} {visible(p)}" for i, p in enumerate(heard.pieces)]),
        formula=r"\max_{p_1 \le p_2 \le \dots \le p_n} \sum_i \sum_{|t - p_i| \le 5} A_{i,t}",
        papers="Times of words: the published code of arXiv:2212.04356; warping in time: Sakoe and Chiba, 1978",
        code=(measure.nearby, measure.forward_path),
    )


@view
def heads(model: Source, sound: Recording | File, layer: int, head: int) -> View:
    """The alignment of every head of the decoder with this sound, measured and not looked up."""
    heard = heard_of(model, sound)
    order = np.argsort(-heard.alignment, axis=None, kind="stable")[:SHOWN]
    best = [divmod(int(one), heard.alignment.shape[1]) for one in order]
    inside = heard.cross[:, :, : max(1, heard.n_words)].sum(-1).mean(-1)
    named = ", ".join(f"{_name(one)} ({heard.alignment[one]:.2f})" for one in best)
    finding = state(
        "best heads",
        "{best}; head {layer}.{head}: {own:.2f}.",
        best=f"Best: {named}" if heard.aligning else "No head follows this sound",
        layer=layer,
        head=head,
        own=float(heard.alignment[layer, head]),
    )
    hover = "head %{customdata[0]}.%{customdata[1]}: alignment %{y:.2f}"
    layers, each = np.indices(heard.alignment.shape)
    table = pd.DataFrame(
        {
            "layer": layers.ravel(),
            "head": each.ravel(),
            "alignment": heard.alignment.ravel(),
            "on the silence after": (1 - inside).ravel(),
            "on the first 0.1 s": heard.cross[:, :, :, : measure.NEAR].sum(-1).mean(-1).ravel(),
        }
    )
    return View(
        key="heads",
        title="Which heads follow the sound",
        result=heard.alignment,
        chart=by_layer(heard.alignment, layer, head, "alignment", hover, top=1.05, height=300),
        findings=(finding,),
        table=lambda: table.sort_values("alignment", ascending=False),
        code=(measure.alignments, measure.forward_path),
    )


@view
def encoder(model: Source, sound: Recording | File, layer: int, head: int, moment: float) -> View:
    """The weights of one head of the encoder, time by time.

    Args:
        layer, head: of the encoder.
        moment: seconds; the row of that moment is framed.
    """
    heard = heard_of(model, sound)
    weights = heard.encoder[layer, head]
    width = PLACE * heard.places_a_bin
    at = min(max(int(moment / width), 0), len(weights) - 1)
    row = weights[at]
    times = (np.arange(len(weights)) + 0.5) * width
    apart = np.abs(times[:, None] - times[None])
    inside = weights.sum(-1)
    finding = state(
        "one moment",
        "At {moment:.2f} s head {layer}.{head} looks most at {key:.2f} s; on average {apart:.2f} s away, "
        "{after:percent} on the silence after.",
        moment=float(times[at]),
        layer=layer,
        head=head,
        key=float(times[int(row.argmax())]),
        apart=float((weights * apart).sum() / max(float(weights.sum()), 1e-9)),
        after=_on_silence(float(inside.mean())),
    )
    return View(
        key="encoder",
        title="A head of the encoder",
        result=weights,
        chart=draw.encoder_map(weights, width, at, height=HEIGHT),
        findings=(finding,),
        table=lambda: pd.DataFrame({"time (s)": times, "weight": row}),
        papers=PAPER,
    )
