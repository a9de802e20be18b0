"""Optimizers that must see whole tensors (Muon, Adafactor and the like): their work is divided by tensor.

torch keeps their state in a dictionary of tensors; here those tensors lie in shared memory, so they outlive a worker.
"""

import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from holdfast.errors import JobError
from holdfast.job import TorchOptimizer
from holdfast.job.imports import resolve
from holdfast.step.rules import Moment


class WholeTensor:
    """One such optimizer. A fresh torch object is made for every update, so nothing is remembered outside `state`."""

    def __init__(self, spec: TorchOptimizer, base_dir: Path) -> None:
        self._class: Any = resolve(spec.use, base_dir)
        self._spec = spec

    def state_shapes(self, parameter: Tensor) -> dict[str, tuple[int, ...]]:
        """What it keeps for a tensor, found out by making one step of a copy."""
        probe = parameter.detach().clone()
        optimizer = self._optimizer(probe, Moment(1, 0.0, 0.0))
        self._step(optimizer, probe, torch.zeros_like(probe))
        state = optimizer.state[probe]
        for key, value in state.items():
            if not isinstance(value, Tensor) or value.dtype != torch.float32:
                raise JobError(
                    f"optimizer.use = '{self._spec.use}' keeps {key!r} as {value!r}, "
                    "and only float32 tensors can be kept safe; choose another optimizer"
                )
        return {key: tuple(value.shape) for key, value in state.items()}

    def update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Tensor], moment: Moment) -> None:
        """Change parameter and state in place; before the first step torch fills the state by its own rules."""
        optimizer = self._optimizer(parameter, moment)
        if moment.step > 1:
            optimizer.state[parameter].update(state)
        self._step(optimizer, parameter, gradient)
        for key, value in optimizer.state[parameter].items():
            if value is not state[key]:
                state[key].copy_(value)

    def _optimizer(self, parameter: Tensor, moment: Moment) -> Any:
        try:
            return self._class([parameter], lr=moment.lr, weight_decay=moment.weight_decay, **self._spec.args)
        except (TypeError, ValueError) as error:
            raise JobError(
                f"optimizer.use = '{self._spec.use}' does not take a tensor of shape {tuple(parameter.shape)} "
                f"with optimizer.args = {self._spec.args}: {error}"
            ) from None

    def _step(self, optimizer: Any, parameter: Tensor, gradient: Tensor) -> None:
        parameter.grad = gradient
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                optimizer.step()
            except (TypeError, RuntimeError) as error:
                raise JobError(f"optimizer.use = '{self._spec.use}' cannot make a step: {error}") from None
        parameter.grad = None
