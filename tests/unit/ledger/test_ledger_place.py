import os
from pathlib import Path

import pytest

from holdfast.errors import LedgerError
from holdfast.ledger import Ledger, home
from holdfast.ledger.place import filesystem, prepare, refuse_network

MOUNTS = """\
/dev/vda / ext4 rw 0 0
tmpfs /scratch tmpfs rw 0 0
server:/home /home nfs4 rw 0 0
/dev/vdb /home/local xfs rw 0 0
me@host:/x /mnt/my\\040disk fuse.sshfs rw 0 0
overlay /over fuse.fuse-overlayfs rw 0 0
//nas/share /nas cifs rw 0 0
tmpfs /twice tmpfs rw 0 0
server:/t /twice nfs rw 0 0
"""


def test_home_is_named_by_the_environment_or_is_in_the_users_directory(monkeypatch):
    monkeypatch.setenv("HOLDFAST_HOME", "~/elsewhere")
    assert home() == Path.home() / "elsewhere"
    monkeypatch.setenv("HOLDFAST_HOME", "relative")
    assert home() == Path.cwd() / "relative"
    monkeypatch.delenv("HOLDFAST_HOME")
    assert home() == Path.home() / ".holdfast"


def test_the_ledger_is_opened_at_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "a" / "b"))
    with Ledger.open() as ledger:
        assert ledger.home == tmp_path / "a" / "b"
    assert (tmp_path / "a" / "b" / "ledger.db").is_file()


def test_only_the_owner_may_look_in(tmp_path):
    place = prepare(tmp_path / "home")
    assert place.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/home/me/.holdfast", "nfs4"),
        ("/home", "nfs4"),
        ("/home/local/me", "xfs"),
        ("/homely", "ext4"),
        ("/mnt/my disk/h", "fuse.sshfs"),
        ("/twice/h", "nfs"),
    ],
)
def test_the_deepest_and_latest_mount_decides(place, kind):
    assert filesystem(Path(place), MOUNTS) == kind


@pytest.mark.parametrize("place", ["/home/me", "/mnt/my disk/h", "/nas/me", "/twice"])
def test_a_network_file_system_is_refused(place):
    with pytest.raises(LedgerError, match=r"on a network file system \(.*HOLDFAST_HOME to a local"):
        refuse_network(Path(place), MOUNTS)


@pytest.mark.parametrize("place", ["/home/local/me", "/root", "/over/me", "/scratch/me"])
def test_a_local_file_system_is_not(place):
    refuse_network(Path(place), MOUNTS)


def test_a_home_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match="cannot be made"):
        Ledger.open(tmp_path / "file")


def test_a_home_that_cannot_be_made_is_refused():
    with pytest.raises(LedgerError, match=r"cannot be made .* set HOLDFAST_HOME"):
        Ledger.open(Path("/proc/holdfast"))


def test_a_read_only_home_is_refused(tmp_path, monkeypatch):
    # Root may write anywhere, so the system's answer is given for it.
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    with pytest.raises(LedgerError, match="is read-only; set HOLDFAST_HOME"):
        Ledger.open(tmp_path)
