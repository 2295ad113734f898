"""Runs the cluster; see scripts/cluster."""

import argparse
import os
import signal
import sys
import time

from checks import check
from database import TTL, Database
from load import Account, Api, Load
from processes import ROOT, Broken, Machine, adopt_orphans
from service import SERVERS, Service

ACCOUNTS, CLIENTS = 6, 12


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    adopt_orphans()
    machine = Machine()
    try:
        run(machine, options)
    except Broken as broken:
        print(f"FAILED: {broken}", file=sys.stderr)
        options.keep = True
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception:
        options.keep = True
        raise
    finally:
        machine.stop(options.keep)
    return 0


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/cluster")
    parser.add_argument("--quick", action="store_true", help="shorter phases")
    parser.add_argument("--program", help="a server that is built already")
    parser.add_argument("--keep", action="store_true", help="keep the folder with all logs")
    options = parser.parse_args()
    options.program = os.path.abspath(
        options.program or os.path.join(ROOT, "target", "release", "legwork")
    )
    return options


def run(machine, options):
    seconds = 5 if options.quick else 20
    begun = time.monotonic()
    database = Database(machine)
    database.start()
    service = Service(machine, options.program, database.url)
    service.start()
    accounts = [
        Account(service.proxy, service.create_account(f"client{n}")) for n in range(ACCOUNTS)
    ]
    load = Load(service.proxy, accounts, CLIENTS)
    set_payment_methods(accounts)
    say(f"{SERVERS} servers, nginx, two PostgreSQL, etcd and files: {time.monotonic() - begun:.1f} s")
    load.start()
    phases(load, database, service, seconds)
    load.stop()
    if load.faults:
        raise Broken(load.faults[0])
    counted = check(service, database, accounts)
    say(
        f"checked: {counted['tasks']} tasks acknowledged and there once, {counted['events']} events "
        f"without gap or repetition, {counted['files']} files, ledger and audit log verified"
    )


def phases(load, database, service, seconds):
    print(f"{'':36} {'creates/s':>9} {'longest pause':>14}  failed requests", flush=True)
    time.sleep(2)
    phase(load, "at rest", lambda: time.sleep(seconds))

    lost = database.primary()

    def fail_over():
        lost.lose()
        wait_for_writes(load)
        time.sleep(seconds)

    gap = phase(load, f"primary killed (lease {TTL} s)", fail_over)["gap"]
    if gap > 3 * TTL:
        raise Broken(f"no writes for {gap:.1f} s")

    def bring_back():
        lost.start()
        say(f"the former primary is a synchronous standby after {database.wait_for_standby():.1f} s")

    phase(load, "former primary comes back", bring_back)

    def restart_all():
        for number in range(SERVERS):
            service.restart(number)

    restarted = phase(load, "servers restarted, one by one", restart_all)
    if restarted["failed"]:
        raise Broken("a restart in good order let requests fail")

    def lose_server():
        service.lose(1)
        time.sleep(seconds)

    phase(load, "a server killed", lose_server)

    def replace():
        service.start_server(1)
        service.wait_for(1)
        time.sleep(seconds)

    phase(load, "its replacement", replace)


def phase(load, name, work):
    begin = load.mark()
    work()
    figures = load.figures(begin, load.mark())
    failed = ", ".join(f"{count} {kind}" for kind, count in figures["failed"].most_common())
    print(f"{name:36} {figures['rate']:9.0f} {figures['gap']:12.2f} s  {failed or 'none'}", flush=True)
    if load.faults:
        raise Broken(load.faults[0])
    return figures


def wait_for_writes(load):
    """Until tasks are acknowledged that were asked for after this moment."""
    begun = time.monotonic()
    # What was under way may still be answered.
    time.sleep(1)
    before = len(load.times)
    while len(load.times) < before + 2 * CLIENTS:
        if time.monotonic() - begun > 6 * TTL:
            raise Broken(f"no writes for {6 * TTL} s after the primary was killed")
        time.sleep(0.05)


def set_payment_methods(accounts):
    for account in accounts:
        api = Api(account.port, account.live)
        status, answer = api.call(
            "PUT", "/v1/account/payment_method", {"payment_method": "pm_card_visa"}
        )
        if status != 200:
            raise Broken(f"payment method: {status} {answer}")


def say(text):
    print(f"cluster: {text}", flush=True)


sys.exit(main())
