"""Clients that create tasks, and remember everything that was acknowledged."""

import collections
import http.client
import json
import threading
import time

TASK = {
    "title": "Photograph a storefront",
    "description": "Front of the shop with the opening hours in view.",
    "category": "photography",
    "budget_cents": 2500,
    "location": {"city": "Brooklyn", "state": "NY", "latitude": 40.7163, "longitude": -73.9595},
}
PLACE = {"gps_latitude": 40.7163, "gps_longitude": -73.9595}
# Every so many tasks, a client also sends proof in its test environment.
PROOF_EVERY = 40


class Api:
    """One connection, opened anew when it breaks."""

    def __init__(self, port, key):
        self.port, self.key, self.connection = port, key, None

    def call(self, method, path, body=None, idempotency_key=None):
        headers = {"Authorization": f"Bearer {self.key}"}
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        text = None if body is None else json.dumps(body)
        if text is not None:
            headers["Content-Type"] = "application/json"
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)
            self.connection.request(method, path, text, headers)
            response = self.connection.getresponse()
            read = response.read()
        except (OSError, http.client.HTTPException) as error:
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            return None, type(error).__name__
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        return response.status, json.loads(read) if is_json and read else read


class Account:
    def __init__(self, port, made):
        self.port = port
        self.live, self.test = made["live_key"], made["test_key"]
        self.id = made.get("id") or made["account"]["id"]
        # The id of the task by the key that asked for it.
        self.created = {}
        # URLs of files that were acknowledged.
        self.files = []


class Load:
    def __init__(self, port, accounts, clients):
        self.port, self.accounts = port, accounts
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        # When each task was acknowledged.
        self.times = []
        # When a request failed, and how.
        self.failures = []
        self.faults = []
        self.threads = [
            threading.Thread(target=self.guarded, args=(n,), daemon=True) for n in range(clients)
        ]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        """Ends once every request that was begun is acknowledged."""
        self.stopping.set()
        for thread in self.threads:
            thread.join(120)
        if any(thread.is_alive() for thread in self.threads):
            self.faults.append("a client could not finish its last request within 120 s")

    def guarded(self, number):
        try:
            self.run(number)
        except Exception as error:  # A thread that dies silently would look like a server that hangs.
            self.faults.append(f"client {number}: {error!r}")

    def run(self, number):
        account = self.accounts[number % len(self.accounts)]
        live, test = Api(self.port, account.live), Api(self.port, account.test)
        count = 0
        while not self.stopping.is_set():
            count += 1
            key = f"client-{number}-task-{count}"
            task = self.insist(live, "/v1/tasks", TASK, key, 201)
            with self.lock:
                account.created[key] = task["id"]
                self.times.append(time.monotonic())
            if count % PROOF_EVERY == 0:
                self.send_proof(account, test, f"client-{number}-proof-{count}")

    def send_proof(self, account, test, key):
        task = self.insist(test, "/v1/tasks", TASK, key, 201)
        helpers = f"/v1/test_helpers/tasks/{task['id']}"
        self.insist(test, f"{helpers}/advance", {"to": "in_progress"}, f"{key}-a", 200)
        self.insist(test, f"{helpers}/proofs", PLACE, f"{key}-p", 201)
        with self.lock:
            account.files.append(task["id"])

    def insist(self, api, path, body, key, expected):
        """Sends a request until it is acknowledged, always with the same key."""
        while True:
            status, answer = api.call("POST", path, body, key)
            if status == expected:
                return answer
            kind = f"{status} {error_code(answer)}" if status else answer
            with self.lock:
                self.failures.append((time.monotonic(), kind))
            if status in (400, 401, 403, 404, 422):
                raise RuntimeError(f"POST {path}: {kind}: {answer}")
            time.sleep(0.2)

    def mark(self):
        return time.monotonic()

    def figures(self, begin, end):
        """Of the time between two marks."""
        with self.lock:
            times = sorted(at for at in self.times if begin <= at <= end)
            failed = collections.Counter(kind for at, kind in self.failures if begin <= at <= end)
        edges = [begin, *times, end]
        gap = max(after - before for before, after in zip(edges, edges[1:]))
        return {"rate": len(times) / (end - begin), "gap": gap, "failed": failed}


def error_code(answer):
    try:
        return answer["error"]["code"]
    except (TypeError, KeyError):
        return ""
