"""Adam in one pass over memory: each stretch is saved to the undo log, then updated, while it is in the nearest cache.

Copying a piece to the log and then calling torch's kernel takes nearly twice as long as the kernel alone. Here the log
is as short as a stretch and never leaves the cache (docs/decisions/0006).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from holdfast.step.rules import STRETCH

_ARRAY = "float32[::1]"
_SIGNATURE = f"void({', '.join([_ARRAY] * 8)}, uint64[::1], uint64, boolean, {', '.join(['float32'] * 9)})"


@intrinsic  # type: ignore[misc]
def _fence(_: Any) -> Any:
    """Keeps the compiler and the processor from moving stores across."""

    def generate(context: Any, builder: Any, *_: Any) -> Any:
        builder.fence("release")
        return context.get_dummy_value()

    return types.void(), generate


@njit(error_model="numpy")
def _adam(
    p: Any, gradient: Any, m: Any, v: Any, decay: Any, a1: Any, b2: Any, a2: Any, rate: Any, root: Any, eps: Any
) -> Any:
    first = m + a1 * (gradient - m)
    second = b2 * v + a2 * gradient * gradient
    return first, second, decay * p - rate * first / (np.sqrt(second) * root + eps)


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
    begin: Any,
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
    # Indices without a sign, and no slices: either would cost more here than the arithmetic does.
    size, start = np.uint64(p.size), np.uint64(begin)
    is_short = old_p.size < p.size
    while start < size:
        stop = min(size, start + np.uint64(STRETCH))
        shift = start if is_short else np.uint64(0)
        for i in range(start, stop):
            old_p[i - shift] = p[i]
        for i in range(start, stop):
            old_m[i - shift] = m[i]
        for i in range(start, stop):
            old_v[i - shift] = v[i]
        # Whoever dies from here on leaves the stretch that ends here torn, and its old values in the log.
        _fence()  # type: ignore[call-arg]
        saved[0] = stop
        _fence()  # type: ignore[call-arg]
        if is_sum:
            for i in range(start, stop):
                gradient = (left[i] + right[i]) * scale + l2 * p[i]
                m[i], v[i], p[i] = _adam(p[i], gradient, m[i], v[i], decay, a1, b2, a2, rate, root, eps)
        else:
            for i in range(start, stop):
                gradient = left[i] * scale + l2 * p[i]
                m[i], v[i], p[i] = _adam(p[i], gradient, m[i], v[i], decay, a1, b2, a2, rate, root, eps)
        start = stop


def _compiled(function: Callable[..., None]) -> Callable[..., None]:
    """Compiled once per machine, where there is a place to keep the result."""
    try:
        compiled = njit(_SIGNATURE, cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:
        compiled = njit(_SIGNATURE, nogil=True, error_model="numpy")(function)
    return compiled  # type: ignore[no-any-return]


sweep = _compiled(_sweep)
"""`sweep(parameters, left, right, m, v, log of the three, saved, begin, is_sum, scale, …)`: updates in place, from the
element `begin` on, by the gradient `scale * left`, or `scale * (left + right)` if `is_sum`.

Every element is on its own, and every operation is rounded as IEEE 754 says, so nothing depends on where a sweep
begins or which loop an element goes through.
"""
