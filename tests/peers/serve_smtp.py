"""A mail server for the tests: aiosmtpd on free ports of this machine, for as long as standard input
is open.

Prints one line of JSON: the folder it works in, and the port of each of its three doors. "plain" has
no TLS; "starttls" takes nothing without it, and takes addresses in any script; "tls" is encrypted
from the start. The folder has ca.pem, the authority behind the certificate, which is for localhost.
All doors know one user. What a mail said, as Python's own library reads it, is added as a line of
JSON to a file named after its recipient, before the mail is confirmed.

The first word of a recipient says what happens: "unknown" and "later" are refused, for good and for
now, "spam" is refused for what the mail says. A sender called "stranger" is not welcome.
"""

import asyncio
import email
import email.policy
import json
import logging
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading

from aiosmtpd.smtp import SMTP, AuthResult

USER, PASSWORD = b"legwork@example.com", "pass:/w@rd é".encode()
folder = tempfile.mkdtemp(prefix="legwork-smtp.")
# Clients who hang up are what the tests are about.
logging.disable()


def end_with_the_tests():
    sys.stdin.buffer.read()
    shutil.rmtree(folder)
    os._exit(0)


def openssl(arguments):
    subprocess.run(["openssl", *arguments.split()], cwd=folder, check=True, stderr=subprocess.DEVNULL)


def certificate():
    """For localhost, signed by an authority that nobody else knows."""
    new = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    openssl(f"req -x509 {new} -days 2 -subj /CN=Throw-away -keyout ca.key -out ca.pem")
    openssl(f"req {new} -subj /CN=localhost -keyout server.key -out server.csr")
    with open(f"{folder}/names", "w") as names:
        names.write("subjectAltName=DNS:localhost")
    openssl("x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(f"{folder}/server.pem", f"{folder}/server.key")
    return context


def authenticate(server, session, envelope, mechanism, given):
    right = (given.login, given.password) == (USER, PASSWORD)
    return AuthResult(success=right, handled=False, auth_data=given.login.decode())


class Handler:
    async def handle_MAIL(self, server, session, envelope, address, options):
        if address.startswith("stranger"):
            return "550 5.7.1 We do not know you"
        envelope.mail_from = address
        return "250 2.1.0 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("unknown"):
            return "550 5.1.1 Nobody of that name"
        if address.startswith("later"):
            return "451 4.7.1 Come back later"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server, session, envelope):
        [recipient] = envelope.rcpt_tos
        if recipient.startswith("spam"):
            return "554 5.7.1 We do not want this"
        mail = email.message_from_bytes(envelope.original_content, policy=email.policy.default)
        text, html = mail.get_body(["plain"]), mail.get_body(["html"])
        received = {
            "from": envelope.mail_from,
            "hello": session.host_name,
            "encrypted": server.transport.get_extra_info("sslcontext") is not None,
            "user": session.auth_data,
            "any_script": envelope.smtp_utf8,
            "type": mail.get_content_type(),
            "headers": [[name, str(value)] for name, value in mail.items()],
            "text": "\n".join(text.get_content().splitlines()),
            "html": "\n".join(html.get_content().splitlines()),
            "defects": [repr(defect) for part in mail.walk() for defect in part.defects],
            "longest_line": max(map(len, envelope.original_content.splitlines())),
        }
        with open(f"{folder}/{recipient}", "a") as mails:
            print(json.dumps(received), file=mails)
        return "250 2.0.0 Taken"


async def main():
    context = certificate()
    loop = asyncio.get_running_loop()

    async def door(ssl_context=None, **settings):
        def connection():
            return SMTP(Handler(), authenticator=authenticate, hostname="localhost", **settings)

        server = await loop.create_server(connection, "127.0.0.1", 0, ssl=ssl_context)
        return server.sockets[0].getsockname()[1]

    doors = {
        "plain": await door(auth_require_tls=False),
        "starttls": await door(tls_context=context, require_starttls=True, enable_SMTPUTF8=True),
        # It does not see that this one is encrypted.
        "tls": await door(ssl_context=context, auth_require_tls=False),
    }
    print(json.dumps({"folder": folder, **doors}), flush=True)
    threading.Thread(target=end_with_the_tests, daemon=True).start()
    await asyncio.Event().wait()


asyncio.run(main())
