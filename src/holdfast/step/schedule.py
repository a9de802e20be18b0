"""The learning rate of a step: a pure function of the step's number, so that it needs no state."""

import math

from holdfast.job import AnySchedule, Cosine, Linear, OneCycle, StepDecay


def factor(spec: AnySchedule, step: int, steps: int) -> float:
    """What to multiply the learning rate with in `step` (from 0) of a run of `steps`."""
    if step < spec.warmup_steps:
        return (step + 1) / (spec.warmup_steps + 1)
    done = step - spec.warmup_steps
    progress = done / max(1, steps - spec.warmup_steps - 1)
    match spec:
        case Cosine():
            return _cosine(1.0, spec.min_ratio, progress)
        case Linear():
            return 1.0 + (spec.min_ratio - 1.0) * progress
        case StepDecay():
            return float(spec.gamma ** (done // spec.every_steps))
        case OneCycle():
            return _one_cycle(spec, progress)
        case _:
            return 1.0


def _one_cycle(spec: OneCycle, progress: float) -> float:
    if progress < spec.peak_at:
        return _cosine(spec.start_ratio, 1.0, progress / spec.peak_at)
    return _cosine(1.0, spec.end_ratio, (progress - spec.peak_at) / (1.0 - spec.peak_at))


def _cosine(start: float, end: float, progress: float) -> float:
    return end + (start - end) * (1.0 + math.cos(math.pi * progress)) / 2.0
