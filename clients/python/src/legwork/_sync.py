"""The synchronous client, made by generate_sync.py from _async.py. Do not edit it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Self, TypeVar, Unpack

import httpx

from . import _http
from ._errors import (
    AnswerError, APIError, EventsLostError, LegworkError, NetworkError, StillWaitingError, TaskEndedError,
)
from ._http import Call, File
from ._objects import *
from ._until import Until, earlier, left

T = TypeVar("T", bound=Object)


class Client:
    """A client with an API key. Use it as a context manager, or close it when you are done.

    A request is sent again after 408, 429 and 503 and when the connection fails, up to `max_retries`
    times. All tries of a POST carry the same Idempotency-Key, so that it takes effect once. `timeout` is in
    seconds, for one try.
    """

    def __init__(
        self,
        key: str,
        *,
        base_url: str = _http.DEFAULT_BASE_URL,
        timeout: float = 30.0,
        max_retries: int = 3,
        user_agent: str | None = None,
    ) -> None:
        self._http = httpx.Client(**_http.options(key, base_url, timeout, user_agent))
        self._timeout, self._max_retries = timeout, max_retries
        self._idempotency_key: str | None = None
        self._ends: float | None = None
        self._add_resources()

    def _add_resources(self) -> None:
        self.tasks = Tasks(self)
        self.quotes = Quotes(self)
        self.proofs = Proofs(self)
        self.approvals = Approvals(self)
        self.logs = Logs(self)
        self.events = Events(self)
        self.account = AccountApi(self)
        self.keys = Keys(self)
        self.mandate = Mandates(self)
        self.payment_method = PaymentMethods(self)
        self.exports = Exports(self)
        self.webhook = WebhookApi(self)
        self.deliveries = Deliveries(self)
        self.test_helpers = TestHelpers(self)

    def with_idempotency_key(self, key: str) -> Client:
        """The same client, whose POSTs carry your own Idempotency-Key. Use it for one request: the server
        then knows a repeat of it, even after your program was restarted."""
        return self._copy(key, self._ends)

    def _until(self, ends: float | None) -> Client:
        """The same client, whose requests all end at this time of `time.monotonic`, tries and pauses included."""
        return self._copy(self._idempotency_key, ends)

    def _copy(self, idempotency_key: str | None, ends: float | None) -> Client:
        other = object.__new__(Client)
        other._http, other._timeout, other._max_retries = self._http, self._timeout, self._max_retries
        other._idempotency_key, other._ends = idempotency_key, ends
        other._add_resources()
        return other

    @property
    def base_url(self) -> str:
        return str(self._http.base_url).rstrip("/")

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, call: Call) -> httpx.Response:
        return self._tried(self._http, self._timeout, call.method, call.path, **call.arguments())

    def _tried(
        self, http: httpx.Client, seconds: float, method: str, url: str, **arguments: Any
    ) -> httpx.Response:
        """Sends a request until it is answered, refused for good, or tried often enough."""
        tried = 0
        while True:
            try:
                return self._attempt(http, seconds, method, url, **arguments)
            except LegworkError as error:
                wait = _http.pause(error, tried)
                if wait is None or tried >= self._max_retries:
                    raise
                time.sleep(min(wait, left(self._ends)))
                if left(self._ends) == 0:
                    raise
            tried += 1

    def _attempt(
        self, http: httpx.Client, seconds: float, method: str, url: str, **arguments: Any
    ) -> httpx.Response:
        """Sends a request once, which may take this long until its answer is read."""
        ends = earlier(self._ends, seconds)
        timeout = _http.bounded(http.timeout, ends)
        try:
            with Until(ends) as until:
                with http.stream(method, url, **arguments, timeout=timeout) as response:
                    until.watch(response)
                    response.read()
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            # Without the query: that of a file is its signature.
            raise _http.failed(error, str(http.base_url).rstrip("/") + url.partition("?")[0]) from error
        if not response.is_success:
            raise _http.refused(response)
        return response

    def _fetch(self, url: str) -> bytes:
        """Reads a file by its signed URL. The key is not sent: the URL may lead to another host."""
        # Files are larger than answers.
        seconds = self._timeout * 4
        with httpx.Client(timeout=seconds) as http:
            return (self._tried(http, seconds, "GET", url)).content


class Pages(Generic[T]):
    """The objects of a list, however many pages it has. The next page is asked for when it is needed."""

    def __init__(self, client: Client, kind: type[T], call: Call) -> None:
        self._client, self._kind = client, kind
        self._call: Call | None = call
        # What is left of a page when somebody wanted less than all of it.
        self._rest: deque[T] = deque()
        #: How many there are in the whole list, where the list says so and a page was read.
        self.total: int | None = None

    def next_page(self) -> list[T] | None:
        """The next page as a whole; none at the end."""
        if self._call is None:
            return None
        data, meta = _http.read_page(self._kind, self._client._send(self._call))
        self.total = meta.get("total")
        after = (meta.get("offset") or 0) + len(data)
        if meta.get("next_cursor"):
            self._call.query["cursor"] = meta["next_cursor"]
        elif self.total is not None and data and after < self.total:
            self._call.query["offset"] = after
        else:
            self._call = None
        return data

    def __iter__(self) -> Iterator[T]:
        while taken := self.take(1):
            yield taken[0]

    def take(self, most: int) -> list[T]:
        """Every object that is left, up to a number of them."""
        while len(self._rest) < most and (page := self.next_page()) is not None:
            self._rest.extend(page)
        return [self._rest.popleft() for _ in range(min(most, len(self._rest)))]


class Resource:
    def __init__(self, client: Client) -> None:
        self._client = client

    def _call(self, kind: type[T], method: str, path: str, *ids: str, body: Any = None) -> T:
        key = self._client._idempotency_key if method == "POST" else None
        call = Call(method, path, ids, body=body, idempotency_key=key)
        return _http.read(kind, self._client._send(call))

    def _pages(self, kind: type[T], path: str, *ids: str, query: Any = None) -> Pages[T]:
        return Pages(self._client, kind, Call("GET", path, ids, dict(query or {})))


class Tasks(Resource):
    """Work that people do for you."""

    def create(self, **task: Unpack[CreateTask]) -> CreatedTask:
        return self._call(CreatedTask, "POST", "/v1/tasks", body=task)

    def redeem(self, quote_id: str) -> CreatedTask:
        """Creates the task of a quote, once: the same quote again answers the same task."""
        return self._call(CreatedTask, "POST", "/v1/tasks", body={"quote_id": quote_id})

    def create_batch(self, tasks: Sequence[CreateTask]) -> CreatedTasks:
        """Up to 100 at once. Each is created or refused on its own."""
        return self._call(CreatedTasks, "POST", "/v1/tasks/batch", body={"tasks": [*tasks]})

    def list(self, **query: Unpack[TaskFilter]) -> Pages[TaskSummary]:
        return self._pages(TaskSummary, "/v1/tasks", query=query)

    def search(self, **query: Unpack[TaskSearch]) -> Pages[FoundTask]:
        """By your own references (`metadata`), words (`q`), category, status and time."""
        return self._pages(FoundTask, "/v1/tasks/search", query=query)

    def get(self, id: str) -> Task:
        return self._call(Task, "GET", "/v1/tasks/{id}", id)

    def update(self, id: str, **change: Unpack[UpdateTask]) -> Task:
        """Changes a task that is still pending."""
        return self._call(Task, "PATCH", "/v1/tasks/{id}", id, body=change)

    def cancel(self, id: str, expected_refund_cents: int | None = None) -> CancelledTask:
        """Refused with `REFUND_DIFFERS` if another amount than the expected one would come back."""
        body = {} if expected_refund_cents is None else {"expected_refund_cents": expected_refund_cents}
        return self._call(CancelledTask, "POST", "/v1/tasks/{id}/cancel", id, body=body)

    def history(self, id: str, **query: Unpack[Page]) -> Pages[HistoryEntry]:
        return self._pages(HistoryEntry, "/v1/tasks/{id}/history", id, query=query)

    def ledger(self, id: str, **query: Unpack[Page]) -> Pages[LedgerEntry]:
        return self._pages(LedgerEntry, "/v1/tasks/{id}/ledger", id, query=query)

    def payment(self, id: str) -> Payment:
        return self._call(Payment, "GET", "/v1/tasks/{id}/payment", id)

    def dispute(self, id: str) -> Dispute:
        return self._call(Dispute, "GET", "/v1/tasks/{id}/dispute", id)

    def answer_dispute(self, id: str, statement: str) -> Dispute:
        body = {"statement": statement}
        return self._call(Dispute, "POST", "/v1/tasks/{id}/dispute/statement", id, body=body)

    def bundle(self, id: str) -> bytes:
        """A signed ZIP file with all that proves the work."""
        return _http.read_zip(self._client._send(Call("GET", "/v1/tasks/{id}/bundle", (id,))))

    def wait_until(self, id: str, statuses: Sequence[Status], timeout: float | None = None) -> Task:
        """Waits until a task has one of these statuses, and returns it. It listens to the task's events, so it
        takes no requests while nothing happens. When the account has no more streams, it looks every few seconds
        instead. When the task has ended with another status, it raises TaskEndedError. After `timeout` seconds it
        raises StillWaitingError, or what kept it from reading the task even once: TimedOutError if the server did
        not answer."""
        client = self._client._until(None if timeout is None else time.monotonic() + timeout)
        stream = EventStream(client, None, [], id)
        task: Task | None = None
        try:
            while True:
                task = client.tasks.get(id)
                if task.status in statuses:
                    return task
                if task.status in FINAL_STATUSES:
                    raise TaskEndedError(task, statuses)
                # The first news is the connection itself: what happened before it is seen by another look.
                stream._news()
        except (APIError, NetworkError) as error:
            if task is None or timeout is None or left(client._ends) > 0 or not _http.is_passing(error):
                raise
            raise StillWaitingError(task.status, timeout) from error
        finally:
            stream.close()


class Quotes(Resource):
    """What a task would cost, and whether somebody will do it."""

    def create(self, **task: Unpack[CreateTask]) -> Quote:
        """Creates nothing. It is good for 15 minutes."""
        return self._call(Quote, "POST", "/v1/quotes", body=task)

    def get(self, id: str) -> Quote:
        return self._call(Quote, "GET", "/v1/quotes/{id}", id)


class Proofs(Resource):
    """What workers sent to show that the work is done."""

    def list(self, task_id: str, **query: Unpack[Page]) -> Pages[Proof]:
        return self._pages(Proof, "/v1/tasks/{id}/proofs", task_id, query=query)

    def approve(self, task_id: str, proof_id: str) -> ApprovedProof:
        """Pays the worker."""
        return self._call(ApprovedProof, "POST", "/v1/tasks/{id}/proofs/{proof_id}/approve", task_id, proof_id)

    def reject(self, task_id: str, proof_id: str, reason: str) -> RejectedProof:
        path = "/v1/tasks/{id}/proofs/{proof_id}/reject"
        return self._call(RejectedProof, "POST", path, task_id, proof_id, body={"reason": reason})

    def evidence(self, task_id: str, proof_id: str) -> Evidence:
        return self._call(Evidence, "GET", "/v1/tasks/{id}/proofs/{proof_id}/evidence", task_id, proof_id)

    def download(self, proof: Proof) -> bytes:
        """The file of a proof. Its `file_url` works for an hour: list the proofs anew for another."""
        if proof.file_url is None:
            raise ValueError("the file of this proof is no longer kept")
        return self._client._fetch(proof.file_url)


class Approvals(Resource):
    """Tasks of limited keys that wait for a person's yes. Only unlimited keys decide."""

    def list(self, **query: Unpack[ApprovalFilter]) -> Pages[Approval]:
        """Newest first."""
        return self._pages(Approval, "/v1/approvals", query=query)

    def get(self, task_id: str) -> Approval:
        return self._call(Approval, "GET", "/v1/tasks/{id}/approval", task_id)

    def approve(self, task_id: str) -> Approval:
        """Charges the task, as if it had just been created."""
        return self._call(Approval, "POST", "/v1/tasks/{id}/approval/approve", task_id)

    def refuse(self, task_id: str) -> Approval:
        """Cancels the task."""
        return self._call(Approval, "POST", "/v1/tasks/{id}/approval/refuse", task_id)


class Logs(Resource):
    """What the account asked in the last 7 days. Only for unlimited keys."""

    def list(self, **query: Unpack[LogFilter]) -> Pages[LoggedRequest]:
        """Newest first."""
        return self._pages(LoggedRequest, "/v1/logs", query=query)


class Events(Resource):
    """What happened."""

    def list(self, **query: Unpack[EventFilter]) -> Pages[Event]:
        """Newest first."""
        return self._pages(Event, "/v1/events", query=query)

    def stream(
        self, *, after: str | None = None, types: Sequence[EventType] = (), task_id: str | None = None
    ) -> EventStream:
        """Events as they happen, after the event with the id `after`, or from now on."""
        return EventStream(self._client, after, types, task_id)


class AccountApi(Resource):
    """Your account."""

    def get(self) -> Account:
        return self._call(Account, "GET", "/v1/account")

    def usage(self) -> Usage:
        return self._call(Usage, "GET", "/v1/account/usage")

    def send_confirmation(self) -> Confirmation:
        """Mails the link that confirms your address once more."""
        return self._call(Confirmation, "POST", "/v1/account/confirmation")

    def security(self) -> AccountSecurity:
        return self._call(AccountSecurity, "GET", "/v1/account/security")

    def set_security(self, test_keys_manage: TestKeysManage) -> AccountSecurity:
        """Whether test keys manage more than test keys."""
        body = {"test_keys_manage": test_keys_manage}
        return self._call(AccountSecurity, "PUT", "/v1/account/security", body=body)

    def delete(self, confirm: str) -> Account:
        """For good. `confirm` is the e-mail address of the account."""
        return self._call(Account, "DELETE", "/v1/account", body={"confirm": confirm})


class Keys(Resource):
    """API keys."""

    def list(self) -> Pages[ApiKey]:
        return self._pages(ApiKey, "/v1/account/keys")

    def create(self, **key: Unpack[CreateKey]) -> CreatedKey:
        """The answer has the key itself. It is shown only once."""
        return self._call(CreatedKey, "POST", "/v1/account/keys", body=key)

    def mandate(self, id: str) -> Mandate:
        """What a key may do and spend, and what is left."""
        return self._call(Mandate, "GET", "/v1/account/keys/{id}/mandate", id)

    def set_mandate(self, id: str, **mandate: Unpack[PutMandate]) -> Mandate:
        return self._call(Mandate, "PUT", "/v1/account/keys/{id}/mandate", id, body=mandate)

    def lift_mandate(self, id: str) -> LiftedMandate:
        """From then on the key may do everything."""
        return self._call(LiftedMandate, "DELETE", "/v1/account/keys/{id}/mandate", id)

    def revoke(self, id: str, confirm: bool | None = None) -> RevokedKey:
        """`confirm` is for the last key of its environment, and for the last one without a mandate. Without it,
        these are refused with `LAST_KEY`."""
        body = {} if confirm is None else {"confirm": confirm}
        return self._call(RevokedKey, "DELETE", "/v1/account/keys/{id}", id, body=body)


class Mandates(Resource):
    """What the key that you call with may do and spend."""

    def get(self) -> Mandate:
        return self._call(Mandate, "GET", "/v1/mandate")


class PaymentMethods(Resource):
    """What live tasks are charged to."""

    def get(self) -> PaymentMethod:
        return self._call(PaymentMethod, "GET", "/v1/account/payment_method")

    def set(self, payment_method: str) -> PaymentMethod:
        body = {"payment_method": payment_method}
        return self._call(PaymentMethod, "PUT", "/v1/account/payment_method", body=body)

    def delete(self) -> PaymentMethod:
        return self._call(PaymentMethod, "DELETE", "/v1/account/payment_method")


class Exports(Resource):
    """Archives of everything that is held about you."""

    def list(self) -> Pages[Export]:
        return self._pages(Export, "/v1/account/export")

    def create(self) -> Export:
        return self._call(Export, "POST", "/v1/account/export")


class WebhookApi(Resource):
    """Where events are sent."""

    def get(self) -> WebhookState:
        return self._call(WebhookState, "GET", "/v1/account/webhook")

    def set(self, **webhook: Unpack[PutWebhook]) -> WebhookWithSecret:
        return self._call(WebhookWithSecret, "PUT", "/v1/account/webhook", body=webhook)

    def delete(self) -> WebhookState:
        return self._call(WebhookState, "DELETE", "/v1/account/webhook")

    def test(self) -> TestDelivery:
        """Sends a sample."""
        return self._call(TestDelivery, "POST", "/v1/account/webhook/test")

    def rotate_secret(self) -> WebhookWithSecret:
        """The old secret signs for another 24 hours."""
        return self._call(WebhookWithSecret, "POST", "/v1/account/webhook/rotate_secret")


class Deliveries(Resource):
    """What was sent to the webhook."""

    def list(self, **query: Unpack[DeliveryFilter]) -> Pages[Delivery]:
        return self._pages(Delivery, "/v1/account/webhook/deliveries", query=query)

    def get(self, id: str) -> Delivery:
        return self._call(Delivery, "GET", "/v1/account/webhook/deliveries/{id}", id)

    def redeliver(self, id: str) -> Delivery:
        return self._call(Delivery, "POST", "/v1/account/webhook/deliveries/{id}/redeliver", id)

    def recover(self, since: str) -> RecoveredDeliveries:
        """Sends again what has failed since a time."""
        path = "/v1/account/webhook/deliveries/recover"
        return self._call(RecoveredDeliveries, "POST", path, body={"since": since})


class TestHelpers(Resource):
    """A simulated worker and a clock of your own, with a test key."""

    def advance_task(self, id: str, to: Status | None = None) -> Task:
        """To the next status, or on the shortest way to the one that is named."""
        body = {} if to is None else {"to": to}
        return self._call(Task, "POST", "/v1/test_helpers/tasks/{id}/advance", id, body=body)

    def submit_proof(self, task_id: str, **proof: Unpack[SimulateProof]) -> SubmittedProofs:
        return self._call(SubmittedProofs, "POST", "/v1/test_helpers/tasks/{id}/proofs", task_id, body=proof)

    def upload_proof(
        self,
        task_id: str,
        files: Mapping[ProofType, File],
        gps_latitude: float | None = None,
        gps_longitude: float | None = None,
    ) -> SubmittedProofs:
        """Sends your own files as the simulated worker."""
        parts = _http.form(files, gps_latitude, gps_longitude)
        path, key = "/v1/test_helpers/tasks/{id}/proofs", self._client._idempotency_key
        call = Call("POST", path, (task_id,), form=parts, idempotency_key=key)
        return _http.read(SubmittedProofs, self._client._send(call))

    def clock(self) -> TestClock:
        return self._call(TestClock, "GET", "/v1/test_helpers/clock")

    def advance_clock(self, **by: Unpack[AdvanceClock]) -> TestClock:
        return self._call(TestClock, "POST", "/v1/test_helpers/clock", body=by)

    def reset_clock(self) -> TestClock:
        """Back to real time."""
        return self._call(TestClock, "DELETE", "/v1/test_helpers/clock")


class EventStream:
    """Events, in order, none twice and none missing.

    When the connection breaks, the stream connects again and goes on where it was. It numbers what it gets:
    events that are missing in between are read from the event list.
    """

    def __init__(
        self,
        client: Client,
        after: str | None,
        types: Sequence[EventType],
        task_id: str | None,
    ) -> None:
        self._client, self._types, self._task_id = client, types, task_id
        #: The id of the last event, from which another stream can go on.
        self.position = after
        self._number: int | None = None
        self._response: httpx.Response | None = None
        self._chunks: Iterator[bytes] | None = None
        self._messages = _http.Messages()
        self._ready: deque[Event] = deque()
        self._failures = 0
        self._is_known = False
        self._opened = 0.0
        # Between two looks of somebody who waits, once there is no stream for them.
        self._pause: float | None = None
        #: How often the connection was lost.
        self.reconnects = 0
        #: How many events were missing on the stream and read from the list.
        self.filled = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        """The next event. It waits for as long as it takes; a connection that breaks is no error. A server
        that was never reached is one, a key that is refused, and events that are no longer kept."""
        while True:
            while self._ready:
                event = self._take()
                if not self._types or event.event in self._types:
                    return event
            self._wait()

    def connect(self) -> None:
        """Connects, if it is not connected: from now on no event is missed."""
        while self._response is None:
            self._wait()

    def close(self) -> None:
        if self._response is not None:
            response, self._response, self._chunks = self._response, None, None
            response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _news(self) -> None:
        """Until there may be something new: another connection, or an event. A comment is nothing new. When the account
        has no more streams, it is a pause."""
        before = self._response
        try:
            while self._pause is None and not self._ready and self._response in (None, before):
                self._wait(is_patient=False)
        except (APIError, AnswerError) as error:
            if error.status != 429:
                raise
            self._pause = min(max(_http.LOOK_EVERY, error.retry_after or 0), _http.LONGEST_WAIT)
        if self._pause is not None:
            time.sleep(min(self._pause, left(self._client._ends)))
        while self._ready:
            self._take()

    def _take(self) -> Event:
        event = self._ready.popleft()
        self.position, self._number = event.id, event.number
        return event

    def _wait(self, is_patient: bool = True) -> None:
        """Until something happens: an event, a comment, a connection, a failure that passes. Only who is patient waits
        for a free stream."""
        try:
            (self._reconnect() if self._response is None else self._receive())
        except LegworkError as error:
            self.close()
            is_hopeless = not self._is_known and self._failures >= self._client._max_retries
            is_crowded = _http.refused_with(error) == 429
            if is_crowded and not is_patient:
                raise
            if not _http.is_passing(error) or is_hopeless or left(self._client._ends) == 0:
                raise
            self.reconnects += 1
            # The first time at once: servers restart.
            if self._failures > 0:
                time.sleep(min(_http.backoff(self._failures - 1), left(self._client._ends)))
            self._failures += 1

    def _receive(self) -> None:
        assert self._response is not None and self._chunks is not None
        try:
            with Until(self._client._ends) as until:
                until.watch(self._response)
                chunk = self._chunks.__next__()
        except StopIteration:
            raise NetworkError("the server ended the event stream") from None
        except (httpx.HTTPError, TimeoutError) as error:
            raise NetworkError(f"the event stream broke: {error}") from error
        events = [_http.read_as(Event, each, "the event stream") for each in self._messages.feed(chunk)]
        for event in events:
            self._accept(event)
        if events or time.monotonic() - self._opened > _http.STEADY:
            self._failures = 0

    def _reconnect(self) -> None:
        self._messages.clear()
        if self.position is None and self._number is None:
            self._begin_now()
        try:
            self._open(self.position)
        except APIError as error:
            if error.code != "VALIDATION_ERROR" or self._number is None:
                raise
            # The event that was last is no longer kept. What is kept after it is in the list.
            self._open(None)
            self._fill(self._number, None)
            return
        # Without an id to go on from, what came before the connection is in the list.
        if self.position is None and self._number is not None:
            self._fill(self._number, None)

    def _open(self, position: str | None) -> None:
        http = self._client._http
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": position} if position else {})
        params = {"task_id": self._task_id} if self._task_id else {}
        ends, usual = self._client._ends, http.timeout
        timeout = httpx.Timeout(connect=usual.connect, read=_http.SILENCE, write=usual.write, pool=usual.pool)
        timeout = _http.bounded(timeout, ends)
        request = http.build_request("GET", "/v1/events/stream", headers=headers, params=params, timeout=timeout)
        try:
            with Until(ends) as until:
                response = http.send(request, stream=True)
                if not response.is_success:
                    until.watch(response)
                    response.read()
                    raise _http.refused(response)
        except (httpx.HTTPError, TimeoutError) as error:
            raise _http.failed(error, self._client.base_url) from error
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.close()
            raise AnswerError(f"{self._client.base_url} did not answer as Legwork does: this is no event stream")
        self._response, self._chunks = response, response.iter_bytes()
        self._is_known, self._opened = True, time.monotonic()

    def _begin_now(self) -> None:
        """A connection may break before the first event: so the place where the stream begins is known before
        it connects."""
        newest = self._client.events.list(limit=1).next_page()
        self._number = newest[0].number if newest else 0
        self.position = newest[0].id if newest else None

    def _accept(self, event: Event) -> None:
        """Takes an event, after those that are missing before it."""
        last = self._ready[-1].number if self._ready else self._number
        if last is not None and event.number <= last:
            return
        # The events of one task have numbers of their own choice.
        try:
            if last is not None and event.number > last + 1 and self._task_id is None:
                self._fill(last, event.number)
        except EventsLostError:
            self._ready.append(event)
            raise
        self._ready.append(event)

    def _fill(self, after: int, before: int | None) -> None:
        """Reads the events between two numbers from the list, which is newest first."""
        narrowed: EventFilter = {"limit": 100} if self._task_id is None else {"limit": 100, "task_id": self._task_id}
        missing: deque[Event] = deque()
        for event in self._client.events.list(**narrowed):
            if event.number <= after:
                break
            if before is None or event.number < before:
                missing.appendleft(event)
        self.filled += len(missing)
        self._ready.extend(missing)
        first = missing[0].number if missing else before
        if first is not None and first > after + 1 and self._task_id is None:
            raise EventsLostError(after, first)
