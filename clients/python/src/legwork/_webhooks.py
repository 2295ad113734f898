"""Webhooks: checks what arrives, and signs as the server does."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

from ._errors import WebhookError
from ._http import is_number
from ._objects import Happening


@dataclass(frozen=True, kw_only=True)
class WebhookEvent(Happening):
    """An event that arrived by webhook."""

    #: The same for every attempt: keep it to know a repeat. `X-Service-Signature` does not cover it.
    id: str


class Webhook:
    """Checks deliveries with the secret of the webhook. While a secret is being replaced, give both."""

    def __init__(self, *secrets: str, tolerance: int = 300) -> None:
        if not secrets:
            raise ValueError("a secret is needed")
        # Secrets that are read from a file end with a line break.
        self._secrets, self._tolerance = [each.strip() for each in secrets], tolerance
        self._keys = [_key(each) for each in self._secrets]

    def verify(self, headers: Mapping[str, str], body: bytes, now: float | None = None) -> WebhookEvent:
        """The event of a delivery. `body` is the raw body; `now` is Unix seconds."""
        found = {name.lower(): value for name, value in headers.items()}
        id = found.get("webhook-id", "")
        # The standard signature covers more, so it is the one that counts where there is one.
        is_standard = "webhook-signature" in found
        scheme = "webhook" if is_standard else "x-service"
        given, sent = found.get(f"{scheme}-signature"), found.get(f"{scheme}-timestamp", "")
        if given is None:
            raise WebhookError("the webhook is not valid: it is not signed")
        if not is_number(sent):
            raise WebhookError("the webhook is not valid: it has no timestamp")
        if abs((time.time() if now is None else now) - int(sent)) > self._tolerance:
            raise WebhookError("the webhook is not valid: its timestamp is too far from now")
        values = [value.strip().encode() for value in given.split(" " if is_standard else ",")]
        expected = self._standard(id, sent, body) if is_standard else self._own(sent, body)
        if not any(hmac.compare_digest(value, each.encode()) for value in values for each in expected):
            raise WebhookError("the webhook is not valid: no signature matches")
        try:
            payload = json.loads(body)
        except ValueError as error:
            raise WebhookError("the webhook is not valid: it is not an event") from error
        match payload:
            case {"event": str(event), "data": dict(data)}:
                return WebhookEvent.read({"id": id, "event": event, "data": data})
        raise WebhookError("the webhook is not valid: it is not an event")

    def sign(self, id: str, body: bytes, timestamp: int | None = None) -> dict[str, str]:
        """The headers of a delivery as the server would send it, with every secret."""
        sent = str(int(time.time()) if timestamp is None else timestamp)
        return {
            "X-Service-Timestamp": sent,
            "X-Service-Signature": ",".join(self._own(sent, body)),
            "webhook-id": id,
            "webhook-timestamp": sent,
            "webhook-signature": " ".join(self._standard(id, sent, body)),
        }

    def _own(self, sent: str, body: bytes) -> list[str]:
        message = sent.encode() + b"." + body
        return ["v1=" + hmac.new(each.encode(), message, hashlib.sha256).hexdigest() for each in self._secrets]

    def _standard(self, id: str, sent: str, body: bytes) -> list[str]:
        message = f"{id}.{sent}.".encode() + body
        macs = [hmac.digest(key, message, "sha256") for key in self._keys]
        return ["v1," + base64.b64encode(mac).decode() for mac in macs]


def _key(secret: str) -> bytes:
    """Never an empty one: with that, everybody could sign."""
    encoded = secret.removeprefix("whsec_")
    # Python's own decoder takes more than what is base64.
    if not re.fullmatch("[A-Za-z0-9+/]+={0,2}", encoded) or len(encoded) % 4 != 0:
        raise ValueError("the secret of a webhook is whsec_ and base64: this one is empty, or not one")
    return base64.b64decode(encoded)
