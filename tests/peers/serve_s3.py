"""S3 for the tests: moto on a free port of this machine, for as long as standard input is open.

moto takes every signature for good. Here those of signed URLs are checked with the library of AWS,
as they would be so many seconds later as the header X-Test-Seconds-Later says. And where a path has
"breaking" in it, only the first part of an upload is taken. Prints the port, then serves.
"""

import datetime
import os
import socket
import sys
import threading
from urllib.parse import parse_qs, urlencode, urlsplit

from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from moto.s3.models import s3_backends
from werkzeug.serving import make_server

KEY, SECRET = "tests", "the secret of the tests"


def end_with_the_tests():
    sys.stdin.buffer.read()
    os._exit(0)


def signature(method, url, date):
    """What AWS would have signed this with, the signature itself left out."""
    parts = urlsplit(url)
    query = [
        (name, value)
        for name, values in parse_qs(parts.query, keep_blank_values=True).items()
        for value in values
        if name != "X-Amz-Signature"
    ]
    url = parts._replace(query=urlencode(query)).geturl()
    request = AWSRequest(method=method, url=url, headers={"host": parts.netloc})
    request.context["timestamp"] = date
    signer = S3SigV4QueryAuth(Credentials(KEY, SECRET), "s3", "us-east-1")
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return signer.signature(text, request)


def is_good(environ):
    query = parse_qs(environ["QUERY_STRING"], keep_blank_values=True)
    if "HTTP_AUTHORIZATION" in environ:
        return True
    try:
        date, expires = query["X-Amz-Date"][0], int(query["X-Amz-Expires"][0])
        given = query["X-Amz-Signature"][0]
        signed = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ")
    except (KeyError, ValueError):
        return False
    url = f"http://{environ['HTTP_HOST']}{environ['RAW_URI']}"
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    now += datetime.timedelta(seconds=int(environ.get("HTTP_X_TEST_SECONDS_LATER", 0)))
    age = (now - signed).total_seconds()
    return given == signature(environ["REQUEST_METHOD"], url, date) and age < expires


moto = DomainDispatcherApplication(create_backend_app)


def application(environ, start_response):
    def refuse(status):
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response(status, [("Content-Type", "text/plain")])
        return [b"refused"]

    if not is_good(environ):
        return refuse("403 Forbidden")
    later_part = "partNumber=2" in environ["QUERY_STRING"]
    if later_part and "breaking" in environ["PATH_INFO"]:
        return refuse("500 Internal Server Error")
    return moto(environ, start_response)


s3_backends["123456789012"]["aws"].create_bucket("legwork", "us-east-1")
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(128)
server = make_server(
    "127.0.0.1",
    0,
    application,
    threaded=True,
    request_handler=type("Quiet", (MotoRequestHandler,), {"log": lambda *_: None}),
    fd=listener.fileno(),
)
print(listener.getsockname()[1], flush=True)
threading.Thread(target=end_with_the_tests, daemon=True).start()
server.serve_forever()
