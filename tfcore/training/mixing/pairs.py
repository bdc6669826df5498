"""Recall of pairs: each token is a key with its value, then keys are asked for, and their values are the answers.

    k3=v1  k7=v0  k1=v5   k7?  k3?   ...      v0, v1, ...

Associative recall of several pairs (arXiv:2312.04927, section 3), with a key and its value in one token: what is needed
is the memory alone, not a step that brings the two together.
"""

import torch

from tfcore.training.alike_loop import TaskRows
from tfcore.training.data import IGNORE

KEYS = 16
VALUES = 8
ASKED = 8  # keys asked for at the end of a row
NAMES = (
    *(f"{chr(ord('a') + key)}{value}" for key in range(KEYS) for value in range(VALUES)),
    *(f"{chr(ord('a') + key)}?" for key in range(KEYS)),
    ".",
    *(str(value) for value in range(VALUES)),
)
BLANK = KEYS * VALUES + KEYS  # stands before a row of fewer pairs


def pair_rows(rows: int, generator: torch.Generator) -> TaskRows:
    """Random rows of 1 to KEYS pairs with different keys, and of ASKED questions for them; an answer's place is
    how many pairs its row has."""
    few = torch.randint(1, KEYS + 1, (rows, 1), generator=generator)
    keys = torch.rand(rows, KEYS, generator=generator).argsort(-1)
    values = torch.randint(VALUES, (rows, KEYS), generator=generator)
    there = torch.arange(KEYS) >= KEYS - few
    asked = KEYS - 1 - (torch.rand(rows, ASKED, generator=generator) * few).long()
    pairs = torch.where(there, keys * VALUES + values, BLANK)
    ids = torch.cat((pairs, KEYS * VALUES + keys.gather(1, asked)), dim=1)
    targets = torch.cat((torch.full_like(pairs, IGNORE), BLANK + 1 + values.gather(1, asked)), dim=1)
    return TaskRows(ids, targets, few.expand_as(ids))


def chance() -> float:
    """The share that guessing has right."""
    return 1 / VALUES
