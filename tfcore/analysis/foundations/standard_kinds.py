"""What kind of head each head of a model is: told from a few texts of different sorts, the attention sink left out.

On one text a head may look like anything, and with the sink in sight most heads of a large decoder look alike: on these
texts 190 of the 270 heads of SmolLM2-135M give it 40 % of their weight or more, 1 of 270 without it.
"""

from tfcore.analysis.foundations.attention_maps import Part, read_attention
from tfcore.analysis.foundations.heads import HeadScores, induction_scores, mean_scores
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

TEXTS = (  # a story, a program, a talk, a fact: written for this
    "The old lighthouse stood on a cliff above the sea. Every evening the keeper climbed the stairs, lit the lamp, and "
    "wrote the weather in a book.",
    "def mean(values):\n    total = 0\n    for value in values:\n        total += value\n"
    "    return total / len(values)\n",
    '"Where is the key?" asked Anna. "I gave the key to Peter," said Tom. '
    "Anna went to Peter and asked him for the key.",
    "Water boils at 100 degrees Celsius at sea level, but at higher altitudes the boiling point is lower because the "
    "air pressure is lower.",
)
TOKENS = 64  # of each text; more change few kinds and take longer
LEAST = 8  # tokens of a text that says something about heads


def standard_kinds(model: Transformer, tokenizer: Tokenizer, part: Part | None = None) -> HeadScores | None:
    """The mean of the scores of every head over TEXTS, without the sink; the kinds follow from the means. Which heads
    of a decoder are induction heads is measured on repeated random tokens (see score_heads).

    Args:
        part: one of parts(model.config); None means the first.

    Returns:
        None for a tokenizer that makes too little of the texts, as one for symbols does.
    """
    read = (read_attention(model, tokenizer, text, part, hide_sink=True, most=TOKENS) for text in TEXTS)
    found = [one.found.heads for one in read if one is not None and min(one.found.patterns.shape[2:]) >= LEAST]
    return mean_scores(found, induction_scores(model)) if len(found) == len(TEXTS) else None
