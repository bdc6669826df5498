"""From the tensors of a published checkpoint to ours: a table for each family says which, a plan where each goes."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.files import CheckpointError
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.pictures import with_places

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """Where ours stand in a tensor of theirs that holds several of ours below each other, perhaps group by group.

    Args:
        groups: equal groups of rows that follow each other; 1 where the parts are whole.
        width: rows of a group.
        parts: rows of each group that are ours, part by part: first the first part of all groups, then the second.
    """

    groups: int
    width: int
    parts: tuple[range, ...]


@dataclass(frozen=True, slots=True)
class WeightSource:
    """Where one module of ours, or one tensor, comes from.

    Args:
        names: of theirs, `*` being the number of the layer. Several lie one below the other in ours, as q, k and v
            do in a joint projection; with `#`, there is one for each expert; "" stands for zeros, which no file has.
        transposed: theirs are (in, out), ours (out, in); of every expert, where their tensor has them all.
        offset: is added to theirs.
        by_head: their rows are query, key and value of the first head, then those of the second, or where several
            queries share a key and a value, these queries, the key and the value, then those of the second key; ours
            all queries, then all keys, then all values.
        skipped: how many of their first rows are none of ours.
        as_row: theirs is a matrix of one row, ours that row; of two of theirs (learned tokens), the first is one token.
        in_turn: their rows of each expert are gate and up of the first unit, then those of the second; ours all gates,
            then all others.
        factor: is multiplied with theirs; of several of theirs, or several parts of one, each with its own.
        neighbours: of queries and keys, the first and second of three: RoPE turns rows 2i and 2i + 1 of each head
            together (arXiv:2104.09864, eq. 34), ours i and i + half of those it turns.
        squeezed: theirs is of a convolution, (channel, 1, width), ours (channel, width).
        flattened: theirs is of a convolution over patches, (out, channel, size, size), ours (out, values).
        placed: theirs are positions of a class token and of a square of patches, (1, 1 + n, width); ours are of all
            learned tokens, 0 for those without, and of the patches of a picture of the size that is read: theirs
            between, as `transformers` finds them (bicubic).
        scaled_by: their name of a vector: each row of ours is multiplied with a number of it (LayerScale,
            arXiv:2103.17239, section 3.2, of which the matrix before it can take the place).
        shared: the first of theirs holds other tensors of ours, too.
        rotated_last: of latent attention: neighbours are turned together and stand last, ours first, in "each" head or
            in the one vector that has the key of "all" heads.
    """

    names: tuple[str, ...]
    transposed: bool = False
    offset: float = 0.0
    by_head: bool = False
    skipped: int = 0
    as_row: bool = False
    in_turn: bool = False
    factor: float | tuple[float, ...] = 1.0
    neighbours: bool = False
    squeezed: bool = False
    flattened: bool = False
    placed: bool = False
    scaled_by: str | None = None
    shared: Callable[[ModelConfig], Shared] | None = None
    rotated_last: Literal["each", "all"] | None = None


def of(*names: str, **how: Any) -> tuple[WeightSource, ...]:
    """A row of a table; `of(...) + of(...)` are alternatives, of which a file has one (or copies)."""
    return (WeightSource(names, **how),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One model_type.

    Args:
        title: the family's name.
        architectures: the classes of `transformers` whose weights we can take.
        config: makes our config of theirs.
        rows: our modules (or tensors) -> theirs.
        head: their name of the unembedding.
        prefix: before names in some checkpoints and not in others.
        renamed: parts of older names -> today's.
        ignored: pattern of tensors that say nothing, such as stored masks.
        checked: pattern of tensors that `config` looks at, and that say what the settings say.
        ones: pattern of our tensors that no file has, as theirs is no factor: all of their numbers are 1.
        defaults, aliases: see ConfigValues.
        quantised: the quant_method of files whose tensors are read.
        factors: our modules -> what their rows are multiplied with, where the settings say it.
    """

    title: str
    architectures: tuple[str, ...]
    config: Callable[[ConfigValues, Tensors], ModelConfig]
    rows: Mapping[str, tuple[WeightSource, ...]]
    head: str
    prefix: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)
    ignored: str = r"(?!)"
    checked: str = r"(?!)"
    ones: str = r"(?!)"
    defaults: Mapping[str, object] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    quantised: str | None = None
    factors: Callable[[ConfigValues], Mapping[str, float | tuple[float, ...]]] | None = None

    def settings(self, values: Mapping[str, object]) -> ConfigValues:
        """The values of a config.json of this family."""
        return ConfigValues(values, self.defaults, self.aliases)

    def scaled(self, values: Mapping[str, object]) -> "Family":
        """The family whose rows are multiplied as the settings say; itself where nothing is."""
        factors = self.factors(self.settings(values)) if self.factors is not None else {}
        if all({*(one if isinstance(one, tuple) else (one,))} <= {1.0} for one in factors.values()):
            return self
        rows = {
            name: tuple(replace(source, factor=factors.get(name, 1.0)) for source in sources)
            for name, sources in self.rows.items()
        }
        return replace(self, rows=rows)

    def canonical(self, name: str) -> str | None:
        """The name that the table uses; None for a tensor that says nothing."""
        name = name.removeprefix(self.prefix)
        for old, new in self.renamed.items():
            name = name.replace(old, new)
        return None if re.fullmatch(self.ignored, name) else name

    def is_transposed(self, name: str) -> bool:
        """Whether their matrix of this name is (in, out)."""
        turned = (part for sources in self.rows.values() for row in sources if row.transposed for part in row.names)
        pattern = re.sub(r"\.\d+\.", ".*.", name.removesuffix(".weight"), count=1)
        return pattern in turned

    def sources(self, name: str) -> tuple[WeightSource, ...]:
        """The tensors that our tensor of this name comes from, names in full but for the number of the expert."""
        number = re.search(r"\.(\d+)\.", name)
        pattern = re.sub(r"\.\d+\.", ".*.", name, count=1)
        module, _, kind = pattern.rpartition(".")
        rows, suffix = (self.rows[pattern], "") if pattern in self.rows else (self.rows[module], f".{kind}")
        layer = number[1] if number else ""
        return tuple(
            replace(
                row,
                names=tuple(n.replace("*", layer) + suffix for n in row.names),
                scaled_by=row.scaled_by and row.scaled_by.replace("*", layer),
            )
            for row in rows
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """One tensor of theirs and its place in one of ours.

    Args:
        source: its name; empty for zeros, which no file has.
        shape: that theirs must have.
        first, last: rows of ours that it fills, the last not included.
        expert: whose rows they are; None where there are no experts.
        transposed, offset, skipped, as_row, in_turn, factor: see WeightSource.
        by_head: how many key/value heads their rows are of, one after the other, and how many query heads come with
            each; None where they are in our order.
        neighbours: rows of a head, and how many of them RoPE turns, neighbours together; None where they are in our
            order.
        rotated_last: these are the last rows of a head.
        squeezed: see WeightSource.
        taken: groups of their rows, and the first and last of each group that are ours; None where all are.
        flattened, scaled_by: see WeightSource.
        placed: how many learned tokens stand before the patches, and how many patches a row of the picture has; None
            where they are no positions of patches.
    """

    source: str
    shape: Shape
    first: int
    last: int
    expert: int | None = None
    transposed: bool = False
    offset: float = 0.0
    by_head: tuple[int, int] | None = None
    skipped: int = 0
    as_row: bool = False
    in_turn: bool = False
    factor: float = 1.0
    neighbours: tuple[int, int] | None = None
    rotated_last: bool = False
    squeezed: bool = False
    taken: tuple[int, int, int] | None = None
    flattened: bool = False
    placed: tuple[int, int] | None = None
    scaled_by: str | None = None

    @property
    def place(self) -> tuple[int | slice, ...]:
        """Index of those rows."""
        rows = slice(self.first, self.last)
        return (rows,) if self.expert is None else (self.expert, rows)

    def ours(self, tensor: Tensor) -> Tensor:
        """Their tensor as it stands in ours."""
        tensor = tensor[0] if self.as_row else tensor[self.skipped :]
        tensor = tensor[:, 0] if self.squeezed else tensor
        tensor = tensor.flatten(1) if self.flattened else tensor
        if self.placed:
            return with_places(tensor, *self.placed)
        if self.taken:
            groups, first, last = self.taken
            tensor = tensor.unflatten(0, (groups, -1))[:, first:last].flatten(0, 1)
        if self.by_head:
            groups, n = self.by_head
            queries, keys, values = tensor.unflatten(0, (groups, n + 2, -1)).split((n, 1, 1), dim=1)
            tensor = torch.cat([part.flatten(0, 2) for part in (queries, keys, values)])
        if self.neighbours:
            d_head, rotated = self.neighbours
            heads = tensor.unflatten(0, (-1, d_head))
            heads = heads.roll(rotated, dims=1) if self.rotated_last else heads
            pairs = heads[:, :rotated].unflatten(1, (-1, 2)).transpose(1, 2).flatten(1, 2)
            tensor = torch.cat((pairs, heads[:, rotated:]), dim=1).flatten(0, 1)
        tensor = tensor.mT if self.transposed else tensor
        if self.in_turn:
            tensor = tensor.unflatten(1, (-1, 2)).transpose(1, 2).flatten(1, 2)
        if (self.factor, self.offset) == (1, 0):
            return tensor
        return tensor.float() * self.factor + self.offset


Plan = dict[str, list[Piece]]


def plan(
    family: Family | None,
    config: ModelConfig,
    ours: Mapping[str, Shape],
    theirs: Mapping[str, Shape],
    where: str,
    same: Callable[[str, str], bool],
) -> Plan:
    """Which of their tensors makes up which of ours, none where all of its numbers are 1; nothing is read for it but
    what is there under two names.

    Args:
        family: None where names are our own.
        ours, theirs: name -> shape.
        where: their tensors are, for messages.
        same: whether two of theirs are equal.

    Raises:
        CheckpointError: a tensor lacks, is not ours, has the wrong shape, or is there twice and differs.
    """
    planned: Plan = {}
    known = {family.head} if family and config.tie_embeddings else set()
    missing: list[str] = []
    for name, shape in ours.items():
        if family is not None and re.fullmatch(family.ones, name):
            planned[name] = []
            continue
        choices = [list(_pieces(source, shape, config)) for source in _sources(family, config, name)]
        known.update(part for choice in choices for piece in choice for part in (piece.source, piece.scaled_by) if part)
        planned[name] = max(choices, key=lambda choice: sum(p.source in theirs for p in choice) / len(choice))
        if family is not None and not planned[name][0].source.startswith(family.head.removesuffix("weight")):
            for choice in choices:  # of the head itself, the config knows whether it is the table
                copies = [piece for piece in choice if piece.source != family.head]
                _check_copy(planned[name], copies, theirs, where, same)
        for piece in planned[name]:
            if not piece.source:
                continue
            if lacking := [one for one in (piece.source, piece.scaled_by) if one is not None and one not in theirs]:
                missing += lacking
            elif piece.placed and _is_square(theirs[piece.source], piece.shape):
                continue
            elif piece.scaled_by and (scales := theirs[piece.scaled_by]) != (rows := (piece.last - piece.first,)):
                raise CheckpointError(f"{where}: {piece.scaled_by} has shape {scales}, config.json asks for {rows}")
            elif (shown := theirs[piece.source]) != piece.shape:
                asked = f"config.json asks for {piece.shape}"
                raise CheckpointError(f"{where}: {piece.source} has shape {shown}, {asked}")
    if missing:
        others = f" and {len(missing) - 1} more" if missing[1:] else ""
        raise CheckpointError(f"{where} lacks {min(missing)}{others}")
    checked = family.checked if family else r"(?!)"
    if extra := [name for name in theirs if name not in known and not re.fullmatch(checked, name)]:
        raise CheckpointError(f"{where} holds {min(extra)}, which a model of its config does not have")
    return planned


def _is_square(shown: Shape, asked: Shape) -> bool:
    """Whether a tensor has positions of a class token and of a square of patches, of the width that is asked for."""
    return (
        len(shown) == 3 and shown[::2] == asked[::2] and shown[1] > 1 and math.isqrt(shown[1] - 1) ** 2 == shown[1] - 1
    )


def _check_copy(
    used: list[Piece], other: list[Piece], theirs: Mapping[str, Shape], where: str, same: Callable[[str, str], bool]
) -> None:
    """Refuse what another of a row's alternatives would take, if it is there and differs from what is taken."""
    if other == used or not (there := [piece.source for piece in other if piece.source in theirs]):
        return
    mine = used[0].source
    if len(used) > 1 or len(other) > 1 or theirs.get(mine) != theirs[there[0]] or not same(mine, there[0]):
        raise CheckpointError(f"{where} holds {mine} and {there[0]}, which differ, and a model has one of them")


def _sources(family: Family | None, config: ModelConfig, name: str) -> tuple[WeightSource, ...]:
    if family is None:
        return of(name)
    sources = family.sources(name)
    if name == "unembed.weight" or config.tie_embeddings:
        return sources
    return tuple(source for source in sources if family.head not in source.names)  # the head is not the table


def _pieces(source: WeightSource, shape: Shape, config: ModelConfig) -> Iterator[Piece]:
    """The pieces that make up one of our tensors."""
    by_expert = any("#" in part for part in source.names)
    experts, inner = (range(shape[0]), shape[1:]) if by_expert else ((None,), shape)
    for expert in experts:
        start = 0
        pairs = (config.head_size, config.positions.rotated or config.head_size)
        patches = config.patches
        for i, (part, n, rows, taken) in enumerate(_parts(source, inner[0], config)):
            transposed = source.transposed and len(inner) > 1
            name = part if expert is None else part.replace("#", str(expert))
            asked = (rows + source.skipped, *inner[1:])
            turned = (*asked[:-2], asked[-1], asked[-2]) if transposed else asked
            shown = (1, *asked) if source.as_row else turned
            shown = (asked[0], 1, *asked[1:]) if source.squeezed else shown
            if source.flattened and patches is not None:
                shown = (asked[0], patches.channels, patches.size, patches.size)
            groups = config.attention.kv_heads
            by_head = (groups, config.attention.n_heads // groups) if source.by_head else None
            factor = source.factor[i] if isinstance(source.factor, tuple) else source.factor
            how = transposed, source.offset, by_head, source.skipped, source.as_row, source.in_turn, factor
            turned_together = pairs if (source.neighbours and i < 2) or source.rotated_last else None
            if turned_together and source.rotated_last == "all":
                turned_together = n, pairs[1]
            last = source.rotated_last is not None
            yield Piece(
                name,
                shown,
                start,
                start + n,
                expert,
                *how,
                neighbours=turned_together,
                rotated_last=last,
                squeezed=source.squeezed,
                taken=taken,
                flattened=source.flattened,
                placed=(len(patches.tokens), patches.rows) if source.placed and patches is not None else None,
                scaled_by=source.scaled_by,
            )
            start += n


def _parts(
    source: WeightSource, total: int, config: ModelConfig
) -> Iterator[tuple[str, int, int, tuple[int, int, int] | None]]:
    """For each piece its name, its rows of ours, the rows that theirs has, and which of these it takes."""
    shared = source.shared(config) if source.shared is not None else None
    rows = [1, total - 1] if source.as_row and source.names[1:] else _rows(total, len(source.names), config)
    for i, (name, n) in enumerate(zip(source.names, rows, strict=True)):
        if i or shared is None:
            yield name, n, n, None
            continue
        for part in shared.parts:
            taken = (shared.groups, part.start, part.stop)
            yield name, shared.groups * len(part), shared.groups * shared.width, taken


def _rows(total: int, n: int, config: ModelConfig) -> list[int]:
    """How many rows of our tensor each of n pieces has: q, k and v differ where key/value heads are fewer."""
    if n == 3:
        q, kv = config.attention.n_heads * config.head_size, config.attention.kv_heads * config.head_size
        return [q, kv, kv]
    return [total // n] * n
