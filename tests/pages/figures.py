"""The figures of a page under AppTest, as the browser would receive them."""

import base64
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest


def _sent(test: AppTest) -> Iterator[tuple[dict[str, Any], bytes, bytes]]:
    """Of each figure what figure.py says about it, its JSON and its CSV file, empty where none was asked for."""
    for element in test.main:
        if getattr(element, "type", "") == "bidi_component" and element.proto.component_name.endswith("tf_figure"):
            first, _, rest = element.proto.bytes.partition(b"\n")
            head = json.loads(first)
            yield head, rest[: head["size"]], rest[head["size"] :]


def figures(test: AppTest) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Name of the figure -> (what figure.py says about it, plotly's data and layout)."""
    return {head["name"]: (head, json.loads(spec)) for head, spec, _ in _sent(test)}


def heads(test: AppTest) -> dict[str, dict[str, Any]]:
    """Name of the figure -> what figure.py says about it."""
    return {head["name"]: head for head, *_ in _sent(test)}


def tables(test: AppTest) -> dict[str, pd.DataFrame]:
    """Name of the figure -> the numbers behind it, of those whose CSV file was sent along."""
    files = {head["name"]: csv for head, _, csv in _sent(test) if head["file"]}
    return {name: pd.read_csv(io.BytesIO(csv), encoding="utf-8-sig") for name, csv in files.items()}


FRAME = ("copy_link", "view_told", "shortcuts")  # components that frame every page


def kind_of(component: Any) -> str:
    """The name of a component, of a scene tf_ and the name of the scene, from what the browser gets."""
    name: str = component.component_name.rpartition(".")[2]
    return f"tf_{json.loads(component.json)['module']}" if name == "tf_scene" else name


def scenes(test: AppTest, module: str) -> list[dict[str, Any]]:
    """What each scene of this name on a page draws."""
    sent = [json.loads(one.proto.json) for one in test.get("bidi_component") if kind_of(one.proto) == f"tf_{module}"]
    return [one["data"] | {"caption": one["caption"]} for one in sent]


class Everything(set[str]):
    """The figures whose CSV file is asked for: every one."""

    def __contains__(self, _: object) -> bool:
        return True


def array(packed: dict[str, Any]) -> np.ndarray:
    """An array as plotly packs it: base64 of its bytes."""
    flat = np.frombuffer(base64.b64decode(packed["bdata"]), dtype=np.dtype(packed["dtype"]))
    shape = packed.get("shape")  # left out where there is one axis
    return flat if shape is None else flat.reshape([int(side) for side in shape.split(",")])
