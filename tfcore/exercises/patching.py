"""Activation patching."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.charts.part_by_token import part_by_token
from tfcore.config import ModelConfig
from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.exercises.shown import shipped_model
from tfcore.inspection.edits import Edit
from tfcore.measures.lenses import lens_logits
from tfcore.measures.one_text import one_text, pieces_of
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig
from tfcore.views.finding import state

CLEAN, CORRUPTED = "The boy was sad because", "The girl was sad because"
ANSWERS = " he", " she"


@dataclass(frozen=True, eq=False)
class ModelBlock:
    """A block of a model as a function of the residual stream."""

    model: Transformer
    layer: int

    def __call__(self, x: Float[Tensor, "seq d_model"]) -> Float[Tensor, "seq d_model"]:
        (after,) = self.model.resume(x[None], self.layer, until=self.layer + 1)
        return after


def patched_run(
    blocks: list[ModelBlock],
    clean: Float[Tensor, "seq d_model"],
    corrupted: Float[Tensor, "seq d_model"],
    layer: int,
    position: int,
) -> Float[Tensor, "seq d_model"]:
    """The corrupted text's run with one activation of the clean one: the stream after block `layer` at `position`.

    A block is a function from stream to stream, x = blocks[i](x); they run one after the other. All other positions,
    and all that comes after the patch, are computed from the corrupted text's own stream.

    Args:
        blocks: of a decoder, in order.
        clean, corrupted: the stream of both texts before block 0.
        layer, position: where the clean run's value is put.

    Returns:
        stream: of the patched run after the last block.
    """
    for i, block in enumerate(blocks):
        clean, corrupted = block(clean), block(corrupted)
        if i == layer:
            corrupted = corrupted.clone()
            corrupted[position] = clean[position]
    return corrupted


def by_tfcore(blocks: list[ModelBlock], clean: Tensor, corrupted: Tensor, layer: int, position: int) -> Tensor:
    (value,) = blocks[0].model.resume(clean[None], 0, until=layer + 1)
    edit = Edit.replace(f"blocks.{layer}.resid_post", value[position], positions=[position])
    (stream,) = blocks[0].model.resume(corrupted[None], 0, edits=[edit], until=len(blocks))
    return stream


def exchanged(blocks: list[ModelBlock], clean: Tensor, corrupted: Tensor, layer: int, position: int) -> Tensor:
    return by_tfcore(blocks, corrupted, clean, layer, position)


def every_position(blocks: list[ModelBlock], clean: Tensor, corrupted: Tensor, layer: int, position: int) -> Tensor:
    for block in blocks:
        clean = block(clean)
    return clean + 0 * corrupted


def before_block(blocks: list[ModelBlock], clean: Tensor, corrupted: Tensor, layer: int, position: int) -> Tensor:
    for i, block in enumerate(blocks):
        if i == layer:
            corrupted = corrupted.clone()
            corrupted[position] = clean[position]
        clean, corrupted = block(clean), block(corrupted)
    return corrupted


def not_run_on(blocks: list[ModelBlock], clean: Tensor, corrupted: Tensor, layer: int, position: int) -> Tensor:
    return by_tfcore(blocks[: layer + 1], clean, corrupted, layer, position)


def at_the_end(blocks: list[ModelBlock], clean: Tensor, corrupted: Tensor, layer: int, position: int) -> Tensor:
    for i, block in enumerate(blocks):
        corrupted, clean = block(corrupted), clean if i > layer else block(clean)
    corrupted = corrupted.clone()
    corrupted[position] = clean[position]
    return corrupted


def added(blocks: list[ModelBlock], clean: Tensor, corrupted: Tensor, layer: int, position: int) -> Tensor:
    for i, block in enumerate(blocks):
        clean, corrupted = block(clean), block(corrupted)
        if i == layer:
            corrupted = corrupted.clone()
            corrupted[position] += clean[position]
    return corrupted


def in_every_layer(blocks: list[ModelBlock], clean: Tensor, corrupted: Tensor, layer: int, position: int) -> Tensor:
    for block in blocks:
        clean, corrupted = block(clean), block(corrupted)
        corrupted = corrupted.clone()
        corrupted[position] = clean[position]
    return corrupted


def from_embeddings(blocks: list[ModelBlock], clean: Tensor, corrupted: Tensor, layer: int, position: int) -> Tensor:
    for i, block in enumerate(blocks):
        corrupted = block(corrupted)
        if i == layer:
            corrupted = corrupted.clone()
            corrupted[position] = clean[position]
    return corrupted


def cases(generator: torch.Generator) -> list[Inputs]:
    made: list[Inputs] = []
    for n_layers, seq, layer, position in ((3, 4, 1, 2), (1, 2, 0, 1)):
        heads = AttentionConfig(n_heads=2)
        config = ModelConfig(
            vocab_size=8, d_model=16, n_layers=n_layers, attention=heads, max_seq_len=8, init_std=0.3, bias=False
        )
        model = Transformer(config, int(torch.randint(2**31, (), generator=generator))).requires_grad_(False).eval()
        blocks = [ModelBlock(model, i) for i in range(n_layers)]
        made.append((blocks, normal(generator, seq, 16), normal(generator, seq, 16), layer, position))
    return made


def same_text_changes_nothing(
    call: Function, blocks: list[ModelBlock], clean: Tensor, corrupted: Tensor, layer: int, position: int
) -> bool:
    plain = corrupted
    for block in blocks:
        plain = block(plain)
    return torch.allclose(call(blocks, corrupted, corrupted, layer, position), plain, atol=1e-3)


def earlier_positions_stay(
    call: Function, blocks: list[ModelBlock], clean: Tensor, corrupted: Tensor, layer: int, position: int
) -> bool:
    plain = corrupted
    for block in blocks:
        plain = block(plain)
    mine = call(blocks, clean, corrupted, layer, position)
    return torch.allclose(mine[:position], plain[:position], atol=1e-3)


def last_block_leaves_the_clean_value(
    call: Function, blocks: list[ModelBlock], clean: Tensor, corrupted: Tensor, layer: int, position: int
) -> bool:
    last = len(blocks) - 1
    mine, whole = call(blocks, clean, corrupted, last, position), clean
    for block in blocks:
        whole = block(whole)
    return torch.allclose(mine[position], whole[position], atol=1e-3)


@torch.no_grad()
def draw(call: Function) -> Picture:
    model, tokenizer = shipped_model("stories")
    texts = [tokenizer.encode(text) for text in (CLEAN, CORRUPTED)]
    clean, corrupted = (
        model.activations(one_text(model, ids), "blocks.0.resid_pre")["blocks.0.resid_pre"][0] for ids in texts
    )
    blocks = [ModelBlock(model, i) for i in range(model.config.n_layers)]
    he, she = (tokenizer.encode(word)[0] for word in ANSWERS)

    def difference(stream: Tensor) -> float:
        logits = lens_logits(model, stream[-1])
        return float(logits[he] - logits[she])

    ends = []
    for x in (corrupted, clean):
        for block in blocks:
            x = block(x)
        ends.append(difference(x))
    shares = torch.tensor(
        [
            [
                (difference(call(blocks, clean, corrupted, i, at)) - ends[0]) / (ends[1] - ends[0])
                for at in range(len(clean))
            ]
            for i in range(len(blocks))
        ]
    )
    theirs, own = (tick_labels(pieces_of(tokenizer, ids)) for ids in texts)
    labels = [a if a == b else f"{a}→{b}" for a, b in zip(theirs, own, strict=True)]
    rows = [f"after {i}" for i in range(len(blocks))]
    hover = "%{y}, %{x}: %{z:.2f} of the difference"
    early, late = (int(shares[row].argmax()) for row in (0, -1))
    chart = part_by_token(shares.numpy(), rows, labels, 1.0, (0, early), hover, "patched position", 300)
    words = (
        "Share of 'he' over 'she' that each patch of the function brings back: after block 0 most at "
        "'{early}', {most:.2f}; "
        "after the last one at '{late}'."
    )
    found = state("patches", words, early=labels[early], most=float(shares[0, early]), late=labels[late])
    return Picture(chart, found, 560)


PATCHING = Exercise(
    solution=patched_run,
    title="Activation patching",
    asks="One text's run with a single activation of another's.",
    papers="Locating and Editing Factual Associations in GPT, section 2.1, arXiv:2202.05262; "
    "Towards Best Practices of Activation Patching, section 2, arXiv:2309.16042",
    formula=r"\tilde x_{\ell+1} = \mathrm{block}_\ell(\tilde x_\ell), \qquad "
    r"\tilde x_{\ell+1}[p] \leftarrow x^{clean}_{\ell+1}[p]",
    returns=("stream",),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty(
            "A patch from the same text changes nothing.",
            "a patch from the same text changes the run",
            same_text_changes_nothing,
        ),
        ExerciseProperty(
            "Positions before the patch stay as they are.",
            "a position before the patch changes",
            earlier_positions_stay,
        ),
        ExerciseProperty(
            "A patch after the last block leaves the clean run's value.",
            "a patch after the last block does not leave the clean run's value",
            last_block_leaves_the_clean_value,
        ),
    ),
    mistakes=(
        UsualMistake(exchanged, "are the two texts exchanged? The clean value goes into the corrupted run"),
        UsualMistake(every_position, "is every position patched in place of one?"),
        UsualMistake(before_block, "is the patch put before the block in place of after it?"),
        UsualMistake(not_run_on, "do the blocks after the patch still run?"),
        UsualMistake(at_the_end, "is the value put into the last stream? The blocks after the patch have to read it"),
        UsualMistake(added, "is the clean value added? It takes the other's place"),
        UsualMistake(in_every_layer, "is every layer patched in place of one?"),
        UsualMistake(from_embeddings, "is the clean value that of before block 0? The clean text has to run, too"),
    ),
    hints=(
        "Both texts run through the same blocks: two streams in one loop.",
        "After block `layer`, and only there, one row of the corrupted stream is replaced.",
        "`clone()` first: a row that is written in place may be the stream that somebody else still reads.",
    ),
    page="interventions?show=patch",
    draw=draw,
)
