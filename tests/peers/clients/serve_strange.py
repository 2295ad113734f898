"""A server that is slow, silent or not Legwork, for as long as standard input is open.

The first part of a path says how it behaves: each program asks for `/quiet/v1/tasks/1`, `/hanging/v1/tasks/1` and so on.
`/asked/quiet` tells how many requests came there. Prints the port, then serves.
"""

import json
import os
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

TIME = "2025-11-15T12:00:00.000Z"
TASK = {
    "id": "1", "developer_id": "2", "title": "T", "description": "D", "instructions": None, "category": "photography",
    "required_skills": [], "location_address": None, "location_city": "Brooklyn", "location_state": "NY",
    "location_latitude": 40.7, "location_longitude": -73.9, "budget_cents": 2500, "platform_fee_cents": 400,
    "worker_payout_cents": 2100, "priority": "normal", "status": "posted", "environment": "test", "worker_id": None,
    "deadline": None, "max_proof_attempts": 3, "proof_types": ["photo"], "metadata": {}, "assigned_at": None,
    "started_at": None, "completed_at": None, "cancelled_at": None, "created_at": TIME, "updated_at": TIME,
}
# What programs that are not Legwork answer to everything.
OTHERS = ["{}", "[]", "null", '{"data": 5}', '{"data": [5]}', '{"hello": "world"}', '"text"', "<h1>It works!</h1>"]


def event(number, status):
    data = {**TASK, "status": status}
    return {"id": str(number), "number": number, "event": f"task.{status}", "data": data, "created_at": TIME}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = Counter()
    looks = Counter()

    def log_message(self, *_):
        pass

    def do_GET(self):
        _, mode, rest = urlsplit(self.path).path.split("/", 2)
        if mode == "asked":
            return self.answer(200, str(self.asked[rest]))
        self.asked[mode] += 1
        if mode.startswith("other"):
            return self.answer(200, OTHERS[int(mode.removeprefix("other"))])
        if mode.startswith("refusing"):
            # As a proxy does, or a server of somebody else.
            return self.answer(int(mode.removeprefix("refusing")), "<html>nope", {"Retry-After": "0"})
        if rest == "v1/events":
            return self.answer(200, json.dumps({"data": [event(7, "posted")], "meta": {"next_cursor": None}}))
        if rest == "v1/events/stream":
            return self.stream(mode)
        self.looks[mode] += 1
        getattr(self, f"task_{mode}", self.posted)()

    def posted(self):
        self.answer(200, json.dumps(TASK))

    def task_hanging(self):
        time.sleep(60)

    def task_dripping(self):
        """A body that comes, but so slowly that it never ends."""
        self.drip("Content-Length", "1000")

    def task_endless(self):
        """The same, and only the end of the connection would be its end."""
        self.close_connection = True
        self.drip("Connection", "close")

    def drip(self, header, value):
        self.send_response(200)
        self.send_header(header, value)
        self.end_headers()
        for _ in range(100):
            self.write(b" ")
            time.sleep(0.2)

    def task_busy(self):
        error = {"code": "UNAVAILABLE", "message": "Not now.", "request_id": "req-1"}
        self.answer(503, json.dumps({"error": error}), {"Retry-After": "20"})

    def task_stuck(self):
        """The second look at the task, and every later one, is never answered."""
        self.posted() if self.looks["stuck"] == 1 else time.sleep(60)

    def task_ended(self):
        self.answer(200, json.dumps({**TASK, "status": "completed"}))

    def task_ending(self):
        """It is cancelled while somebody waits, who has then looked twice."""
        status = "posted" if self.looks["ending"] < 3 else "cancelled"
        self.answer(200, json.dumps({**TASK, "status": status}))

    def task_crowded(self):
        """It is cancelled before somebody looks for the second time, who has no stream to hear of it."""
        status = "posted" if self.looks["crowded"] == 1 else "cancelled"
        self.answer(200, json.dumps({**TASK, "status": status}))

    def task_shaky(self):
        """A file that comes when it is asked for once more."""
        self.answer(200, "file") if self.looks["shaky"] > 1 else self.answer(503, "", {"Retry-After": "0"})

    def task_moved(self):
        self.answer(302, "", {"Location": "/quiet/v1/tasks/1"})

    def stream(self, mode):
        if mode == "page":
            return self.answer(200, "<h1>It works!</h1>")
        if mode == "crowded":
            error = {"code": "RATE_LIMITED", "message": "Too many streams.", "request_id": "req-2"}
            return self.answer(429, json.dumps({"error": error}), {"Retry-After": "1"})
        if mode == "silent":
            time.sleep(60)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.write(b"retry: 1000\n\n")
        if mode == "closing":
            return
        if mode == "ending":
            time.sleep(0.3)
            self.write(f"id: 8\ndata: {json.dumps(event(8, 'cancelled'))}\n\n".encode())
        for _ in range(200):
            time.sleep(0.1)
            self.write(b":\n\n")

    def write(self, content):
        self.wfile.write(content)
        self.wfile.flush()

    def answer(self, status, text, headers={}):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.write(text.encode())


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Who has waited enough goes away."""


def end_with_the_tests():
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_the_tests, daemon=True).start()
server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
