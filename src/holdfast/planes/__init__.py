"""Bytes between processes: shared memory with its words and barriers, and channels for control messages."""
