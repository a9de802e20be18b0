"""What must hold whatever happens; each breach is an AssertionError."""

from typing import TYPE_CHECKING

from holdfast.run import events as e
from holdfast.run.view import View

if TYPE_CHECKING:
    from captaincy import Captaincy
    from world import World


class Law:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._accepted: dict[int, set[int]] = {}
        self._committed: dict[int, View] = {}
        self._lost: set[int] = set()
        self._seats: dict[int, int] = {}
        self._epoch = 0
        self._spawned = 0
        self._last_step: tuple[int, int] = (-1, 0)

    def heed(self, event: e.Event) -> None:
        """Called before the captain handles it."""
        match event:
            case e.Accepted(worker, epoch):
                self._accepted.setdefault(epoch, set()).add(worker)
            case e.Lost(worker):
                self._lost.add(worker)

    def judge(self, action: e.Action, captaincy: "Captaincy") -> None:
        """Called before it is carried out. What a captain of the past does must do no harm, but it may do it."""
        if captaincy is not self._world.captaincy:
            return
        match action:
            case e.Spawn(worker):
                self._judge_spawn(worker)
            case e.Propose(view):
                self._judge_proposal(view)
            case e.Commit(view):
                self._judge_commit(view)
            case e.Kill(worker):
                assert worker in captaincy.captain.members, f"worker {worker} is killed, and it is gone already"

    def judge_writers(self) -> None:
        writers = {w.writes_under for w in self._world.hands if w.writes_under is not None}
        assert len(writers) == 1, f"workers of the epochs {writers} write at once"
        assert writers <= set(self._committed), f"epoch {writers} was never committed, and somebody works under it"

    def judge_step(self, step: int, view: View | None) -> None:
        """A step is done by the crew of one view, and by each member in the same order."""
        assert view is not None
        assert view.epoch >= self._last_step[1], f"step {step} is done under {view.epoch}, an epoch of the past"
        assert step >= self._last_step[0], f"step {step} is done after step {self._last_step[0]}"
        self._last_step = step, view.epoch

    def judge_end(self, end: e.End) -> None:
        world = self._world
        if end.status != "failed":
            writers = [worker.number for worker in world.hands if worker.writes_under is not None]
            assert not writers, f"the state is saved while {writers} change it"
        if end.status == "finished":
            assert world.step == world.steps
        elif end.status == "stopped":
            assert world.stopping
            assert world.step > 0
        elif not world.faults.failed:
            assert world.captain.deaths > world.terms.restarts, "the run failed within its budget of restarts"
            assert len(world.captain.members) < world.terms.at_least, "the run failed with enough workers left"

    def _judge_spawn(self, worker: int) -> None:
        self._spawned += 1
        assert worker not in self._lost
        staying = [number for number, member in self._world.captain.members.items() if not member.leaving]
        assert len(staying) <= self._world.captain.target, "there are more workers than were asked for"
        most = self._world.terms.workers + self._world.terms.restarts + self._world.faults.granted
        assert self._spawned <= most, "more workers were replaced than crew.restarts allows"

    def _judge_proposal(self, view: View) -> None:
        assert view.epoch > self._epoch, "an epoch came twice"
        self._epoch = view.epoch
        assert view.members or self._world.captain.paused
        dead = self._lost & {worker for worker, _ in view.members}
        assert not dead, f"the dead {dead} are in a new view"
        for worker, seat in view.members:
            assert self._seats.setdefault(worker, seat) == seat, f"worker {worker} changed its seat"
            assert 0 <= seat < self._world.terms.seats
        held = [member.seat for member in self._world.captain.members.values() if member.seat is not None]
        assert len(held) == len(set(held)), f"two living workers share a seat: {held}"

    def _judge_commit(self, view: View) -> None:
        assert view.epoch not in self._committed, "an epoch was committed twice"
        assert view.epoch == self._epoch, "an old epoch was committed"
        missing = {worker for worker, _ in view.members} - self._accepted.get(view.epoch, set())
        assert not missing, f"{missing} had not accepted epoch {view.epoch}"
        self._committed[view.epoch] = view
