"""The rows of work that the daemons of a fleet share: who gets what, and when."""

from __future__ import annotations

import secrets
import threading
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from engram.daemon.fleet import CONSOLIDATE, EXTRACT, JobTable
from engram.index.lease import LeaseKeeper


class Host:
    """One daemon: its leases, and the rows of work."""

    def __init__(self, dsn):
        self.keeper = LeaseKeeper(dsn)
        self.jobs = JobTable(self.keeper)

    def open(self, vault):
        self.jobs.opened(vault)
        return self.keeper.take(vault)

    def close(self, lease, extract=None, consolidate=None):
        self.keeper.release(lease, clean=True)
        due = {EXTRACT: extract, CONSOLIDATE: consolidate or later(86400)}
        self.jobs.closed(lease.vault, lease.fence, due)


def end_leases(host, vaults):
    """Let the time of the leases be over, by the clock of the database."""
    with host.keeper.transaction() as db:
        db.execute("UPDATE lease SET until = now() WHERE vault = ANY($1)", (vaults,))


def later(seconds):
    return datetime.now(UTC) + timedelta(seconds=seconds)


@pytest.fixture
def hosts(postgres):
    with ExitStack() as stack:
        made = [Host(postgres) for _ in range(2)]
        for host in made:
            stack.callback(host.keeper.close)
        yield made


@pytest.fixture
def vaults():
    run = secrets.token_hex(4)
    return [f"{name}-{run}" for name in "abcd"]


# row: X15
def test_what_is_due_and_has_no_owner_goes_to_one_daemon_alone(hosts, vaults):
    hosts[0].jobs.add(vaults)
    opened = hosts[1].open(vaults[0])
    taken = [[], []]
    start = threading.Barrier(2)

    def take(number):
        start.wait()
        while some := hosts[number].jobs.take(vaults, 1):
            taken[number] += some

    threads = [threading.Thread(target=take, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken[0] + taken[1]) == vaults[1:]
    hosts[1].close(opened)
    assert hosts[0].jobs.take(vaults, 9) == []


# row: X15
def test_who_waited_longest_is_first_and_no_more_than_there_are_places(hosts, vaults):
    host = hosts[0]
    host.jobs.add(vaults)
    for name in (vaults[2], vaults[0], vaults[3], vaults[1]):
        host.close(host.open(name), extract=later(-1))
    assert host.jobs.take(vaults, 0) == []
    assert host.jobs.take(vaults, 2) == [vaults[2], vaults[0]]
    assert host.jobs.take(vaults[:2], 9) == [vaults[1]]


# row: X15
def test_the_work_of_a_daemon_that_died_is_due_when_its_lease_ends(hosts, vaults):
    dead, other = hosts
    dead.open(vaults[0])
    dead.keeper.close()
    assert other.jobs.take(vaults, 9) == []
    end_leases(other, vaults)
    assert other.jobs.take(vaults, 9) == [vaults[0]]


# row: X15
def test_a_vault_closed_in_order_is_due_when_its_work_is(hosts, vaults):
    host = hosts[0]
    host.close(host.open(vaults[0]), extract=later(600))
    host.close(host.open(vaults[1]))
    assert host.jobs.take(vaults, 9) == []
    with host.keeper.transaction() as db:  # a quarter of an hour passes
        db.execute("UPDATE job SET due = due - interval '15 min'")
    assert host.jobs.take(vaults, 9) == [vaults[0]]


# row: X15
def test_who_lost_a_vault_does_not_put_its_work_off(hosts, vaults):
    slow, other = hosts
    lease = slow.open(vaults[0])
    slow.keeper.release(lease)
    other.open(vaults[0])
    slow.jobs.closed(vaults[0], lease.fence, {EXTRACT: None, CONSOLIDATE: later(9e5)})
    other.keeper.close()
    end_leases(slow, vaults)
    assert slow.jobs.take(vaults, 9) == [vaults[0]]


# row: X15
def test_rows_of_a_lost_database_come_again(hosts, vaults):
    host = hosts[0]
    host.close(host.open(vaults[0]))
    with host.keeper.transaction() as db:
        db.execute("DELETE FROM job")
    host.jobs.add(vaults)
    host.jobs.add(vaults)
    assert sorted(host.jobs.take(vaults, 9)) == vaults
