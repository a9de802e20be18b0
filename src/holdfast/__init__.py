"""Holdfast: distributed training that gives the same model, to the bit, on any crew of workers."""

__version__ = "0.1.0"
