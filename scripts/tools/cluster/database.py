"""PostgreSQL on two machines under Patroni, with etcd."""

import glob
import json
import os
import subprocess

from processes import Broken, answers, free_port, kill_postgres, own_by_postgres, until

# Seconds after which a primary that does not renew its lease is replaced. Patroni wants
# loop_wait + 2 * retry_timeout <= ttl.
TTL, LOOP_WAIT, RETRY_TIMEOUT = 20, 4, 8


class Database:
    def __init__(self, machine):
        self.machine = machine
        self.bin = newest_bin()
        self.etcd = free_port()
        self.nodes = [Node(self, number) for number in (1, 2)]

    def start(self):
        peers = free_port()
        self.machine.start(
            "etcd",
            [
                "etcd",
                *("--data-dir", self.machine.path("etcd"), "--log-level", "warn"),
                *("--listen-client-urls", f"http://127.0.0.1:{self.etcd}"),
                *("--advertise-client-urls", f"http://127.0.0.1:{self.etcd}"),
                *("--listen-peer-urls", f"http://127.0.0.1:{peers}"),
                *("--initial-advertise-peer-urls", f"http://127.0.0.1:{peers}"),
                *("--initial-cluster", f"default=http://127.0.0.1:{peers}"),
            ],
        )
        until("etcd answers", lambda: answers(f"http://127.0.0.1:{self.etcd}/health"), 30)
        for node in self.nodes:
            node.start()
        until("there is a primary", lambda: self.primary() is not None, 90)
        self.wait_for_standby()
        self.primary().sql("CREATE DATABASE legwork", "postgres")

    def primary(self):
        leaders = [node for node in self.nodes if node.is_primary()]
        return leaders[0] if leaders else None

    def wait_for_standby(self):
        """Until every commit waits for the standby. Returns the seconds."""

        def is_synchronous():
            primary = self.primary()
            return primary is not None and primary.has_synchronous_standby()

        return until("the standby is synchronous", is_synchronous, 120)

    @property
    def url(self):
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgres://postgres@{hosts}/legwork?target_session_attrs=read-write"


class Node:
    def __init__(self, database, number):
        self.database, self.name = database, f"node{number}"
        self.port, self.api = free_port(), free_port()
        self.data = database.machine.path(self.name)
        self.patroni = None

    def start(self):
        machine = self.database.machine
        sockets = machine.path(f"{self.name}-sockets")
        if not os.path.isdir(sockets):
            os.mkdir(sockets)
            own_by_postgres(sockets)
            os.mkdir(self.data, 0o700)
            own_by_postgres(self.data)
        # JSON is YAML.
        settings = machine.write(f"{self.name}.yml", json.dumps(self.settings(sockets)))
        self.patroni = machine.start(f"{self.name}-patroni", ["patroni", settings], as_postgres=True)

    def settings(self, sockets):
        here = "127.0.0.1"
        return {
            "scope": "legwork",
            "name": self.name,
            "restapi": {"listen": f"{here}:{self.api}", "connect_address": f"{here}:{self.api}"},
            "etcd3": {"host": f"{here}:{self.database.etcd}"},
            "bootstrap": {
                "dcs": {
                    "ttl": TTL,
                    "loop_wait": LOOP_WAIT,
                    "retry_timeout": RETRY_TIMEOUT,
                    "synchronous_mode": True,
                    "postgresql": {"use_pg_rewind": True, "use_slots": True},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, {"auth": "trust"}],
            },
            "postgresql": {
                "listen": f"{here}:{self.port}",
                "connect_address": f"{here}:{self.port}",
                "data_dir": self.data,
                "bin_dir": self.database.bin,
                "pgpass": os.path.join(sockets, "pgpass"),
                "authentication": {
                    "superuser": {"username": "postgres"},
                    "replication": {"username": "postgres"},
                },
                "pg_hba": [
                    "local all all trust",
                    f"host all all {here}/32 trust",
                    f"host replication all {here}/32 trust",
                ],
                "parameters": {
                    "unix_socket_directories": sockets,
                    "max_connections": 200,
                    "shared_buffers": "128MB",
                    "wal_keep_size": "512MB",
                },
            },
        }

    def is_primary(self):
        return answers(f"http://127.0.0.1:{self.api}/primary")

    def has_synchronous_standby(self):
        asked = "SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')"
        try:
            return self.sql(asked, "postgres") == "1"
        except Broken:
            return False

    def sql(self, text, database="legwork"):
        psql = [os.path.join(self.database.bin, "psql"), "-XAtq", "-h", "127.0.0.1"]
        command = [*psql, "-p", str(self.port), "-U", "postgres", "-d", database, "-c", text]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Broken(done.stderr)
        return done.stdout.strip()

    def lose(self):
        """As if the machine had no power any more."""
        self.patroni.kill()
        self.patroni.wait()
        kill_postgres(self.data)


def newest_bin():
    found = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    if not found:
        raise Broken("PostgreSQL is not installed: run scripts/with-postgres true")
    return os.path.dirname(max(found, key=lambda path: int(path.split("/")[4])))
