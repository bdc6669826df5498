"""Train a model with one mistake beside a baseline: same seed, same batches, and a number that shows the mistake."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfcore.attention import AttentionContext
from tfcore.block import Block
from tfcore.checks import check_choice, check_whole
from tfcore.config import ModelConfig
from tfcore.generation.generate import generate
from tfcore.initialise import initialise
from tfcore.inspection.capture import ActivationRecorder
from tfcore.masks import bidirectional
from tfcore.measures.statistics import ratio
from tfcore.model import Transformer
from tfcore.norms import NoNorm, Norm
from tfcore.part_configs import AttentionConfig, FeedForwardConfig
from tfcore.training import pitfall_tasks as tasks
from tfcore.training.data import Batch

Pitfall = Literal["mask", "axis", "skip", "final", "scale", "positions", "rate", "half"]
KINDS: tuple[Pitfall, ...] = get_args(Pitfall)
SEQ = 48  # letters of a text
ROWS = 16  # texts of a batch
RATE = 3e-3  # learning rate
WARMUP = 20  # steps
CLIP = 1.0  # largest norm of the gradient
EVERY = 5  # steps between two looks
SPOKEN = 40  # steps between two generated texts
LETTERS_SAID = 64  # letters of a generated text
LOSS_SCALE = 2.0**16  # where automatic mixed precision usually begins
# How much of the mistake: the options, and the usual one. Mistakes that are not named have no options.
DOSES: dict[Pitfall, tuple[tuple[int, ...], int]] = {
    "skip": ((1, 2, 3, 4, 6, 8), 4),  # layers
    "final": ((1, 2, 4, 6), 4),  # layers
    "scale": ((16, 32, 64, 128), 64),  # d_head
    "rate": ((3, 10, 30, 100, 300), 100),  # times the healthy learning rate
    "half": ((1, 16, 256, 1024, 4096), 4096),  # batches of this size that one step's mean goes over
}


def most_steps(kind: Pitfall, dose: int) -> int:
    """How many steps take less than a minute on two cores: fewer the deeper the two models are."""
    return min(400, 1_280 // dose) if kind == "skip" else 400


@dataclass(frozen=True, slots=True, kw_only=True)
class PitfallConfig:
    """One experiment.

    Args:
        kind: the mistake.
        dose: how much of it; see DOSES. 0 means what is usual.
        seed: of the weights and the batches of both models.
        steps: of training.

    Raises:
        ValueError: naming the value and what would do.
    """

    kind: Pitfall = "mask"
    dose: int = 0
    seed: int = 0
    steps: int = 160

    def __post_init__(self) -> None:
        check_choice(self, kind=Pitfall)
        check_whole(self, seed=(0, 1_000), steps=(1, 1_000))
        options, usual = DOSES.get(self.kind, ((0,), 0))
        if self.dose == 0:
            object.__setattr__(self, "dose", usual)
        elif self.dose not in options:
            raise ValueError(f"dose={self.dose} of {self.kind!r} is not one of {', '.join(map(str, options))}")


@dataclass(frozen=True, slots=True)
class PitfallEvaluation:
    """Both models after some steps; of each pair, the model with the mistake comes first.

    Args:
        step: optimiser steps done.
        loss: on the batch of this step, before it, nats a letter.
        symptom: the number that shows the mistake.
        said: a text that each generates now; None at most looks.
    """

    step: int
    loss: tuple[float, float]
    symptom: tuple[float, float]
    said: tuple[str, str] | None = None


class AcrossBatch(Norm):
    """RMSNorm over the wrong axis: each feature is divided by its root mean square over the texts of the batch."""

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        recorder: ActivationRecorder | None = None,  # noqa: ARG002
        name: str = "",  # noqa: ARG002
    ) -> Float[Tensor, "batch seq d_model"]:
        mean_square = x.pow(2).mean(0, keepdim=True)  # right: mean(-1, keepdim=True), over the features of one token
        return x / (mean_square + self.eps).sqrt() * self.weight


class WithoutSkip(Block):
    """A block whose sublayers replace the stream instead of adding to it."""

    def forward(self, x: Tensor, context: AttentionContext, recorder: ActivationRecorder, **_: Any) -> Tensor:
        x = recorder("resid_pre", x)
        x = self.attn(self.ln1(x), context, recorder.under("attn."))  # right: x + ...
        x = self.mlp(self.ln2(recorder("resid_mid", x)), recorder)  # right: x + ...
        return recorder("resid_post", x)


def across_batch(model: Transformer) -> None:
    """Replace every norm by one over the texts of the batch."""
    for block in model.decoder.blocks:
        block.ln1, block.ln2 = AcrossBatch(model.config), AcrossBatch(model.config)
    model.decoder.ln_final = AcrossBatch(model.config)


def without_skip(model: Transformer, seed: int) -> None:
    """Remove the residual connections; the initial weights are those of the baseline."""
    config = model.config
    model.decoder.blocks = nn.ModuleList(WithoutSkip(config, i) for i in range(config.n_layers))
    initialise(model, config, seed)


def without_final_norm(model: Transformer) -> None:
    """Remove the norm before the unembedding."""
    model.decoder.ln_final = NoNorm()  # type: ignore[assignment]


class HalfGradients:
    """Rounds each gradient that goes back through the output of a layer to float16.

    The weights and the forward pass stay in float32, so that nothing else differs. The smallest positive float16 is
    6e-8: half of that and less becomes 0 (arXiv:1710.03740, section 3.2).

    Args:
        model: its linear layers, embeddings and norms get hooks.

    Attributes:
        lost, seen: gradients that were not 0 and became 0, and all that were not 0, since the last reset.
    """

    def __init__(self, model: nn.Module) -> None:
        self.lost = self.seen = 0
        for layer in model.modules():
            if isinstance(layer, nn.Linear | nn.Embedding | Norm):
                layer.register_forward_hook(self._watch)

    def _watch(self, layer: nn.Module, inputs: object, output: Tensor) -> None:  # noqa: ARG002
        if output.requires_grad:
            output.register_hook(self.round)

    def round(self, gradient: Tensor) -> Tensor:
        """The gradient rounded to float16, as float32 again."""
        rounded = gradient.half().float()
        self.lost += int(((rounded == 0) & (gradient != 0)).sum())
        self.seen += int((gradient != 0).sum())
        return rounded

    def reset(self) -> float:
        """The share that was lost since the last time."""
        share = ratio(self.lost, self.seen)
        self.lost = self.seen = 0
        return share


@dataclass(slots=True)
class Twin:
    """One of the two models, and the settings of its training."""

    model: Transformer
    rate: float = RATE
    clip: float = CLIP
    mask: Bool[Tensor, "query key"] | None = None
    half: HalfGradients | None = None
    parts: int = 1  # batches that one step's mean goes over
    loss_scale: float = 1.0
    optimizer: torch.optim.AdamW = field(init=False)

    def __post_init__(self) -> None:
        weights = self.model.parameters()
        self.optimizer = torch.optim.AdamW(weights, lr=self.rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True)

    def loss(self, batch: Batch, mask: Tensor | None = None) -> Float[Tensor, ""]:
        """Cross-entropy, nats a letter."""
        logits = self.model(batch.ids, mask=mask).logits
        if self.half is not None and logits.requires_grad:
            logits.register_hook(self.half.round)
        return F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten())

    def step(self, batch: Batch, number: int) -> float:
        """One step of training; returns the loss before it."""
        loss = self.loss(batch, self.mask)
        self.optimizer.zero_grad()
        # Of a mean over `parts` batches each token gets that much less gradient; the weights get the sum over all.
        factor = self.loss_scale / self.parts
        (loss * factor).backward()
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad /= factor
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        (group,) = self.optimizer.param_groups
        group["lr"] = self.rate * min(1.0, (number + 1) / WARMUP)
        self.optimizer.step()
        return float(loss.detach())


def train_twins(config: PitfallConfig) -> Iterator[PitfallEvaluation | None]:
    """Train both models side by side on the same batches.

    Yields:
        An evaluation every few steps and at the end, None after each other step.
    """
    twins = _twins(config)
    generator = torch.Generator().manual_seed(config.seed)
    task = _task(config, generator)
    held_out = task()
    for step in range(config.steps + 1):
        batch = task()
        last = step == config.steps
        due = step % EVERY == 0 or last
        symptom = _symptoms(config, twins, held_out) if due and config.kind not in ("skip", "half") else None
        loss = [twin.step(batch, step) for twin in twins]
        if not due:
            yield None
            continue
        if symptom is None:  # those that look at the gradients of the step itself
            symptom = _gradient_symptoms(config, twins)
        said = _said(config, twins, held_out) if step % SPOKEN == 0 or last else None
        yield PitfallEvaluation(step, (loss[0], loss[1]), symptom, said)


def train_to_the_end(config: PitfallConfig) -> list[PitfallEvaluation]:
    """All looks of `train_twins`."""
    return [look for look in train_twins(config) if look is not None]


def last_said(looks: Sequence[PitfallEvaluation]) -> tuple[int, tuple[str, str]] | None:
    """The last step after which both generated a text, and these texts."""
    return next(((look.step, look.said) for look in reversed(looks) if look.said is not None), None)


def model_config(config: PitfallConfig) -> ModelConfig:
    """The baseline: two layers (or as many as the dose says) of width 64."""
    common = ModelConfig(
        vocab_size=len(tasks.LETTERS),
        d_model=64,
        n_layers=2,
        attention=AttentionConfig(n_heads=4),
        feed_forward=FeedForwardConfig(d_ff=128),
        max_seq_len=128,
    )
    match config.kind:
        case "skip" | "final":
            return replace(common, n_layers=config.dose)
        case "scale":  # with these weights the components of queries and keys begin with variance 1
            return common.changed(n_heads=2, d_head=config.dose, init="normal", init_std=64**-0.5)
        case "positions":
            return common.changed(vocab_size=tasks.SYMBOLS, architecture="encoder", positions="learned")
    return common


def _twins(config: PitfallConfig) -> tuple[Twin, Twin]:
    """The model with the mistake and the baseline, from the same seed."""
    right = model_config(config)
    wrong = right
    if config.kind == "scale":
        wrong = right.changed(attn_scale=1.0)
    elif config.kind == "positions":
        wrong = right.changed(positions="none")
    bad, good = Transformer(wrong, config.seed), Transformer(right, config.seed)
    match config.kind:
        case "mask":
            return Twin(bad, mask=bidirectional(SEQ)), Twin(good)
        case "axis":
            across_batch(bad)
        case "skip":
            without_skip(bad, config.seed)
        case "final":
            without_final_norm(bad)
        case "rate":
            return Twin(bad, rate=RATE * config.dose), Twin(good)
        case "half":
            first, second = (Twin(m, half=HalfGradients(m), parts=config.dose) for m in (bad, good))
            second.loss_scale = LOSS_SCALE
            return first, second
    return Twin(bad), Twin(good)


def _task(config: PitfallConfig, generator: torch.Generator) -> Callable[[], Batch]:
    """Where the batches come from."""
    if config.kind == "positions":
        return lambda: tasks.reverse_batch(2 * ROWS, generator)
    stream = tasks.encode(tasks.sentences(3_000, generator))
    return lambda: tasks.text_batch(stream, ROWS, SEQ, generator)


@torch.no_grad()
def _symptoms(config: PitfallConfig, twins: tuple[Twin, Twin], batch: Batch) -> tuple[float, float]:
    """The number that shows the mistake, of each model, on a batch that is not trained on."""
    measure: dict[Pitfall, Callable[[Twin, Batch], float]] = {
        "mask": lambda twin, batch: float(twin.loss(batch)),
        "axis": loss_alone,
        "final": stream_size,
        "scale": largest_weight,
        "positions": share_right,
        "rate": weight_size,
    }
    first, second = (measure[config.kind](twin, batch) for twin in twins)
    return first, second


def loss_alone(twin: Twin, batch: Batch, texts: int = 4) -> float:
    """The mean loss of texts that are read one at a time, as when the model is used."""
    alone = [twin.loss(Batch(batch.ids[i : i + 1], batch.targets[i : i + 1])) for i in range(texts)]
    return float(torch.stack(alone).mean())


def stream_size(twin: Twin, batch: Batch) -> float:
    """The root mean square of what the unembedding reads."""
    return float(twin.model(batch.ids).hidden.pow(2).mean().sqrt())


def largest_weight(twin: Twin, batch: Batch) -> float:
    """The largest attention weight of a query, on average over heads and the queries that see half a text or more."""
    patterns = twin.model(batch.ids, capture=("blocks.*.attn.pattern",)).activations.values()
    return float(torch.stack([pattern[..., SEQ // 2 :, :].amax(-1).mean() for pattern in patterns]).mean())


def share_right(twin: Twin, batch: Batch) -> float:
    """The share of symbols that are right."""
    return float((twin.model(batch.ids).logits.argmax(-1) == batch.targets).float().mean())


def weight_size(twin: Twin, batch: Batch) -> float:  # noqa: ARG001
    """The root mean square of the matrices' weights."""
    squares = [parameter.pow(2).flatten() for parameter in twin.model.parameters() if parameter.ndim == 2]
    return float(torch.cat(squares).mean().sqrt())


def _gradient_symptoms(config: PitfallConfig, twins: tuple[Twin, Twin]) -> tuple[float, float]:
    """The number that shows the mistake, of each model, from the gradients of the step just done."""
    if config.kind == "half":
        first, second = (twin.half.reset() if twin.half is not None else 0.0 for twin in twins)
        return first, second
    first, second = (first_gradient(twin.model) for twin in twins)
    return first, second


def first_gradient(model: Transformer) -> float:
    """The norm of the gradient that arrives at the weights of the first block."""
    gradients = [p.grad.flatten() for p in model.decoder.blocks[0].parameters() if p.grad is not None]
    return float(torch.cat(gradients).norm())


@torch.no_grad()
def _said(config: PitfallConfig, twins: tuple[Twin, Twin], batch: Batch) -> tuple[str, str]:
    """A text that each model generates: a continuation of "the ", or a row reversed."""
    if config.kind == "positions":
        asked = batch.ids[:1]
        answers = (answer for twin in twins for answer in twin.model(asked).logits.argmax(2))
        first, second = (f"{symbols(asked[0])} → {symbols(answer)}" for answer in answers)
        return first, second
    start = tasks.encode("the ")
    texts = (generate(t.model, start, max_new_tokens=LETTERS_SAID, seed=config.seed) for t in twins)
    first, second = ("the " + tasks.decode(torch.tensor(text)) for text in texts)
    return first, second


def symbols(ids: Tensor) -> str:
    """The symbols of a row as letters."""
    return " ".join("ABCDEFGHIJKLMNOP"[i] for i in ids.tolist())
