"""The experiments of the page on in-context learning."""

import numpy as np

from tfcore.analysis.inside.in_context.accuracy import accuracy, kept, labels_matter
from tfcore.analysis.inside.in_context.heads import HeadEffects, heads_agree
from tfcore.analysis.inside.in_context.live import Answer
from tfcore.analysis.inside.in_context.steps import Way, kept_steps, step_errors, steps_help
from tfcore.analysis.inside.in_context.tasks import Labels
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.inside.in_context import accuracy_figure, heads_figure, steps_figure
from tfcore.figures.shown import Shown
from tfcore.measures.token_text import tick_labels


def next_token(found: Answer) -> Shown:
    """The most probable tokens after a prompt."""
    figure = guesses_figure(np.array(found.probabilities), tick_labels(found.tokens), height=250)
    return Shown(figure, (found,))


def by_examples(measured_on: str, task: str, labels: Labels, examples: int) -> Shown:
    """Accuracy by the number of examples in the prompt, as it was measured and kept."""
    found = kept()[measured_on, task]
    figure = accuracy_figure(found, labels, examples, height=330)
    return Shown(figure, (accuracy(found, labels, examples), labels_matter(found)))


def heads(found: HeadEffects) -> Shown:
    """The fall of the right answer's log-probability without each head, beside the head's induction score."""
    return Shown(heads_figure(found, height=380), (heads_agree(found),))


def by_steps(way: Way) -> Shown:
    """Right answers at once and after written steps, as they were measured and kept."""
    said = steps_help(kept_steps())
    return Shown(steps_figure(said, way, height=300), (said, step_errors(kept_steps())))
