"""Where the ledger lives, and which places it refuses."""

import os
import re
from pathlib import Path

from holdfast.errors import LedgerError

# SQLite's locks and its shared-memory index are not safe on these; a corrupt ledger would be the price.
_NETWORK_TYPES = {
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "smb3",
    "smbfs",
}
_NETWORK_FUSE = {
    "ceph-fuse",
    "cephfs",
    "curlftpfs",
    "davfs2",
    "gcsfuse",
    "glusterfs",
    "goofys",
    "juicefs",
    "mount-s3",
    "rclone",
    "s3fs",
    "smbnetfs",
    "sshfs",
}


def home() -> Path:
    """The directory of the ledger: `$HOLDFAST_HOME`, or `~/.holdfast`; not created by this."""
    named = os.environ.get("HOLDFAST_HOME")
    return Path(named).expanduser().absolute() if named else Path.home() / ".holdfast"


def prepare(place: Path) -> Path:
    """Creates the directory, readable by its owner only, and refuses one that cannot hold a ledger safely."""
    refuse_network(place, Path("/proc/mounts").read_text())
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(
            f"the home {place} cannot be made ({error.strerror}); set HOLDFAST_HOME to a writable directory"
        ) from error
    if not os.access(place, os.W_OK | os.X_OK):
        raise LedgerError(f"the home {place} is read-only; set HOLDFAST_HOME to a writable directory")
    return place


def refuse_network(place: Path, mounts: str) -> None:
    """Raises if `place` is on a network file system according to `mounts`, the text of /proc/mounts."""
    kind = filesystem(place, mounts)
    if kind in _NETWORK_TYPES or kind.removeprefix("fuse.") in _NETWORK_FUSE:
        raise LedgerError(
            f"the home {place} is on a network file system ({kind}), where SQLite's locks are not safe; "
            "set HOLDFAST_HOME to a local directory"
        )


def filesystem(place: Path, mounts: str) -> str:
    """The type of the file system that holds `place`, existing or not; empty if no mount point covers it."""
    real = place.resolve()
    best, kind = Path(), ""
    for line in mounts.splitlines():
        _, raw_point, point_kind, *_ = line.split(" ")
        point = Path(_unescaped(raw_point))
        # At equal length the later line wins: it was mounted over the earlier one.
        if real.is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, point_kind
    return kind


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)
