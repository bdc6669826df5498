"""Probing: what can be read off the residual stream by a linear map."""

from pages.inside.probing.reads import reads
from pages.ui import page
from pages.ui.loading import models

page.begin(
    "What can be read off the stream by a straight line?",
    "A **linear probe** is a logistic regression on the residual stream. It says what is there, not what the model "
    "uses.",
    always=models.always(),
)
reads()
