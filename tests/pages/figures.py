"""The figures of a page under AppTest, as the browser would receive them."""

import base64
import io
import json
from typing import Any

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest


def figures(test: AppTest) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Name of the figure -> (what figure.py says about it, plotly's data and layout)."""
    found = {}
    for element in test.main:
        if getattr(element, "type", "") == "bidi_component" and element.proto.component_name.endswith("tf_figure"):
            first, _, rest = element.proto.bytes.partition(b"\n")
            head = json.loads(first)
            found[head["name"]] = head, json.loads(rest[: head["size"]])
    return found


def tables(test: AppTest) -> dict[str, pd.DataFrame]:
    """Name of the figure -> the numbers behind it, of those whose CSV file was sent along."""
    found = {}
    for element in test.main:
        if getattr(element, "type", "") == "bidi_component" and element.proto.component_name.endswith("tf_figure"):
            first, _, rest = element.proto.bytes.partition(b"\n")
            head = json.loads(first)
            if head["file"]:
                found[head["name"]] = pd.read_csv(io.BytesIO(rest[head["size"] :]), encoding="utf-8-sig")
    return found


class Everything(set[str]):
    """The figures whose CSV file is asked for: every one."""

    def __contains__(self, _: object) -> bool:
        return True


def array(packed: dict[str, Any]) -> np.ndarray:
    """An array as plotly packs it: base64 of its bytes."""
    flat = np.frombuffer(base64.b64decode(packed["bdata"]), dtype=np.dtype(packed["dtype"]))
    shape = packed.get("shape")  # left out where there is one axis
    return flat if shape is None else flat.reshape([int(side) for side in shape.split(",")])
