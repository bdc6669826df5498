"""Everything about one small training, as scalars: the same spec gives the same run, on whatever machine."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from tfcore.checks import check_choice, check_flag, check_number, check_whole
from tfcore.config import ModelConfig
from tfcore.part_configs import AttentionConfig, FeedForwardConfig, PositionsConfig
from tfcore.training.optim import Optimiser, Schedule

TaskName = Literal["induction", "copy", "reverse", "sort", "addition", "characters"]
LabPositions = Literal["rope", "learned", "sinusoidal", "alibi", "none"]
ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"  # names of symbols
CONTEXT = 128  # tokens that a trained model can read
LEARNED = 64  # the same with learned positions: those beyond the task stay random
SHORTEST_TEXT = 40  # characters
LONGEST_TEXT = 8_000
MOST_PARAMETERS = 800_000
MOST_WORK = 2_500_000_000  # parameters x tokens of a step


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSpec:
    """A training: a task, a model, an optimiser.

    Args:
        task: what is learned; see tfcore.training.lab.tasks.
        text: of the task "characters".
        symbols: how many different symbols there are; in addition, the modulus.
        length: symbols to copy, reverse or sort; the longest period of induction; characters read at once.
        share: of all sums that are trained on, in percent; the others are held out.
        n_layers, n_heads, d_model: of the model.
        feed_forward: with feed-forward layers (ReLU, 4 d_model), or attention alone.
        positions: how the order of tokens gets in.
        dropout: see tfcore.config.
        optimiser, schedule, warmup, lr: see tfcore.training.optim.
        weight_decay, momentum: momentum counts for sgd alone.
        clip: largest norm of the gradient; 0 is off.
        smoothing: share of each target that is spread over all tokens (arXiv:1512.00567, section 7).
        steps, rows: optimiser steps, and rows a step.
        micro_batches: parts in which the rows of a step are read, one after the other; their gradients are added up
            before the step (gradient accumulation), so that activations of one part alone are in memory.
        seed: of the weights, the batches and dropout.

    Raises:
        ValueError: naming the value and what would do.
    """

    task: TaskName = "induction"
    text: str = ""
    symbols: int = 64
    length: int = 24
    share: int = 50
    n_layers: int = 2
    n_heads: int = 4
    d_model: int = 64
    feed_forward: bool = False
    positions: LabPositions = "rope"
    dropout: float = 0.0
    optimiser: Optimiser = "adamw"
    schedule: Schedule = "cosine"
    warmup: int = 20
    lr: float = 3e-3
    weight_decay: float = 0.0
    momentum: float = 0.9
    clip: float = 1.0
    smoothing: float = 0.0
    steps: int = 600
    rows: int = 32
    micro_batches: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice(self, task=TaskName, positions=LabPositions, optimiser=Optimiser, schedule=Schedule)
        check_whole(self, symbols=(4, 97), length=(3, 64), share=(10, 90), n_layers=(1, 4), n_heads=(1, 8))
        check_whole(self, d_model=(8, 192), warmup=(0, 2_000), steps=(1, 20_000), rows=(1, 512), seed=(0, 9_999))
        check_number(self, dropout=(0.0, 0.9), lr=(1e-6, 10.0), weight_decay=(0.0, 10.0), momentum=(0.0, 0.999))
        check_whole(self, micro_batches=(1, 512))
        check_number(self, clip=(0.0, 100.0), smoothing=(0.0, 0.9))
        check_flag(self, "feed_forward")
        _check_task(self)
        if self.micro_batches > self.rows:
            raise ValueError(f"{self.rows} rows cannot be read in {self.micro_batches} parts; take {self.rows} at most")
        self.model_config(4)  # refuses what no model can have
        _check_size(self)

    @property
    def seq(self) -> int:
        """Tokens that the model reads in training."""
        return {"addition": 4, "characters": self.length}.get(self.task, 2 * self.length)

    def model_config(self, vocab_size: int) -> ModelConfig:
        """The model, for a number of tokens that the task decides."""
        return ModelConfig(
            vocab_size=vocab_size,
            d_model=self.d_model,
            n_layers=self.n_layers,
            attention=AttentionConfig(n_heads=self.n_heads),
            feed_forward=FeedForwardConfig(d_ff=4 * self.d_model if self.feed_forward else 0, activation="relu"),
            positions=PositionsConfig(kind=self.positions),
            max_seq_len=max(self.seq, LEARNED) if self.positions == "learned" else CONTEXT,
            tie_embeddings=False,
            dropout=self.dropout,
        )

    @property
    def parameters(self) -> int:
        """The number of parameters, about: the matrices of the blocks and both tables."""
        per_block = 4 * self.d_model**2 + (8 * self.d_model**2 if self.feed_forward else 0)
        return self.n_layers * per_block + 2 * (self.symbols + 2) * self.d_model

    @property
    def check_every(self) -> int:
        """Steps between two checks on held-out rows."""
        return max(1, min(25, self.steps // 80))

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        return asdict(self)

    def differences(self, other: "LabSpec") -> dict[str, tuple[Any, Any]]:
        """Field -> its values here and there, where they differ."""
        mine, theirs = self.to_dict(), other.to_dict()
        return {name: (mine[name], theirs[name]) for name in mine if mine[name] != theirs[name]}


def _check_task(spec: LabSpec) -> None:
    if spec.task == "characters":
        if not SHORTEST_TEXT <= len(spec.text) <= LONGEST_TEXT:
            raise ValueError(
                f"a text of {len(spec.text):,} characters cannot be learned from; paste {SHORTEST_TEXT} to "
                f"{LONGEST_TEXT:,}"
            )
        if len(spec.text) // 10 < spec.length + 2:
            raise ValueError(
                f"length={spec.length} is too long for a text of {len(spec.text):,} characters, a tenth of which is "
                f"held out; take {len(spec.text) // 10 - 2} at most"
            )
    elif spec.text:
        raise ValueError(f"a text goes with the task characters, not {spec.task}; leave it empty")
    if spec.task == "induction" and spec.length > min(spec.symbols, len(ALPHABET)):
        raise ValueError(
            f"length={spec.length} different symbols in a row need as many symbols, and there are {spec.symbols}"
        )
    if spec.task != "addition" and spec.symbols > len(ALPHABET):
        raise ValueError(f"symbols={spec.symbols} must be at most {len(ALPHABET)} outside of addition")


def _check_size(spec: LabSpec) -> None:
    if spec.parameters > MOST_PARAMETERS:
        raise ValueError(
            f"{spec.parameters:,} parameters are more than the {MOST_PARAMETERS:,} of the lab; take fewer layers or a "
            "smaller d_model"
        )
    if (work := spec.parameters * spec.rows * spec.seq) > MOST_WORK:
        raise ValueError(
            f"rows={spec.rows} of {spec.seq} tokens are {work / MOST_WORK:.1f} times too much for a step of this "
            "model; take fewer rows"
        )


TASKS: tuple[TaskName, ...] = get_args(TaskName)
