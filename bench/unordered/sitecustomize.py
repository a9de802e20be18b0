"""Holdfast's workers with an unordered sum: each adds its own partial first, the others' as they lie.

Python imports this by itself when the folder is on PYTHONPATH, before anything else. It exists to price the canonical
order: the rest of the engine is the same.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any

_PATCHED = "holdfast.step.apply"


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the one module as usual, and changes it once it is loaded."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        if name != _PATCHED:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert isinstance(spec.loader, importlib.machinery.SourceFileLoader)
        load = spec.loader.exec_module

        def load_and_patch(module: ModuleType) -> None:
            load(module)
            _unorder(module)

        spec.loader.exec_module = load_and_patch  # type: ignore[method-assign]
        return spec


def _unorder(apply: ModuleType) -> None:
    def plan(self: Any, partials: Any, samples: int) -> None:
        room = self._memory.layout.room
        own = range(self._seat * room.slots_per_seat, (self._seat + 1) * room.slots_per_seat)
        slots = sorted(partials.values(), key=lambda slot: slot not in own)
        self._samples = samples
        self._plan = [slots[0], *(item for slot in slots[1:] for item in (slot, None))]

    apply.Applier.plan = plan


sys.meta_path.insert(0, _Finder())
