"""The weight that each head usually gives a token at each distance: from the atlas of a model that has one; of others
measured once on general texts, and stored beside a model in `heads.safetensors`.

    python -m tfcore.measures.highlights.usual fill
"""

import argparse
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from safetensors.torch import save_file

from tfcore.files import CheckpointError
from tfcore.loading.checkpoints import PRETRAINED, load
from tfcore.loading.weights import read_floats
from tfcore.measures.atlas.atlas import Atlas, load_atlas, with_atlas
from tfcore.measures.heads.kinds import TEXTS
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.heads.sink import sink_tokens, without_keys
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

FILE = "heads.safetensors"  # in the folder of a model below tfcore/pretrained
BEFORE, AFTER = "usual_weight.before", "usual_weight.after"  # its tensors
DISTANCES = 64  # tokens of each text; what is further away counts as this far
PARAGRAPHS = Path(__file__).parents[2] / "ladders" / "wikitext.txt"


@dataclass(frozen=True, slots=True)
class UsualWeights:
    """Mean weight of each head by distance, without the first token.

    Args:
        before: on the token itself and those 1, 2 ... before it.
        after: on those 1, 2 ... after it; 0 in a decoder.
    """

    before: Float[ndarray, "layer head behind"]
    after: Float[ndarray, "layer head ahead"]

    @classmethod
    def of_atlas(cls, atlas: Atlas) -> "UsualWeights":
        """The means over the texts of an atlas; there those after a token begin at distance 0, where there are none."""
        return cls(atlas.usual_before, atlas.usual_after[..., 1:])

    def at(self, layer: int, tokens: int) -> Float[ndarray, "head query key"]:
        """The usual weights of the heads of a layer in a text of so many tokens."""
        away = np.arange(tokens)[:, None] - np.arange(tokens)
        before = np.clip(away, 0, self.before.shape[2] - 1)
        after = np.clip(-away - 1, 0, self.after.shape[2] - 1)
        return np.where(away >= 0, self.before[layer][:, before], self.after[layer][:, after])


def usual_weights(model: Transformer, tokenizer: Tokenizer, texts: Iterable[str]) -> UsualWeights:
    """Mean over all pairs of tokens at each distance, DISTANCES tokens of each text.

    Raises:
        ValueError: an encoder-decoder, or texts without a token.
    """
    architecture = model.config.architecture
    if architecture == "encoder-decoder":
        raise ValueError("an encoder-decoder has three kinds of attention; take a model of one stack")
    sums = np.zeros((2, model.config.n_layers, model.config.attention.n_heads, DISTANCES))
    pairs = np.zeros((2, DISTANCES))
    for text in texts:
        ids = tokenizer.encode(text)[: min(DISTANCES, model.config.max_seq_len)]
        if not ids:
            continue
        patterns = attention_maps(model, ids).patterns
        hidden = sink_tokens(tokenizer, ids, around=architecture == "encoder")
        kept = np.flatnonzero(~hidden)
        patterns = without_keys(patterns, hidden)[:, :, kept][..., kept]
        for distance in range(len(kept)):
            for side, offset in ((0, -distance), (1, distance + 1)):
                found = np.diagonal(patterns, offset, 2, 3)
                sums[side, :, :, distance] += found.sum(-1)
                pairs[side, distance] += found.shape[-1]
    if not pairs.any():
        raise ValueError("the tokenizer of this model makes no token of the texts")
    before, after = (sums / np.maximum(pairs, 1)[:, None, None]).astype(np.float32)
    return UsualWeights(before, after)


def general_texts() -> Sequence[str]:
    """Forty paragraphs of Wikipedia, and a story, a program, a talk and a fact."""
    return (*PARAGRAPHS.read_text("utf-8").splitlines(), *TEXTS)


def save_usual(path: Path, found: UsualWeights) -> None:
    """Write the weights in float16, those after a token only where there are some."""
    kept = {BEFORE: found.before} | ({AFTER: found.after} if found.after.any() else {})
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: torch.tensor(array).half() for name, array in kept.items()}, path)


@functools.lru_cache(maxsize=8)
def stored_usual(name: str) -> UsualWeights | None:
    """The usual weights of a model that has an atlas, or such a file; None for any other.

    Raises:
        CheckpointError: the atlas or the file is damaged.
    """
    if name in with_atlas():
        return UsualWeights.of_atlas(load_atlas(name))
    path = PRETRAINED / name / FILE
    if path not in PRETRAINED.glob(f"*/{FILE}"):  # a name may be a folder elsewhere
        return None
    tensors = read_floats(path)
    if BEFORE not in tensors or tensors[BEFORE].ndim != 3:
        raise CheckpointError(f"{path} must hold {BEFORE}, of layers, heads and distances; it holds {sorted(tensors)}")
    before = tensors[BEFORE].numpy()
    after = tensors[AFTER].numpy() if AFTER in tensors else np.zeros_like(before)
    return UsualWeights(before, after)


def main() -> None:
    """Measure models without an atlas and write the file of each."""
    parser = argparse.ArgumentParser(prog="python -m tfcore.measures.highlights.usual", description=__doc__)
    parser.add_argument("names", nargs="+", help="models that ship or were fetched, without an atlas")
    for name in parser.parse_args().names:
        if name in with_atlas():
            parser.error(f"{name} has an atlas, which is read; `python -m tfcore.training atlas` makes it anew")
        model, tokenizer = load(name, device="cpu")
        if tokenizer is None:
            parser.error(f"{name} has no tokenizer, so no text can be read")
        save_usual(PRETRAINED / name / FILE, usual_weights(model, tokenizer, general_texts()))


if __name__ == "__main__":
    main()
