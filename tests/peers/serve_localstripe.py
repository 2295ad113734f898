"""localstripe for the tests: on a free port of this machine, for as long as standard input is open.

Started as a program, localstripe would listen on every interface, keep its state in a file of a
fixed name, and outlive the tests. Prints the port, then serves.
"""

import os
import socket
import sys
import threading

from aiohttp import web
from localstripe import resources, webhooks
from localstripe.server import app


def end_with_the_tests():
    sys.stdin.buffer.read()
    os._exit(0)


class Endpoints(dict):
    """Tests name new ones while a notice is on its way to the others."""

    def values(self):
        return list(super().values())


resources.Store.dump_to_disk = lambda self: None
webhooks._webhooks = Endpoints()
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(128)
print(listener.getsockname()[1], flush=True)
threading.Thread(target=end_with_the_tests, daemon=True).start()
web.run_app(app, sock=listener, print=None, access_log=None)
