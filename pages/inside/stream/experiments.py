"""The experiments of the page on the residual stream."""

from collections.abc import Iterator, Sequence

from tfcore.analysis.inside.logit_attribution import (
    LARGEST,
    Promoted,
    instalments,
    largest_instalment,
    largest_instalments,
    largest_part,
    logit_sum,
    shares_by_part,
)
from tfcore.analysis.inside.logit_lens import (
    Cells,
    Lens,
    TokenPath,
    correct_at_ends,
    correct_by_stage,
    follow_tokens,
    logit_lens,
    probability_by_stage,
)
from tfcore.analysis.inside.residual_stream import (
    AXES,
    Measure,
    Skips,
    SkipsOfLayer,
    StreamShape,
    all_skips,
    loss_increases,
    part_name,
    skip_each,
    skip_name,
    stream_curve,
    stream_shape,
    written_norms,
)
from tfcore.analysis.inside.tuned_lens import leads_from, lens_divergence
from tfcore.analysis.scale_end import scale_end
from tfcore.charts.boards import board, board_height
from tfcore.charts.part_by_token import part_by_token
from tfcore.charts.promoted import promoted_figure
from tfcore.figures.inside.logit_lens import divergence_figure, lens_grid, token_path_figure
from tfcore.figures.inside.residual_stream import curves, part_role, running_sum, writes_figure
from tfcore.figures.shown import Shown
from tfcore.loading.tuned_lenses import load_tuned_lens
from tfcore.measures.lenses import LensComparison, compare_lenses, stage_names
from tfcore.measures.logit_attribution import Contributions, Parts, stream_parts
from tfcore.measures.one_text import FirstTokens, first_tokens
from tfcore.measures.token_text import label, tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def parts_at(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, position: int, bos: bool | None = None
) -> Parts:
    """The stream at one position of a text as a sum of what each part of the model wrote."""
    return stream_parts(model, first_tokens(model, tokenizer, text, limit, bos).ids, position)


def summed(found: Contributions, token: str, whole: bool) -> Shown:
    """The logit of a token as a sum of the shares of its parts, in the order of computation: the largest, or all."""
    rows = instalments(found) if whole else largest_instalments(found, LARGEST)
    names, shares = zip(*rows, strict=True)
    height = 130 + max(13, min(31, 780 // len(names))) * len(names)
    figure = running_sum(names, shares, [part_role(name) for name in names], height)
    return Shown(figure, (logit_sum(found, token), largest_instalment(found)))


def parts(found: Contributions, selected: tuple[int, int] | None) -> Shown:
    """Direct logit attribution: each part's share in the logit of one token, exactly (the final norm held fixed)."""
    shares, names = shares_by_part(found)
    titles = [[f"{name} of layer {layer}" for name in names] for layer in range(len(shares))]
    end = scale_end(shares, titles, least=1e-3)
    figure = board(
        shares,
        ["FF" if name == "feed-forward" else name.removeprefix("head ") for name in names],
        "layer %{y}, part %{text}: %{z:.3f} logits",
        limit=end.end,
        selected=[selected] if selected else [],
        height=board_height(len(shares), row=44),
    )
    return Shown(figure, (largest_part(found), *([end] if end.beyond else [])))


def promoted(found: Promoted, following: int | None) -> Shown:
    """What one head or feed-forward layer writes at a position: the logits that it raises and lowers most."""
    marked = found.ids.index(following) if following in found.ids else None
    figure = promoted_figure(
        tick_labels(found.tokens),
        found.shares,
        None if marked is None else label(found.tokens[marked], 12),
        height=300,
        axis="share in each token's logit",
        up=part_role(found.part),
    )
    return Shown(figure, (found,))


def every_guess(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    stages: tuple[str, ...],
    bos: bool | None = None,
    tuned: str | None = None,
) -> tuple[Lens, list[list[list[str]]]]:
    """The logit lens on the first tokens of a text after some stages, or the tuned lens of this name, and its
    predictions as pieces of text, (stage, position, guess)."""
    ids = first_tokens(model, tokenizer, text, limit, bos).ids
    found = logit_lens(model, ids, stages, None if tuned is None else load_tuned_lens(tuned))
    return found, [[tokenizer.tokens(row) for row in stage] for stage in found.best.tolist()]


def grid(found: Lens, cells: Cells, tokens: Sequence[str], position: int, first: int, rows: int) -> Shown:
    """The logit or tuned lens: the top prediction after each stage, at so many positions from the first one on."""
    labels, shown = tick_labels(tokens, 10), slice(first, first + rows)
    figure = lens_grid(
        cells.words[shown],
        found.probability[:, shown, 0].T,
        found.correct_cells()[:, shown].T,
        cells.hovers[shown],
        labels[shown],
        [*labels[1:], ""][shown],
        stage_names(found.stages),
        position,
        first,
    )
    return Shown(figure, (correct_by_stage(found), correct_at_ends(found)))


def followed(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    position: int,
    tokens: tuple[int, ...],
    bos: bool | None = None,
    tuned: str | None = None,
) -> TokenPath:
    """Some tokens at one position of a text, read from the stream after every stage, by the tuned lens of this name."""
    ids = first_tokens(model, tokenizer, text, limit, bos).ids
    return follow_tokens(model, ids, position, tokens, None if tuned is None else load_tuned_lens(tuned))


def lens(tokenizer: Tokenizer, path: TokenPath, tokens: tuple[int, ...]) -> Shown:
    """The logit or tuned lens: the probability of some tokens, read from the stream after every stage."""
    names = tokenizer.tokens(tokens)
    figure = token_path_figure(path, tick_labels(names, 12), stage_names(path.stages), height=320)
    return Shown(figure, (probability_by_stage(path, names[0]),))


def compared(
    model: Transformer, tokenizer: Tokenizer, name: str, text: str, limit: int, bos: bool | None = None
) -> LensComparison:
    """The logit lens and the tuned lens of this name on the first tokens of a text."""
    return compare_lenses(model, load_tuned_lens(name), first_tokens(model, tokenizer, text, limit, bos).ids)


def both_lenses(tokenizer: Tokenizer, found: LensComparison, position: int) -> Shown:
    """How far each lens is from the model's own predictions, stage by stage."""
    divergence = lens_divergence(found)
    (token,) = tokenizer.tokens(found.logit_best[-1, position : position + 1].tolist())
    return Shown(divergence_figure(divergence, height=280), (divergence, leads_from(found, position, token)))


def shape_of(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, bos: bool | None = None) -> StreamShape:
    """Norm and cosine of the stream on the first tokens of a text."""
    return stream_shape(model, first_tokens(model, tokenizer, text, limit, bos).ids)


def shape(found: StreamShape, read: FirstTokens, position: int, measure: Measure) -> Shown:
    """The norm of the stream at each stage, or its cosine to the final state."""
    values = found.norm if measure == "norm" else found.cosine
    limits = None if measure == "norm" else (min(-0.05, float(values.min())), 1.05)
    stages, labels = stage_names(found.stages), tick_labels(read.tokens, 10)
    figure = curves(values, stages, labels, position, AXES[measure], height=400, limits=limits)
    return Shown(figure, (stream_curve(found, measure, read.tokens[position], position),))


def writes(found: StreamShape, position: int) -> Shown:
    """What each part adds to the stream at one position: its norm, and its cosine to the stream."""
    names = [part_name(name, short=True) for name in found.parts]
    roles = [part_role(name) for name in names]
    figure = writes_figure(found.added[:, position], found.along[:, position], names, roles, height=300)
    return Shown(figure, written_norms(found, position))


def by_layer(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, bos: bool | None = None
) -> Iterator[SkipsOfLayer]:
    """The first tokens of a text, with each sublayer and each block skipped in turn, layer by layer."""
    return skip_each(model, first_tokens(model, tokenizer, text, limit, bos).ids)


def every_skip(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, bos: bool | None = None) -> Skips:
    """The same, of all layers."""
    return all_skips(model.config, list(by_layer(model, tokenizer, text, limit, bos)))


def skipped(skips: Skips, read: FirstTokens, row: int, column: int, rows: Sequence[int]) -> Shown:
    """The loss increase of every token when a sublayer or block is skipped; of those with these indices."""
    names = [skip_name(skips.skipped[i]) for i in rows]
    figure = part_by_token(
        skips.loss_increase[list(rows)],
        names,
        tick_labels(read.tokens[1:], 10),
        limit=5.0,  # nats, from which on all colours are the same
        chosen=(rows.index(row), column),
        hover="without %{y}: loss of %{x} %{z:+.2f} nats",
        axis="token to predict",
        height=90 + 26 * len(names),
    )
    return Shown(figure, (loss_increases(skips, row),))
