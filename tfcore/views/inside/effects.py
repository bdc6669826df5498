"""The effect of an edit, for several subjects: a view of the next token's probabilities before and after."""

import pandas as pd

from tfcore.charts.before_after import before_after
from tfcore.measures.answers import Answers, Classes
from tfcore.measures.interventions import Effect, compared_tokens
from tfcore.measures.token_text import tick_labels
from tfcore.views.inside.changes import difference_change, prediction_change
from tfcore.views.view import View

NEW_TOKENS = 12  # of a continuation under an edit
SHOWN = 6  # tokens most probable before, and as many after


def next_token(
    effect: Effect,
    answers: Answers,
    read: str,
    position: int,
    names: tuple[str, str],
    token: int,
    against: int | None = None,
) -> View:
    """The probabilities of the next token, or of the classes of a text, before and after an edit.

    Args:
        answers: of the model, see answers_of.
        read, position: the token after which is predicted.
        names: of the two runs, as in ("whole model", "without block 2").
        token: the one the numbers are about.
        against: one whose logit is compared with that of `token`.
    """
    change = prediction_change(effect, read, position, names[1], token, answers)
    lead = () if against is None else (difference_change(effect, token, against, answers),)
    ids = compared_tokens(effect, token, SHOWN)
    ids += [against] if against is not None and against not in ids else []
    pieces, before, after = answers.tokens(ids), effect.before[ids], effect.after[ids]
    what = "class" if isinstance(answers, Classes) else "token"
    return View(
        key="prediction",
        title="The class" if what == "class" else "The next token",
        result=effect,
        chart=before_after(
            tick_labels(pieces), before.tolist(), after.tolist(), names, f"next {what}" if what == "token" else what
        ),
        findings=(change, *lead),
        table=lambda: pd.DataFrame({what: pieces, names[0]: before, names[1]: after}),
    )
