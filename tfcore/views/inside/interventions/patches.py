"""Views of activations that are put from the run on one text into that on another."""

from collections.abc import Sequence

import pandas as pd
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.charts.part_by_token import part_by_token
from tfcore.inspection.edits import Edit
from tfcore.measures.answers import answers_of
from tfcore.measures.interventions import Effect, continue_text, effect
from tfcore.measures.one_text import last_tokens, pieces_of
from tfcore.measures.token_text import tick_labels
from tfcore.views.finding import Finding, state
from tfcore.views.inside import effects
from tfcore.views.inside.interventions import say
from tfcore.views.inside.interventions.draw import rows_height
from tfcore.views.inside.interventions.measure import patching
from tfcore.views.inside.interventions.measure.patching import Kind, PatchedColumns, PromptPair, StackName
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View, view

TOKENS = 128  # of a text
LEFT, SIDES = 80, 110  # beside the map, in pixels: names of rows, and the scale of colours with them
Answers = tuple[int, int] | None


def _compared(reading: Reading, source: str, answers: Answers) -> PromptPair:
    model, tokenizer = opened(reading.model)
    theirs, ids = (last_tokens(model, tokenizer, text, TOKENS, reading.bos).ids for text in (source, reading.text))
    return patching.pair(model, theirs, ids, answers)


def _exact(
    reading: Reading, source: str, answers: Answers, kind: Kind, stack: StackName | None
) -> list[PatchedColumns]:
    return list(patching.patch_each(opened(reading.model)[0], compared(reading, source, answers), kind, stack))


def _estimated(
    reading: Reading, source: str, answers: Answers, kind: Kind, stack: StackName | None
) -> Float[ndarray, "row seq"]:
    return patching.estimate_patches(opened(reading.model)[0], compared(reading, source, answers), kind, stack)


def _values(reading: Reading, source: str, answers: Answers, name: str) -> Float[Tensor, "1 seq d_model"]:
    """An activation of the source's run, at every position."""
    return patching.source_values(opened(reading.model)[0], compared(reading, source, answers), name)


def _edit(reading: Reading, source: str, answers: Answers, name: str, position: int) -> Edit:
    return patching.patch(values_of(reading, source, answers, name), name, position)


def _effect(reading: Reading, source: str, answers: Answers, name: str, position: int) -> Effect:
    """The effect of one patch on the prediction at the end."""
    model, ids = opened(reading.model)[0], compared(reading, source, answers).target
    return effect(model, ids, [_edit(reading, source, answers, name, position)])


def _continued(reading: Reading, source: str, answers: Answers, name: str, position: int) -> list[int]:
    """The greedy continuation of a text with one patch."""
    ids = compared(reading, source, answers).target
    edit = _edit(reading, source, answers, name, position)
    return continue_text(opened(reading.model)[0], ids, [edit], effects.NEW_TOKENS)


compared = kept(_compared, entries=32)
exact_patches = kept(_exact, entries=24)
estimated_patches = kept(_estimated, entries=24)
values_of = kept(_values, entries=32)
effect_of = kept(_effect, entries=128)
continued_with = kept(_continued, entries=128)


@view
def patched(
    reading: Reading,
    source: str,
    kind: Kind,
    row: int,
    position: int,
    answers: Answers = None,
    stack: StackName | None = None,
    *,
    so_far: Sequence[PatchedColumns] | None = None,
) -> View:
    """Activations of another text put into the run of this one: which of them carry the difference?

    Args:
        reading: the last TOKENS tokens of this text.
        source: the other text, of equally many tokens.
        kind: of the activations.
        row, position: of the patch that is marked: which of the activations of this kind, and the token.
        answers: ids of two tokens whose logit difference is measured, or twice that of one whose log-probability is;
            None finds the two that tell the texts apart.
        stack: of an encoder-decoder, the one in which is patched; None is the encoder.
        so_far: exact shares until now, from the end; the others are estimates until then. None: all are exact.
    """
    model, tokenizer = opened(reading.model)
    both = compared(reading, source, answers)
    columns = exact_patches(reading, source, answers, kind, stack) if so_far is None else list(so_far)
    estimate = estimated_patches(reading, source, answers, kind, stack)
    shares, names = patching.known_shares(columns, estimate), patching.patched_names(model.config, kind, stack)
    titles = [patching.patched_title(model.config, name, kind) for name in names]
    tokens, others = (patching.tokens_in(stack, pieces_of(tokenizer, ids)) for ids in (both.target, both.source))
    pairs = zip(tick_labels(others, 10), tick_labels(tokens, 10), strict=True)
    changed = [i + (stack == "decoder") for i in both.differing]
    labels = [f"{theirs}→{own}" if i in changed else own for i, (theirs, own) in enumerate(pairs)]
    said = say.patched_shares(both, shares, titles, tokens, answers_of(model, tokenizer))
    also: tuple[Finding, ...] = (say.estimates_until(columns[-1].start if columns else None),)
    if len(columns) == patching.groups(model.config, both):
        exact = patching.all_shares(columns, len(both.target))
        agree = say.estimated_shares(both, estimate, exact, titles, tokens)
        is_read_last = model.config.read_at == -1 and not names[0].startswith("encoder.")
        also = say.where_it_is(shares, kind, titles, tokens, is_read_last), agree
    wide = max(640, 12 * len(tokens) + SIDES)  # 12 pixels a token
    return View(
        key="patch",
        title="Activation patching",
        result=shares,
        chart=part_by_token(
            shares,
            titles,
            labels,
            limit=1.0,
            chosen=(row, position),
            hover="%{y}, %{x}: %{z:.2f} of the difference",
            axis="patched position",
            height=rows_height(len(names)),
        ),
        min_width=wide,
        at=round(LEFT + (position + 0.5) * (wide - SIDES) / len(tokens)),
        findings=(said, *also),
        described=state("map", "Share of what is measured that one patched activation restores. {shares}", shares=said),
        table=lambda: pd.DataFrame(shares.T, columns=titles).assign(this=tokens, other=others),
        formula=(
            r"\begin{gathered}\text{share} = "
            r"\frac{d(\text{patched}) - d(\text{this})}{d(\text{source}) - d(\text{this})} \\ "
            r"d = \mathrm{logit}_{\text{source's prediction}} - \mathrm{logit}_{\text{this one's}}"
            r"\quad\text{or}\quad \log p_{\text{token}} \\ \text{estimate} = "
            r"\frac{(x_{source} - x) \cdot \partial d / \partial x}{d(\text{source}) - d(\text{this})}\end{gathered}"
        ),
        papers=(
            "Activation patching, also called causal tracing: arXiv:2202.05262, section 2; the measure: "
            "arXiv:2309.16042, section 2; estimates: arXiv:2310.10348, section 2. The two predictions are the "
            "tokens whose probability differs most between the texts."
        ),
        code=(patching.patch_each, patching.estimate_patches, patching.source_values, patching.patch, patching.pair),
    )


@view
def patched_next(
    reading: Reading,
    source: str,
    kind: Kind,
    row: int,
    position: int,
    answers: Answers = None,
    stack: StackName | None = None,
) -> View:
    """The prediction after a text, as it is and with one activation of another text. See patched."""
    model, tokenizer = opened(reading.model)
    both, name = compared(reading, source, answers), patching.patched_names(model.config, kind, stack)[row]
    tokens, (token, against) = patching.tokens_in(stack, pieces_of(tokenizer, both.target)), both.answers
    return effects.next_token(
        effect_of(reading, source, answers, name, position),
        answers_of(model, tokenizer),
        tokens[-1],
        len(tokens) - 1,
        ("this text", say.patched_words(model.config, name, kind, tokens[position], position)),
        token,
        None if against == token else against,
    )
