"""Curves for TensorBoard, written as its event files without importing it.

A file is a row of TFRecords: the length of the payload (8 bytes), the masked CRC-32C of that, the payload,
and the masked CRC-32C of that. A payload is a protobuf message `Event`; of its fields these are needed:

    Event    1: wall_time (double)   2: step (int64)   3: file_version (string)   5: summary (Summary)
    Summary  1: value (Value)        Value  1: tag (string)   2: simple_value (float)
"""

import itertools
import os
import socket
import struct
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_DOUBLE, _BYTES, _FLOAT, _VARINT = 1, 2, 5, 0  # protobuf's wire types
_serial = itertools.count()


class CurveWriter:
    """An event file of its own in `directory`; points are kept in memory until `flush` or `close`."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        now = time.time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}.{next(_serial)}"
        self._file = (directory / name).open("xb")
        self._file.write(_record(_event(now, 0, _field(3, _BYTES) + _sized(b"brain.Event:2"))))

    def scalar(self, name: str, value: float, step: int, wall_time: float) -> None:
        """Adds one point to the curve `name`."""
        point = _field(1, _BYTES) + _sized(name.encode()) + _field(2, _FLOAT) + _float32(value)
        summary = _field(1, _BYTES) + _sized(point)
        self._file.write(_record(_event(wall_time, step, _field(5, _BYTES) + _sized(summary))))

    def flush(self) -> None:
        """Lets readers see all points added so far."""
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _event(wall_time: float, step: int, what: bytes) -> bytes:
    return _field(1, _DOUBLE) + struct.pack("<d", wall_time) + _field(2, _VARINT) + _varint(step) + what


def _float32(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


def _field(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _sized(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _record(payload: bytes) -> bytes:
    length = struct.pack("<Q", len(payload))
    return length + _masked_crc(length) + payload + _masked_crc(payload)


def _masked_crc(content: bytes) -> bytes:
    crc = _crc32c(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _crc32c(content: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ _CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _crc_of_byte(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)  # Castagnoli's polynomial, reflected
    return byte


_CRC_TABLE = [_crc_of_byte(byte) for byte in range(256)]
