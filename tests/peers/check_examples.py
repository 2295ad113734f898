"""Holds every example of an OpenAPI 3.1 document against the schema that it belongs to.

    check_examples.py DOCUMENT

Prints one line of JSON: how many examples were checked, and what is wrong with them.
"""

import json
import sys
from datetime import datetime

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

NAME = "openapi:"
# What stands under these words is a value, not a part of the description.
VALUES = {"example", "examples", "default", "enum", "const"}
FORMATS = FormatChecker(["date", "email"])


@FORMATS.checks("date-time", raises=ValueError)
def is_date_time(value):
    """The library checks this format only if a package of its own is there."""
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


def absolute(node):
    """Schemas are checked one by one, so their references name the document."""
    if isinstance(node, list):
        return [absolute(item) for item in node]
    if not isinstance(node, dict):
        return node
    made = {name: absolute(value) for name, value in node.items()}
    if isinstance(made.get("$ref"), str) and made["$ref"].startswith("#"):
        made["$ref"] = NAME + made["$ref"]
    return made


def examples(node, path):
    """Every example below a node, with its schema and where it is."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from examples(item, f"{path}/{index}")
    if not isinstance(node, dict):
        return
    # A content or a parameter names its schema. Anything else with an example is one.
    schema = node.get("schema", node)
    if "example" in node:
        yield path, schema, node["example"]
    if isinstance(node.get("examples"), list):
        for example in node["examples"]:
            yield path, schema, example
    elif isinstance(node.get("examples"), dict):
        for name, example in node["examples"].items():
            yield f"{path}/examples/{name}", schema, example.get("value")
    for name, value in node.items():
        if name == "properties":
            # The names below are those of fields, which may have any name.
            for field, described in value.items():
                yield from examples(described, f"{path}/properties/{field}")
        elif name not in VALUES:
            yield from examples(value, f"{path}/{name}")


def main():
    with open(sys.argv[1], encoding="utf-8") as text:
        document = absolute(json.load(text))
    resource = Resource(contents=document, specification=DRAFT202012)
    registry = Registry().with_resource(NAME, resource).crawl()
    checked, faults = 0, []
    for path, schema, example in examples(document, "#"):
        checked += 1
        validator = Draft202012Validator(schema, registry=registry, format_checker=FORMATS)
        for error in validator.iter_errors(example):
            faults.append(f"{path} {error.json_path}: {error.message[:300]}")
    print(json.dumps({"checked": checked, "faults": faults}))


main()
