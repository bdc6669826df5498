"""The recipes of the tellers of stories: `stories`, small and with heads that copy, and others that differ from it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from tfcore.config import ModelConfig
from tfcore.experts import Experts
from tfcore.loading.checkpoints import save
from tfcore.measures.heads.kinds import repeated_tokens_measure
from tfcore.measures.text_loss import bits_per_byte
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig, ExpertsConfig, FeedForwardConfig, NormConfig, PositionsConfig
from tfcore.training import data, story_texts
from tfcore.training.loop import Processes, Progress, TrainingSettings, train

TALES = "tinystories"  # the source that the held-out stories are of


@dataclass(frozen=True, slots=True, kw_only=True)
class StoriesRecipe:
    """A story model that starts on repeated random tokens and goes on with text and a few rows of such tokens.

    They are there to grow an induction head and the previous-token head it needs. Few different tokens make them
    quickly, for those tokens alone; many make none. So the tokens become more while the text teaches the model what
    they are, and the heads learn to serve every one. When they formed is on the model's card.

    Args:
        start: how to train on rows of repeated tokens alone, without dropout.
        start_seq: tokens a row, there.
        alphabet: how many tokens, the most frequent ones, the repeated rows are drawn from at first.
        settings: how to train afterwards.
        seq: tokens a row, there.
        repeated_rows: rows of each step that are repeated tokens.
        grown: the step at which they are drawn from the whole vocabulary.
        held_out_stories: how many are measured during training; all of them at the end.
        even_steps, even_rate: of even_out, at the end, where there are experts.
    """

    model: ModelConfig
    start: TrainingSettings
    settings: TrainingSettings
    start_seq: int = 80
    alphabet: int = 64
    seq: int = 256
    repeated_rows: int = 2
    grown: int = 3_000
    seed: int = 0
    held_out_stories: int = 64
    even_steps: int = 0
    even_rate: float = 0.002

    def alphabet_at(self, step: int) -> int:
        """How many different tokens the repeated rows are drawn from: grows by the same factor every step."""
        grown = min(1.0, step / self.grown)
        return round(self.alphabet * (self.model.vocab_size / self.alphabet) ** grown)


STORIES = StoriesRecipe(
    model=ModelConfig(
        vocab_size=2048,
        d_model=192,
        n_layers=4,
        attention=AttentionConfig(n_heads=6),
        feed_forward=FeedForwardConfig(d_ff=512),
        max_seq_len=256,
        dropout=0.1,
    ),
    start=TrainingSettings(steps=400, rows=32, lr=2e-3, lr_min=1e-3, warmup=100, betas=(0.9, 0.98)),
    settings=TrainingSettings(
        steps=7_500, rows=16, lr=2e-3, lr_min=2e-5, warmup=200, betas=(0.9, 0.98), weight_decay=0.3
    ),
)

# As many parameters at work for a token as without experts (two of 256 for a layer of 512), and all else alike. Half as
# long as STORIES: after some 3,000 steps the experts begin to learn the texts by heart, of which there are few.
# In half precision, as a GPU would. The rows of repeated tokens get an expert of their own in every layer, which has
# little to do in stories: the last steps even that out.
STORIES_MOE = replace(
    STORIES,
    model=replace(
        STORIES.model, experts=ExpertsConfig(n_experts=8, top_k=2, d_expert=256, balance_loss=0.05, z_loss=1e-4)
    ),
    settings=replace(STORIES.settings, steps=3_000, bfloat16=True),
    grown=1_500,
    even_steps=200,
)

# The block of GPT-2 in small: learned positions, LayerNorm, GELU, biases. Short rows, so that each position is seen
# often: in rows of 256 tokens the table stays nearly what it began as.
STORIES_LEARNED = replace(
    STORIES,
    model=ModelConfig(
        vocab_size=2048,
        d_model=96,
        n_layers=2,
        attention=AttentionConfig(n_heads=4),
        feed_forward=FeedForwardConfig(d_ff=384, activation="gelu_tanh"),
        max_seq_len=64,
        positions=PositionsConfig(kind="learned"),
        norm=NormConfig(kind="layernorm"),
        bias=True,
    ),
    start=TrainingSettings(steps=100, rows=32, lr=1e-3, lr_min=1e-3, warmup=50, betas=(0.9, 0.98)),
    start_seq=64,
    seq=64,
    settings=TrainingSettings(
        steps=2_500, rows=48, lr=3e-3, lr_min=2e-5, warmup=200, betas=(0.9, 0.98), weight_decay=0.1
    ),
    repeated_rows=8,
    grown=1_200,
)

# One of nine experts reads every token, as in DeepSeekMoE (arXiv:2401.06066, equations 9 to 11): the softmax is over
# the eight others, and the weights of the chosen do not sum to 1. Small, with short rows: it is made in minutes.
STORIES_SHARED = replace(
    STORIES,
    model=ModelConfig(
        vocab_size=2048,
        d_model=128,
        n_layers=2,
        attention=AttentionConfig(n_heads=4),
        max_seq_len=128,
        experts=ExpertsConfig(
            n_experts=8, top_k=2, d_expert=64, n_shared=1, softmax="before", balance_loss=0.05, z_loss=1e-4
        ),
    ),
    start=TrainingSettings(steps=100, rows=32, lr=1e-3, lr_min=1e-3, warmup=50, betas=(0.9, 0.98)),
    settings=TrainingSettings(
        steps=2_500, rows=24, lr=3e-3, lr_min=2e-5, warmup=200, betas=(0.9, 0.98), weight_decay=0.1
    ),
    seq=128,
    repeated_rows=3,
    grown=1_200,
    even_steps=200,
)


def stories(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: StoriesRecipe = STORIES
) -> dict[str, float]:
    """Train the `stories` model and write its folder to `out`; returns its held-out measures.

    On several processes, the first one writes and measures; the others return no measures.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    processes = Processes.join()
    texts = story_texts.read(corpus, out, processes, recipe.seq, recipe.model.vocab_size)
    frequent = data.by_frequency(texts.streams.values(), recipe.model.vocab_size)

    def start_batches(step: int) -> data.Batch:
        generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + step)
        return data.repeated_tokens(recipe.start.rows, recipe.start_seq, frequent[: recipe.alphabet], generator)

    def batches(step: int) -> data.Batch:
        generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + recipe.start.steps + step)
        rows, alphabet = recipe.settings.rows - recipe.repeated_rows, frequent[: recipe.alphabet_at(step)]
        text = data.text_windows(texts.streams, story_texts.WEIGHTS, rows, recipe.seq, generator)
        return data.join(text, data.repeated_tokens(recipe.repeated_rows, recipe.seq, alphabet, generator))

    def tales(step: int) -> data.Batch:
        generator = torch.Generator().manual_seed(recipe.seed * 1_000_003 + recipe.settings.steps + step)
        of_one = {TALES: texts.streams[TALES]}
        return data.text_windows(of_one, {TALES: 1.0}, recipe.settings.rows, recipe.seq, generator)

    def measure(model: Transformer, stories: list[str]) -> dict[str, float]:
        return {
            "bits_per_byte": bits_per_byte(model, texts.tokenizer, stories),
            **repeated_tokens_measure(model, seed=1),
        }

    def evaluate(model: Transformer, _: int) -> dict[str, float]:
        return measure(model, texts.some(recipe.held_out_stories))

    started = Transformer(replace(recipe.model, dropout=0.0), recipe.seed)
    train(started, start_batches, recipe.start, out / "start", report=report)
    model = Transformer(recipe.model)
    model.load_state_dict(started.state_dict())
    train(model, batches, recipe.settings, out / "run", evaluate, report)
    if processes.rank > 0:
        return {}
    if recipe.model.experts is not None and recipe.even_steps:
        model = even_out(model, tales, recipe.even_steps, recipe.even_rate)
    with torch.no_grad():
        measures = measure(model, texts.held_out)
    save(model, out, texts.tokenizer, dtype=torch.float16)
    return measures


@torch.no_grad()
def even_out(model: Transformer, batches: Callable[[int], data.Batch], steps: int, rate: float) -> Transformer:
    """The same weights with a balance bias for each expert, moved batch by batch until all have as much to do
    (arXiv:2408.15664, algorithm 1, after the training instead of during it). Forward passes only.

    Args:
        model: with experts.
        rate: step of a bias, which is added to the probabilities.
    """
    config = model.config
    assert config.experts is not None
    even = Transformer(replace(config, experts=replace(config.experts, bias_rate=rate)))
    even.load_state_dict(model.state_dict(), strict=False)  # the biases begin at 0
    even.to(next(model.parameters()).device).train()
    for step in range(steps):
        even(batches(step).ids.to(next(even.parameters()).device))
        for layer in even.modules():
            if isinstance(layer, Experts):
                layer.even_out_()
    return even.eval()


def stories_moe(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: StoriesRecipe = STORIES_MOE
) -> dict[str, float]:
    """Train `stories-moe` into `out`, then its dense twin of equal active size, alike in all else, into `out`/twin.

    Returns:
        Held-out measures of the first, and the twin's bits per byte.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    dense = replace(recipe, model=replace(recipe.model, experts=None))
    return _with_twin(corpus, out, report, recipe, dense, "bits_per_byte_dense_twin")


def stories_shared(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: StoriesRecipe = STORIES_SHARED
) -> dict[str, float]:
    """Train `stories-shared` into `out`, then into `out`/twin the same with a router for the shared expert too: as many
    experts, as many of them for a token, alike in all else.

    Returns:
        Held-out measures of the first, and the twin's bits per byte.

    Raises:
        CorpusError: when a text below `corpus` is missing or too short.
    """
    experts = recipe.model.experts
    assert experts is not None
    routed = replace(
        experts, n_experts=experts.n_experts + experts.n_shared, top_k=experts.top_k + experts.n_shared, n_shared=0
    )
    twin = replace(recipe, model=replace(recipe.model, experts=routed))
    return _with_twin(corpus, out, report, recipe, twin, "bits_per_byte_routed_twin")


def _with_twin(
    corpus: Path, out: Path, report: Callable[[Progress], None], recipe: StoriesRecipe, twin: StoriesRecipe, name: str
) -> dict[str, float]:
    """The measures of a recipe's model, and under `name` the bits per byte of its twin, which is trained after it."""
    measures = stories(corpus, out, report, recipe)
    beside = stories(corpus, out / "twin", report, twin)
    return {**measures, name: beside["bits_per_byte"]} if measures else {}
