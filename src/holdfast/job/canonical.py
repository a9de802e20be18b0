"""What of a job can change a bit of its model, in one spelling, and the fingerprint of that."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FORMAT = 1
CANNOT_CHANGE_A_BIT = ("name", "checkpoint", "crew")


def canonical(resolved: Mapping[str, Any], base_dir: Path) -> bytes:
    """Sorted, compact JSON. Code in files beside the job counts by content, live objects by theirs."""
    sections = {name: value for name, value in resolved.items() if name not in CANNOT_CHANGE_A_BIT}
    said = {
        "format": FORMAT,
        **sections,
        "model": _without_address(sections["model"], "use", "identity"),
        "data": _without_address(sections["data"], "use", "identity"),
        "train": _without_address(sections["train"], "loss", "loss_identity"),
        "files": dict(_files(sections, base_dir)),
    }
    return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def fingerprint(canonical: bytes) -> str:
    return hashlib.sha256(canonical).hexdigest()[:16]


def _without_address(section: Mapping[str, Any], use: str, identity: str) -> dict[str, Any]:
    """Where an object was found says nothing once its content is known."""
    return {key: value for key, value in section.items() if key != use or section[identity] is None}


def _files(sections: Mapping[str, Any], base_dir: Path) -> Iterator[tuple[str, str]]:
    uses = [
        (sections["model"]["use"], sections["model"]["identity"]),
        (sections["data"]["use"], sections["data"]["identity"]),
        (sections["train"]["loss"], sections["train"]["loss_identity"]),
        (sections["optimizer"].get("use", ""), None),
    ]
    for use, identity in uses:
        name, _, _ = use.rpartition(":")
        if identity is None and name.endswith(".py") and (base_dir / name).is_file():
            yield name, hashlib.sha256((base_dir / name).read_bytes()).hexdigest()
