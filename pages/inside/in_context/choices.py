"""The controls of a prompt, which the sections of the page on in-context learning share."""

from typing import Any, NamedTuple

import streamlit as st

from pages.ui import controls, page
from pages.ui.loading import models
from tfcore.views.inside.in_context.measure.accuracy import PROMPTS
from tfcore.views.inside.in_context.measure.tasks import LABELS, MOST_EXAMPLES, TASKS, Labels

EXAMPLES = 4  # at first
NAMES = {key: task.name for key, task in TASKS.items()}
TEXTS = [f"{given}{task.between}{answer}" for task in TASKS.values() for given, answer in task.pairs[:1]]


class ChosenPrompt(NamedTuple):
    """A prompt: the model that reads it, the task, the labels and number of its examples, and its own number."""

    model: str
    task: str
    labels: Labels
    examples: int
    seed: int


def of_first(examples: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Things to try on the model that the page begins with."""
    return {name: {"model": models.first(), **values} for name, values in examples.items()}


def choose(reads: models.Reads) -> ChosenPrompt:
    """Task, labels and number of examples in sight, model and prompt under More settings.

    Args:
        reads: what a section shows of the model's layers, see models.choose.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width=170):
            task = controls.select("Task", "task", list(TASKS), "antonyms", NAMES)
        with st.container(width=210):
            labels = controls.select("Labels of the examples", "labels", list(LABELS), "right", LABELS)
        with st.container(width=320):
            count = controls.slider("Examples in the prompt", "k", 0, MOST_EXAMPLES, EXAMPLES)
        with page.more_settings():
            model = models.choose("decoder", why_not=models.reads(*TEXTS), default=models.first(), reads=reads)
            seed = controls.place("Prompt", "prompt", PROMPTS)
    return ChosenPrompt(model, task, labels, count, seed)
