"""Cards of shipped models, as tests read them, and stories that no model was trained on."""

import json
import re
from typing import Any

from tfcore.loading.checkpoints import PRETRAINED

STORIES = [
    "Once upon a time there was a boy named Sam. Sam had a small green boat. One day he took his boat to the lake. "
    "The wind was strong and the boat went far away. Sam was sad. A big duck saw the boat and pushed it back to him. "
    '"Thank you, duck!" said Sam. He gave the duck some bread and they became good friends.',
    "Lily and her mom went to the park. Lily wanted to play on the swing, but there was another girl on it. "
    '"Can we take turns?" asked Lily. The girl smiled and said yes. They played together all day and had a lot of fun.',
    "There was a little bear who did not like to sleep. Every night he looked at the moon. His mother said, "
    '"You must go to bed now." The bear closed his eyes and soon he was asleep. In the morning he was very happy.',
]


def measured(name: str) -> dict[str, Any]:
    """The numbers in the fenced JSON block of a CARD.md."""
    text = (PRETRAINED / name / "CARD.md").read_text("utf-8")
    block = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    assert block, "CARD.md has no fenced json block"
    return json.loads(block[1])
