"""The cost of a length in a published model."""

from tfcore.measures.flop_count import LengthCost, length_cost
from tfcore.presets import PRESETS

GPU = 80.0 * 2**30  # bytes of a GPU that is sold as 80 GB
POWERS = range(7, 21)
LENGTHS = [2**power for power in POWERS]
# name: key of the published shape
MODELS = {"GPT-2 small": "gpt2_small", "GPT-3": "gpt3_175b", "LLaMA-3 8B": "llama3_8b"}


def shape_cost(shape: str) -> LengthCost:
    """Operations and memory of one of MODELS at all LENGTHS."""
    return length_cost(PRESETS[MODELS[shape]](), LENGTHS)
