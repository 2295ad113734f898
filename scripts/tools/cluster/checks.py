"""Whether everything that was acknowledged is there, once."""

import collections
import time
import urllib.error
import urllib.request

from load import Api
from processes import Broken

# A live task that was created is charged and posted by jobs.
EVENTS = ["task.created", "task.funded", "task.posted"]


def check(service, database, accounts, seconds=180):
    """Returns what was counted. Raises if anything is lost or happened twice."""
    wait_until_posted(database, seconds)
    counted = collections.Counter()
    for account in accounts:
        live, test = Api(service.proxy, account.live), Api(service.proxy, account.test)
        check_tasks(live, account, counted)
        check_events(live, account, counted)
        try:
            check_files(test, account, counted)
        except urllib.error.HTTPError as error:
            raise Broken(f"a file cannot be read: {error}") from error
    service.run("ledger", "verify")
    service.run("audit", "verify")
    return counted


def wait_until_posted(database, seconds):
    open_jobs = "SELECT count(*) FROM tasks WHERE environment = 'live' AND status <> 'posted'"
    deadline = time.monotonic() + seconds
    while (left := database.primary().sql(open_jobs)) != "0":
        if time.monotonic() > deadline:
            raise Broken(f"{left} tasks were not charged and posted within {seconds} s")
        time.sleep(0.5)


def pages(api, path):
    cursor = ""
    while True:
        status, page = api.call("GET", f"{path}&cursor={cursor}" if cursor else path)
        if status != 200:
            raise Broken(f"GET {path}: {status} {page}")
        yield page
        cursor = page["meta"].get("next_cursor")
        if not cursor:
            return


def check_tasks(live, account, counted):
    found, offset, total = [], 0, 1
    while offset < total:
        status, page = live.call("GET", f"/v1/tasks?limit=100&offset={offset}")
        if status != 200:
            raise Broken(f"GET /v1/tasks: {status} {page}")
        total = page["meta"]["total"]
        found += [task["id"] for task in page["data"]]
        offset += 100
    acknowledged = list(account.created.values())
    lost = set(acknowledged) - set(found)
    if lost:
        raise Broken(f"{len(lost)} acknowledged tasks are lost: {sorted(lost)[:3]}")
    if len(set(acknowledged)) != len(acknowledged):
        raise Broken("two keys were answered with the same task")
    if sorted(found) != sorted(acknowledged):
        raise Broken(f"{len(found)} tasks for {len(acknowledged)} keys: some were created twice")
    counted["tasks"] += len(found)


def check_events(live, account, counted):
    by_task, numbers = collections.defaultdict(list), []
    for page in pages(live, "/v1/events?limit=100"):
        for event in page["data"]:
            numbers.append(event["number"])
            by_task[event["data"]["id"]].append(event["event"])
    if sorted(numbers) != list(range(1, len(numbers) + 1)):
        raise Broken("the numbers of events have gaps or repeat")
    for task in account.created.values():
        if sorted(by_task[task]) != EVENTS:
            raise Broken(f"events of task {task}: {by_task[task]}")
    counted["events"] += len(numbers)


def check_files(test, account, counted):
    for task in account.files:
        status, proofs = test.call("GET", f"/v1/tasks/{task}/proofs")
        if status != 200 or not proofs["data"]:
            raise Broken(f"the proof of task {task}: {status} {proofs}")
        # A signed URL of the store for files.
        with urllib.request.urlopen(proofs["data"][0]["file_url"], timeout=30) as answer:
            if not answer.read():
                raise Broken(f"the file of task {task} is empty")
        counted["files"] += 1
