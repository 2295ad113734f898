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


def earlier(ends: float | None, seconds: float) -> float:
    """When something ends that may take this long, but not go on after `ends`."""
    latest = time.monotonic() + seconds
    return latest if ends is None else min(ends, latest)


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
    """The same without asyncio: the connection that a response comes from is cut off in time. It is known once the
    response begins. Until then, httpx limits each step."""

    def __init__(self, ends: float | None) -> None:
        self._ends = ends
        self._timer: threading.Timer | None = None
        self._is_cut = False

    def __enter__(self) -> Self:
        if left(self._ends) == 0:
            raise TimeoutError("there is no time left")
        return self

    def watch(self, response: httpx.Response) -> None:
        # A response that somebody made up for a test comes from nowhere.
        stream = response.extensions.get("network_stream")
        if self._ends is None or stream is None:
            return
        self._timer = threading.Timer(left(self._ends), self._cut, [stream.get_extra_info("socket")])
        self._timer.daemon = True
        try:
            self._timer.start()
        except RuntimeError:
            # While a program ends, Python starts no threads. What is left are the limits of httpx.
            pass

    def _cut(self, connection: socket.socket) -> None:
        self._is_cut = True
        try:
            # Not the method of a TLS socket: that one takes away what another thread is reading with.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
        except OSError:
            # It is closed already.
            pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # A response whose length was not told looks whole when it is cut off.
        is_late = self._is_cut if error is None else isinstance(error, httpx.HTTPError) and left(self._ends) == 0
        if is_late:
            raise TimeoutError("there is no time left") from error
