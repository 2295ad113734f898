"""Prepares a server to be fuzzed: a task in each state, a worker who has one, and an item of each
kind in the review queue. Writes keys and ids as JSON.

usage: world.py SERVER-URL DATABASE OUTPUT LIVE-KEY TEST-KEY ADMIN-KEY
DATABASE is the path of a SQLite file or a PostgreSQL URL.
"""

import io
import json
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid

from PIL import Image

server, database, output, live, test, admin = sys.argv[1:]

STATUSES = [
    "funded", "posted", "assigned", "in_progress", "proof_submitted", "proof_rejected",
    "completed", "cancelled", "expired", "disputed", "refunded",
]
PLACE = {"latitude": 40.7163, "longitude": -73.9595}
# Not the one of the examples, with which requests would change it.
PASSWORD = uuid.uuid4().hex
FAR_AWAY = {"latitude": 41.7163, "longitude": -73.9595}


def send(method, path, key, body=None, content_type="application/json"):
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
    url = path if path.startswith("http") else server + path
    request = urllib.request.Request(url, data=body, method=method)
    request.add_header("Content-Type", content_type)
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            text = response.read().decode()
    except urllib.error.HTTPError as error:
        sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")
    return json.loads(text) if text.startswith("{") else text


def picture():
    """A photo that is different from every other."""
    data = io.BytesIO()
    noise = Image.effect_noise((320, 240), 90).convert("RGB")
    noise.save(data, "JPEG")
    return data.getvalue()


def form(files, texts):
    boundary = uuid.uuid4().hex
    parts = []
    for name, content in files.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="f"\r\n\r\n'
        parts += [head.encode(), content, b"\r\n"]
    for name, text in texts.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'
        parts.append(head.encode())
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"


def create(key):
    task = {
        "title": "Photograph a storefront", "description": "With the opening hours in view.",
        "category": "photography", "budget_cents": 2500,
        "location": {"city": "Brooklyn", "state": "NY", **PLACE},
    }
    return send("POST", "/v1/tasks", key, task)["id"]


def wait_for(task, status):
    """Live tasks are charged by a job."""
    for _ in range(200):
        if send("GET", f"/v1/tasks/{task}", live)["status"] == status:
            return task
        time.sleep(0.05)
    sys.exit(f"task {task} did not become {status}")


def posted():
    return wait_for(create(live), "posted")


def sign_up():
    person = {
        "email": f"{uuid.uuid4().hex}@example.com", "password": PASSWORD,
        "name": "Grace", "home_latitude": PLACE["latitude"], "home_longitude": PLACE["longitude"],
    }
    signed_up = send("POST", "/v1/workers", None, person)
    return {"id": signed_up["worker"]["id"], "token": signed_up["token"], **person}


def send_documents(worker):
    body, kind = form({"identity": picture(), "selfie": picture()}, {})
    send("POST", "/v1/worker/verification", worker["token"], body, kind)


def ready_worker():
    worker = sign_up()
    send_documents(worker)
    send("POST", f"/v1/admin/workers/{worker['id']}/verify", admin, {})
    onboarding = send("POST", "/v1/worker/payout_account", worker["token"], {})
    send("POST", onboarding["url"], None, b"", "application/x-www-form-urlencoded")
    for _ in range(200):
        profile = send("GET", "/v1/worker", worker["token"])
        if profile["payout_account"]["status"] == "ready":
            return worker
        time.sleep(0.05)
    sys.exit("the payout account did not become ready")


def begin(worker):
    task = posted()
    send("POST", f"/v1/worker/tasks/{task}/accept", worker["token"], {})
    send("POST", f"/v1/worker/tasks/{task}/start", worker["token"], {})
    return task


def prove(worker, task, place):
    texts = {"gps_latitude": place["latitude"], "gps_longitude": place["longitude"]}
    body, kind = form({"photo": picture()}, texts)
    path = f"/v1/worker/tasks/{task}/proofs"
    return send("POST", path, worker["token"], body, kind)["data"][0]["id"]


def execute(statement):
    if database.startswith("postgres"):
        subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, database], check=True)
    else:
        with sqlite3.connect(database, timeout=30) as connection:
            connection.execute(statement)


def fail_a_payout():
    """The processor forgets the worker's account: the transfer fails permanently."""
    worker = ready_worker()
    task = begin(worker)
    proof = prove(worker, task, PLACE)
    execute("DELETE FROM sandbox_payout_accounts")
    send("POST", f"/v1/tasks/{task}/proofs/{proof}/approve", live, {})
    return once_queued(task, "failed_payout")


def fail_a_refund():
    """The processor forgets the payment: the refund fails permanently."""
    task = posted()
    execute(f"DELETE FROM sandbox_payments WHERE task_id = '{task}'")
    send("POST", f"/v1/tasks/{task}/cancel", live, {})
    return once_queued(task, "refund_failed")


def once_queued(task, kind):
    for _ in range(400):
        items = send("GET", f"/v1/admin/queue?kind={kind}", admin)["data"]
        if any(item["task_id"] == task for item in items):
            return task
        time.sleep(0.05)
    sys.exit(f"nothing is queued as {kind}")


def main():
    send("PUT", "/v1/account/webhook", live, {"url": "https://127.0.0.1:9/hook"})
    unpaid = create(live)
    send("PUT", "/v1/account/payment_method", live, {"payment_method": "pm_card_visa"})
    test_tasks = {}
    for status in STATUSES:
        test_tasks[status] = create(test)
        if status == "cancelled":
            send("POST", f"/v1/tasks/{test_tasks[status]}/cancel", test, {})
        elif status != "funded":
            path = f"/v1/test_helpers/tasks/{test_tasks[status]}/advance"
            send("POST", path, test, {"to": status})
    failed, failed_refund = fail_a_payout(), fail_a_refund()
    worker = ready_worker()
    in_progress, flagged, disputed = begin(worker), begin(worker), begin(worker)
    flagged_proof = prove(worker, flagged, FAR_AWAY)
    rejected_proof = prove(worker, disputed, PLACE)
    reject = {"reason": "The opening hours cannot be read."}
    send("POST", f"/v1/tasks/{disputed}/proofs/{rejected_proof}/reject", live, reject)
    send("POST", f"/v1/worker/tasks/{disputed}/dispute", worker["token"], {})
    applicant = sign_up()
    send_documents(applicant)
    account = send("GET", "/v1/account", live)["id"]
    keys = [key["id"] for key in send("GET", "/v1/account/keys", live)["data"]]
    person = {name: worker[name] for name in ["email", "password"]}
    sessions = send("GET", "/v1/worker/sessions", worker["token"])["data"]
    spare = [send("POST", "/v1/workers/sessions", None, person)["token"] for _ in range(8)]
    world = {
        "account": account, "needed": [account, worker["id"], *keys, *(session["id"] for session in sessions)],
        "spare_tokens": spare,
        "live": live, "test": test, "admin": admin, "worker": worker, "applicant": applicant,
        "test_tasks": list(test_tasks.values()),
        "live_tasks": [unpaid, in_progress, flagged, disputed, failed, posted(), posted()],
        "own_tasks": [in_progress, flagged, disputed],
        "posted_tasks": [posted() for _ in range(5)],
        "flagged": [flagged, flagged_proof],
        "failed_payout": failed,
        "failed_refund": failed_refund,
        "disputed": disputed,
    }
    with open(output, "w", encoding="utf-8") as file:
        json.dump(world, file)


main()
