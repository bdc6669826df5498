"""Fine-tuning `stories` on a play: all weights, the last layers, or LoRA, with the loss on the old text beside.

The model that is trained is loaded for the run alone; the one that pages share is never touched.
"""

import json
from collections.abc import Generator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.loading.checkpoints import load
from tfcore.measures.neuron_scan import load_neuron_scan
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training import data
from tfcore.training.finetuning_runs import ALPHA, FineTuneConfig, FineTuned, Losses
from tfcore.training.lora import add_lora_
from tfcore.training.preference_runs import PreferenceRun

FOLDER = Path(__file__).parent / "finetuned"
MODEL = "stories"
PROMPT = "The king came home and"
HELD_OUT = 0.1  # of the play, its end
ROWS = 4  # windows of a batch
SEQ = 64  # tokens of a window
WINDOWS = 24  # held-out windows of each text
WINDOW = 48  # tokens of one; as many as those of the stories that ship
WARMUP = 10  # steps
CLIP = 1.0  # largest norm of the gradient
EVERY = 10  # steps between two looks at the losses
WRITTEN = 60  # tokens of a continuation


def own_model() -> tuple[Transformer, BPETokenizer]:
    """A copy of `stories` that nobody else has, on the CPU, and its tokenizer."""
    model, tokenizer = load(MODEL, "cpu")
    if not isinstance(tokenizer, BPETokenizer):
        raise ValueError(f"{MODEL} has no tokenizer of ours; it ships with one")
    return model, tokenizer


@cache
def play_ids() -> np.ndarray:
    """The ids of the shipped part of Romeo and Juliet."""
    text = (FOLDER / "romeo_and_juliet.txt").read_text("utf-8")
    return np.array(own_model()[1].encode(text), dtype=np.int32)


def held_out_play() -> Int[Tensor, "window seq"]:
    """The first windows of the held-out end of the play."""
    ids = play_ids()
    rest = ids[len(ids) - int(HELD_OUT * len(ids)) :]
    count = min(WINDOWS, len(rest) // WINDOW)
    return torch.from_numpy(rest[: count * WINDOW].astype(np.int64)).view(count, WINDOW)


@cache
def old_stories() -> Int[Tensor, "window seq"]:
    """Windows of held-out stories: excerpts of TinyStories' validation split that ship with the model."""
    windows = load_neuron_scan(MODEL).windows
    whole = windows[(windows < own_model()[0].config.vocab_size).all(1)]  # without those that are padded
    return torch.from_numpy(whole[:: len(whole) // WINDOWS][:WINDOWS].astype(np.int64))


@torch.no_grad()
def mean_loss(model: Transformer, rows: Int[Tensor, "window seq"]) -> float:
    """Cross-entropy of every token after the first of its window, nats per token."""
    rows = rows.to(model.device)
    return float(next_token_loss(model, rows[:, :-1], rows[:, 1:]))


def next_token_loss(
    model: Transformer, ids: Int[Tensor, "row seq"], targets: Int[Tensor, "row seq"]
) -> Float[Tensor, ""]:
    """Mean cross-entropy, nats per token."""
    return F.cross_entropy(model(ids).logits.flatten(0, 1), targets.flatten())


def choose_weights_(model: Transformer, config: FineTuneConfig) -> list[nn.Parameter]:
    """Let those weights have gradients that the method trains, and freeze the others; returns them."""
    if config.method == "lora":
        add_lora_(model, config.rank, ALPHA, config.seed)
    else:
        model.requires_grad_(config.method == "full")
    if config.method == "last":
        for block in model.stack.blocks[-config.layers :]:
            block.requires_grad_(True)
        model.stack.ln_final.requires_grad_(True)
    return [weight for weight in model.parameters() if weight.requires_grad]


def fine_tune(config: FineTuneConfig) -> Generator[FineTuned | None, None, Transformer]:
    """Train a copy of `stories` on the play.

    Yields:
        The run so far every few steps, None after each other step; the last has the continuation after training.

    Returns:
        The tuned model.
    """
    model, tokenizer = own_model()
    play, held_out, old = play_ids(), held_out_play(), old_stories()
    train = {"play": play[: len(play) - int(HELD_OUT * len(play))]}
    before = continuation(model, tokenizer)
    weights = choose_weights_(model, config)
    optimizer = torch.optim.AdamW(weights, lr=config.lr, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    generator = torch.Generator().manual_seed(config.seed)
    losses = [Losses(0, mean_loss(model, held_out), mean_loss(model, old))]
    yield FineTuned(config, tuple(losses), (before, ""))
    for step in range(1, config.steps + 1):
        batch = data.text_windows(train, {"play": 1.0}, ROWS, SEQ, generator)
        optimizer.zero_grad()
        next_token_loss(model, batch.ids, batch.targets).backward()
        nn.utils.clip_grad_norm_(weights, CLIP)
        optimizer.param_groups[0]["lr"] = config.lr * min(1.0, step / WARMUP)
        optimizer.step()
        if step % EVERY and step < config.steps:
            yield None
            continue
        losses.append(Losses(step, mean_loss(model, held_out), mean_loss(model, old)))
        after = continuation(model, tokenizer) if step == config.steps else ""
        yield FineTuned(config, tuple(losses), (before, after))
    return model


def tuned_model(config: FineTuneConfig) -> Transformer:
    """The model when the run has ended; of LoRA with its updates still beside the matrices."""
    course = fine_tune(config)
    while True:
        try:
            next(course)
        except StopIteration as ended:
            model: Transformer = ended.value
            return model


def fine_tune_to_the_end(config: FineTuneConfig) -> FineTuned:
    """The run when it has ended."""
    return [run for run in fine_tune(config) if run is not None][-1]


@torch.no_grad()
def continuation(model: Transformer, tokenizer: BPETokenizer) -> str:
    """The prompt and what the model writes after it, at temperature 0.7."""
    ids = tokenizer.encode(PROMPT)
    new = generate(model, ids, Sampling(temperature=0.7, top_k=40), max_new_tokens=WRITTEN, seed=1)
    return tokenizer.decode([*ids, *new])


def save_runs(runs: Sequence[FineTuned | PreferenceRun], path: Path) -> None:
    """Write runs as JSON."""
    path.write_text(json.dumps([asdict(run) for run in runs], indent=1, ensure_ascii=False) + "\n", "utf-8")


def kept_runs() -> list[FineTuned]:
    """A run of each method with each seed, which ship; `python -m tfcore.training finetuning` makes it."""
    rows = json.loads((FOLDER / "runs.json").read_text("utf-8"))
    return [
        FineTuned(
            FineTuneConfig(**row["config"]),
            tuple(Losses(**losses) for losses in row["losses"]),
            (row["continuations"][0], row["continuations"][1]),
        )
        for row in rows
    ]
