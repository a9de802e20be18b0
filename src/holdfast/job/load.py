"""From what stands on the command line to a job: a TOML file, or a Python file or module that holds one."""

from collections.abc import Iterable
from pathlib import Path

from holdfast.errors import JobError
from holdfast.job import imports, toml
from holdfast.job.job import Job
from holdfast.job.lift import lifted
from holdfast.job.near import hint
from holdfast.job.sets import applied


def load_job(source: str | Path, sets: Iterable[str] = ()) -> Job:
    """The job in `job.toml`, `file.py` (its `job`), `file.py:attr` or `package.module:attr`, changed."""
    text = str(source)
    if text.endswith(".py"):
        return _from_python(f"{text}:job", sets)
    if ":" in text and not Path(text).exists():
        return _from_python(text, sets)
    return _from_toml(Path(text), sets)


def _from_toml(path: Path, assignments: Iterable[str]) -> Job:
    fields = toml.read(_existing(path))
    try:
        changed, _ = applied(lifted({"name": path.stem, **fields}), assignments)
        return Job.from_dict(changed, path.resolve().parent)
    except JobError as error:
        raise JobError(f"{path}: {error}") from None


def _existing(path: Path) -> Path:
    if path.exists():
        return path
    beside = [str(path.with_name(other.name)) for other in path.parent.glob("*") if other.suffix in (".toml", ".py")]
    raise JobError(f"there is no job file `{path}`{hint(str(path), beside)}")


def _from_python(reference: str, assignments: Iterable[str]) -> Job:
    found = imports.resolve(reference, Path.cwd())
    if callable(found):
        found = imports.called(reference, found, Path.cwd())
    if not isinstance(found, Job):
        raise JobError(
            f"`{reference}` is a {type(found).__name__}, not a job: point to a Job, or to a function "
            "without arguments that returns one"
        )
    return found.with_sets(assignments)
