"""Every command imports this room, so it must stay light."""

import subprocess
import sys

HEAVY = ("torch", "numpy", "pandas", "sklearn", "sqlalchemy", "alembic", "rich", "cloudpickle")


def test_importing_a_job_imports_nothing_heavy() -> None:
    script = f"import sys, holdfast.job; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_neither_does_making_one() -> None:
    script = (
        "import sys; from holdfast.job import Job; job = Job(model='cnn', data='digits', steps=1); "
        f"job.fingerprint, job.to_toml(); print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
