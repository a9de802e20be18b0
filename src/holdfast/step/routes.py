"""Short cuts for the layers whose gradients are large: linear layers and embeddings.

The user's module is not changed: only this process's copy of it is, and it computes the same function.
"""

from collections import Counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from holdfast.errors import ModelError
from holdfast.step.gradients import Sink

WORTH_WHILE = 1 << 18
"""Elements of a weight from which a call in Python costs less than the copy that it saves."""


def shorten(model: nn.Module, sink: Sink, precision: str) -> None:
    """Let large linear layers write their gradients where they belong, and embeddings send only the rows they used.

    A weight that two modules share takes the ordinary way, and so do linear layers under autocast, which
    multiply in another type.
    """
    owners = Counter(id(p) for module in model.modules() for p in module._parameters.values() if p is not None)
    for path, module in model.named_modules():
        weight = module._parameters.get("weight")
        if weight is None or not weight.requires_grad or owners[id(weight)] > 1:
            continue
        if type(module) is nn.Linear and precision == "fp32" and weight.numel() >= WORTH_WHILE:
            _write_directly(module, f"{path}.weight".lstrip("."), sink)
        elif type(module) in (nn.Embedding, nn.EmbeddingBag):
            _send_rows(path, module)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, name: str, sink: Sink) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.name, ctx.sink = name, sink
        return functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None, None]:
        x, weight = ctx.saved_tensors
        gradient = gradients[0]
        needs_x, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        of_x = gradient @ weight if needs_x else None
        rows, inputs = gradient.reshape(-1, gradient.shape[-1]), x.reshape(-1, x.shape[-1])
        written = not needs_weight or ctx.sink.write(ctx.name, rows.t(), inputs)
        of_weight = None if written else rows.t() @ inputs
        return of_x, of_weight, rows.sum(0) if needs_bias else None, None, None


def _write_directly(module: nn.Linear, name: str, sink: Sink) -> None:
    def forward(x: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return functional.linear(x, module.weight, module.bias)
        sink.used(name)
        result: Tensor = _Linear.apply(x, module.weight, module.bias, name, sink)  # type: ignore[no-untyped-call]
        return result

    module.forward = forward  # type: ignore[method-assign, assignment]


def _send_rows(path: str, module: nn.Module) -> None:
    if module.max_norm is not None:
        raise ModelError(
            f"'{path}' has max_norm = {module.max_norm}, which rewrites weights during the forward pass; "
            "leave it out and use train.clip_norm or weight_decay to keep weights small"
        )
    if not module.scale_grad_by_freq and getattr(module, "mode", "sum") != "max":
        module.sparse = True  # type: ignore[assignment]
