"""Recall after a distance: a mark, a letter, other letters, and at the end a question: which letter was marked?

    q c ! k a m e r >      k, at distance 5 from the end

A long time lag between what is to be kept and where it is needed, with distractors between (Hochreiter and
Schmidhuber, 1997, section 5).
"""

import torch
from jaxtyping import Int
from torch import Tensor

LETTERS = 26
MARK = 26  # stands before the letter to recall
ASK = 27  # the last token
VOCABULARY = 28
TOKENS = (*"abcdefghijklmnopqrstuvwxyz", "!", ">")
SHORTEST = 4  # tokens: a mark, its letter, another letter, the question


def recall_rows(
    rows: int, seq: int, generator: torch.Generator
) -> tuple[Int[Tensor, "row seq"], Int[Tensor, " row"], Int[Tensor, " row"]]:
    """Random rows, the letter that each asks for, and its distance from the last token, 1 to seq - 2.

    Raises:
        ValueError: seq is too short for a mark, a letter and a question.
    """
    if seq < SHORTEST:
        raise ValueError(f"seq={seq} is too short for a mark, a letter and a question; take {SHORTEST} or more")
    ids = torch.randint(LETTERS, (rows, seq), generator=generator)
    mark = torch.randint(seq - 2, (rows, 1), generator=generator)
    ids.scatter_(1, mark, MARK)
    ids[:, -1] = ASK
    answer = ids.gather(1, mark + 1).squeeze(1)
    return ids, answer, seq - 2 - mark.squeeze(1)
