"""The daemons of a fleet: one that does not fit to the others is told at its start."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import pytest

from engram.daemon.fleet import Member, MemberTable, check_member, this_member
from engram.errors import ConfigError
from engram.index.lease import LeaseKeeper

FIRST = Member("http://a:1", "a", 11, "/srv/vaults", "folder", "state")
SECOND = FIRST._replace(address="http://b:1", host="b", pid=12)


@dataclass
class Case:
    own: Member
    says: str
    fix: str


# row: X15
@pytest.mark.parametrize(
    "case",
    [
        Case(
            SECOND._replace(state_mark="own"),
            "with another folder of states",
            "XDG_STATE_HOME",
        ),
        Case(
            SECOND._replace(folder_mark="own"), "different folder at this path", "Mount"
        ),
        Case(SECOND._replace(address="http://a:1"), "the same address", "--address"),
    ],
)
def test_a_daemon_that_does_not_fit_is_told_which_and_why(case):
    with pytest.raises(ConfigError, match=case.says) as fault:
        check_member(case.own, [FIRST])
    assert "11 on a" in fault.value.what
    assert case.fix in fault.value.fix


@pytest.mark.parametrize(
    "own",
    [
        SECOND,
        SECOND._replace(folder="/mnt/vaults"),
        SECOND._replace(folder="/srv/others", folder_mark="o", state_mark="o"),
    ],
)
def test_daemons_of_one_folder_and_of_another_fleet_fit(own):
    check_member(own, [FIRST])


# row: X15
def test_a_daemon_sees_those_that_live(postgres):
    with closing(LeaseKeeper(postgres)) as keeper:
        tables = [MemberTable(keeper, one) for one in (FIRST, SECOND)]
        assert known(tables[0].join()) == []
        assert known(tables[1].join()) == [FIRST]
        again = MemberTable(keeper, FIRST._replace(pid=99))
        assert known(again.join()) == [SECOND]
        again.leave()
        with pytest.raises(ConfigError, match="with another folder of states"):
            MemberTable(keeper, FIRST._replace(state_mark="own")).join()
        with keeper.transaction() as db:
            db.execute("UPDATE daemon SET until = now()")
        assert known(again.join()) == []
        tables[1].leave()
        again.leave()


def known(others):
    """Leave out what other tests left in the database."""
    return [one for one in others if one.host in "ab"]


def test_the_states_are_told_apart_by_their_key(tmp_path):
    here = this_member("http://a:1", tmp_path, "k" * 64)
    assert here == this_member("http://a:1", tmp_path, "k" * 64)
    assert here.state_mark != this_member("http://a:1", tmp_path, "l" * 64).state_mark
    assert "kkk" not in here.state_mark
    (tmp_path / "other").mkdir()
    other = this_member("http://a:1", tmp_path / "other", "k" * 64)
    assert other.folder_mark != here.folder_mark
