import multiprocessing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.ledger import Ledger


def test_the_first_gets_it_and_the_second_must_wait(ledger):
    assert ledger.acquire("captain", "a", ttl_s=10, now=0) == 1
    assert ledger.acquire("captain", "b", ttl_s=10, now=9.9) is None
    assert ledger.acquire("captain", "b", ttl_s=10, now=10) == 2


def test_the_same_holder_keeps_its_term(ledger):
    assert ledger.acquire("captain", "a", ttl_s=10, now=0) == 1
    assert ledger.acquire("captain", "a", ttl_s=10, now=5) == 1
    assert ledger.lease("captain").expires == 15


def test_leases_of_other_names_are_other_leases(ledger):
    assert ledger.acquire("one", "a", ttl_s=10, now=0) == 1
    assert ledger.acquire("two", "b", ttl_s=10, now=0) == 1
    assert ledger.lease("three") is None


def test_a_woken_zombie_cannot_renew_or_release(ledger):
    old = ledger.acquire("captain", "a", ttl_s=1, now=0)
    new = ledger.acquire("captain", "b", ttl_s=1, now=2)
    assert not ledger.renew("captain", "a", old, ttl_s=1, now=2)
    assert not ledger.release("captain", "a", old)
    assert ledger.renew("captain", "b", new, ttl_s=1, now=2.5)
    assert ledger.lease("captain").expires == 3.5


def test_an_old_term_of_the_same_holder_is_refused(ledger):
    first = ledger.acquire("captain", "a", ttl_s=1, now=0)
    ledger.acquire("captain", "b", ttl_s=1, now=1)
    assert ledger.acquire("captain", "a", ttl_s=1, now=2) == 3
    assert not ledger.renew("captain", "a", first, ttl_s=1, now=2)


def test_a_released_lease_is_free_at_once_and_its_term_goes_on(ledger):
    term = ledger.acquire("captain", "a", ttl_s=1000, now=0)
    assert ledger.release("captain", "a", term)
    assert not ledger.release("captain", "a", term)
    assert ledger.acquire("captain", "a", ttl_s=1, now=1) == 2


actions = st.tuples(
    st.sampled_from(["acquire", "renew", "release"]),
    st.sampled_from("abc"),
    st.floats(0, 3),
    st.floats(0.1, 3),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(actions, max_size=25))
def test_one_holder_at_a_time_and_one_holder_per_term(tmp_path_factory, script):
    """Against a model that is written down in the plainest words."""
    holder, term, expires, now = "", 0, 0.0, 0.0
    terms = dict.fromkeys("abc", 0)
    with Ledger.open(tmp_path_factory.mktemp("home")) as ledger:
        for action, who, passes, ttl_s in script:
            now += passes
            mine = holder == who and term == terms[who]
            if action == "acquire":
                free = holder in ("", who) or expires <= now
                got = ledger.acquire("x", who, ttl_s, now)
                assert (got is not None) == free
                if free:
                    term += holder != who
                    holder, expires, terms[who] = who, now + ttl_s, term
                    assert got == term
            elif action == "renew":
                assert ledger.renew("x", who, terms[who], ttl_s, now) == mine
                expires = now + ttl_s if mine else expires
            else:
                assert ledger.release("x", who, terms[who]) == mine
                holder = "" if mine else holder


def contend(home: Path, holder: str, rounds: int) -> None:
    """At each instant creates a run, tries for the lease, and notes as a metric the term it got."""
    with Ledger.open(home, clock=lambda: 1.8e9) as ledger:
        for now in range(rounds):
            run = ledger.create_run("x", job={}, fingerprint="", environment={}, workers=1, steps_total=1).id
            term = ledger.acquire("captain", holder, ttl_s=1, now=now)
            ledger.add_metrics(run, [(now, "term", term or 0)])
            ledger.add_event(run, "try", holder)


def holders_of_term(notes):
    holders = {}
    for (point,), (event,) in notes:
        holders.setdefault(point.value, set()).add(event.text)
    return holders


def test_real_processes_share_a_new_ledger(tmp_path):
    """They race for the lease, for the ids of runs, and to write: one wins each, and no note is lost."""
    spawn = multiprocessing.get_context("spawn")
    rounds, holders = 20, "abc"
    crowd = [spawn.Process(target=contend, args=(tmp_path, one, rounds)) for one in holders]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join(60)
    assert [process.exitcode for process in crowd] == [0] * len(holders)
    with Ledger.open(tmp_path) as ledger:
        notes = [(ledger.metrics(run.id), ledger.events(run.id)) for run in ledger.runs()]
        last = ledger.lease("captain").term
    assert [(len(metrics), len(events)) for metrics, events in notes] == [(1, 1)] * rounds * len(holders)
    assert len({event.id for _, (event,) in notes}) == rounds * len(holders)
    assert {point.value for (point,), _ in notes} - {0.0} == set(range(1, last + 1))
    assert all(len(who) == 1 for term, who in holders_of_term(notes).items() if term)
