"""`holdfast check`: what a job would be, before it costs anything."""

from typing import TYPE_CHECKING, Any

from holdfast.cli.arguments import JobRef, Json, Sets, Workers, changes

if TYPE_CHECKING:
    from holdfast.job import Job


def check(job: JobRef, sets: Sets = None, workers: Workers = None, as_json: Json = False) -> None:
    """Validate a job, load its data and build its model; print it resolved, with its fingerprint and its needs."""
    from holdfast.cli.printed import print_json
    from holdfast.job import load_job

    loaded = load_job(job, changes(sets, workers))
    found = _measured(loaded)
    if as_json:
        print_json({"job": loaded.resolved(), **found})
    else:
        print(loaded.to_toml())
        for line in _lines(found):
            print(f"# {line}")
    _refuse_too_large(found)


def _measured(job: "Job") -> dict[str, Any]:
    from holdfast.planes.arena import available_memory
    from holdfast.run.work import build_work

    work = build_work(job, job.objects)
    layout = work.layout()
    workers = job.crew.workers.start
    needed, available = layout.resident_bytes + workers * layout.slot_bytes, available_memory()
    return {
        "fingerprint": job.fingerprint,
        "parameters": work.shapes.parameter_count,
        "workers": workers,
        "steps": work.steps,
        "train_samples": len(work.dataset.train),
        "test_samples": 0 if work.dataset.test is None else len(work.dataset.test),
        "memory_bytes": needed,
        "available_bytes": available,
        "fits": needed <= available,
    }


def _lines(found: dict[str, Any]) -> list[str]:
    from holdfast.cli.printed import size

    memory, available = size(found["memory_bytes"]), size(found["available_bytes"])
    fits = "fits" if found["fits"] else "does not fit"
    workers = f"{found['workers']} worker{'s' * (found['workers'] != 1)}"
    return [
        f"fingerprint  {found['fingerprint']}",
        f"model        {found['parameters']:,} parameters",
        f"data         {found['train_samples']:,} samples to learn from, {found['test_samples']:,} to be judged by",
        f"steps        {found['steps']:,}",
        f"memory       {memory} shared by {workers} besides data and activations; {available} available: it {fits}",
    ]


def _refuse_too_large(found: dict[str, Any]) -> None:
    from holdfast.planes.arena import require_memory

    if not found["fits"]:
        require_memory(found["memory_bytes"], "this job")
