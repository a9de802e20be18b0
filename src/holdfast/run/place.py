"""The directory of a run: what its processes share besides memory. Only its owner may enter it."""

import json
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import JobError, RunError
from holdfast.faults import reached
from holdfast.job import Job
from holdfast.run.changes import Changes


@dataclass(frozen=True)
class RunPlace:
    root: Path

    @property
    def home(self) -> Path:
        return self.root.parent.parent

    @property
    def socket(self) -> Path:
        return self.root / "control.sock"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def curves(self) -> Path:
        return self.root / "curves"

    @property
    def changes(self) -> Changes:
        return Changes(self.root / "changes")

    @property
    def metrics(self) -> Path:
        return self.root / "metrics"

    @property
    def layout(self) -> Path:
        return self.root / "layout.json"

    @property
    def key(self) -> str:
        return (self.root / "key").read_text()

    @property
    def log_of_captain(self) -> Path:
        return self.logs / "captain.log"

    def log_of(self, worker: int) -> Path:
        return self.logs / f"worker-{worker}.log"

    def prepare(self, job: Job) -> None:
        """Write down the job and what its processes need to load it; the job last, so where it is, all is."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.logs.mkdir(exist_ok=True)
        _write(self.root / "key", secrets.token_hex(32).encode(), lasting=True)
        if job.objects:
            _write(self.root / "objects.pkl", _pickled(job.objects), lasting=True)
        how = {"job": job.resolved(), "base_dir": str(job.base_dir), "path": sys.path}
        _write(self.root / "job.json", json.dumps(how).encode(), lasting=True)

    def load_job(self) -> tuple[Job, Mapping[str, Any]]:
        """The job, and the live objects that came with it; makes this process find the same modules."""
        job = self.job()
        return job, self._objects()

    def job(self) -> Job:
        """The job alone, which is there at once; makes this process find the same modules."""
        try:
            how = json.loads((self.root / "job.json").read_text())
        except FileNotFoundError:
            raise RunError(
                f"run {self.root.name} was never begun: who was to begin it died first; begin anew with `holdfast run`"
            ) from None
        sys.path[:] = list(dict.fromkeys([*how["path"], *sys.path]))
        return Job.from_dict(how["job"], Path(how["base_dir"]))

    def write_layout(self, summary: Mapping[str, Any]) -> None:
        """Kept for the captain's side; every worker would write the same."""
        _write(self.layout, json.dumps(summary).encode())

    def read_layout(self) -> dict[str, Any]:
        layout: dict[str, Any] = json.loads(self.layout.read_text())
        return layout

    def write_metrics(self, step: int, metrics: Mapping[str, Any]) -> None:
        """What was measured of the model after so many steps; there before anybody is told, so it is never lost."""
        self.metrics.mkdir(exist_ok=True)
        _write(self.metrics / f"{step:08}.json", json.dumps(metrics).encode())

    def measured_steps(self) -> list[int]:
        """After which the model was measured, in order."""
        return sorted(int(path.stem) for path in self.metrics.glob("????????.json"))

    def read_metrics(self, step: int) -> dict[str, Any]:
        metrics: dict[str, Any] = json.loads((self.metrics / f"{step:08}.json").read_text())
        return metrics

    def write_standing(self, term: int, standing: Mapping[str, Any]) -> None:
        """What the captain of the next term must know; each writes to a file of its own, so an old one does no harm."""
        _write(self.root / f"standing-{term:08}.json", json.dumps(standing).encode())

    def read_standing(self) -> dict[str, Any] | None:
        """That of the highest term."""
        found = sorted(self.root.glob("standing-*.json"))
        standing: dict[str, Any] | None = json.loads(found[-1].read_text()) if found else None
        return standing

    def forget_standings(self) -> None:
        """A new execution begins, or one is over, so whatever is half written stays so for ever."""
        for path in (*self.root.glob("standing-*.json"), *self.drafts()):
            path.unlink(missing_ok=True)

    def drafts(self) -> dict[Path, int]:
        """Files that are being written, or never will be, and the processes that write them, or wrote."""
        names = (path for pattern in ("", "metrics/", "changes/") for path in self.root.glob(f"{pattern}*.draft-*"))
        return {path: int(path.name.rpartition("-")[2]) for path in names}

    def _objects(self) -> Mapping[str, Any]:
        path = self.root / "objects.pkl"
        if not path.exists():
            return {}
        import cloudpickle

        objects: Mapping[str, Any] = cloudpickle.loads(path.read_bytes())
        return objects


def _pickled(objects: Mapping[str, Any]) -> bytes:
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(dict(objects))
    except Exception as error:
        raise JobError(
            f"the {' and '.join(objects)} given as Python objects cannot be sent to workers ({error}); "
            "give a class or a function that makes them instead"
        ) from error
    return data


def _write(path: Path, data: bytes, lasting: bool = False) -> None:
    """Whole or not at all, whoever dies meanwhile, and for its owner alone; if lasting, a power cut as well."""
    draft = path.with_name(f"{path.name}.draft-{os.getpid()}")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(data)
        if lasting:
            file.flush()
            os.fsync(file.fileno())
    reached("file.drafted")
    draft.replace(path)
