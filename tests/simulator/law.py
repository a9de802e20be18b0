"""What must hold whatever happens; each breach is an AssertionError."""

from typing import TYPE_CHECKING

from wire import Message

from holdfast.run import duty as d
from holdfast.run import events as e
from holdfast.run.roster import Roster
from holdfast.run.view import View
from holdfast.step.places import Header

if TYPE_CHECKING:
    from captaincy import Captaincy
    from world import World

_SURELY_S = 20.0
"""With this patience, no delay of the simulator's makes somebody seem dead who works."""
_MENDED_S = 30.0
"""So long after the last message that did not come through, all has been told again."""


class Law:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._accepted: dict[int, set[int]] = {}
        self._proposed: dict[int, View] = {}
        self._committed: dict[int, View] = {}
        self._lost: set[int] = set()
        self._seats: dict[int, int] = {}
        self._epoch = 0
        self._spawned = 0
        self._last_step: tuple[int, int] = (-1, 0)
        self._progress: tuple[int, float] = (0, 0.0)
        self._bound_s = bound_s(world.plan.patience_s)

    def heed(self, event: e.Event) -> None:
        """Called before the captain handles it."""
        match event:
            case e.Accepted(worker, epoch):
                self._accepted.setdefault(epoch, set()).add(worker)
            case e.Lost(worker):
                self._lost.add(worker)

    def judge(self, actions: list[e.Action], captaincy: "Captaincy") -> None:
        """Called before they are carried out, since a captain that dies meanwhile has written down what it decided.

        What a captain of the past does must do no harm, but it may do it.
        """
        roster = captaincy.captain.roster
        recount = Roster(roster.seats, roster.members)
        assert (roster.num_able, roster.staying) == (recount.num_able, recount.staying), "the roster is wrong"
        assert roster.seated == recount.seated, "the roster is wrong about seats"
        if captaincy is self._world.captaincy:
            for action in actions:
                self._judge(action, captaincy)

    def _judge(self, action: e.Action, captaincy: "Captaincy") -> None:
        match action:
            case e.Spawn(worker):
                self._judge_spawn(worker)
            case e.Propose(view):
                self._judge_proposal(view)
            case e.Commit(view):
                self._judge_commit(view)
            case e.Kill(worker):
                self._judge_kill(worker, captaincy)

    def judge_moment(self) -> None:
        """Called after every event."""
        world = self._world
        writers = {w.writes_under for w in world.hands if w.writes_under is not None}
        assert len(writers) <= 1, f"workers of the epochs {writers} write at once"
        step, since = self._progress
        if world.shared.step > step or world.now <= world.plan.until_s:
            self._progress = world.shared.step, world.now
        elif world.now - since > self._bound_s:
            raise AssertionError(f"step {step} has not ended {self._bound_s:g} s after the last fault")

    def judge_work(self, view: View) -> None:
        """A worker goes to work under this view."""
        assert self._committed.get(view.epoch) == view, f"{view} was never committed, and is worked under"

    def judge_answer(self, message: Message, answer: list[d.Action]) -> None:
        """What a captain of the past says is not even answered."""
        old = message["term"] < self._world.shared.header[Header.TERM]
        assert not (old and answer), f"a message of an old term is answered: {message}"

    def judge_step(self, step: int, view: View) -> None:
        """A step is done by the crew of one view, and by each member in the same order."""
        assert view.epoch >= self._last_step[1], f"step {step} is done under {view.epoch}, an epoch of the past"
        assert step >= self._last_step[0], f"step {step} is done after step {self._last_step[0]}"
        self._last_step = step, view.epoch

    def judge_end(self, end: e.End) -> None:
        world = self._world
        if end.status != "failed":
            writers = [worker.number for worker in world.hands if worker.writes_under is not None]
            assert not writers, f"the state is saved while {writers} change it"
        if end.status == "finished":
            assert world.shared.step == world.plan.steps
        elif end.status == "stopped":
            assert world.stopping
            assert world.shared.step > 0
        elif not world.plan.strangers and not world.plan.has("fail"):
            assert world.captain.deaths > world.terms.restarts, "the run failed within its budget of restarts"
            assert len(world.captain.members) < world.terms.at_least, "the run failed with enough workers left"

    def _judge_spawn(self, worker: int) -> None:
        self._spawned += 1
        assert worker not in self._lost
        staying = [number for number, member in self._world.captain.members.items() if not member.leaving]
        assert len(staying) <= self._world.captain.target, "there are more workers than were asked for"
        most = self._world.terms.workers + self._world.terms.restarts + self._world.strikes.granted
        assert self._spawned <= most, "more workers were replaced than crew.restarts allows"

    def _judge_proposal(self, view: View) -> None:
        assert view.epoch > self._epoch, "an epoch came twice"
        self._epoch = view.epoch
        self._proposed[view.epoch] = view
        assert view.members or self._world.captain.paused
        dead = self._lost & {worker for worker, _ in view.members}
        assert not dead, f"the dead {dead} are in a new view"
        for worker, seat in view.members:
            assert self._seats.setdefault(worker, seat) == seat, f"worker {worker} changed its seat"
            assert 0 <= seat < self._world.terms.seats
        held = [member.seat for member in self._world.captain.members.values() if member.seat is not None]
        assert len(held) == len(set(held)), f"two living workers share a seat: {held}"
        replicas = self._world.plan.replicas
        dealt = [replica for rank in range(len(view.members)) for replica in view.replicas(replicas, rank)]
        assert dealt == list(range(replicas if view.members else 0)), f"{view} deals out {dealt}"

    def _judge_commit(self, view: View) -> None:
        assert view.epoch not in self._committed, "an epoch was committed twice"
        assert view.epoch == self._epoch, "an old epoch was committed"
        assert self._proposed.get(view.epoch) == view, "what is committed was not proposed"
        missing = {worker for worker, _ in view.members} - self._accepted.get(view.epoch, set())
        assert not missing, f"{missing} had not accepted epoch {view.epoch}"
        self._committed[view.epoch] = view

    def _judge_kill(self, worker: int, captaincy: "Captaincy") -> None:
        """However slow a worker, and however the clock jumps, nobody is killed who works and is to stay."""
        assert worker in captaincy.captain.members, f"worker {worker} is killed, and it is gone already"
        process = captaincy.processes.get(worker)
        if process is None or not process.alive or process.hung_at is not None:
            return
        captain = captaincy.captain
        has_had_grace = captain.time - captain.leaving.get(worker, captain.time) > captain.terms.grace_s
        if captain.members[worker].doomed and self._world.plan.patience_s >= _SURELY_S and not has_had_grace:
            is_disturbed = self._world.now - process.disturbed_at < _MENDED_S
            assert is_disturbed, f"worker {worker} is killed, and nothing was wrong with it"


def bound_s(patience_s: float) -> float:
    """How long it may take from the last fault to the end of the step that is under way, and from there to the next.

    At worst there is no captain; the next one finds that a member hangs, then that somebody does not agree to a view
    without it, then waits for a first view, and what is said last is lost and told again at the longest interval.
    """
    captain, pause, build, respawn, told_again = 15.0, 20.0, 15.0, 10.0, 16.0
    return captain + pause + 3 * patience_s + build + respawn + told_again
