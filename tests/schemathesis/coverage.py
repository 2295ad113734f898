"""Fails if an operation answered nothing but refusals: then it was not tested.

usage: coverage.py OPENAPI STATUSES
"""

import collections
import json
import sys

REFUSALS = {"401", "403", "404"}

# Operations that may answer only refusals, and why.
EXPECTED = {
    "GET /v1/events/stream": "it never ends, so it is not called",
}

document = json.load(open(sys.argv[1], encoding="utf-8"))
operations = {
    f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item
}
answered = collections.defaultdict(collections.Counter)
for line in open(sys.argv[2], encoding="utf-8"):
    operation, status = line.rstrip("\n").split("\t")
    answered[operation][status] += 1

untested = {name for name in operations if not set(answered[name]) - REFUSALS}
for name in sorted(untested - EXPECTED.keys()):
    print(f"{name} answered only {dict(answered[name])}")
for name in sorted(EXPECTED.keys() - untested):
    print(f"{name} is expected to answer only refusals, but answered {dict(answered[name])}")
if untested != EXPECTED.keys():
    sys.exit(1)
print(f"{len(operations) - len(untested)} operations answered more than refusals")
