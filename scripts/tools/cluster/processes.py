"""The processes of the cluster: each has a log, and all are stopped at the end."""

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))


class Broken(Exception):
    """The cluster cannot be run, or did not keep a promise."""


class Machine:
    """A folder and the processes that run in it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="legwork-cluster.")
        os.chmod(self.folder, 0o755)
        self.processes = []

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def start(self, name, command, environment=None, as_postgres=False, stdin=None):
        """Starts a process that ends when this one does."""
        command = ["setpriv", "--pdeathsig=KILL", *(AS_POSTGRES if as_postgres else []), *command]
        log = open(self.path(f"{name}.log"), "ab")
        process = subprocess.Popen(
            command,
            stdin=stdin or subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**clean_environment(), **(environment or {})},
            cwd="/",
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def stop(self, keep):
        for process in reversed(self.processes):
            if process.poll() is None:
                # With those that it has started: each has a group of its own.
                os.killpg(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()
        for name in os.listdir(self.folder):
            kill_postgres(self.path(name))
        until("all processes are gone", has_no_children, 10)
        if keep:
            print(f"Logs: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


AS_POSTGRES = (
    ["--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
)


def own_by_postgres(path):
    if os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(path, user.pw_uid, user.pw_gid)


def clean_environment():
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LEGWORK_", "PATRONI_", "ETCD_", "AWS_", "PG"))
    }


def kill_postgres(folder):
    """Ends the PostgreSQL server of a data folder, as a power failure would."""
    try:
        with open(os.path.join(folder, "postmaster.pid")) as file:
            first = int(file.readline())
        with open(f"/proc/{first}/cmdline") as file:
            if folder not in file.read():
                return
    except (OSError, ValueError):
        return
    children = children_of(first)
    for process in [first, *children]:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass
    until("PostgreSQL is gone", lambda: not any(map(is_there, [first, *children])), 10)


def children_of(parent):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(name))
    return found


def is_there(process):
    """A zombie is there, too: Patroni would take it for a server that runs."""
    try:
        os.waitpid(process, os.WNOHANG)
    except ChildProcessError:
        pass
    return os.path.exists(f"/proc/{process}")


def has_no_children():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        return True
    return False


_taken = set()


def free_port():
    while True:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        if port not in _taken:
            _taken.add(port)
            return port


def until(what, done, seconds=60):
    """Waits, and returns how many seconds it took."""
    begun = time.monotonic()
    while not done():
        if time.monotonic() - begun > seconds:
            raise Broken(f"after {seconds} s: {what}")
        time.sleep(0.05)
    return time.monotonic() - begun


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return response.status == 200
    except (OSError, urllib.error.URLError):
        return False


def adopt_orphans():
    """A process whose parent was killed becomes ours, so that we can wait for it."""
    subreaper = 36
    ctypes.CDLL(None, use_errno=True).prctl(subreaper, 1, 0, 0, 0)
