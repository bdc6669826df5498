"""Every tensor that a function of the core takes has its shape beside it."""

import ast

from tests.architecture.sources import ROOT, broken

CORE = sorted((ROOT / "tfcore").glob("*.py"))  # the parts of a model, and what they share
SHAPES = ("Bool", "Float", "Int", "Num", "Shaped")


def without_shape(annotation: ast.AST) -> bool:
    """Whether an annotation names a Tensor outside of jaxtyping's brackets, such as `Float[Tensor, "batch seq"]`."""
    if isinstance(annotation, ast.Name):
        return annotation.id == "Tensor"
    if isinstance(annotation, ast.Attribute):
        return annotation.attr == "Tensor"
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name):
        return annotation.value.id not in SHAPES and without_shape(annotation.slice)
    return any(without_shape(part) for part in ast.iter_child_nodes(annotation))


def unshaped(source: str) -> list[str]:
    """FUNCTION.PARAMETER of each parameter that is a tensor, or holds some, without a shape."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return [
        f"{function.name}.{given.arg}"
        for function in functions
        for given in ast.walk(function.args)
        if isinstance(given, ast.arg) and given.annotation is not None and without_shape(given.annotation)
    ]


def test_every_tensor_that_the_core_takes_has_a_shape():
    assert {path.stem for path in CORE} >= {"attention", "block", "experts", "input_checks", "model", "onednn", "stack"}
    assert broken(unshaped, CORE) == {}


def test_a_tensor_without_a_shape_is_found():
    source = """
def f(x: Float[Tensor, "batch seq"], y: torch.Tensor | None, of: Callable[[Tensor], int], name: str = "Tensor"): ...
class Module:
    def forward(self, z: "int", masks: list[Bool[Tensor, "query key"]], *more: Tensor): ...
"""
    assert unshaped(source) == ["f.y", "f.of", "forward.more"]
