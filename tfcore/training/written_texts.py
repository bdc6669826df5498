"""Texts that a model writes itself, from many beginnings: to study its parts on where no corpus has its variety."""

from collections.abc import Iterator, Sequence
from itertools import count, cycle

import torch
from jaxtyping import Int
from torch import Tensor

from tfcore.kv_cache import KVCache
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.tokenizers.typed_text import marked

SUBJECTS = (
    *("the violin", "volcanoes", "the Roman Empire", "bread", "the immune system", "electric cars", "chess", "Japan"),
    *("photosynthesis", "the French Revolution", "black holes", "bees", "football", "inflation", "the human heart"),
    *("jazz", "glaciers", "the printing press", "vaccines", "coffee", "Shakespeare", "DNA", "the Amazon rainforest"),
    *("bridges", "democracy", "sleep", "dinosaurs", "the stock market", "gravity", "Marie Curie", "the Silk Road"),
    *("earthquakes", "wine", "artificial intelligence", "the Olympic Games", "whales", "Buddhism", "antibiotics"),
    *("the Moon", "castles", "tea", "the internet", "Mozart", "deserts", "the brain", "railways", "Brazil", "cats"),
    *("solar energy", "the Cold War", "poetry", "mountains", "money", "the ocean", "Isaac Newton", "migration"),
    *("contract law", "diabetes", "cinema", "steel", "the Nile", "algebra", "insects", "the United Nations", "maps"),
    *("gardening", "dreams", "submarines", "Kenya", "the periodic table", "running", "languages", "ancient Egypt"),
    *("rain", "robots", "painting", "cheese", "the Great Depression", "spiders", "human rights", "clocks", "India"),
)
OF_A_SUBJECT = (  # beginnings that name a subject
    *("The history of {0}", "In this article we look at {0}.", "An introduction to {0}\n\n", "{0} and its origins"),
    *("Question: What is known about {0}?\nAnswer:", "Ten facts about {0}:\n1.", "# {0}\n\n## Overview\n\n"),
    *("Scientists who study {0} have found that", "My favourite thing about {0} is", "A short poem about {0}\n\n"),
    *("The museum's new exhibition on {0} opened", '"I know nothing about {0}," she said.', "Chapter 1: {0}\n\n"),
    *("Dear Professor,\nI am writing to ask about {0}", "According to the report on {0},", "Abstract. We study {0}"),
    *(
        "Why does {0} matter? Because",
        "Critics of {0} argue that",
        "The economy of {0}",
        "Teacher: Today's lesson is {0}.",
    ),
)
OTHERS = (  # beginnings of other kinds
    *("def", "import numpy as np\n\ndef", "class", "#include <stdio.h>\n\nint main", "function", "SELECT name,"),
    *("<html>\n<head>\n<title>", "for i in range(", "public class", "```python\n", '{\n  "name": "', "$ git"),
    *("Solve for x:", "Proof.", "Let n be a positive integer.", "The sum of 17 and 25 is", "If a train travels at"),
    *("Ingredients:\n-", "Step 1:", "How to", "Warning:", "FAQ\n\nQ:", "Dear Sir or Madam,\n\n", "Subject: Meeting"),
    *("LONDON -", "WASHINGTON (AP) -", "Yesterday the", "The court ruled that", "Section 1. The parties agree that"),
    *("The patient, a 54-year-old man,", "Clinical trials show", "Stocks fell", "In the second half, the team"),
    *("Once upon a time", "It was raining when", '"Where were you?"', "He opened the door and", "She had never"),
    *("ALICE:", "Roses are", "lol I can't believe", "Review: I bought this", "5 stars.", "I feel that", "Hi everyone,"),
    *("Le roi", "Bonjour, je", "El sol", "Der Mann", "La ville de", "Hola, me llamo", "Ich habe"),
    *(
        "1.",
        "-",
        "| Year | Population |\n|---|---|\n| 1900 |",
        "Mon Tue Wed",
        "Born in 1879,",
        "To whom it may concern",
    ),
    *("User: Can you help me with", "The capital of", 'The word "', "Synonyms of", 'In Spanish, "', "Monday, 3 March:"),
)
ENCYCLOPAEDIC = (  # beginnings of articles about a subject
    *("{0}\n\nIntroduction\n\n{0} is", "{0} (encyclopedia article)\n\nThe term", "The history of {0} begins"),
    *("{0}: an overview\n\nAccording to", "# {0}\n\n## Definition\n\n", "Encyclopaedia entry: {0}\n\nIn the"),
)
CODE = (  # beginnings of programs and of data
    *("def parse_config(path, defaults=None):\n", "import numpy as np\n\ndef normalise(matrix"),
    *("class Stack:\n    def", "#include <stdio.h>\n\nint main(void) {\n", "function fetchUsers(options) {\n"),
    *("SELECT name, COUNT(*) FROM", "<html>\n<head>\n<title>", "public class Account {\n    private"),
    *("for i in range(10):\n    if", '{\n  "name": "', "const express = require('express');\n"),
    *("import re\nimport sys\n\ndef tokenize(text):\n", "#!/bin/bash\nset -e\n", "fn main() {\n    let"),
    *(
        "def quicksort(items):\n",
        "from dataclasses import dataclass\n\n@dataclass\nclass",
        "package main\n\nimport (\n",
    ),
    *("body {\n  margin:", "def test_addition():\n    assert", "template <typename T>\nclass"),
    *(
        "async def handler(request):\n",
        "CREATE TABLE orders (\n",
        "try:\n    with open(",
        "import pandas as pd\n\ndf =",
    ),
)
CHAT = "<|im_start|>user\n{0}<|im_end|>\n<|im_start|>assistant\n"  # every eighth text
TASKS = (
    *("Write a story about {0}.", "Explain {0} to a child.", "Give me three questions about {0}.", "Summarise {0}."),
    *("Write a Python program about {0}.", "What do people get wrong about {0}?", "Write an e-mail about {0}."),
)
TURNS = 8
TEMPERATURE = 0.8


def beginnings() -> Iterator[str]:
    """Beginnings without end: those with a subject, others, and every TURNS-th a task as a chat's first turn."""
    i = 0
    while True:
        subject = SUBJECTS[i % len(SUBJECTS)]
        if i % TURNS == 0:
            yield CHAT.format(TASKS[i // TURNS % len(TASKS)].format(subject))
        elif i % 2:
            yield OTHERS[i // 2 % len(OTHERS)]
        else:
            form = OF_A_SUBJECT[i // 2 % len(OF_A_SUBJECT)].format(subject)
            yield _titled(form)
        i += 1


def articles() -> Iterator[str]:
    """Beginnings of articles without end, each subject in turn."""
    return (ENCYCLOPAEDIC[i % len(ENCYCLOPAEDIC)].format(_titled(SUBJECTS[i % len(SUBJECTS)])) for i in count())


def programs() -> Iterator[str]:
    """Beginnings of programs without end."""
    return cycle(CODE)


def _titled(subject: str) -> str:
    return subject[0].upper() + subject[1:]


def written_texts(
    model: Transformer,
    tokenizer: Tokenizer,
    rows: int,
    seq: int,
    seed: int = 0,
    at_once: int = 8_192,
    starts: Iterator[str] | None = None,
) -> Iterator[Int[Tensor, "row seq"]]:
    """Texts of seq tokens that a model draws at TEMPERATURE, each from a beginning.

    Args:
        rows: how many in all.
        at_once: rows that are written together; each part is yielded when it is done, on the CPU.
        starts: the beginnings, at least as many as rows; None: `beginnings`.
    """
    generator = torch.Generator(model.device).manual_seed(seed)
    starts = beginnings() if starts is None else starts
    for first in range(0, rows, at_once):
        texts = [marked(next(starts), tokenizer.special_tokens) for _ in range(min(at_once, rows - first))]
        yield _continued(model, [tokenizer.encode(text)[:seq] for text in texts], seq, generator).cpu()


@torch.inference_mode()
def _continued(
    model: Transformer, given: Sequence[Sequence[int]], seq: int, generator: torch.Generator
) -> Int[Tensor, "row seq"]:
    """Rows that begin as given; all are read token by token, and what is drawn counts from where its beginning ends."""
    ids = torch.zeros(len(given), seq, dtype=torch.long)
    for row, own in zip(ids, given, strict=True):
        row[: len(own)] = torch.tensor(own)
    ids, lengths = ids.to(model.device), torch.tensor([len(own) for own in given], device=model.device)
    cache = KVCache(model.config, len(given), capacity=seq, device=model.device, dtype=model.dtype)
    for place in range(seq - 1):
        logits = model(ids[:, place : place + 1], cache=cache).logits[:, -1].float()
        drawn = torch.multinomial((logits / TEMPERATURE).softmax(-1), 1, generator=generator)[:, 0]
        ids[:, place + 1] = torch.where(lengths > place + 1, ids[:, place + 1], drawn)
    return ids
