"""Adam in one pass over memory: each stretch is saved to the undo log, then updated, while it is in the nearest cache.

Copying a piece to the log and then calling torch's kernel takes twice as long as the kernel alone: the copy waits for
memory, the kernel for square roots and divisions. Here one hides behind the other (docs/decisions/0006).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.core import types
from numba.extending import intrinsic

STRETCH = 256
"""Elements that are saved, then updated, at a time; part of no promise, since every element is on its own."""

_ARRAY = "float32[::1]"
_SIGNATURE = f"void({', '.join([_ARRAY] * 8)}, uint64[::1], boolean, {', '.join(['float32'] * 9)})"


@intrinsic  # type: ignore[misc]
def _fence(_: Any) -> Any:
    """Keeps the compiler and the processor from moving stores across."""

    def generate(context: Any, builder: Any, *_: Any) -> Any:
        builder.fence("release")
        return context.get_dummy_value()

    return types.void(), generate


@njit
def _copy(to: Any, of: Any) -> None:
    for i in range(of.size):
        to[i] = of[i]


@njit
def _add(to: Any, left: Any, right: Any) -> None:
    for i in range(to.size):
        to[i] = left[i] + right[i]


# Contraction lets a product and a sum be one rounding; which ones is up to the compiler, the same each time.
@njit(error_model="numpy", fastmath={"contract"})
def _update(
    p: Any,
    g: Any,
    m: Any,
    v: Any,
    scale: Any,
    decay: Any,
    l2: Any,
    a1: Any,
    b2: Any,
    a2: Any,
    rate: Any,
    root: Any,
    eps: Any,
) -> None:
    for i in range(p.size):
        gradient = g[i] * scale + l2 * p[i]
        first = m[i] + a1 * (gradient - m[i])
        second = b2 * v[i] + a2 * gradient * gradient
        m[i] = first
        v[i] = second
        p[i] = decay * p[i] - rate * first / (np.sqrt(second) * root + eps)


def _sweep(
    p: Any,
    left: Any,
    right: Any,
    m: Any,
    v: Any,
    old_p: Any,
    old_m: Any,
    old_v: Any,
    saved: Any,
    is_sum: Any,
    scale: Any,
    decay: Any,
    l2: Any,
    a1: Any,
    b2: Any,
    a2: Any,
    rate: Any,
    root: Any,
    eps: Any,
) -> None:
    total = np.empty(STRETCH, np.float32)
    for start in range(0, p.size, STRETCH):
        stop = min(p.size, start + STRETCH)
        _copy(old_p[start:stop], p[start:stop])
        _copy(old_m[start:stop], m[start:stop])
        _copy(old_v[start:stop], v[start:stop])
        # Whoever dies from here on leaves a log that is valid up to `stop`, and nothing changed behind it.
        _fence()  # type: ignore[call-arg]
        saved[0] = stop
        _fence()  # type: ignore[call-arg]
        g = total[: stop - start]
        if is_sum:
            _add(g, left[start:stop], right[start:stop])
        else:
            _copy(g, left[start:stop])
        _update(p[start:stop], g, m[start:stop], v[start:stop], scale, decay, l2, a1, b2, a2, rate, root, eps)


def _compiled(function: Callable[..., None]) -> Callable[..., None]:
    """Compiled once per machine, where there is a place to keep the result."""
    try:
        compiled = njit(_SIGNATURE, cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:
        compiled = njit(_SIGNATURE, nogil=True, error_model="numpy")(function)
    return compiled  # type: ignore[no-any-return]


sweep = _compiled(_sweep)
"""`sweep(parameters, left, right, m, v, undo of the three, saved, is_sum, scale, …)`: updates in place by the gradient
`scale * left`, or `scale * (left + right)` if `is_sum`; `saved[0]` counts the elements whose old values are in the undo
log."""
