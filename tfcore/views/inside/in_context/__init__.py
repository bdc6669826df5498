"""In-context learning: examples in the prompt, the heads that use them, and steps written before an answer."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tfcore.charts.guesses import guesses_figure
from tfcore.measures.statistics import rank_correlation, wilson
from tfcore.measures.token_text import tick_labels
from tfcore.views.inside.in_context import draw, say
from tfcore.views.inside.in_context.measure import accuracy, one_prompt, steps, tasks
from tfcore.views.inside.in_context.measure import heads as of_heads
from tfcore.views.inside.in_context.measure.accuracy import PROMPTS, kept
from tfcore.views.inside.in_context.measure.heads import Exact, Start, every_of, scores_of, together
from tfcore.views.inside.in_context.measure.one_prompt import answer_of
from tfcore.views.inside.in_context.measure.steps import MOST_TOKENS, Way, kept_steps
from tfcore.views.inside.in_context.measure.tasks import Labels
from tfcore.views.sources import Source
from tfcore.views.view import View, view


@view
def next_token(model: Source, task: str, labels: Labels, examples: int, seed: int) -> View:
    """The most probable tokens after examples of a task and a question.

    Args:
        task: a key of tasks.TASKS.
        labels: of the examples: right, drawn at random, or right in another order.
        examples: how many.
        seed: of the prompt.

    Raises:
        ValueError: the model cannot read the prompt, see tasks.prompt.
    """
    answer = answer_of(model, task, labels, examples, seed)
    return View(
        key="next",
        title="The answer",
        result=answer,
        chart=guesses_figure(np.array(answer.probabilities), tick_labels(answer.tokens), height=250),
        findings=(answer,),
        table=lambda: pd.DataFrame({"token": answer.tokens, "probability": answer.probabilities}),
        formula=(
            r"\begin{gathered} x_1\,y_1 \ldots x_k\,y_k\,x_{k+1} \to y_{k+1}, \qquad "
            r"\hat y = \arg\max_{y \in \text{answers}} p(y \mid \text{prompt}) \\ "
            r"\text{interval} = \frac{1}{1 + z^2/n}\left(p + \frac{z^2}{2n} \pm "
            r"z \sqrt{\frac{p(1-p)}{n} + \frac{z^2}{4n^2}}\right) \end{gathered}"
        ),
        papers=(
            "Examples in the prompt: arXiv:2005.14165. Random labels: arXiv:2202.12837, section 4.1; there "
            "they are drawn from the set of labels, as here. Another order: arXiv:2104.08786. An answer counts as "
            "right if its first token is the most probable among the first tokens of the task's answers. Of one prompt "
            "every line is asked, so prompts of different lengths share words; the interval is Wilson's, and takes the "
            f"{PROMPTS} prompts of each length for a random sample. Counts: "
            "`python -m tfcore.views.inside.in_context.measure.accuracy`."
        ),
        terms=("in-context learning", "few-shot prompting", "confidence interval"),
        code=(tasks.draw, tasks.prompt, one_prompt.ReadExamples, one_prompt.answer, accuracy.measure, wilson),
    )


@view
def by_examples(measured_on: str, task: str, labels: Labels, examples: int) -> View:
    """Accuracy by the number of examples in the prompt, as it was measured and kept. See next_token.

    Args:
        measured_on: name of a model that was measured on this task.
    """
    measured = kept()[measured_on, task]
    return View(
        key="accuracy",
        title="The curve",
        result=measured,
        chart=draw.accuracy_figure(measured, labels, examples, height=330),
        min_width=340,
        findings=(say.accuracy(measured, labels, examples), say.labels_matter(measured)),
        table=lambda: pd.DataFrame({one.labels: one.right for one in measured.curves}).assign(prompts=PROMPTS),
    )


@view
def heads(
    model: Source, task: str, labels: Labels, examples: int, seed: int, *, so_far: Sequence[Start | Exact] | None = None
) -> View:
    """The fall of the right answer's log-probability without each head, beside the head's induction score.

    See next_token.

    Args:
        so_far: what is known until now, at least the estimates of all heads; None measures the largest exactly.
    """
    results = every_of(model, task, labels, examples, seed) if so_far is None else so_far
    effects = together(results, scores_of(model))
    layer, head = np.indices(effects.effect.shape)
    return View(
        key="heads",
        title="Every head",
        result=effects,
        chart=draw.heads_figure(effects, height=380),
        min_width=340,
        findings=(say.heads_agree(effects),),
        note="Filled: exact; rings: estimates by attribution patching.",
        table=lambda: pd.DataFrame(
            {
                "layer": layer.ravel(),
                "head": head.ravel(),
                "fall of log-probability": effects.effect.ravel(),
                "exact": effects.exact.ravel(),
                "induction score": effects.score.ravel(),
            }
        ),
        formula=(
            r"\text{fall} = \log p(y \mid \text{prompt}) - \log p(y \mid \text{prompt}, z_{l,h} = 0) \approx "
            r"\sum_{\text{tokens}} z_{l,h} \cdot \frac{\partial \log p(y)}{\partial z_{l,h}}"
        ),
        papers=(
            "Induction heads as a mechanism of in-context learning: arXiv:2209.11895. Attribution patching: "
            "arXiv:2310.10348. The score is the mean weight on the token after an earlier occurrence of the "
            "query token, on repeated random tokens."
        ),
        terms=("in-context learning", "induction head", "zero ablation"),
        code=(of_heads.heads_of_prompt, of_heads.induction_scores, rank_correlation, say.heads_agree),
    )


@view
def by_steps(way: Way) -> View:
    """Right answers at once and after written steps, as they were measured and kept."""
    answers = kept_steps()
    helped = say.steps_help(answers)
    rows = answers.direct if way == "direct" else answers.steps
    return View(
        key="steps",
        title="At once and after steps",
        result=answers,
        chart=draw.steps_figure((helped.direct, helped.steps), way, height=300),
        findings=(helped, say.step_errors(answers)),
        table=lambda: pd.DataFrame(
            {
                "problem": [steps.problem(one.seed).question for one in rows],
                "written": [one.text.strip() for one in rows],
                "right answer": [steps.problem(one.seed).answer for one in rows],
                "right": [one.right for one in rows],
            }
        ),
        formula=(
            r"p(\text{answer} \mid \text{question}) \quad \text{or} \quad "
            r"\prod_t p(\text{step}_t \mid \text{question}, \text{step}_{<t}) \cdot "
            r"p(\text{answer} \mid \text{question}, \text{steps})"
        ),
        papers=(
            "Chain of thought: arXiv:2201.11903. Solved problems in the prompt: arXiv:2005.14165. Greedy decoding to "
            f"the end of the line, at most {MOST_TOKENS['steps']} tokens; an answer is the number after “answer is”. "
            "Operations are matrix products of the written tokens, the prompt left out. Measured by "
            "`python -m tfcore.views.inside.in_context.measure.steps`."
        ),
        terms=("few-shot prompting", "chain of thought"),
        code=(steps.problem, steps.asked, steps.write, steps.operations, say.steps_help),
    )
