"""From a world in which the law is broken to a small one in which it is broken in the same way."""

import re
from collections.abc import Iterator
from dataclasses import replace

from plan import Plan
from world import World

_SEEDS = 4
"""Without a fault, all that is left to chance comes out differently; so as many chances are given to each try."""


def breach(plan: Plan) -> str | None:
    """What goes wrong in this world; None if nothing does."""
    try:
        World(plan).run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def shrunk(plan: Plan) -> Plan:
    """As few faults, and as little of everything, as the same kind of breach needs."""
    wanted, before = _kind(breach(plan)), None
    while plan != before:
        before = plan
        plan = _with_less(_with_fewer_faults(plan, wanted), wanted)
    return plan


def story(plan: Plan, small: Plan) -> str:
    """For whoever has to find out why."""
    faults = "".join(f"\n    {fault}," for fault in small.faults)
    shown = repr(replace(small, faults=())).replace("faults=()", f"faults=({faults}\n)")
    return f"seed {plan.seed}: {breach(plan)}\nshrunk: {breach(small)}\nreplay it with breach() of shrink.py:\n{shown}"


def _with_fewer_faults(plan: Plan, wanted: str | None) -> Plan:
    """Without a half of them, a quarter, down to single ones, as long as it goes wrong in the same way."""
    size = len(plan.faults)
    while size:
        start = 0
        while start < len(plan.faults):
            left = plan.faults[:start] + plan.faults[start + size :]
            smaller = _still_wrong(replace(plan, faults=left), wanted)
            plan, start = (smaller, start) if smaller else (plan, start + size)
        size //= 2
    return plan


def _with_less(plan: Plan, wanted: str | None) -> Plan:
    for lesser in _lesser(plan):
        smaller = _still_wrong(lesser, wanted)
        if smaller:
            return _with_less(smaller, wanted)
    return plan


def _still_wrong(plan: Plan, wanted: str | None) -> Plan | None:
    for seed in range(plan.seed, plan.seed + _SEEDS):
        tried = replace(plan, seed=seed)
        if _kind(breach(tried)) == wanted:
            return tried
    return None


def _lesser(plan: Plan) -> Iterator[Plan]:
    if plan.steps > 1:
        yield replace(plan, steps=plan.steps // 2)
    if plan.workers > 1:
        yield replace(plan, workers=plan.workers - 1, at_least=min(plan.at_least, plan.workers - 1))
    if plan.replicas > plan.workers:
        yield replace(plan, replicas=plan.replicas - 1)
    if plan.at_least > 1:
        yield replace(plan, at_least=1)
    if plan.restarts:
        yield replace(plan, restarts=plan.restarts // 2)


def _kind(what: str | None) -> str | None:
    """Which worker, epoch or step it is does not matter."""
    return None if what is None else re.sub(r"\d[\d.]*|\[.*\]|\{.*\}", "#", what)
