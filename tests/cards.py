"""Cards of shipped models, as tests read them."""

import json
import re
from typing import Any

from tfcore.checkpoints import PRETRAINED


def measured(name: str) -> dict[str, Any]:
    """The numbers in the fenced JSON block of a CARD.md."""
    text = (PRETRAINED / name / "CARD.md").read_text("utf-8")
    block = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    assert block, "CARD.md has no fenced json block"
    return json.loads(block[1])
