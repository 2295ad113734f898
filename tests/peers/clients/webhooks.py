"""Verifies the vectors of docs/webhook-vectors.json, by each scheme alone: prints which it takes for valid."""

import json
import sys

from legwork import Webhook, WebhookError


def verdict(vector: dict, scheme: str) -> bool:
    headers = {name: value for name, value in vector["headers"].items() if name.lower().startswith((scheme, "webhook-id"))}
    webhook = Webhook("whsec_b3RoZXI=", vector["secret"])
    try:
        event = webhook.verify(headers, vector["body"].encode(), vector["now"])
    except WebhookError:
        return False
    return event.id == vector["headers"]["webhook-id"]


vectors = json.load(open(sys.argv[1]))["vectors"]
print(json.dumps([verdict(vector, scheme) for vector in vectors for scheme in ("x-service-", "webhook-")]))
