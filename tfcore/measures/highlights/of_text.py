"""All highlights of a text, from one pass there and back; one and a part of one more make the first estimates exact."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.inspection.edits import Edit
from tfcore.measures.answers import answers_of
from tfcore.measures.attribution_patching import FirstOrder, first_order, part_effects, part_names
from tfcore.measures.effect_metric import logits_of
from tfcore.measures.heads.maps import in_every_layer
from tfcore.measures.heads.sink import sink_tokens, without_keys
from tfcore.measures.highlights.links import Link, links
from tfcore.measures.highlights.usual import UsualWeights
from tfcore.measures.highlights.words import Word, words_of
from tfcore.measures.lenses import check_model, lens_logits
from tfcore.measures.logit_attribution import contributions, parts_at, written_names
from tfcore.measures.one_text import one_text, piece_of, pieces_of
from tfcore.measures.text_loss import LN2, has_ended, next_losses
from tfcore.model import NO_LOGITS, Output, Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

MOST = 3  # of each sort
REPEATED = 2  # tokens that make a repeated span
CUT = 3  # tokens of a word from which on it is cut into many
SURPRISING = 4.0  # bits
BEGINNING = 3  # tokens after which a model knows something of a text: before, any rare word surprises it
USES = 1 / 3  # mean weight from which on a head uses a repeated span


@dataclass(frozen=True, slots=True)
class RepeatedSpan:
    """Tokens that stand twice in a text.

    Args:
        first, again: where both begin.
        tokens: how many.
        text: of them.
        heads: (layer, head, weight) of those that look, from the second, at the token that came next in the first;
            mean weight without the first token of the text; the strongest first.
    """

    first: int
    again: int
    tokens: int
    text: str
    heads: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True, slots=True)
class Surprise:
    """A token that was not expected.

    Args:
        position: of the token.
        token: as text.
        bits: -log2 of its probability.
        expected, probability: the most probable token there, and how probable it was.
    """

    position: int
    token: str
    bits: float
    expected: str
    probability: float


@dataclass(frozen=True, slots=True)
class Dependence:
    """A token or a head that a prediction depends on.

    Args:
        place: position of the token, or (layer, head).
        token: as text; empty for a head.
        estimate: of a token, by how many nats the log-probability would fall without it, to first order; of a head,
            its direct share in the lead of the predicted token over the next one, in logits: to first order early
            heads, which do much for any prediction, would stand before those that write it. Where no logit is a sum of
            such shares, as of an encoder's classes, it is the fall to first order.
        exact: by how many nats the log-probability falls without it, measured; None where it was not.
    """

    place: int | tuple[int, int]
    token: str
    estimate: float
    exact: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A prediction, of a token or of the text's class, and where it is made.

    Args:
        position: of the token after which it stands, or at which the class is read.
        id, token: what is predicted.
        probability: of it.
        layer: the first from which on it is the most probable after every layer, read by the logit lens.
        tokens, heads: those it depends on most, see Dependence: a token replaced by the mean of the text's
            embeddings, a head that writes nothing.
    """

    position: int
    id: int
    token: str
    probability: float
    layer: int
    tokens: tuple[Dependence, ...]
    heads: tuple[Dependence, ...]


@dataclass(frozen=True, slots=True)
class Highlights:
    """The highlights of a text: links, repeated spans, surprises and where its prediction is decided.

    Args:
        tokens: how many the text has.
        links: the strongest links between words; empty where no head has one.
        on_first: mean weight of all heads on the first token; NaN where no layer has attention.
        repeated: the longest repeated spans.
        surprises: the least expected tokens; empty where a model does not predict the next token.
        decision: None there, too, but for the class of a text.
        cut: words that are cut into many tokens.
        against_usual: whether links were ranked against what heads do on general texts.
    """

    tokens: int
    links: tuple[Link, ...]
    on_first: float
    repeated: tuple[RepeatedSpan, ...]
    surprises: tuple[Surprise, ...]
    decision: Decision | None
    cut: tuple[Word, ...]
    against_usual: bool


@dataclass(frozen=True, slots=True)
class _Pass:
    """A pass there and back.

    Args:
        hidden: the last hidden states.
        logits: of every position; those of a text's class alike at each.
        position: whose prediction is explained.
    """

    found: FirstOrder
    hidden: Float[Tensor, "1 seq d_model"]
    logits: Float[Tensor, "seq vocab"]
    position: int

    def read(self, model: Transformer, ids: Sequence[int]) -> Sequence[int]:
        """The ids that the prediction is made from: in an encoder all."""
        return ids[: self.position + 1] if model.config.architecture == "decoder" else ids


def highlights(
    model: Transformer, tokenizer: Tokenizer, ids: Sequence[int], usual: UsualWeights | None = None
) -> Highlights:
    """The highlights of a text as a decoder or an encoder reads it.

    Args:
        usual: what the heads do on general texts, see tfcore.measures.highlights.usual.

    Raises:
        ValueError: no token, or an encoder-decoder.
    """
    if not ids or model.config.architecture == "encoder-decoder":
        raise ValueError("highlights need a token, and a model of one stack")
    words = words_of(tokenizer, ids)
    names = [f"blocks.{layer}.attn.pattern" for layer in model.config.attention_layers]
    run = _there_and_back(model, tokenizer.decode(list(ids)), words, ids, names)
    with torch.no_grad():
        maps = model.activations(one_text(model, ids), names) if run is None else run.found.values
    patterns = in_every_layer(model.config, model.config.n_layers, {name: maps[name] for name in names}, len(ids))
    first = patterns[list(model.config.attention_layers), :, 1:, 0]
    hidden = sink_tokens(tokenizer, ids, around=model.config.architecture == "encoder")
    rest = without_keys(patterns, hidden)
    return Highlights(
        tokens=len(ids),
        links=links(tokenizer, ids, rest, hidden, words, usual),
        on_first=float(first.mean()) if first.size else (1.0 if names else math.nan),
        repeated=repeated_spans(tokenizer, ids, rest),
        surprises=_surprises(tokenizer, ids, run.logits) if run is not None and model.config.classes is None else (),
        decision=None if run is None else _decision(model, tokenizer, ids, run),
        cut=cut_words(words),
        against_usual=usual is not None,
    )


def cut_words(words: Sequence[Word]) -> tuple[Word, ...]:
    """The words with the most tokens, at least CUT."""
    many = [word for word in words if word.is_real and word.stop - word.first >= CUT]
    return tuple(sorted(many, key=lambda word: word.first - word.stop)[:MOST])


def repeated_spans(
    tokenizer: Tokenizer, ids: Sequence[int], patterns: Float[ndarray, "layer head query key"]
) -> tuple[RepeatedSpan, ...]:
    """The longest spans of at least REPEATED tokens that stand twice, none within another, and the heads that look
    from the second to what followed in the first (induction).

    Args:
        patterns: without the sink.
    """
    spans = sorted(_repetitions(ids), key=lambda span: -span[2])
    found: list[RepeatedSpan] = []
    for first, again, length in spans:
        text = tokenizer.decode(list(ids[again : again + length])).strip("\ufffd")  # of parts of characters
        if len(found) == MOST or not any(sign.isalnum() for sign in text):
            continue
        if any(one.again < again + length and again < one.again + one.tokens for one in found):
            continue
        steps = np.arange(length)
        weights = patterns[:, :, again + steps, first + 1 + steps].mean(-1)  # (layer, head)
        best = np.argsort(-weights.ravel(), kind="stable")[:MOST]
        places = [divmod(int(i), weights.shape[1]) for i in best if weights.flat[i] >= USES]
        heads = tuple((layer, head, float(weights[layer, head])) for layer, head in places)
        found.append(RepeatedSpan(first, again, length, text, heads))
    return tuple(found)


def _repetitions(ids: Sequence[int]) -> list[tuple[int, int, int]]:
    """(first, again, length) of all spans that cannot be made longer; both may overlap, as in "a b a b a"."""
    found = []
    length = np.zeros((len(ids) + 1, len(ids) + 1), dtype=int)  # of the common span that begins at both
    for i in reversed(range(len(ids))):
        for j in reversed(range(i + 1, len(ids))):
            if ids[i] == ids[j]:
                length[i, j] = length[i + 1, j + 1] + 1
    for i in range(len(ids)):
        for j in range(i + 1, len(ids)):
            longer = i > 0 and ids[i - 1] == ids[j - 1]
            if length[i, j] >= REPEATED and not longer:
                found.append((i, j, int(length[i, j])))
    return found


def _there_and_back(
    model: Transformer, text: str, words: Sequence[Word], ids: Sequence[int], names: Sequence[str]
) -> _Pass | None:
    """A pass with the attention maps, and back from the log-probability of the predicted token, or of the class; None
    of a model that neither predicts the next token nor gives the text a class."""
    adds_up, of_text = _adds_up(model), _has_class(model)
    if not of_text and (not adds_up or model.config.classes is not None):
        return None
    streams = [f"blocks.{layer}.resid_post" for layer in range(model.config.n_layers)]
    seen: list[tuple[Tensor, Tensor, int]] = []

    def certainty(hidden: Float[Tensor, "row seq d_model"]) -> Float[Tensor, " row"]:
        if of_text:
            scores = logits_of(model, model.answer_state(hidden))
            position = model.config.read_at % hidden.shape[1]
            seen.append((hidden.detach(), scores.detach().expand(hidden.shape[1], -1), position))
            return scores.log_softmax(-1).max(-1).values
        with torch.no_grad():
            logits = logits_of(model, hidden.detach()).squeeze(0)
        position = explained(text, words, logits.softmax(-1).max(-1).values.tolist())
        seen.append((hidden.detach(), logits, position))
        return logits_of(model, hidden[:, position]).log_softmax(-1).max(-1).values

    others = [*names, *streams, *(written_names(model.config) if adds_up else ["blocks.0.resid_pre"])]
    parts = [] if adds_up else part_names(model)
    found = first_order(model, one_text(model, ids), ["embed", *parts], certainty, others)
    return _Pass(found, *seen[0])


def _adds_up(model: Transformer) -> bool:
    """Whether a logit is the sum of what the parts of a model wrote."""
    try:
        check_model(model)
    except ValueError:
        return False
    return True


def _has_class(model: Transformer) -> bool:
    """Whether a model gives a text one class of several."""
    classes = model.config.classes
    return classes is not None and classes.meaning == "one" and classes.place != "each"


def explained(text: str, words: Sequence[Word], certainty: Sequence[float]) -> int:
    """The position whose prediction is explained: the last one; where a sentence ends there, so that little but a new
    line is expected, the one before a word after which the model is surest.

    Args:
        certainty: the probability of the most probable token after each token of the text.
    """
    before = [word.first - 1 for word in words if word.is_real and word.first > 0]
    return max(before, key=certainty.__getitem__) if has_ended(text) and before else len(certainty) - 1


def _surprises(tokenizer: Tokenizer, ids: Sequence[int], logits: Float[Tensor, "seq vocab"]) -> tuple[Surprise, ...]:
    """The tokens with the most bits, at least SURPRISING, after the first BEGINNING; the most surprising first."""
    bits = (next_losses(logits[None], ids).squeeze(0) / LN2).cpu().numpy()
    bits[: BEGINNING - 1] = 0
    found: list[Surprise] = []
    pieces = pieces_of(tokenizer, ids)  # a part of a character is named by it
    for place in np.argsort(-bits, kind="stable"):
        if len(found) == MOST or bits[place] < SURPRISING:
            break
        expected = int(logits[place].argmax())
        probability = float(logits[place].softmax(-1)[expected])
        said = pieces[place + 1], float(bits[place]), piece_of(tokenizer, expected)
        found.append(Surprise(int(place) + 1, *said, probability))
    return tuple(found)


def _decision(model: Transformer, tokenizer: Tokenizer, ids: Sequence[int], run: _Pass) -> Decision:
    """The prediction, where it is made, and what it depends on."""
    at, values, slopes = run.position, run.found.values, run.found.gradients
    predicted = int(run.logits[at].argmax())
    with torch.no_grad():
        streams = torch.cat([values[f"blocks.{i}.resid_post"] for i in range(model.config.n_layers)])
        if _has_class(model):
            read = logits_of(model, model.answer_state(model.stack.ln_final(streams)))
        else:
            read = lens_logits(model, streams[:, at])
        leads = (read.argmax(-1) == predicted).tolist()
        embedded = values["embed"][0]
        mean = embedded.mean(0)
        tokens = ((embedded - mean) * slopes["embed"][0]).sum(-1)
    tokens[0] = 0  # the sink: without it all heads look elsewhere
    return Decision(
        position=at,
        id=predicted,
        token=answers_of(model, tokenizer).tokens([predicted])[0],
        probability=float(run.logits[at].softmax(-1)[predicted]),
        layer=next((i for i in range(len(leads)) if all(leads[i:])), len(leads) - 1),
        tokens=_tokens(model, tokenizer, ids, run, predicted, tokens, mean),
        heads=_heads(model, ids, run, predicted),
    )


def _tokens(
    model: Transformer,
    tokenizer: Tokenizer,
    ids: Sequence[int],
    run: _Pass,
    predicted: int,
    estimates: Float[Tensor, " seq"],
    mean: Float[Tensor, " d_model"],
) -> tuple[Dependence, ...]:
    places = [int(i) for i in estimates.argsort(descending=True)[:MOST] if estimates[i] > 0]
    found: list[Dependence] = []
    for i in places:
        exact = None if found else float(run.found.quantity) - _without_token(model, ids, run, predicted, i, mean)
        found.append(Dependence(i, piece_of(tokenizer, ids[i]), float(estimates[i]), exact))
    return tuple(found)


def _shares(model: Transformer, run: _Pass, predicted: int) -> Float[ndarray, "layer head"]:
    """The direct shares of all heads in the lead of the prediction, or to first order their effects on it."""
    if not _adds_up(model):
        heads = part_effects(model, run.found, "zero")[0, :, : model.config.attention.n_heads]
        return heads.float().cpu().numpy()
    best = run.logits[run.position].topk(min(2, len(run.logits[run.position]))).indices.tolist()
    parts = parts_at(model, Output(run.hidden, None, run.found.values), run.position)
    found = contributions(model, parts, predicted, best[-1])
    return np.where(found.heads > found.mixers.max(), found.heads, 0.0)  # where a mixer decides, no head does


def _heads(model: Transformer, ids: Sequence[int], run: _Pass, predicted: int) -> tuple[Dependence, ...]:
    shares = _shares(model, run, predicted)
    places = [divmod(int(i), shares.shape[1]) for i in np.argsort(-shares, axis=None, kind="stable")[:MOST]]
    heads: list[Dependence] = []
    for layer, head in places:
        if shares[layer, head] <= 0:
            break
        exact = None if heads else float(run.found.quantity) - _without_head(model, ids, run, predicted, layer, head)
        heads.append(Dependence((layer, head), "", float(shares[layer, head]), exact))
    return tuple(heads)


@torch.no_grad()
def _without_token(
    model: Transformer, ids: Sequence[int], run: _Pass, predicted: int, place: int, mean: Float[Tensor, " d_model"]
) -> float:
    """The log-probability of the predicted token with another embedding of one token, nats."""
    edit = Edit.replace("embed", mean, positions=[place])
    hidden = model(one_text(model, run.read(model, ids)), edits=[edit], logits_to_keep=NO_LOGITS).hidden
    return _log_probability(model, hidden, predicted)


@torch.no_grad()
def _without_head(model: Transformer, ids: Sequence[int], run: _Pass, predicted: int, layer: int, head: int) -> float:
    """The same, of a head that writes nothing: the blocks below it are as they were."""
    stream = run.found.values[f"blocks.{layer - 1}.resid_post" if layer else "blocks.0.resid_pre"]
    edit = Edit.zero(f"blocks.{layer}.attn.z", heads=[head])
    read = len(run.read(model, ids))
    return _log_probability(model, model.resume(stream[:, :read], layer, edits=[edit]), predicted)


def _log_probability(model: Transformer, hidden: Float[Tensor, "1 seq d_model"], predicted: int) -> float:
    return float(logits_of(model, model.answer_state(hidden)).log_softmax(-1)[0, predicted])
