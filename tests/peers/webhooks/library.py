"""Asks PyPI's standardwebhooks, through the function of docs/guides/webhooks.md in the folder of the first
argument: one delivery to a line of standard input, one verdict to a line of standard output. A
verdict that is text tells what went wrong otherwise."""

import base64
import json
import sys

from standardwebhooks import WebhookVerificationError

sys.path.insert(0, sys.argv[1])
from library import read_delivery


def verdict(delivery):
    body = base64.b64decode(delivery["body"])
    try:
        event = read_delivery(delivery["secret"], delivery["headers"], body)
    except WebhookVerificationError:
        return False
    except Exception as error:
        return repr(error)
    return event == json.loads(body) or "the library read another event"


for line in sys.stdin:
    print(json.dumps(verdict(json.loads(line))), flush=True)
