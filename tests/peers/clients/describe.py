"""Says what the Python library has, as JSON: operations, objects, filters, words. The argument is its folder."""

import ast
import dataclasses
import json
import sys
import typing
from pathlib import Path

folder = Path(sys.argv[1])
sys.path.insert(0, str(folder / "src"))
import legwork  # noqa: E402
from legwork import _objects  # noqa: E402

FILTERS = ["TaskFilter", "TaskSearch", "EventFilter", "ApprovalFilter", "LogFilter", "DeliveryFilter", "Page"]


def operations() -> dict[str, str]:
    """Each method that names a path, by the name under which a client has it."""
    tree = ast.parse((folder / "src/legwork/_sync.py").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    client = legwork.Client("svc_test_x")
    found = {}
    for resource, holder in vars(client).items():
        node = classes.get(type(holder).__name__)
        if node is None or not isinstance(holder, legwork._sync.Resource):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and (operation := request_of(method)):
                found[f"{resource}.{method.name}"] = operation
    return found


def request_of(method: ast.FunctionDef) -> str | None:
    texts = [node.value for node in ast.walk(method) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    path = next((text for text in texts if text.startswith("/v1/")), None)
    verb = next((text for text in texts if text in ("GET", "POST", "PUT", "PATCH", "DELETE")), "GET")
    return path and f"{verb} {path}"


def words() -> dict[str, list[str]]:
    named = {name: each for name, each in vars(_objects).items() if typing.get_origin(each) is typing.Literal}
    found = {name: list(typing.get_args(each)) for name, each in named.items()}
    # An exception for each code, and a code for each exception.
    assert set(found["ErrorCode"]) == set(legwork.APIError.classes)
    return found


def objects() -> dict[str, list[str]]:
    found = {}
    for name, each in vars(_objects).items():
        if dataclasses.is_dataclass(each) and name != "Happening":
            found[name] = [field.name.rstrip("_") for field in dataclasses.fields(each)]
        elif typing.is_typeddict(each) and name not in ("NewArea", "NewSpendingLimit"):
            found[name] = list(each.__annotations__)
    return found


every = objects()
print(json.dumps({
    "operations": operations(),
    "objects": {name: fields for name, fields in every.items() if name not in FILTERS},
    "filters": {name: every[name] for name in FILTERS},
    "words": words(),
}))
