"""How gradients get from autograd into shared memory without a detour.

Autograd would allocate every gradient, and somebody would copy it. Instead each parameter's gradient goes to its place
in a slot as soon as it is known: linear layers multiply straight into it, embeddings touch only the rows that they
used, and all else is copied while it is still in the cache.

Whatever the path, a replica's gradient is complete before it is added to another's: x + (a + b), never (x + a) + b.
That keeps the sum independent of which replicas one worker happened to hold.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from holdfast.step.memory import Memory

Rows = Tensor


class Conflict(Exception):
    """A parameter that was written directly got another gradient as well; it is not written directly from now on."""


class Sink:
    """Takes the gradients of one model in one process: `begin`, `backward`, `finish`, for each replica anew."""

    def __init__(self, model: nn.Module, memory: Memory) -> None:
        self._memory = memory
        self._entries = {entry.name: entry for entry in memory.layout.shapes.trainable}
        self._views: dict[int, dict[str, Tensor]] = {}
        self._rows: dict[tuple[int, str], Rows] = {}
        self._written: set[str] = set()
        self._indirect: set[str] = set()
        self._scratch: dict[torch.Size, Tensor] = {}
        self._uses: dict[str, int] = {}
        self._open = False
        self._adding = False
        self._slot = 0
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(self._hook(name))  # type: ignore[no-untyped-call]

    def begin(self, slot: int, adding: bool) -> None:
        """Send the next replica's gradient to the slot, in place of what is there or added to it."""
        self._slot = slot
        self._adding = adding
        self._written.clear()
        self._uses.clear()
        if slot not in self._views:
            gradient = self._memory.slot(slot).gradient
            self._views[slot] = {
                name: gradient[entry.offset : entry.offset + entry.size].view(entry.shape)
                for name, entry in self._entries.items()
            }

    def backward(self, loss: Tensor) -> None:
        self._open = True
        try:
            loss.backward()  # type: ignore[no-untyped-call]
        finally:
            self._open = False

    def finish(self) -> None:
        """Parameters that the loss does not depend on have a gradient of zero."""
        for name in self._entries.keys() - self._written:
            if self._adding:
                self._views[self._slot][name].add_(0.0)
            else:
                self._replace_rows(name, None)

    def merge(self, into: int, other: int) -> None:
        """Add the slot `other` to the slot `into`."""
        self._memory.slot(into).gradient.add_(self._memory.slot(other).gradient)
        for name in self._entries:
            self._join_rows(into, name, self._rows.get((other, name)))

    def write(self, name: str, left: Tensor, right: Tensor) -> bool:
        """Multiply into the parameter's place; False when it must take the ordinary way."""
        if not self._open or name in self._indirect or self._uses.get(name, 0) != 1:
            return False
        view = self._views[self._slot][name]
        self._rows.pop((self._slot, name), None)
        if self._adding:
            view.add_(torch.mm(left, right, out=self._scratch_of(view)))
        else:
            torch.mm(left, right, out=view)
        self._written.add(name)
        return True

    def used(self, name: str) -> None:
        self._uses[name] = self._uses.get(name, 0) + 1

    def _hook(self, name: str) -> Callable[[Tensor], None]:
        def take(parameter: Tensor) -> None:
            gradient, parameter.grad = parameter.grad, None
            if gradient is None or not self._open:
                return
            if name in self._written:
                self._indirect.add(name)
                raise Conflict(name)
            self._written.add(name)
            self._take(name, gradient)

        return take

    def _take(self, name: str, gradient: Tensor) -> None:
        view = self._views[self._slot][name]
        if gradient.is_sparse:
            self._take_rows(name, gradient.coalesce())
        else:
            self._rows.pop((self._slot, name), None)
            view.add_(gradient) if self._adding else view.copy_(gradient)

    def _take_rows(self, name: str, gradient: Tensor) -> None:
        # Adding 0.0 turns -0.0 into 0.0, so rows that only one side has are the same whether or not zeros were added.
        rows, values = gradient.indices()[0], gradient.values() + 0.0
        if self._adding:
            self._views[self._slot][name].index_add_(0, rows, values)
            self._join_rows(self._slot, name, rows)
        else:
            self._replace_rows(name, rows)
            self._views[self._slot][name].index_copy_(0, rows, values)

    def _replace_rows(self, name: str, rows: Rows | None) -> None:
        """Make the place zero; only the rows that are known to be touched need it."""
        view, key = self._views[self._slot][name], (self._slot, name)
        old = self._rows.pop(key, None)
        if old is None:
            view.zero_()
        else:
            view.index_fill_(0, old, 0.0)
        self._rows[key] = torch.empty(0, dtype=torch.int64) if rows is None else rows

    def _join_rows(self, slot: int, name: str, rows: Rows | None) -> None:
        key = (slot, name)
        if key in self._rows and rows is not None:
            self._rows[key] = torch.cat([self._rows[key], rows])
        else:
            self._rows.pop(key, None)

    def _scratch_of(self, view: Tensor) -> Tensor:
        if view.shape not in self._scratch:
            self._scratch[view.shape] = torch.empty_like(view)
        return self._scratch[view.shape]
