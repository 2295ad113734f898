"""Asks the function of docs/guides/webhooks.md, in the folder of the first argument, about deliveries: a
JSON array of them on standard input, an array of verdicts on standard output."""

import base64
import json
import sys

sys.path.insert(0, sys.argv[1])
from receiver import is_from_legwork

print(
    json.dumps(
        [
            is_from_legwork(
                delivery["secret"],
                delivery["timestamp"],
                delivery["signature"],
                base64.b64decode(delivery["body"]),
                delivery["now"],
            )
            for delivery in json.load(sys.stdin)
        ]
    )
)
