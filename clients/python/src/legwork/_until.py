"""An end for whole requests. httpx limits each step of a request, but not all of them together."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from types import TracebackType
from typing import Self

import httpx


def left(ends: float | None) -> float:
    """The seconds until a time of `time.monotonic`; without one, there is no end. Very little is nothing."""
    # Timers may be a little early.
    rest = float("inf") if ends is None else ends - time.monotonic()
    return 0.0 if rest < 0.005 else rest


class AsyncUntil:
    """Ends what is done within it at this time, with a TimeoutError."""

    def __init__(self, ends: float | None) -> None:
        self._ends = ends

    async def __aenter__(self) -> Self:
        if left(self._ends) == 0:
            raise TimeoutError("there is no time left")
        self._limit = asyncio.timeout(None if self._ends is None else left(self._ends))
        await self._limit.__aenter__()
        return self

    def watch(self, response: httpx.Response) -> None:
        """The synchronous one has to know what to cut off."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._limit.__aexit__(kind, error, trace)


class Until:
    """The same without asyncio: the connection that a response comes from is cut off in time."""

    def __init__(self, ends: float | None) -> None:
        self._ends = ends
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        if left(self._ends) == 0:
            raise TimeoutError("there is no time left")
        return self

    def watch(self, response: httpx.Response) -> None:
        if self._ends is not None:
            connection = response.extensions["network_stream"].get_extra_info("socket")
            self._timer = threading.Timer(left(self._ends), _cut, [connection])
            self._timer.daemon = True
            self._timer.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if isinstance(error, httpx.HTTPError) and left(self._ends) == 0:
            raise TimeoutError("there is no time left") from error


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        # It is closed already.
        pass
