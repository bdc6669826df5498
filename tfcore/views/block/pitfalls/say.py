"""Findings on mistakes: the numbers of both models, and how float16 is emulated."""

from tfcore.training import pitfalls
from tfcore.training.pitfalls import PitfallConfig
from tfcore.views.finding import Statement, state


def of_both(what: str, mistake: str, step: int, numbers: tuple[float, float], remark: str) -> Statement:
    """A number of both models.

    Args:
        what: the number.
        mistake: its name.
        step: training steps done.
        numbers: with the mistake, and without.
        remark: on the curve.
    """
    broken, baseline = numbers
    return state(
        "of both",
        "{what} after {step} steps, {mistake}: {broken:.3g} with the mistake, {baseline:.3g} without. {remark}.",
        what=what[0].upper() + what[1:],
        mistake=mistake,
        step=step,
        broken=broken,
        baseline=baseline,
        remark=remark[0].upper() + remark[1:],
    )


def half_precision(config: PitfallConfig) -> Statement:
    """How float16 is emulated on a CPU in a training with the mistake "half"."""
    letters = pitfalls.ROWS * pitfalls.SEQ
    return state(
        "half precision",
        "How float16 is emulated on a CPU: weights and forward pass stay in float32, and the gradient that goes back "
        "through the output of each linear layer, embedding and norm is rounded to float16. One batch of {letters} "
        "letters stands for each of the {batches:,} of a step ({all_letters:,} letters), so the loss is divided by "
        "{batches:,} before the backward pass and the weights' gradients are multiplied by it afterwards, as if all of "
        "them had been summed. The baseline multiplies the loss by {loss_scale:,.0f} first.",
        letters=letters,
        batches=config.dose,
        all_letters=letters * config.dose,
        loss_scale=pitfalls.LOSS_SCALE,
    )
