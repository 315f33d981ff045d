"""Who owns a vault: two keepers on one database, as two processes on two machines."""

from __future__ import annotations

import os
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import closing, suppress
from dataclasses import replace

import pytest

from engram.core.policy import ServePolicy
from engram.errors import LockedError, StorageError
from engram.index.lease import LeaseKeeper
from engram.index.postgres import PostgresStore
from tests.postgres import administrator

POLICY = ServePolicy()


@pytest.fixture
def vault():
    return secrets.token_hex(8)


@pytest.fixture
def keepers(postgres):
    """Make keepers by their address."""
    made = []

    def keeper(address="", policy=POLICY):
        made.append(LeaseKeeper(postgres, address, policy))
        return made[-1]

    yield keeper
    for one in made:
        one.close()


def end_lease(dsn, vault):
    """Let the time of a lease be over, by the clock of the database."""
    with administrator(dsn) as admin:
        admin.execute(
            "UPDATE engram.lease SET until = now() WHERE vault = %s", (vault,)
        )


def check(keeper, lease):
    with keeper.transaction() as db:
        found = db.execute(
            "SELECT fence, process, until > clock_timestamp() FROM lease "
            "WHERE vault = $1",
            (lease.vault,),
        ).fetchall()
    keeper.check(lease, found)


# row: X15
def test_a_vault_has_one_owner_whom_others_can_find(keepers, vault):
    first, second = keepers("http://a:1"), keepers("http://b:1")
    assert first.owner_of(vault) is None
    lease = first.take(vault)
    assert lease.is_valid()
    owner = second.owner_of(vault)
    assert (owner.pid, owner.address) == (os.getpid(), "http://a:1")
    assert 0 < owner.left <= POLICY.lease_seconds
    with pytest.raises(LockedError, match="another process has the index") as fault:
        second.take(vault)
    assert fault.value.holder.address == "http://a:1"
    with pytest.raises(LockedError) as fault:
        first.take(vault)
    assert fault.value.holder.address == "http://a:1"
    first.release(lease)
    assert not lease.is_valid()
    assert second.owner_of(vault) is None
    assert second.take(vault).fence > lease.fence


# row: X15
def test_a_lease_that_is_over_is_taken_and_its_owner_told(keepers, postgres, vault):
    first, second = keepers(), keepers()
    lease = first.take(vault)
    end_lease(postgres, vault)
    later = second.take(vault)
    assert later.fence > lease.fence
    with pytest.raises(LockedError, match="took this vault meanwhile"):
        check(first, lease)
    assert lease.lost
    assert not lease.is_valid()
    first.release(lease)
    assert second.owner_of(vault)
    check(second, later)


# row: X15
def test_a_lease_that_is_over_and_not_taken_is_renewed(keepers, postgres, vault):
    """The database was away for a while; it goes on where it was."""
    first, second = keepers(), keepers()
    lease = first.take(vault)
    end_lease(postgres, vault)
    check(first, lease)
    assert not lease.lost
    with pytest.raises(LockedError):
        second.take(vault)


# row: X15
def test_all_leases_are_renewed_in_one_statement(keepers, postgres, vault):
    first, second = keepers(), keepers()
    leases = [first.take(f"{vault}-{number}") for number in range(3)]
    before = [lease.valid_until for lease in leases]
    for lease in leases:
        end_lease(postgres, lease.vault)
    taken = second.take(leases[1].vault)
    first.renew()
    assert [lease.lost for lease in leases] == [False, True, False]
    assert all(
        lease.valid_until > old
        for lease, old in zip(leases, before, strict=True)
        if not lease.lost
    )
    assert all(first.owner_of(lease.vault).left > 0 for lease in leases)
    assert taken.is_valid()


# row: X15
def test_a_thread_renews_before_the_lease_is_over(keepers, vault):
    keeper = keepers(policy=replace(POLICY, lease_seconds=0.3))
    lease = keeper.take(vault)
    first = lease.valid_until
    renewed = _until(lambda: lease.valid_until > first + 0.3)
    assert renewed
    assert lease.is_valid()


def _until(holds, seconds=10):
    last = time.monotonic() + seconds
    while not holds() and time.monotonic() < last:
        time.sleep(0.01)
    return holds()


# row: X15
def test_a_vault_is_kept_for_who_will_open_it(keepers, vault):
    """In the transaction that takes its jobs; one that is open elsewhere is left out."""
    first, second = keepers("http://a:1"), keepers("http://b:1")
    lease = second.take(f"{vault}-open")
    with first.transaction() as db:
        kept = first.reserve(db, [vault, lease.vault])
    assert kept == [vault]
    with pytest.raises(LockedError) as fault:
        second.take(vault)
    assert fault.value.holder.address == "http://a:1"
    assert first.take(vault).is_valid()


# row: X15
def test_turns_in_a_state_folder_that_is_not_seen_keep_the_vault(
    keepers, postgres, vault
):
    first, second = keepers(), keepers()
    first.take(vault, state="a")
    end_lease(postgres, vault)
    with pytest.raises(LockedError, match="turns of this vault may wait in the state"):
        second.take(vault, state="b")
    lease = second.take(vault, state="a")
    second.release(lease)
    with administrator(postgres) as admin:  # as docs/postgres.md says
        admin.execute("SELECT set_config('engram.vault', %s, false)", (vault,))
        admin.execute("UPDATE engram.lease SET clean = true WHERE vault = %s", (vault,))
    lease = second.take(vault, state="b")
    second.release(lease, clean=True)
    assert first.owner_of(vault) is None
    with suppress(StorageError):
        first.renew()
    assert keepers().take(vault, state="c").was_clean


# row: X15
def test_a_process_that_ended_on_this_machine_is_followed_at_once(keepers, vault):
    """Whoever holds the lock of the same kernel on the same folder is its successor."""
    first, second = keepers(), keepers()
    lease = first.take(vault, kernel="boot 1")
    with pytest.raises(LockedError):
        second.take(vault, kernel="boot 2")
    with pytest.raises(LockedError):
        second.take(vault)
    assert second.take(vault, kernel="boot 1").fence > lease.fence


# row: X15
def test_many_vaults_share_a_few_connections(keepers, postgres, vault):
    """Also where all ask at once."""
    keeper = keepers()
    most = POLICY.database_connections
    stores = [
        PostgresStore(postgres, f"{vault}-{number}", "s", keeper=keeper)
        for number in range(3 * most)
    ]
    with ThreadPoolExecutor(len(stores)) as threads:
        asked = [
            threads.submit(store.query, "SELECT pg_backend_pid(), pg_sleep(0.02)")
            for store in stores
        ]
        seen = {one.result()[0][0] for one in asked}
    assert 1 < len(seen) <= most
    for store in stores:
        store.set_setting("name", store.vault)
    assert [store.setting("name") for store in stores] == [
        store.vault for store in stores
    ]
    for store in stores:
        store.close()


# row: X15
def test_rows_of_a_vault_that_was_lost_are_not_written(keepers, postgres, vault):
    """The other owner waits for what is being written, and is told what comes later."""
    first = PostgresStore(postgres, vault, "s", keeper=keepers())
    with ThreadPoolExecutor(1) as threads:
        with first.transaction() as db:
            db.execute("INSERT INTO meta VALUES (?, ?)", ("said", "in time"))
            end_lease(postgres, vault)
            opening = threads.submit(
                PostgresStore, postgres, vault, "s", keeper=keepers()
            )
            with pytest.raises(FutureTimeoutError):
                opening.result(0.2)
        second = opening.result()
    assert second.setting("said") == "in time"
    with pytest.raises(LockedError, match="took this vault meanwhile"):
        first.set_setting("said", "too late")
    assert first.lost
    assert second.setting("said") == "in time"
    first.close()
    second.close()


def test_a_vault_whose_tables_are_gone_is_to_be_opened_anew(empty, vault):
    keeper = LeaseKeeper(empty, "", replace(POLICY, lease_seconds=0.3))
    with closing(keeper):
        lease = keeper.take(vault)
        with administrator(empty) as admin:
            admin.execute("DROP SCHEMA engram CASCADE")
        assert _until(lambda: lease.lost)
        keeper.release(lease)
        assert keeper.take(vault).is_valid()
