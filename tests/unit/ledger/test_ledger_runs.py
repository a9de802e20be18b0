import math
import re

import pytest

from holdfast.errors import LedgerError
from holdfast.ledger import CheckpointRow, Event, Metric
from holdfast.ledger.checkpoints import CheckpointInfo


def add_run(ledger, name, **changes):
    created = ledger.create_run(name, job={}, fingerprint="f", environment={}, workers=1, steps_total=1, **changes)
    return created.id


def test_a_run_comes_back_as_it_was_created(ledger, run):
    assert ledger.run(run.id) == run
    assert (run.status, run.steps_done, run.created) == ("starting", 0, 1_800_000_000.0)


def test_an_id_is_readable_and_ids_sort_by_creation(ledger, clock):
    ids = []
    for _ in range(3):
        ids += [add_run(ledger, "My Digits! 2"), add_run(ledger, "My Digits! 2")]
        clock.now += 100
    assert ids == sorted(set(ids))
    assert all(re.fullmatch(r"my-digits-2-[0-9a-z]{6}", one) for one in ids)


def test_a_name_without_letters_still_gets_an_id(ledger):
    assert re.fullmatch(r"run-[0-9a-z]{6}", add_run(ledger, "???"))


def test_last_is_the_newest(ledger, clock):
    add_run(ledger, "zebra")
    clock.now += 1
    newest = add_run(ledger, "ant")
    assert ledger.run("last").id == newest
    assert [one.name for one in ledger.runs()] == ["ant", "zebra"]
    assert [one.name for one in ledger.runs(limit=1)] == ["ant"]


def test_last_of_none_says_how_to_make_one(ledger):
    with pytest.raises(LedgerError, match="there is no run yet"):
        ledger.run("last")


def test_a_unique_prefix_is_enough(ledger, run):
    add_run(ledger, "gpt")
    assert ledger.run("dig") == run


def test_an_id_that_begins_another_is_not_ambiguous(ledger, run):
    longer = add_run(ledger, run.id)
    assert ledger.run(run.id) == run
    assert ledger.run(longer).id == longer


def test_an_ambiguous_prefix_names_the_candidates(ledger):
    first, second = add_run(ledger, "digits"), add_run(ledger, "digits")
    with pytest.raises(LedgerError, match=f"`dig` could be any of 2 .*{second}.*{first}"):
        ledger.run("dig")


def test_an_unknown_run_is_hinted_at(ledger, run):
    mistyped = run.id.replace("digits", "digist")
    with pytest.raises(LedgerError, match=f"no run `{mistyped}`; did you mean `{run.id}`"):
        ledger.run(mistyped)
    with pytest.raises(LedgerError, match="no run `%`; `holdfast ps` lists"):
        ledger.run("%")


def test_update_changes_only_what_it_names(ledger, run):
    ledger.update_run(run.id, status="finished", steps_done=10, ended=5.0, result={"auc": 0.5})
    changed = ledger.run(run.id)
    assert (changed.status, changed.steps_done, changed.ended) == ("finished", 10, 5.0)
    assert (changed.result, changed.job, changed.pid) == ({"auc": 0.5}, run.job, 42)


def test_update_of_an_unknown_run_is_refused(ledger, run):
    with pytest.raises(LedgerError, match="no run `nix`"):
        ledger.update_run("nix", steps_done=1)


def test_events_are_read_from_where_one_left_off(ledger, run, clock):
    first = ledger.add_event(run.id, "view", "3 workers", step=4, worker=1, detail={"epoch": 2})
    second = ledger.add_event(run.id, "note", "plain")
    ledger.add_event(add_run(ledger, "other"), "note", "of another run")
    assert ledger.events(run.id) == [
        Event(first, run.id, clock.now, 4, "view", 1, "3 workers", {"epoch": 2}),
        Event(second, run.id, clock.now, None, "note", None, "plain", None),
    ]
    assert [one.id for one in ledger.events(run.id, after_id=first)] == [second]


def test_metrics_are_replaced_by_step_and_name(ledger, run):
    ledger.add_metrics(run.id, [(2, "loss", 0.5), (1, "loss", 1.0), (1, "auc", 0.7)])
    ledger.add_metrics(run.id, [(2, "loss", 0.25)])
    ledger.add_metrics(run.id, [])
    assert ledger.metrics(run.id, "loss") == [Metric(1, "loss", 1.0), Metric(2, "loss", 0.25)]
    assert [point.name for point in ledger.metrics(run.id)] == ["auc", "loss", "loss"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 5e-324, 0.1])
def test_every_float_comes_back_as_it_was(ledger, run, value):
    ledger.add_metrics(run.id, [(1, "loss", value)])
    (point,) = ledger.metrics(run.id)
    assert repr(point.value) == repr(value)


def test_checkpoints_are_noted_changed_and_dropped(ledger, run, tmp_path):
    infos = [CheckpointInfo(step, tmp_path / str(step), 100, 7.0, "ab") for step in (5, 10)]
    for info in infos:
        ledger.record_checkpoint(run.id, info)
    ledger.record_checkpoint(run.id, infos[1], status="bad")
    assert ledger.checkpoints(run.id) == [
        CheckpointRow(run.id, 10, str(tmp_path / "10"), 100, 7.0, "ab", "bad"),
        CheckpointRow(run.id, 5, str(tmp_path / "5"), 100, 7.0, "ab", "whole"),
    ]
    ledger.drop_checkpoint(run.id, 10)
    assert [row.step for row in ledger.checkpoints(run.id)] == [5]
