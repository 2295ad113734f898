"""Sends a file with tuspy: one order to a line of standard input, the URL of the upload to a line of standard
output. It stops after the first piece and goes on with a new client, and each piece has a checksum."""

import json
import sys

from tusclient.client import TusClient


def send(order):
    client = TusClient(order["endpoint"], headers={"Authorization": f"Bearer {order['token']}"})
    told = {name: order[name] for name in ("task_id", "proof_type")}
    sizes = {"file_path": order["file"], "chunk_size": order["chunk_size"]}
    first = client.uploader(**sizes, metadata=told, upload_checksum=True)
    first.upload_chunk()
    rest = client.uploader(**sizes, url=first.url, upload_checksum=True)
    assert rest.offset == order["chunk_size"], rest.offset
    rest.upload()
    return rest.url


for line in sys.stdin:
    try:
        url = send(json.loads(line))
    except Exception as error:
        url = repr(error)
    print(json.dumps({"url": url}), flush=True)
