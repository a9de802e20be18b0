"""The catalogue of models, and how one is built from what a job says. Importing it does not import torch."""

from holdfast.models.catalogue import CATALOGUE, Entry
from holdfast.models.construct import build

__all__ = ["CATALOGUE", "Entry", "build"]
