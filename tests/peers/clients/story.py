"""Tells the stories of tests/it/clients/stories.rs with the Python library, and what came of them as JSON.

Written for the asynchronous client. With `sync`, it is made synchronous first, as the library itself is.
Arguments: async or sync, the URL of a server, a key, life, failures or strange, and for a life a photo.
"""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import legwork
from legwork import AsyncClient, CreateTask

STOREFRONT: CreateTask = {
    "title": "Photograph a storefront",
    "description": "With the opening hours in view.",
    "category": "photography",
    "location": {"city": "Brooklyn", "state": "NY", "latitude": 40.7163, "longitude": -73.9595},
    "budget_cents": 2500,
}
ORDER: CreateTask = {**STOREFRONT, "metadata": {"order": "4711"}}
URGENT: CreateTask = {**STOREFRONT, "metadata": {"urgent": True}}
WRONG: CreateTask = {**STOREFRONT, "category": "magic", "budget_cents": 1}  # type: ignore[typeddict-item]
HERE: Any = {"gps_latitude": 40.7163, "gps_longitude": -73.9595}


async def refused(call: Callable[[], Any]) -> legwork.APIError:
    try:
        await call()
    except legwork.APIError as error:
        # Each code has a class of its own.
        assert type(error) is legwork.APIError.classes.get(error.code, legwork.APIError), error
        return error
    raise AssertionError("not refused")


async def life(client: AsyncClient, photo: bytes) -> dict[str, Any]:
    tasks = client.tasks
    mine = client.with_idempotency_key("order-4711").tasks
    task = await mine.create(**ORDER)
    again = await mine.create(**ORDER)
    other = await refused(lambda: mine.create(**STOREFRONT))
    invalid = await refused(lambda: tasks.create(**WRONG))
    assert isinstance(invalid, legwork.ValidationError)
    unknown = await refused(lambda: tasks.get("../account"))
    found = await tasks.search(metadata={"order": "4711"}, status=["funded", "posted"]).take(10)
    for _ in range(24):
        await tasks.create(**URGENT)
    listed = [each async for each in tasks.list(limit=10)]
    assert await in_parts(client) == [each.id for each in listed]
    await booleans(client)
    first_page = await tasks.list(limit=10).next_page()
    reviewed = await review(client, task.id, photo)
    history = await tasks.history(task.id, limit=2).take(50)
    batch = await tasks.create_batch([STOREFRONT, WRONG])
    return {
        "created": {"title": task.title, "status": task.status, "metadata": task.metadata},
        "same_key_same_task": task.id == again.id,
        "other_body": other.code,
        "invalid": sorted(each.field for each in invalid.fields),
        "not_found": unknown.code,
        "found": len(found),
        "listed": len(listed),
        "first_page": len(first_page or []),
        "history_ends": [entry.to for entry in history if entry.to == "completed"][0],
        "batch": [item.status for item in batch.data],
        "bundle_is_zip": (await tasks.bundle(task.id)).startswith(b"PK"),
        **await quoted(client),
        **reviewed,
        **await cancelled(client),
        **await account(client),
    }


async def in_parts(client: AsyncClient) -> list[str]:
    """The ids of all tasks, read by turns: who goes on gets what is left, also of a page."""
    pages = client.tasks.list(limit=10)
    assert await pages.take(0) == []
    found = await pages.take(4)
    async for each in pages:
        found.append(each)
        break
    found += await pages.take(7)
    found += [each async for each in pages]
    assert await pages.take(1) == []
    return [each.id for each in found]


async def booleans(client: AsyncClient) -> None:
    """They are `true` and `false` in a query, however the language writes them."""
    urgent = await client.tasks.search(metadata={"urgent": True}).take(50)
    assert len(urgent) == 24, urgent
    assert await client.tasks.search(metadata={"urgent": False}).take(1) == []
    failed = await client.logs.list(failed=True).take(50)
    assert failed and all(each.status >= 400 for each in failed), failed
    assert len(await client.logs.list(failed=False).take(50)) > len(failed)


async def review(client: AsyncClient, id: str, photo: bytes) -> dict[str, Any]:
    tasks, proofs, helpers = client.tasks, client.proofs, client.test_helpers
    await helpers.advance_task(id, "assigned")
    try:
        await tasks.wait_until(id, ["completed"], timeout=1)
        raise AssertionError("not completed")
    except legwork.StillWaitingError as error:
        waiting = error.status
    await helpers.advance_task(id, "in_progress")
    statuses: list[Any] = ["proof_submitted", "completed"]
    waited, sent = await together(
        lambda: tasks.wait_until(id, statuses, timeout=30), lambda: helpers.submit_proof(id, **HERE)
    )
    rejected = await proofs.reject(id, sent.data[0].id, "Too dark.")
    await helpers.upload_proof(id, {"photo": legwork.File(photo)}, **HERE)
    second = [proof async for proof in proofs.list(id) if proof.attempt_number == 2][0]
    assert (await proofs.evidence(id, second.id)).proof_id == second.id
    downloaded = await proofs.download(second)
    await proofs.approve(id, second.id)
    completed = await tasks.wait_until(id, ["completed"])
    events = [event async for event in client.events.list(task_id=id, limit=4)][::-1]
    last = events[-1].task
    assert last is not None and last.status == "completed"
    return {
        "waited": waited.status,
        "still_waiting": waiting,
        "rejected": rejected.rejection_reason,
        "uploaded": second.type,
        "downloaded_what_was_uploaded": downloaded == photo,
        "completed": completed.status,
        "events": [event.event for event in events],
    }


async def quoted(client: AsyncClient) -> dict[str, Any]:
    quote = await client.quotes.create(**STOREFRONT)
    first, second = await client.tasks.redeem(quote.id), await client.tasks.redeem(quote.id)
    unknown = await refused(lambda: client.quotes.get("0"))
    return {
        "quoted": quote.worker_payout_cents,
        "redeemed_once": first.id == second.id,
        "quote_not_found": unknown.code,
    }


async def cancelled(client: AsyncClient) -> dict[str, Any]:
    task = await client.tasks.create(**STOREFRONT)
    differs = await refused(lambda: client.tasks.cancel(task.id, expected_refund_cents=1))
    done = await client.tasks.cancel(task.id)
    return {"cancelled": done.status, "refund_differs": differs.code}


async def account(client: AsyncClient) -> dict[str, Any]:
    made = await client.keys.create(name="Second", environment="test")
    async with AsyncClient(made.key, base_url=client.base_url) as second:
        works = (await second.account.get()).id == (await client.account.get()).id
        await client.keys.revoke(made.id)
        revoked = await refused(lambda: second.account.usage())
    webhook = await refused(lambda: client.webhook.set(url="http://plain.example"))
    clock = await client.test_helpers.advance_clock(advance_seconds=3600)
    return {
        "usage": (await client.account.usage()).tasks_this_month,
        "new_key_works": works,
        "revoked_key": revoked.code,
        "webhook_error": webhook.code,
        "clock_ahead": clock.ahead_seconds,
    }


async def failures(client: AsyncClient, url: str) -> dict[str, Any]:
    created = await client.tasks.create(**STOREFRONT)
    error = await refused(lambda: client.tasks.list().next_page())
    numbers, unknown = [], None
    stream = client.events.stream()
    async for event in stream:
        numbers.append(event.number)
        if event.event == "task.teleported":  # type: ignore[comparison-overlap]
            unknown = event.event
        if len(numbers) == 9:
            break
    await stream.aclose()
    return {
        "created": created.id,
        "refused": {"status": error.status, "code": error.code, "message": error.message,
            "request_id": error.request_id, "details": error.details},
        "events": numbers,
        "unknown": unknown,
        "filled": stream.filled,
        "timed_out": await fails(url, 0.05, legwork.TimedOutError),
        "unreachable": await fails("http://127.0.0.1:1", 5, legwork.NetworkError),
    }


async def fails(url: str, timeout: float, how: type[Exception]) -> bool:
    async with AsyncClient("svc_test_x", base_url=url, timeout=timeout, max_retries=1) as client:
        try:
            await client.tasks.get("1")
        except how:
            return True
    return False


async def strange(url: str) -> dict[str, Any]:
    """What becomes of waits, and of answers that are not Legwork's: see serve_strange.py."""
    modes = ["quiet", "hanging", "dripping", "busy", "stuck", "silent", "closing", "ended", "ending", "crowded"]
    waits = {mode: await waited(f"{url}/{mode}") for mode in modes}
    await tries_end(url)
    async with AsyncClient("svc_test_x", base_url=f"{url}/page", max_retries=0) as client:
        page = await told(lambda: client.events.stream().__anext__())
    return {
        "waits": waits,
        "requests": {mode: int(httpx.get(f"{url}/asked/{mode}").text) for mode in ["quiet", "busy", "ended"]},
        "closing_is_not_hurried": int(httpx.get(f"{url}/asked/closing").text) < 15,
        "files": await files(url),
        "page": page,
        "refusing": [await refusing(url, status) for status in [302, 401, 403, 404, 502, 503]],
        "others": [await other(f"{url}/other{number}") for number in range(8)],
        "secrets": [accepted(secret) for secret in SECRETS],
        "long_timestamp": long_timestamp(),
    }


async def files(url: str) -> list[str]:
    """What becomes of downloads. The key is read from a file, with the end of its line."""
    async with AsyncClient("svc_test_x\n", base_url=url) as client:
        made: list[Any] = [SimpleNamespace(file_url=f"{url}/{mode}/v1/tasks/1?signature=s") for mode in ["shaky", "moved"]]
        answers = [await told(lambda: client.proofs.download(file)) for file in made]
    nowhere: Any = SimpleNamespace(file_url="http://127.0.0.1:1/file?signature=s")
    async with AsyncClient("svc_test_x", max_retries=0) as client:
        try:
            await client.proofs.download(nowhere)
        except legwork.NetworkError as error:
            answers.append("told" if "signature" in str(error) else "hidden")
    return answers


async def tries_end(url: str) -> None:
    """However much keeps coming, a try ends with its time-out. A download has four times as long."""
    for mode in ["dripping", "endless"]:
        begun = time.monotonic()
        async with AsyncClient("svc_test_x", base_url=f"{url}/{mode}", timeout=0.5, max_retries=1) as client:
            assert await told(lambda: client.tasks.get("1")) == "timed out", mode
            file: Any = SimpleNamespace(file_url=f"{client.base_url}/v1/tasks/1")
            assert await told(lambda: client.proofs.download(file)) == "timed out", mode
        assert time.monotonic() - begun < 15, f"{mode}: late"


async def waited(url: str) -> str:
    begun = time.monotonic()
    async with AsyncClient("svc_test_x", base_url=url) as client:
        found = await told(lambda: client.tasks.wait_until("1", ["assigned"], timeout=5))
    return found if time.monotonic() - begun < 40 else f"{found}, late"


async def told(call: Callable[[], Any]) -> str:
    try:
        await call()
    except legwork.TaskEndedError as error:
        return f"ended {error.task.status}: {error}"
    except legwork.StillWaitingError as error:
        return f"still {error.status}"
    except legwork.APIError as error:
        return error.code
    except legwork.TimedOutError:
        return "timed out"
    except legwork.AnswerError as error:
        assert "?" not in str(error), error
        return "not an answer" if error.status is None else f"not an answer, but {error.status}"
    return "no error"


async def other(url: str) -> list[str]:
    async with AsyncClient("svc_test_x", base_url=url) as client:
        calls: list[Callable[[], Any]] = [
            lambda: client.tasks.get("1"),
            lambda: client.tasks.search(q="somebody").next_page(),
            lambda: client.tasks.bundle("1"),
            lambda: client.payment_method.get(),
        ]
        return [await told(call) for call in calls]


async def refusing(url: str, status: int) -> list[Any]:
    """What is told of a refusal by another program, and after how many requests. Streams do not wait for its end either."""
    mode = f"refusing{status}"
    async with AsyncClient("svc_test_x", base_url=f"{url}/{mode}", max_retries=1) as client:
        answer = await told(lambda: client.tasks.get("1"))
        tries = int(httpx.get(f"{url}/asked/{mode}").text)
        return [answer, tries, await told(lambda: client.events.stream().__anext__())]


SECRETS = ["", " ", "whsec_", "whsec_%%%", "whsec_c2VjcmV0=", "nonsense!", "whsec_c2VjcmV0", "whsec_c2VjcmV0\n"]


def accepted(secret: str) -> bool:
    """Whether it is taken for a secret. What is signed with it is then valid without the white space."""
    try:
        webhook = legwork.Webhook("whsec_b3RoZXI=", secret)
    except ValueError:
        return False
    body = b'{"event": "task.funded", "data": {}}'
    return legwork.Webhook(secret.strip()).verify(webhook.sign("1", body), body).id == "1"


def long_timestamp() -> str:
    headers = {"webhook-signature": "v1,x", "webhook-timestamp": "1" * 5000}
    try:
        legwork.Webhook("whsec_c2VjcmV0").verify(headers, b"{}")
    except legwork.WebhookError:
        return "refused"
    return "accepted"


async def main() -> None:
    url, key, story = sys.argv[2:5]
    async with AsyncClient(key, base_url=url, max_retries=4, user_agent="shop/1.0") as client:
        if story == "failures":
            result = await failures(client, url)
        elif story == "strange":
            result = await strange(url)
        else:
            result = await life(client, Path(sys.argv[5]).read_bytes())
    print(json.dumps(result))


async def together(one: Callable[[], Any], other: Callable[[], Any]) -> Any:
    return await asyncio.gather(one(), other())


def in_threads(one: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """The synchronous `together`."""
    first: list[Any] = []
    thread = threading.Thread(target=lambda: first.append(one()))
    thread.start()
    second = other()
    thread.join()
    return first[0], second


if __name__ == "__main__" and sys.argv[1] == "async":
    asyncio.run(main())
elif __name__ == "__main__":
    from generate_sync import made_synchronous

    code, _ = Path(__file__).read_text().split("\nif __name__", 1)
    everything = {"__name__": "story"}
    exec(made_synchronous(code) + "\ntogether = in_threads\n", everything)
    everything["main"]()  # type: ignore[operator]
