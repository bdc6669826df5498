"""Numbers of cards of shipped models, measured again: `python -m tfcore.training RECIPE --corpus PATH --measure`."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from tfcore.loading.checkpoint_history import load_history
from tfcore.loading.checkpoints import PRETRAINED, load
from tfcore.measures.expert_scan import ExpertLoad, load_over_texts, routing_accuracy
from tfcore.measures.expert_scan import load_scan as load_expert_scan
from tfcore.measures.heads.kinds import THRESHOLD, repeated_tokens
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.masked_tokens import filled
from tfcore.measures.neuron_scan import load_neuron_scan, snippets
from tfcore.measures.text_loss import bits_per_byte
from tfcore.measures.translation import alignment_accuracy, chrf, exact, read_links, translate
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training import data, pairs

SOME = 40  # stories on which heads are measured
TRAINED = 300  # stories of the training text, for comparison


@torch.no_grad()
def of_stories(name: str, corpus: Path) -> dict[str, float]:
    """Bits per byte of a story model, and what its heads do.

    Raises:
        CorpusError: when a text below `corpus` is missing.
    """
    model, tokenizer = _shipped(name)
    held_out = data.held_out(corpus)
    seen = data.read_source(corpus, data.STORY_SOURCES["tinystories"])[:TRAINED]
    ids = [tokenizer.encode(story)[: model.config.max_seq_len] for story in held_out[:SOME]]
    previous = np.mean([attention_maps(model, row).heads.scores["previous token"] for row in ids], axis=0)
    copies = repeated_tokens(model, seed=1)
    numbers = {
        "bits_per_byte": bits_per_byte(model, tokenizer, held_out),
        "bits_per_byte_blind_windows": _blind(model, tokenizer, held_out),
        "bits_per_byte_train": bits_per_byte(model, tokenizer, seen),
        "previous_token_head_on_stories": float(previous.max()),
        **copies.best,
        "first_loss": copies.first_loss,
        "second_loss": copies.second_loss,
    }
    return {measure: round(value, 4) for measure, value in numbers.items()}


def of_experts(name: str, corpus: Path) -> dict[str, float]:
    """The numbers of of_stories, and how evenly the experts are used on the held-out stories: the smallest and the
    largest share of the choices in any layer, and of the tokens.

    Raises:
        CorpusError: when a text below `corpus` is missing.
    """
    model, tokenizer = _shipped(name)
    loads = _load_on_stories(model, tokenizer, corpus)
    shares = {"choices": loads.choices, "tokens": loads.tokens}
    numbers = {f"{end}_share_of_{of}": getattr(share, end)() for of, share in shares.items() for end in ("min", "max")}
    return of_stories(name, corpus) | {measure: round(float(value), 4) for measure, value in numbers.items()}


def _load_on_stories(model: Transformer, tokenizer: BPETokenizer, corpus: Path) -> ExpertLoad:
    context = model.config.max_seq_len
    return load_over_texts(model, (tokenizer.encode(story)[:context] for story in data.held_out(corpus)))


def _blind(model: Transformer, tokenizer: BPETokenizer, stories: list[str]) -> float:
    """Bits per byte in windows of the whole context that share nothing: the hardest way to read the stories."""
    n, stream = model.config.max_seq_len, data.encode_documents(tokenizer, stories)
    device = next(model.parameters()).device
    starts, nats, count = range(0, len(stream) - n, n), 0.0, 0
    for first in range(0, len(starts), 16):
        rows = [stream[start : start + n + 1].astype(np.int64) for start in starts[first : first + 16]]
        batch = data.shift(torch.from_numpy(np.stack(rows)).to(device))
        logits = model(batch.ids).logits.flatten(0, 1)
        nats += float(F.cross_entropy(logits, batch.targets.flatten(), reduction="sum"))
        count += batch.targets.numel()
    size = sum(len(story.encode()) for story in stories) / (len(stream) - len(stories))  # bytes a token
    return nats / count / math.log(2) / size


def copying(model: Transformer) -> dict[str, Any]:
    """Losses and heads on repeated random tokens, all different: of the best heads, and of each (layer, head)."""
    repeated = repeated_tokens(model, seed=1, distinct=True)
    heads = {"previous": repeated.previous, "induction": repeated.induction}
    return {
        "first_loss": round(repeated.first_loss, 4),
        "second_loss": round(repeated.second_loss, 4),
        "previous_token_head": round(repeated.best["previous_token_head"], 4),
        "induction_head": round(repeated.best["induction_head"], 4),
        **{name: [[round(float(head), 4) for head in layer] for layer in values] for name, values in heads.items()},
    }


def best(measures: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of `copying` but for the single heads."""
    return {name: value for name, value in measures.items() if isinstance(value, float)}


def of_induction(name: str) -> dict[str, float]:
    """Copying of the last frame of a film, and the step from which on its heads were there."""
    film = load_history(name)
    formed = {kind: film.first(f"{kind}_head", THRESHOLD) for kind in ("previous_token", "induction")}
    return {
        "chance_loss": round(math.log(film.config.vocab_size), 4),
        **best(copying(film.model(len(film.steps) - 1))),
        **{f"{kind}_head_from_step": film.steps[frame] for kind, frame in formed.items() if frame is not None},
    }


def of_translate(corpus: Path) -> dict[str, float]:
    """Greedy and beam translations of the held-out sentences.

    Raises:
        CorpusError: when the pairs below `corpus` are missing.
    """
    model, tokenizer = _shipped("translate")
    test = pairs.split(pairs.read_pairs(corpus)).test
    wanted = [pair.french for pair in test]
    numbers: dict[str, float] = {}
    for name, beams in (("greedy", 1), ("beam_4", 4)):
        ours = [translate(model, tokenizer, pair.english, beams) for pair in test]
        numbers |= {f"chrf_{name}": round(chrf(ours, wanted), 2), f"exact_{name}": round(exact(ours, wanted), 4)}
    links = read_links(PRETRAINED / "translate" / "alignment.json")
    of_heads, of_layers = alignment_accuracy(model, tokenizer, links)
    return numbers | {
        "words_linked": sum(len(sentence.links) for sentence in links),
        "aligned_by_last_layer": round(float(of_layers[-1]), 4),
        "aligned_by_best_head": round(float(of_heads.max()), 4),
    }


def of_fill(corpus: Path) -> dict[str, float]:
    """How often blanks in the held-out stories are filled right.

    Raises:
        CorpusError: when a text below `corpus` is missing.
    """
    model, tokenizer = _shipped("fill")
    right = filled(model, tokenizer, data.held_out(corpus))
    return {"top1": round(right.top1, 4), "top5": round(right.top5, 4), "hidden": right.hidden}


def _shipped(name: str) -> tuple[Transformer, BPETokenizer]:
    model, tokenizer = load(name)
    if not isinstance(tokenizer, BPETokenizer):
        raise ValueError(f"{name} has no tokenizer of byte pairs")
    return model, tokenizer


def of_neurons(name: str, every: int = 97) -> dict[str, float]:
    """How large the scan of a model's neurons is, and how far every so many-th neuron's activations are from it now."""
    model, scan = load(name, device="cpu")[0], load_neuron_scan(name)
    layers, per_layer, sides, _ = scan.value.shape
    chosen = [divmod(i, per_layer) for i in range(0, layers * per_layer, every)]
    read = [s for layer, n in chosen for side in range(sides) for s in snippets(model, scan, layer, n, side)]
    difference = max(abs(float(s.values[s.peak]) - s.stored) for s in read)
    return {
        "neurons": layers * per_layer,
        "windows": len(scan.windows),
        "strongest": float(np.abs(scan.value).max()),
        "largest_difference": round(difference, 4),
    }


def of_expert_scan(name: str, corpus: Path) -> dict[str, float]:
    """How much the scan of a model's experts knows, and how far its loads are from those counted again now.

    Raises:
        CorpusError: when a text below `corpus` is missing.
    """
    model, tokenizer = _shipped(name)
    scan = load_expert_scan(name)
    again = _load_on_stories(model, tokenizer, corpus)
    right = {
        f"named_right_layer_{i}": round(float(share), 4) for i, share in enumerate(routing_accuracy(scan).by_token)
    }
    return {
        "tokens": scan.tokens,
        "tokens_kept": len(scan.ids),
        **right,
        "largest_difference": round(float(np.abs(again.choices - scan.choices).max()), 6),
    }
