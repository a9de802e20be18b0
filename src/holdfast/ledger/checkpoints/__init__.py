"""Checkpoints: directories that are whole, or are recognised as not whole. Pure standard library."""

from holdfast.ledger.checkpoints.layout import CheckpointInfo, CorruptError, Entry, Section
from holdfast.ledger.checkpoints.read import Reader, verify
from holdfast.ledger.checkpoints.shelf import Found, Rejected, newest, retain, scan, sweep
from holdfast.ledger.checkpoints.write import sync_directory, write

__all__ = [
    "CheckpointInfo",
    "CorruptError",
    "Entry",
    "Found",
    "Reader",
    "Rejected",
    "Section",
    "newest",
    "retain",
    "scan",
    "sweep",
    "sync_directory",
    "verify",
    "write",
]
