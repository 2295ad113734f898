"""Fuzzes the prepared world with the key that each operation needs, and takes down which statuses
each operation answered. Where our rules are stricter than JSON Schema can say, bodies are adapted."""

import base64
import json
import os
import random
import urllib.error
import urllib.request

import schemathesis

WORLD = json.load(open(os.environ["LEGWORK_TEST_WORLD"], encoding="utf-8"))
SERVER = os.environ["LEGWORK_TEST_SERVER_URL"]
STATUSES = open(os.environ["LEGWORK_TEST_STATUSES"], "a", buffering=1, encoding="utf-8")
RANDOM = random.Random(4711)


def ask(method, path, key, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(SERVER + path, data=data, method=method)
    request.add_header("Authorization", f"Bearer {key}")
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


# The environment of each task that a test has created.
CREATED = {}


def key_for(path, task):
    """The key that owns the task, or any of the two."""
    if path.startswith("/v1/test_helpers"):
        return WORLD["test"]
    if path == "/v1/mandate":
        return limited_key()["key"]
    if task in WORLD["live_tasks"]:
        return WORLD["live"]
    if task in WORLD["test_tasks"]:
        return WORLD["test"]
    if task in CREATED:
        return WORLD[CREATED[task]]
    return RANDOM.choice([WORLD["live"], WORLD["test"]])


TASK = {
    "title": "Photograph a storefront", "description": "With the opening hours in view.",
    "category": "photography", "budget_cents": 2500,
    "location": {"city": "Brooklyn", "state": "NY", "latitude": 40.7163, "longitude": -73.9595},
}


def limited_key():
    """One key whose tasks all wait for a person."""
    if "limited" not in WORLD:
        mandate = {"permissions": ["read", "create"], "approval_above_cents": 0}
        new = {"name": "Agent", "environment": "test", "mandate": mandate}
        WORLD["limited"] = ask("POST", "/v1/account/keys", WORLD["live"], new)
        WORLD["needed"].append(WORLD["limited"]["id"])
    return WORLD["limited"]


def other_key():
    """One more, whose mandate may change."""
    if "other_key" not in WORLD:
        new = {"name": "Other", "environment": "test", "mandate": {"permissions": ["read"]}}
        WORLD["other_key"] = ask("POST", "/v1/account/keys", WORLD["live"], new)["id"]
    return WORLD["other_key"]


def waiting_task():
    task = ask("POST", "/v1/tasks", limited_key()["key"], TASK)["id"]
    WORLD["test_tasks"].append(task)
    return task


schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")


def upload_metadata():
    """What an upload for a task of the worker says."""
    told = {"task_id": WORLD["own_tasks"][0], "proof_type": "photo"}
    return ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in told.items())


def new_upload():
    """The id of an upload, if the task still takes proof and there is room for one."""
    if not WORLD.setdefault("uploads", []) or RANDOM.random() < 0.2:
        request = urllib.request.Request(SERVER + "/v1/worker/uploads", data=b"", method="POST")
        request.add_header("Authorization", f"Bearer {WORLD['worker']['token']}")
        request.add_header("Tus-Resumable", "1.0.0")
        request.add_header("Upload-Length", "1000")
        request.add_header("Upload-Metadata", upload_metadata())
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                WORLD["uploads"].append(response.headers["Location"].rsplit("/", 1)[1])
        except urllib.error.HTTPError:
            pass
    return RANDOM.choice(WORLD["uploads"]) if WORLD["uploads"] else None


def some_id(path):
    """The id of something that the operation can find."""
    if path.startswith("/v1/worker/uploads"):
        return new_upload()
    if path.startswith("/v1/test_helpers"):
        return RANDOM.choice(WORLD["test_tasks"])
    if path.startswith("/v1/tasks") and path.endswith("/dispute"):
        return WORLD["disputed"]
    if path.startswith("/v1/tasks/{id}/approval"):
        return waiting_task()
    if path == "/v1/quotes/{id}":
        return ask("POST", "/v1/quotes", WORLD["live"], TASK)["id"]
    if path.startswith("/v1/tasks"):
        return RANDOM.choice(WORLD["test_tasks"] + WORLD["live_tasks"])
    if path.startswith("/v1/worker/sessions"):
        sessions = ask("GET", "/v1/worker/sessions", WORLD["worker"]["token"])["data"]
        return next((session["id"] for session in sessions if not session["current"]), "none")
    if path.startswith("/v1/worker/notifications"):
        listed = ask("GET", "/v1/worker/notifications", WORLD["worker"]["token"])["data"]
        return RANDOM.choice(listed)["id"] if listed else None
    if path == "/v1/worker/tasks/{id}/accept":
        return RANDOM.choice(WORLD["posted_tasks"])
    if path.startswith("/v1/worker/tasks") and path.endswith("/dispute"):
        return WORLD["disputed"]
    if path.startswith("/v1/worker/tasks"):
        return RANDOM.choice(WORLD["own_tasks"])
    if path.startswith("/v1/admin/disputes"):
        return WORLD["disputed"]
    if path.startswith("/v1/admin/payouts"):
        return WORLD["failed_payout"]
    if path.startswith("/v1/admin/refunds"):
        return WORLD["failed_refund"]
    if path.startswith("/v1/admin/tasks"):
        return RANDOM.choice(WORLD["test_tasks"] + WORLD["live_tasks"])
    if path.startswith("/v1/admin/workers"):
        return WORLD["applicant"]["id"]
    if path.startswith("/v1/admin/accounts"):
        # Suspending the account that everything else belongs to would end the test.
        return other_account()
    if path.startswith("/v1/admin/queue"):
        return some_item()
    if path.startswith("/v1/admin/keys"):
        new = {"name": f"{RANDOM.random()}", "role": "viewer"}
        return ask("POST", "/v1/admin/keys", WORLD["admin"], new)["id"]
    if path == "/v1/account/keys/{id}/mandate":
        return other_key()
    if path.startswith("/v1/account/keys"):
        made = ask("POST", "/v1/account/keys", WORLD["live"], {"name": "x", "environment": "test"})
        return made["id"]
    if path.startswith("/v1/account/webhook/deliveries"):
        listed = ask("GET", "/v1/account/webhook/deliveries", WORLD["live"])["data"]
        return listed[0]["id"] if listed else None
    return None


def other_account():
    listed = ask("GET", "/v1/admin/accounts?limit=100", WORLD["admin"])["data"]
    others = [account["id"] for account in listed if account["id"] != WORLD["account"]]
    return others[0] if others else None


def some_item():
    for status in ["open", "closed"]:
        listed = ask("GET", f"/v1/admin/queue?status={status}", WORLD["admin"])["data"]
        if listed:
            return RANDOM.choice(listed)["id"]
    return None


def some_proof(task):
    key = key_for("", task)
    listed = ask("GET", f"/v1/tasks/{task}/proofs", key)["data"]
    return listed[-1]["id"] if listed else None


@schemathesis.hook
def before_call(context, case, kwargs):
    path = case.operation.path
    # Half of the time, so that unknown and malformed ids are sent too.
    if "id" in case.path_parameters and RANDOM.random() < 0.5:
        found = some_id(path)
        if found:
            case.path_parameters["id"] = found
            if "proof_id" in case.path_parameters:
                case.path_parameters["proof_id"] = some_proof(found) or case.path_parameters["proof_id"]
            if "key_id" in case.path_parameters:
                keys = ask("GET", f"/v1/admin/accounts/{found}/keys", WORLD["admin"])["data"]
                case.path_parameters["key_id"] = keys[0]["id"] if keys else case.path_parameters["key_id"]
    if case.operation.label == "POST /v1/worker/uploads" and RANDOM.random() < 0.5:
        case.headers["Upload-Metadata"] = upload_metadata()
    # Whoever is needed for everything else must stay, also when a test has learnt the id.
    if case.path_parameters.get("id") in WORLD["needed"] and case.method != "GET":
        case.path_parameters["id"] = some_id(path)
    authorization = (case.headers or {}).get("Authorization", "")
    if path.startswith(("/v1/worker", "/v1/admin")) or not authorization.startswith("Bearer svc_"):
        if path == "/v1/worker/session" and authorization:
            sign_in_for_the_last_time(case)
        return
    case.headers["Authorization"] = f"Bearer {key_for(path, case.path_parameters.get('id'))}"


def sign_in_for_the_last_time(case):
    """Signing out must not end the session that everything else needs."""
    token = WORLD["spare_tokens"].pop() if WORLD["spare_tokens"] else "svc_worker_unknown"
    case.headers["Authorization"] = f"Bearer {token}"


@schemathesis.hook
def after_call(context, case, response):
    STATUSES.write(f"{case.operation.label}\t{response.status_code}\n")
    if case.operation.label == "POST /v1/tasks" and response.status_code == 201:
        task = response.json()
        CREATED[task["id"]] = task["environment"]
    if case.operation.label == "PUT /v1/account/security":
        # What follows is asked with either key.
        ask("PUT", "/v1/account/security", WORLD["live"], {"test_keys_manage": "all"})


@schemathesis.hook
def map_body(context, body):
    """JSON Schema counts 500.0 as an integer; we do not."""
    if isinstance(body, dict):
        for name in ["budget_cents", "paid_cents", "advance_seconds", "expected_refund_cents"]:
            number = body.get(name)
            if isinstance(number, float) and number.is_integer():
                body[name] = int(number)
    return body
