"""Preference tuning of `stories`: DPO and a policy gradient with a KL penalty, towards a reward that one can read.

Both look for the policy of the largest E[r(x, y)] - beta KL(policy || original model) (arXiv:2305.18290, equation 3).
The policy gradient (REINFORCE, Williams 1992) samples from the policy as it is and follows that objective itself; DPO
(equation 7) needs only pairs of which one is preferred. The model is a copy; the shared one is never touched.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfcore.kv_cache import KVCache
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training.finetuning import FOLDER, own_model
from tfcore.training.preference_runs import REWARDS, PreferenceConfig, PreferenceRun, Sampled, repetition

PROMPT = "Once upon a time, there was a"
NEW = 20  # tokens of a continuation
ROWS = 16  # samples of a step; for DPO, half as many pairs
DRAWN = 128  # samples that the pairs of DPO are made of
MEASURED = 128  # samples that a point is measured on
SHOWN = 3  # continuations that are shown
EVERY = 5  # steps between two points
RATE = 1e-4  # learning rate
CLIP = 1.0  # largest norm of the gradient


@dataclass(frozen=True, slots=True)
class Samples:
    """Continuations of one prompt.

    Args:
        ids: (row, seq), the prompt and what follows.
        mask: (row, new), True at the tokens of a continuation, the separator that ends it included.
        texts: the continuations.
    """

    ids: Int[Tensor, "row seq"]
    mask: Bool[Tensor, "row new"]
    texts: tuple[str, ...]

    def rows(self, chosen: Int[Tensor, " some"]) -> "Samples":
        """The chosen rows."""
        return Samples(self.ids[chosen], self.mask[chosen], tuple(self.texts[i] for i in chosen.tolist()))


@torch.no_grad()
def draw_samples(model: Transformer, tokenizer: BPETokenizer, rows: int, generator: torch.Generator) -> Samples:
    """Continue the prompt `rows` times at temperature 1, up to NEW tokens or the end of the story."""
    prompt = tokenizer.encode(PROMPT)
    cache = KVCache(model.config, rows, capacity=len(prompt) + NEW, device=model.device, dtype=model.dtype)
    ids = torch.tensor(prompt, device=model.device).expand(rows, -1)
    read = ids
    for _ in range(NEW):
        p = model(read, cache=cache).logits[:, -1].softmax(-1)  # (row, vocab)
        read = torch.multinomial(p.cpu(), 1, generator=generator).to(model.device)  # drawn alike on every device
        ids = torch.cat((ids, read), 1)
    new = ids[:, len(prompt) :]
    ends = new == (-1 if tokenizer.separator_id is None else tokenizer.separator_id)
    mask = ends.cumsum(1) - ends.long() == 0  # up to the first separator
    texts = [tokenizer.decode(row[kept].tolist()) for row, kept in zip(new, mask & ~ends, strict=True)]
    return Samples(ids, mask, tuple(texts))


def token_log_probs(model: Transformer, samples: Samples) -> Float[Tensor, "row new"]:
    """log p of each token of a continuation, 0 after its end."""
    log_p = continuation_log_p(model, samples)
    new = samples.ids[:, -log_p.shape[1] :]
    return log_p.gather(2, new[..., None])[..., 0] * samples.mask


def continuation_log_p(model: Transformer, samples: Samples) -> Float[Tensor, "row new vocab"]:
    """The log-probabilities of all tokens at each place of the continuations."""
    count = samples.mask.shape[1]
    return model(samples.ids[:, :-1]).logits[:, -count:].log_softmax(-1)


def dpo_loss(
    chosen: Float[Tensor, " pair"],
    rejected: Float[Tensor, " pair"],
    chosen_before: Float[Tensor, " pair"],
    rejected_before: Float[Tensor, " pair"],
    *,
    beta: float,
) -> Float[Tensor, ""]:
    """-log sigmoid(beta (log-ratio of the chosen - log-ratio of the rejected)), the mean (arXiv:2305.18290, eq. 7).

    Args:
        chosen, rejected: log-probabilities of whole continuations under the model that is trained.
        chosen_before, rejected_before: under the original model.
    """
    return -F.logsigmoid(beta * ((chosen - chosen_before) - (rejected - rejected_before))).mean()


def policy_gradient_loss(
    log_probs: Float[Tensor, " row"], before: Float[Tensor, " row"], rewards: Float[Tensor, " row"], beta: float
) -> Float[Tensor, ""]:
    """A loss whose gradient is that of -(E[r] - beta KL), from samples of the policy itself.

    The gradient of E[r - beta log(p / p_before)] is E[(r - beta log(p / p_before)) grad log p] (REINFORCE, Williams
    1992): what stands in brackets is a number here. Its mean over the batch is subtracted, which lowers the variance.

    Args:
        log_probs, before: log-probabilities of whole continuations under the policy and the original model.
    """
    value = rewards - beta * (log_probs.detach() - before)
    return -((value - value.mean()) * log_probs).mean()


def kl_per_row(
    log_p: Float[Tensor, "row new vocab"], before: Float[Tensor, "row new vocab"], mask: Bool[Tensor, "row new"]
) -> Float[Tensor, " row"]:
    """For samples of p an estimate of KL(p || before) over whole continuations, nats.

    The sum over the places of the KL of the next token, exact over the vocabulary, given what was sampled before it:
    unbiased by the chain rule, and of less variance than the log-ratio of the sample alone.
    """
    return ((log_p.exp() * (log_p - before)).sum(-1) * mask).sum(-1)


@torch.no_grad()
def measure(
    model: Transformer, original: Transformer, tokenizer: BPETokenizer, config: PreferenceConfig, step: int
) -> tuple[Sampled, tuple[str, ...]]:
    """A point of a run, and some of the continuations it is measured on; the same draws at every step."""
    generator = torch.Generator().manual_seed(config.seed + 1_000)
    samples = draw_samples(model, tokenizer, MEASURED, generator)
    log_p, before = continuation_log_p(model, samples), continuation_log_p(original, samples)
    nats = -token_log_probs(original, samples).sum() / samples.mask.sum()
    point = Sampled(
        step,
        float(rewards_of(samples, config).mean()),
        float(kl_per_row(log_p, before, samples.mask).mean()),
        float(nats),
        repetition(samples.texts),
    )
    return point, samples.texts[:SHOWN]


def rewards_of(samples: Samples, config: PreferenceConfig) -> Float[Tensor, " row"]:
    """The reward of each continuation."""
    return torch.tensor([REWARDS[config.reward](text) for text in samples.texts])


def tune(config: PreferenceConfig) -> Iterator[PreferenceRun | None]:
    """Tune a copy of `stories` towards a reward.

    Yields:
        The run so far every few steps, None after each other step.
    """
    (model, tokenizer), (original, _) = own_model(), own_model()
    model.requires_grad_(True)
    generator = torch.Generator().manual_seed(config.seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    point, before = measure(original, original, tokenizer, config, 0)
    points = [point]
    yield PreferenceRun(config, (point,), before, before)
    losses = _dpo_losses if config.algorithm == "dpo" else _policy_losses
    loss_of = losses(model, original, tokenizer, config, generator)
    for step in range(1, config.steps + 1):
        optimizer.zero_grad()
        loss_of().backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        if step % EVERY and step < config.steps:
            yield None
            continue
        point, after = measure(model, original, tokenizer, config, step)
        points.append(point)
        yield PreferenceRun(config, tuple(points), before, after)


def _policy_losses(
    model: Transformer,
    original: Transformer,
    tokenizer: BPETokenizer,
    config: PreferenceConfig,
    generator: torch.Generator,
) -> Callable[[], Tensor]:
    """A function that samples from the model as it is, and gives the loss of that batch."""

    def loss() -> Tensor:
        samples = draw_samples(model, tokenizer, ROWS, generator)
        with torch.no_grad():
            before = token_log_probs(original, samples).sum(-1)
        log_probs = token_log_probs(model, samples).sum(-1)
        return policy_gradient_loss(log_probs, before, rewards_of(samples, config), config.beta)

    return loss


def _dpo_losses(
    model: Transformer,
    original: Transformer,
    tokenizer: BPETokenizer,
    config: PreferenceConfig,
    generator: torch.Generator,
) -> Callable[[], Tensor]:
    """A function that draws pairs of samples of the original model, and gives their loss."""
    samples = draw_samples(original, tokenizer, DRAWN, generator)
    rewards = rewards_of(samples, config)
    with torch.no_grad():
        before = token_log_probs(original, samples).sum(-1)
    chosen, rejected = preferred_pairs(rewards)

    def loss() -> Tensor:
        some = torch.randint(0, len(chosen), (ROWS // 2,), generator=generator)
        rows = torch.cat((chosen[some], rejected[some]))
        log_probs = token_log_probs(model, samples.rows(rows)).sum(-1)
        (better, worse), (better_before, worse_before) = log_probs.chunk(2), before[rows].chunk(2)
        return dpo_loss(better, worse, better_before, worse_before, beta=config.beta)

    return loss


def preferred_pairs(rewards: Float[Tensor, " row"]) -> tuple[Int[Tensor, " pair"], Int[Tensor, " pair"]]:
    """All pairs of rows of which the first has the higher reward.

    Raises:
        ValueError: all rewards are the same.
    """
    chosen, rejected = (rewards[:, None] > rewards[None, :]).nonzero(as_tuple=True)
    if len(chosen) == 0:
        raise ValueError("all samples have the same reward, so no pair has a preferred one; take another seed")
    return chosen, rejected


def tune_to_the_end(config: PreferenceConfig) -> PreferenceRun:
    """The run when it has ended."""
    return [run for run in tune(config) if run is not None][-1]


def kept_preferences() -> list[PreferenceRun]:
    """A ladder of betas for each reward and algorithm, which ships; `python -m tfcore.training preference` makes it."""
    rows = json.loads((FOLDER / "preferences.json").read_text("utf-8"))
    return [
        PreferenceRun(
            PreferenceConfig(**row["config"]),
            tuple(Sampled(**point) for point in row["points"]),
            tuple(row["before"]),
            tuple(row["after"]),
        )
        for row in rows
    ]
