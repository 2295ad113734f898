"""Holds requests to Stripe and their answers against Stripe's own OpenAPI document.

    check_stripe.py DOCUMENT

Reads one line of JSON for each thing to check and answers each with one line: a list of faults,
empty when there are none. A line is an exchange,

    {"method", "path", "query": [[name, value]...], "form": [[name, value]...],
     "status", "answer", "strict"}

or a value that must be of a schema: {"schema", "value"}. An answer that is not strict comes from a
peer that leaves things out: only what the client reads of it is checked.
"""

import json
import re
import sys

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

# What core/src/payments/stripe/answers.rs reads.
READ = {
    "payment_intent": ["id", "client_secret", "status", "amount", "created", "metadata"],
    "charge": ["id", "created"],
    "refund": ["id", "status", "amount", "created", "metadata"],
    "customer": ["id"],
    "payment_method": ["id"],
    "list": ["data", "has_more"],
}


def modern(node):
    """The document is OpenAPI 3.0, whose `nullable` JSON Schema does not know."""
    if isinstance(node, list):
        return [modern(item) for item in node]
    if not isinstance(node, dict):
        return node
    made = {name: modern(value) for name, value in node.items()}
    if isinstance(made.get("$ref"), str) and made["$ref"].startswith("#"):
        made["$ref"] = "stripe:" + made["$ref"]
    if made.pop("nullable", None) is True:
        return {"anyOf": [made, {"type": "null"}]}
    return made


def closed(node):
    """Stripe refuses parameters that it does not know, also the nested ones."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    made = {name: closed(value) for name, value in node.items()}
    if made.get("type") == "object" and isinstance(made.get("properties"), dict):
        made.setdefault("additionalProperties", False)
    return made


class Document:
    def __init__(self, file):
        with open(file, encoding="utf-8") as text:
            document = json.load(text)
        self.schemas = modern(document["components"]["schemas"])
        contents = {"components": {"schemas": self.schemas}}
        resource = Resource(contents=contents, specification=DRAFT202012)
        self.registry = Registry().with_resource("stripe:", resource).crawl()
        self.operations = []
        for template, operations in document["paths"].items():
            pattern = "[^/]+".join(re.escape(part) for part in re.split(r"\{[^}]*\}", template))
            for method, operation in operations.items():
                entry = (template.count("{"), method.upper(), re.compile(pattern), operation)
                self.operations.append(entry)
        # Of two that fit, the one with fewer places to fill is meant.
        self.operations.sort(key=lambda entry: entry[0])

    def operation(self, method, path):
        for _, known, pattern, operation in self.operations:
            if known == method and pattern.fullmatch(path):
                return operation
        return None

    def faults(self, what, schema, value):
        errors = Draft202012Validator(schema, registry=self.registry).iter_errors(value)
        return [f"{what} {error.json_path}: {error.message[:300]}" for error in errors]

    def fits(self, schema, value):
        return Draft202012Validator(schema, registry=self.registry).is_valid(value)

    def typed(self, value, schema):
        """Form values are text; where the schema wants a number or a boolean, this makes one."""
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"].rsplit("/", 1)[1]]
        for choice in schema.get("anyOf", []):
            made = self.typed(value, choice)
            if self.fits(choice, made):
                return made
        if isinstance(value, list):
            return [self.typed(item, schema.get("items", {})) for item in value]
        if isinstance(value, dict):
            rest = schema.get("additionalProperties")
            rest = rest if isinstance(rest, dict) else {}
            known = schema.get("properties", {})
            return {name: self.typed(item, known.get(name, rest)) for name, item in value.items()}
        if schema.get("type") == "integer" and re.fullmatch(r"-?\d+", value):
            return int(value)
        if schema.get("type") == "boolean" and value in ("true", "false"):
            return value == "true"
        return value


def nested(pairs):
    """a[b]=c is an object in an object, a[]=b a list."""
    made = {}
    for name, value in pairs:
        if not re.fullmatch(r"[^\[\]]+(\[[^\[\]]+\])*(\[\])?", name):
            raise ValueError(f"{name} is not the name of a parameter")
        *outer, last = re.findall(r"[^\[\]]+", name)
        place = made
        for part in outer:
            place = place.setdefault(part, {})
        if name.endswith("[]"):
            place.setdefault(last, []).append(value)
        elif last in place:
            raise ValueError(f"{name} is there twice")
        else:
            place[last] = value
    return made


def request_faults(document, operation, exchange):
    query = {
        parameter["name"]: modern(parameter["schema"])
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "query"
    }
    query = {"type": "object", "properties": query, "additionalProperties": False}
    content = operation.get("requestBody", {}).get("content", {})
    form = content.get("application/x-www-form-urlencoded", {}).get("schema", {"type": "object"})
    faults = []
    for what, schema in (("query", query), ("form", closed(modern(form)))):
        try:
            value = document.typed(nested(exchange[what]), schema)
        except ValueError as error:
            faults.append(f"{what}: {error}")
            continue
        faults += document.faults(what, schema, value)
    return faults


def answer_faults(document, operation, exchange):
    responses, answer = operation["responses"], exchange["answer"]
    response = responses.get(str(exchange["status"]), responses["default"])
    if exchange["strict"] or exchange["status"] >= 400:
        schema = modern(response["content"]["application/json"]["schema"])
        return document.faults("answer", schema, answer)
    return read_faults(document, "answer", answer)


def read_faults(document, what, answer):
    kind = answer.get("object") if isinstance(answer, dict) else None
    if kind not in READ:
        return [f"{what}: {kind} is nothing that the client reads"]
    if kind == "list":
        faults = [f"{what}: {name} is missing" for name in READ[kind] if name not in answer]
        for item in answer.get("data", []):
            faults += read_faults(document, what, item)
        return faults
    known = document.schemas[kind]["properties"]
    schema = {
        "type": "object",
        "properties": {name: known[name] for name in READ[kind]},
        "required": READ[kind],
    }
    faults = document.faults(f"{what} ({kind})", schema, answer)
    charge = answer.get("latest_charge") if kind == "payment_intent" else None
    if isinstance(charge, dict):
        faults += read_faults(document, what, charge)
    return faults


def check(document, line):
    if "schema" in line:
        schema = {"$ref": "stripe:#/components/schemas/" + line["schema"]}
        return document.faults(line["schema"], schema, line["value"])
    operation = document.operation(line["method"], line["path"])
    if operation is None:
        return [f"Stripe has no {line['method']} {line['path']}"]
    faults = request_faults(document, operation, line)
    return faults + answer_faults(document, operation, line)


def main():
    document = Document(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(check(document, json.loads(line))), flush=True)


main()
