"""Webhooks: checks what arrives, and signs as the server does."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from ._errors import WebhookError
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
        self._secrets, self._tolerance = secrets, tolerance

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
        if not (sent.isascii() and sent.isdigit()):
            raise WebhookError("the webhook is not valid: it has no timestamp")
        if abs((time.time() if now is None else now) - int(sent)) > self._tolerance:
            raise WebhookError("the webhook is not valid: its timestamp is too far from now")
        values = [value.strip().encode() for value in given.split(" " if is_standard else ",")]
        expected = self._standard(id, sent, body) if is_standard else self._own(sent, body)
        if not any(hmac.compare_digest(value, each.encode()) for value in values for each in expected):
            raise WebhookError("the webhook is not valid: no signature matches")
        try:
            payload = json.loads(body)
            return WebhookEvent.read({"id": id, "event": payload["event"], "data": payload["data"]})
        except (ValueError, KeyError, TypeError) as error:
            raise WebhookError("the webhook is not valid: it is not an event") from error

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
        macs = [hmac.digest(_key(secret), message, "sha256") for secret in self._secrets]
        return ["v1," + base64.b64encode(mac).decode() for mac in macs]


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        return b""
