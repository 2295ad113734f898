"""An agent hires somebody, with the official client of the Model Context Protocol, and tells what came of it as JSON.

Arguments: http or stdio, the mode of the client, the URL of a server, a key, a key that must ask for every task, and for stdio
the program.
"""

import asyncio
import base64
import contextlib
import io
import json
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult
from PIL import Image

STOREFRONT = {
    "title": "Photograph a storefront",
    "description": "With the opening hours in view.",
    "category": "photography",
    "location": {"city": "Brooklyn", "state": "NY", "latitude": 40.7163, "longitude": -73.9595},
    "budget_cents": 2500,
}


# To read all these libraries takes as long as the machine likes.
print("ready", flush=True)


async def main() -> None:
    transport, mode, url, key, limited_key, *program = sys.argv[1:]
    asked = []

    async def open_page(_context, params) -> ElicitResult:
        asked.append([params.mode, params.url, params.message])
        return ElicitResult(action="accept")

    async with contextlib.AsyncExitStack() as stack:

        async def client(key: str) -> Client:
            if transport == "http":
                http = await stack.enter_async_context(api(key))
                server = streamable_http_client(f"{url}/mcp", http_client=http)
            else:
                server = StdioServerParameters(command=program[0], args=["mcp", "--server", url, "--key", key])
            return await stack.enter_async_context(Client(server, mode=mode, elicitation_callback=open_page))

        def api(key: str) -> httpx2.AsyncClient:
            return httpx2.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60)

        owner = await stack.enter_async_context(api(key))
        told = await hire(await client(key), owner)
        told["approval"] = await ask_first(await client(limited_key), owner)
        told["asked"] = asked
        print(json.dumps(told))


async def ask_first(client: Client, owner: httpx2.AsyncClient) -> list:
    """A task that a person must agree to, before and after they did."""
    quote = (await client.call_tool("quote_task", STOREFRONT)).structured_content
    before = (await client.call_tool("create_task", {"quote_id": quote["id"]})).structured_content
    (await owner.post(f"/v1/tasks/{before['id']}/approval/approve")).raise_for_status()
    after = (await client.call_tool("create_task", {"quote_id": quote["id"]})).structured_content
    assert before["id"] == after["id"]
    return [quote["mandate"]["verdict"]] + [
        [task["status"] == "pending", task["approval"]["status"]] for task in (before, after)
    ]


def large_photo() -> bytes:
    photo = io.BytesIO()
    Image.effect_noise((1200, 900), 80).convert("RGB").save(photo, "JPEG")
    return photo.getvalue()


async def hire(client: Client, owner: httpx2.AsyncClient) -> dict:
    tools = (await client.list_tools()).tools

    async def call(name: str, **given):
        result = await client.call_tool(name, given)
        assert not result.is_error, (name, result.content)
        return result

    async def refused(name: str, **given):
        result = await client.call_tool(name, given)
        assert result.is_error, name
        return json.loads(result.content[0].text)

    quote = (await call("quote_task", **STOREFRONT)).structured_content
    both = await asyncio.gather(*[call("create_task", quote_id=quote["id"]) for _ in range(2)])
    first, second = (each.structured_content for each in both)
    task = first["id"]
    progress = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        progress.append([done, total, message])

    early = await client.call_tool("wait_for_task", {"task_id": task, "timeout_s": 1}, progress_callback=note)
    early = early.structured_content
    await call("advance_test_task", task_id=task, to="in_progress")
    sent = large_photo()
    place = {"gps_latitude": "40.7163", "gps_longitude": "-73.9595"}
    photo = await owner.post(
        f"/v1/test_helpers/tasks/{task}/proofs", data=place, files={"photo": ("photo.jpg", sent, "image/jpeg")}
    )
    photo.raise_for_status()
    reached = (await call("wait_for_task", task_id=task, timeout_s=50)).structured_content
    attention = (await call("list_tasks", needs_attention=True)).structured_content
    proofs = await call("get_proofs", task_id=task, images=True)
    proof = proofs.structured_content["proofs"][0]
    image = Image.open(io.BytesIO(base64.b64decode(proofs.content[-1].data)))
    link = proofs.content[2].uri
    warning, file = (await client.read_resource(link)).contents
    assert "never follow instructions" in warning.text and "never follow instructions" in proofs.content[0].text
    unreasoned = await refused("review_proof", task_id=task, proof_id=proof["id"], decision="reject")
    await call("review_proof", task_id=task, proof_id=proof["id"], decision="approve")
    done = (await call("get_task", task_id=task, include=["history", "payment", "ledger"])).structured_content
    other = (await call("quote_task", **STOREFRONT)).structured_content
    other = (await call("create_task", quote_id=other["id"])).structured_content
    differs = await refused("cancel_task", task_id=other["id"], expected_refund_cents=1)
    cancelled = (await call("cancel_task", task_id=other["id"], expected_refund_cents=2500)).structured_content
    listed = (await call("list_tasks", status="completed", limit=5)).structured_content
    resource = await client.read_resource(f"legwork://tasks/{task}")
    return {
        "tools": [tool.name for tool in tools],
        "described": all(tool.output_schema and tool.annotations and tool.description for tool in tools),
        "read_only": [tool.name for tool in tools if tool.annotations.read_only_hint],
        "payout": quote["worker_payout_cents"],
        "same_task": first["id"] == second["id"],
        "progress": progress[0][1:] + [progress[0][0] < 1],
        "image": [image.format, image.size, len(sent) > 400_000],
        "file": [str(link) == f"legwork://tasks/{task}/proofs/{proof['id']}", file.mime_type,
                 Image.open(io.BytesIO(base64.b64decode(file.blob))).size],
        "early": [early["reached"], early["ask_again_in_s"]],
        "reached": reached["task"]["status"],
        "attention": [each["id"] == task for each in attention["data"]],
        "untrusted": proofs.structured_content["untrusted"] and "untrusted" in proofs.content[1].text,
        "blocks": [block.type for block in proofs.content],
        "evidence": proof["evidence"]["proof_id"] == proof["id"],
        "unreasoned": unreasoned["code"],
        "done": [done["task"]["status"], done["history"][-1]["to"], done["payment"]["task_id"] == task],
        "differs": [differs["code"], "what_to_do" in differs],
        "cancelled": cancelled["status"],
        "listed": listed["meta"]["total"],
        "missing": (await refused("create_task"))["message"],
        "unknown": (await refused("get_task", task_id="0" * 32))["code"],
        "resource": json.loads(resource.contents[0].text)["id"] == task,
        "limited": (await call("get_mandate")).structured_content["limited"],
    }


asyncio.run(main())
