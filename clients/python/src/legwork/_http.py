"""What the synchronous and the asynchronous client share: requests, answers, when to try again."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from ._errors import AnswerError, APIError, IdempotencyInFlightError, LegworkError, NetworkError, TimedOutError
from ._objects import Object, ProofType
from ._until import left

T = TypeVar("T", bound=Object)

VERSION = "0.1.0"
DEFAULT_BASE_URL = "http://127.0.0.1:8080"
# Whoever is told to come back later than this decides for themselves.
LONGEST_WAIT = 60.0
# The server sends a comment every 15 seconds. Who hears nothing for this long has lost it.
SILENCE = 45.0
# A connection that was good for this long, or for an event, was a good one.
STEADY = 10.0
# How often a task is looked at by somebody who waits for it without a stream.
LOOK_EVERY = 3.0


@dataclass(frozen=True)
class File:
    """A file of a test proof."""

    content: bytes
    content_type: str = "image/jpeg"


@dataclass
class Call:
    """A request. Each `{…}` of the path is replaced by the next id."""

    method: str
    path: str
    ids: tuple[str, ...] = ()
    query: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    form: list[tuple[str, Any]] | None = None
    idempotency_key: str | None = None

    def __post_init__(self) -> None:
        # "" and ".." would lead to another path. No object has such an id.
        ids = iter([id if id.strip(".") else "-" for id in self.ids])
        parts = [quote(next(ids), safe="") if part.startswith("{") else part for part in self.path.split("/")]
        self.path = "/".join(parts)
        # One key over all tries, so that the request takes effect once.
        if self.method == "POST" and self.idempotency_key is None:
            self.idempotency_key = secrets.token_hex(16)

    def arguments(self) -> dict[str, Any]:
        """As httpx takes them."""
        headers = {"Idempotency-Key": self.idempotency_key} if self.idempotency_key else {}
        arguments: dict[str, Any] = {"params": parameters(self.query), "headers": headers}
        if self.form is not None:
            arguments["files"] = self.form
        elif self.body is not None:
            arguments["content"] = json.dumps(self.body)
            headers["Content-Type"] = "application/json"
        return arguments


def parameters(query: dict[str, Any]) -> dict[str, str]:
    """`metadata` has a parameter for each key; several words are one."""
    flat: dict[str, str] = {}
    for name, value in query.items():
        if isinstance(value, Mapping):
            flat.update({f"{name}.{key}": _word(each) for key, each in value.items()})
        elif isinstance(value, (list, tuple)):
            flat[name] = ",".join(value)
        elif value is not None:
            flat[name] = _word(value)
    return flat


def _word(value: Any) -> str:
    """As the API writes it: Python's own `True` is `true` there."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def options(key: str, base_url: str, timeout: float, user_agent: str | None) -> dict[str, Any]:
    """How httpx is set up. Redirects are not followed: the key is for this server."""
    if not base_url.startswith(("http://", "https://")):
        raise ValueError(f"{base_url} is not a URL of a server")
    # Read from a file, it ends with its line.
    key = key.strip()
    if not key or not all("!" <= each <= "~" for each in key):
        raise ValueError("the API key is empty, or not one")
    agent = f"legwork-python/{VERSION}"
    return {
        "base_url": base_url.rstrip("/"),
        "timeout": httpx.Timeout(timeout, connect=min(timeout, 10)),
        "headers": {"Authorization": f"Bearer {key}", "User-Agent": f"{user_agent} {agent}" if user_agent else agent},
        "follow_redirects": False,
    }


def bounded(usual: httpx.Timeout, ends: float | None) -> httpx.Timeout:
    """No step of a request may take longer than what is left. 0 would mean that httpx does not even begin."""
    most = max(0.01, left(ends))
    limits = {name: most if limit is None else min(limit, most) for name, limit in usual.as_dict().items()}
    return usual if ends is None else httpx.Timeout(**limits)


def form(files: Mapping[ProofType, File], latitude: float | None, longitude: float | None) -> list[tuple[str, Any]]:
    """The parts of a proof: where it was taken, and a file for each type of proof."""
    position = [("gps_latitude", latitude), ("gps_longitude", longitude)]
    parts: list[tuple[str, Any]] = [(name, (None, str(value))) for name, value in position if value is not None]
    return parts + [(name, (name, file.content, file.content_type)) for name, file in files.items()]


def failed(error: httpx.HTTPError | httpx.InvalidURL | TimeoutError, url: str) -> LegworkError:
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return TimedOutError(f"{url} did not answer in time")
    return NetworkError(f"{url} cannot be reached: {error}")


def name_of(response: httpx.Response) -> str:
    """What was asked, for messages. Without the query: it has what somebody searches for, and the signature of a file."""
    return f"{response.request.method} {str(response.url).partition('?')[0]}"


def refused(response: httpx.Response) -> APIError | AnswerError:
    """The error of an answer whose body was read."""
    after = response.headers.get("retry-after", "").strip()
    retry_after = int(after) if is_number(after) else None
    try:
        error = response.json()["error"]
        code, message = str(error["code"]), str(error["message"])
    except (ValueError, KeyError, TypeError):
        asked, status = name_of(response), response.status_code
        return AnswerError(f"{asked} did not answer as Legwork does, but {status}", status, retry_after)
    request_id = error.get("request_id") or response.headers.get("x-request-id", "")
    kind = APIError.classes.get(code, APIError)
    return kind(response.status_code, code, message, request_id, error.get("details"), retry_after)


def is_number(text: str) -> bool:
    """Whether it is one of a reasonable size."""
    return text.isascii() and text.isdigit() and len(text) < 20


def read(kind: type[T], response: httpx.Response) -> T:
    return read_as(kind, _read_json(response), name_of(response))


def read_page(kind: type[T], response: httpx.Response) -> tuple[list[T], dict[str, Any]]:
    """The objects of a page, and what it says about the others."""
    page, asked = _read_json(response), name_of(response)
    match {"meta": {}, **page} if isinstance(page, dict) else None:
        case {"data": list(data), "meta": dict(meta)} if _counts(meta):
            return [read_as(kind, each, asked) for each in data], meta
    raise AnswerError(f"{asked} did not answer as Legwork does: this is no list")


def _counts(meta: dict[str, Any]) -> bool:
    return all(isinstance(meta.get(name) or 0, int) for name in ("total", "offset"))


def read_zip(response: httpx.Response) -> bytes:
    if not response.content.startswith(b"PK"):
        raise AnswerError(f"{name_of(response)} did not answer as Legwork does: this is no ZIP file")
    return response.content


def read_as(kind: type[T], given: Any, asked: str) -> T:
    wrong = f"{asked} did not answer as Legwork does: this is no {kind.__name__}"
    if not kind.is_in(given):
        raise AnswerError(wrong)
    try:
        return kind.read(given)
    except (AttributeError, TypeError) as error:
        raise AnswerError(wrong) from error


def _read_json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError as error:
        raise AnswerError(f"{name_of(response)} did not answer as Legwork does: {error}") from error


def pause(error: LegworkError, tried: int) -> float | None:
    """How long to wait before the next try; none if another would end the same way."""
    asked = None
    if isinstance(error, (APIError, AnswerError)):
        # Then the first try is still at work.
        is_early = isinstance(error, IdempotencyInFlightError)
        if error.status not in (408, 429, 503) and not is_early:
            return None
        asked = error.retry_after
    elif not isinstance(error, NetworkError):
        return None
    wait = backoff(tried) * (0.5 + random.random() / 2) if asked is None else asked + random.random() / 4
    return wait if wait < LONGEST_WAIT else None


def backoff(tried: int) -> float:
    return 0.5 * 2.0 ** min(tried, 4)


def is_passing(error: LegworkError) -> bool:
    """Whether a stream goes on after this."""
    status = refused_with(error)
    if status is not None:
        return status in (408, 429) or status >= 500
    return isinstance(error, NetworkError)


def refused_with(error: LegworkError) -> int | None:
    """The status of an answer that refuses, whoever gave it."""
    return error.status if isinstance(error, (APIError, AnswerError)) else None


class Messages:
    """Server-Sent Events, as they come."""

    def __init__(self) -> None:
        self._buffer = b""

    def clear(self) -> None:
        self._buffer = b""

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """The data of every message that is whole now."""
        *whole, self._buffer = (self._buffer + chunk).split(b"\n\n")
        found = []
        for message in whole:
            data = [line[5:] for line in message.split(b"\n") if line.startswith(b"data:")]
            if data:
                try:
                    found.append(json.loads(b"\n".join(data)))
                except ValueError as error:
                    raise AnswerError(f"the event stream sent what is not JSON: {error}") from error
        return found
