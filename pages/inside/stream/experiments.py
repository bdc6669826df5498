"""The experiments of the page on the residual stream."""

from collections.abc import Sequence

from tfcore.analysis.inside.logit_attribution import (
    Contributions,
    Parts,
    Promoted,
    instalments,
    largest_instalment,
    largest_part,
    logit_sum,
    shares_by_part,
    stream_parts,
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
    StreamShape,
    part_name,
    stage_names,
    stream_curve,
    stream_shape,
    written_norms,
)
from tfcore.analysis.inside.skipped_layers import Skips, loss_increases, skip_each, skip_name
from tfcore.analysis.one_text import FirstTokens, first_tokens
from tfcore.analysis.token_text import label, tick_labels
from tfcore.figures.block.neurons import promoted_figure
from tfcore.figures.inside.boards import board
from tfcore.figures.inside.interventions import part_by_token
from tfcore.figures.inside.logit_lens import lens_grid, token_path_figure
from tfcore.figures.inside.residual_stream import curves, part_role, running_sum, writes_figure
from tfcore.figures.shown import Shown
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def parts_at(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, position: int) -> Parts:
    """The stream at one position of a text as a sum of what each part of the model wrote."""
    return stream_parts(model, first_tokens(model, tokenizer, text, limit).ids, position)


def summed(found: Contributions, token: str) -> Shown:
    """The logit of a token as a sum of the shares of all parts, in the order of computation."""
    names, shares = zip(*instalments(found), strict=True)
    figure = running_sum(names, shares, [part_role(name) for name in names], height=130 + 31 * len(names))
    return Shown(figure, (logit_sum(found, token), largest_instalment(found)))


def parts(found: Contributions, selected: tuple[int, int] | None) -> Shown:
    """Direct logit attribution: each part's share in the logit of one token, exactly (the final norm held fixed)."""
    shares, names = shares_by_part(found)
    figure = board(
        shares,
        ["FF" if name == "feed-forward" else name.removeprefix("head ") for name in names],
        "layer %{y}, part %{text}: %{z:.3f} logits",
        limit=max(1e-3, float(abs(shares).max())),
        selected=[selected] if selected else [],
        height=60 + 44 * len(shares),
    )
    return Shown(figure, (largest_part(found),))


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


def every_guess(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> tuple[Lens, list[list[list[str]]]]:
    """The logit lens on the first tokens of a text, and its predictions as pieces of text, (stage, position, guess)."""
    found = logit_lens(model, first_tokens(model, tokenizer, text, limit).ids)
    return found, [[tokenizer.tokens(row) for row in stage] for stage in found.best.tolist()]


def grid(found: Lens, cells: Cells, tokens: Sequence[str], stages: Sequence[int], position: int) -> Shown:
    """The logit lens: the top prediction at every position, after each of the stages with these indices."""
    correct = found.correct_cells()[list(stages)].T
    names, labels = stage_names(found.stages), tick_labels(tokens, 10)
    figure = lens_grid(
        cells.words,
        found.probability[list(stages), :, 0].T,
        correct,
        cells.hovers,
        labels,
        [*labels[1:], ""],
        [names[stage] for stage in stages],
        position,
    )
    return Shown(figure, (correct_by_stage(found, stages), correct_at_ends(found)))


def followed(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, position: int, tokens: tuple[int, ...]
) -> TokenPath:
    """Some tokens at one position of a text, read from the stream after every stage."""
    return follow_tokens(model, first_tokens(model, tokenizer, text, limit).ids, position, tokens)


def lens(tokenizer: Tokenizer, path: TokenPath, tokens: tuple[int, ...]) -> Shown:
    """The logit lens: the probability of some tokens, read from the stream after every stage."""
    names = tokenizer.tokens(tokens)
    figure = token_path_figure(path, tick_labels(names, 12), stage_names(path.stages), height=320)
    return Shown(figure, (probability_by_stage(path, names[0]),))


def shape_of(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> StreamShape:
    """Norm and cosine of the stream on the first tokens of a text."""
    return stream_shape(model, first_tokens(model, tokenizer, text, limit).ids)


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


def every_skip(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> Skips:
    """The first tokens of a text, with each sublayer and each block skipped in turn."""
    return skip_each(model, first_tokens(model, tokenizer, text, limit).ids)


def skipped(skips: Skips, read: FirstTokens, row: int, column: int) -> Shown:
    """The loss increase of every token when a sublayer or block is skipped."""
    names = [skip_name(one) for one in skips.skipped]
    figure = part_by_token(
        skips.loss_increase,
        names,
        tick_labels(read.tokens[1:], 10),
        limit=5.0,  # nats, from which on all colours are the same
        chosen=(row, column),
        hover="without %{y}: loss of %{x} %{z:+.2f} nats",
        axis="token to predict",
        height=90 + 26 * len(names),
    )
    return Shown(figure, (loss_increases(skips, row),))
