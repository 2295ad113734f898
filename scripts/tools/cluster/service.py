"""Three servers behind nginx, and the store for their files."""

import base64
import json
import os
import re
import signal
import subprocess

from processes import ROOT, Broken, answers, clean_environment, free_port, until

SERVERS = 3
# nginx keeps connections for a shorter time than a server drains.
KEPT_SECONDS, DRAIN_SECONDS = 2, 4

NGINX = """
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr error;
{user}
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/nginx-body;
    proxy_temp_path {folder}/nginx-proxy;
    fastcgi_temp_path {folder}/nginx-fastcgi;
    uwsgi_temp_path {folder}/nginx-uwsgi;
    scgi_temp_path {folder}/nginx-scgi;
    upstream legwork {{
{servers}
        keepalive 32;
        keepalive_timeout {kept}s;
    }}
    server {{
        listen 127.0.0.1:{port};
        client_max_body_size 120m;
        proxy_request_buffering off;
        proxy_http_version 1.1;
        proxy_connect_timeout 2s;
        proxy_set_header Connection "";
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $remote_addr;
        location / {{ proxy_pass http://legwork; }}
    }}
}}
"""


class Service:
    def __init__(self, machine, program, database_url):
        self.machine, self.program = machine, program
        self.ports = [free_port() for _ in range(SERVERS)]
        self.servers = [None] * SERVERS
        self.proxy = free_port()
        self.environment = {
            "LEGWORK_DATABASE_URL": database_url,
            "LEGWORK_DATABASE_CONNECTIONS": "16",
            "LEGWORK_MASTER_KEY": base64.b64encode(os.urandom(32)).decode(),
            "LEGWORK_FILES_URL": "s3://legwork",
            "LEGWORK_TRUSTED_PROXIES": "127.0.0.1/32",
            "LEGWORK_DRAIN_SECONDS": str(DRAIN_SECONDS),
            "LEGWORK_PUBLIC_URL": f"http://127.0.0.1:{self.proxy}",
            "LEGWORK_LOG": "warn",
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "the secret of the tests",
            "AWS_REGION": "us-east-1",
        }

    def start(self):
        self.start_s3()
        self.run("migrate")
        for number in range(SERVERS):
            self.start_server(number)
        for number in range(SERVERS):
            self.wait_for(number)
        self.start_nginx()

    def start_s3(self):
        reading, self.s3_lives = os.pipe()
        script = os.path.join(ROOT, "tests", "peers", "serve_s3.py")
        python = os.environ["LEGWORK_TEST_PYTHON"]
        self.machine.start("s3", [python, script], stdin=reading)
        log = self.machine.path("s3.log")

        def port():
            with open(log) as file:
                return re.match(r"(\d+)\n", file.read())

        until("the store for files answers", port)
        self.environment["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port()[1]}"

    def start_server(self, number):
        command = [self.program, "--listen", f"127.0.0.1:{self.ports[number]}"]
        data = self.machine.path(f"server{number}")
        os.makedirs(data, exist_ok=True)
        started = self.machine.start(
            f"server{number}", [*command, "--data", data], self.environment
        )
        self.servers[number] = started

    def wait_for(self, number):
        url = f"http://127.0.0.1:{self.ports[number]}/readyz"
        return until(f"server {number} is ready", lambda: answers(url))

    def restart(self, number):
        """In good order, as an upgrade does."""
        server = self.servers[number]
        server.send_signal(signal.SIGTERM)
        if server.wait(60) != 0:
            raise Broken(f"server {number} ended with {server.returncode}")
        self.start_server(number)
        self.wait_for(number)

    def lose(self, number):
        self.servers[number].kill()
        self.servers[number].wait()

    def start_nginx(self):
        servers = "\n".join(f"        server 127.0.0.1:{port} max_fails=0;" for port in self.ports)
        text = NGINX.format(
            folder=self.machine.folder,
            user="user root;" if os.getuid() == 0 else "",
            servers=servers,
            kept=KEPT_SECONDS,
            port=self.proxy,
        )
        settings = self.machine.write("nginx.conf", text)
        self.machine.start("nginx", ["nginx", "-c", settings, "-g", "daemon off;"])
        until("nginx answers", lambda: answers(f"http://127.0.0.1:{self.proxy}/healthz"))

    def run(self, *arguments):
        """Runs a command of the program and returns what it prints."""
        data = self.machine.path("server0")
        os.makedirs(data, exist_ok=True)
        done = subprocess.run(
            [self.program, *arguments, "--data", data],
            env={**clean_environment(), **self.environment},
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode != 0:
            raise Broken(f"legwork {' '.join(arguments)}: {done.stderr or done.stdout}")
        return done.stdout

    def create_account(self, name):
        made = self.run(
            *("account", "create", "--json", "--tier", "enterprise"),
            *("--email", f"{name}@example.com", "--name", name),
        )
        return json.loads(made)
