"""What is going to happen in a world: its sizes, and its faults one by one, as plain data that can be printed."""

import random
from dataclasses import dataclass
from functools import cached_property

_LONGEST_S = 30.0
_MESSAGES = ("noise", "cut", "cut_all", "reset")
_WORKERS = ("kill", "kill", "kill", "hang", "slow")
_CAPTAINS = ("captain_dies", "captain_sleeps", "captain_acts", "jump", "ledger")
_WISHES = ("scale", "drain", "leaves", "pause", "unpause", "speeds")


@dataclass(frozen=True)
class Fault:
    """`pick` chooses among what there is by then; what `amount` means depends on the kind."""

    at_s: float
    kind: str
    pick: float = 0.0
    amount: float = 0.0
    lasts_s: float = 0.0


@dataclass(frozen=True)
class Plan:
    seed: int
    replicas: int
    workers: int
    at_least: int
    restarts: int
    patience_s: float
    steps: int
    strangers: bool = False
    """The model depends on more than the job, and so is built differently each time."""
    faults: tuple[Fault, ...] = ()

    @cached_property
    def until_s(self) -> float:
        """When the last fault is over."""
        return max((fault.at_s + fault.lasts_s for fault in self.faults), default=0.0)

    def has(self, *kinds: str) -> bool:
        return any(fault.kind in kinds for fault in self.faults)


def plan_of(seed: int) -> Plan:
    """Some worlds have no faults, some many; all faults come to an end, so that the run can."""
    chance = random.Random(seed)
    replicas = chance.randint(1, 6)
    workers = chance.randint(1, replicas)
    return Plan(
        seed=seed,
        replicas=replicas,
        workers=workers,
        at_least=chance.randint(1, workers),
        restarts=chance.choice([0, 1, 3, 10, 30]),
        patience_s=chance.choice([5.0, 20.0, 60.0]),
        steps=chance.choice([1, 10, 30, 60]),
        strangers=chance.random() < 0.02,
        faults=tuple(sorted(_faults(chance, replicas), key=lambda fault: fault.at_s)),
    )


def _faults(chance: random.Random, replicas: int) -> list[Fault]:
    until_s, between_s = chance.choice([0.0, 40.0, 80.0, 200.0]), chance.choice([1.0, 3.0, 10.0])
    kinds = list(_WORKERS)
    for more, likely in ((_CAPTAINS, 0.5), (_MESSAGES, 0.5), (_WISHES, 0.6)):
        kinds += more if chance.random() < likely else ()
    if chance.random() < 0.05:
        kinds.append("fail")
    found, now = [], chance.expovariate(1.0 / between_s)
    while now < until_s:
        found.append(_fault(chance, now, chance.choice(kinds), replicas))
        now += chance.expovariate(1.0 / between_s)
    if chance.random() < 0.1:
        found.append(Fault(chance.uniform(0.0, 60.0), "stop"))
    return found


def _fault(chance: random.Random, at_s: float, kind: str, replicas: int) -> Fault:
    pick, lasts_s = chance.randrange(1000) / 1000, round(chance.uniform(1.0, _LONGEST_S), 1)
    at_s = round(at_s, 2)
    match kind:
        case "noise":
            return Fault(at_s, kind, amount=chance.choice([0.05, 0.3, 0.6]), lasts_s=lasts_s)
        case "cut" | "cut_all":
            return Fault(at_s, kind, pick, amount=chance.choice([0, 1, 2]), lasts_s=lasts_s)
        case "slow":
            return Fault(at_s, kind, pick, amount=chance.choice([10.0, 30.0, 100.0]), lasts_s=lasts_s)
        case "captain_sleeps" | "ledger":
            return Fault(at_s, kind, lasts_s=lasts_s)
        case "captain_acts":
            return Fault(at_s, kind, amount=chance.randint(1, 12))
        case "jump":
            return Fault(at_s, kind, amount=chance.choice([3.0, 100.0, 1e6]))
        case "scale":
            return Fault(at_s, kind, amount=chance.randint(1, replicas))
    return Fault(at_s, kind, pick)
