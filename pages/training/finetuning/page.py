"""Fine-tuning: `stories` made different in a minute, by another text or by a reward."""

from collections.abc import Callable

from pages.training.finetuning import preferring, tuning
from pages.ui import controls, page

PARTS: dict[str, Callable[[], None]] = {"tuning": tuning.panel, "preference": preferring.panel}
NAMES = {"tuning": "Another text", "preference": "A preference"}

page.begin(
    "Fine-tuning: what is learned, and what is forgotten?",
    "A trained model is trained further, on another text or towards a **preference**. Here it is `stories`, of 2 "
    "million parameters, small enough to be tuned while you watch: on *Romeo and Juliet*, with all weights, the last "
    "layers or **LoRA**, or towards a reward, by DPO or a policy gradient.",
)
PARTS[controls.sections("Look at", "part", list(PARTS), "tuning", NAMES)]()
