"""What stands on the command line becomes a job, or a sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.errors import JobError
from holdfast.job import load_job

TOML = 'model = "cnn"\ndata = "digits"\n[train]\nepochs = 2\n'
PYTHON = """
from holdfast.job import Job

class Net:
    pass

def data():
    return [(1, 2)]

class Items(list):
    pass

job = Job(model=Net, data=data, steps=3)

def small():
    return Job(model=Net, data=Items([1]), steps=1)

def needy(argument):
    return job

def wrong():
    return 1 / 0

number = 5
"""


@pytest.fixture
def python_file(tmp_path: Path) -> Path:
    path = tmp_path / "gpt.py"
    path.write_text(PYTHON)
    return path


def test_toml(tmp_path: Path) -> None:
    path = tmp_path / "digits.toml"
    path.write_text(TOML)
    job = load_job(path, ["train.replicas=2"])
    assert (job.name, job.train.epochs, job.train.replicas, job.base_dir) == ("digits", 2, 2, tmp_path)


def test_changes_come_before_the_check(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text('model = "cnn"\ndata = "digits"\n')
    assert load_job(path, ["train.steps=5", "model.args.width=3"]).model.args == {"width": 3}


def test_a_mistake_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text(TOML + "repliacs = 3\n")
    with pytest.raises(JobError, match=r"job\.toml: unknown field `train\.repliacs`; did you mean"):
        load_job(path)


def test_a_missing_file_names_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "digits.toml").write_text(TOML)
    with pytest.raises(JobError, match=r"no job file `.*digit\.toml`; did you mean `.*digits\.toml`\?"):
        load_job(tmp_path / "digit.toml")


def test_python_file(python_file: Path) -> None:
    job = load_job(python_file, ["steps=4"])
    assert job == load_job(f"{python_file}:job", ["steps=4"])
    assert (job.train.steps, job.base_dir) == (4, python_file.parent)


def test_code_beside_the_job_is_found_again_by_its_file(python_file: Path) -> None:
    job = load_job(python_file)
    assert (job.model.use, job.data.use) == ("gpt.py:Net", "gpt.py:data")
    assert job.objects == {}


def test_a_script_and_the_command_make_the_same_job(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(PYTHON + "\nif __name__ == '__main__':\n    print(job.fingerprint, job.model.use)\n")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [load_job(path).fingerprint, "<python>:Net"]


def test_function_that_returns_a_job(python_file: Path) -> None:
    job = load_job(f"{python_file}:small")
    assert job.data.use == "<python>:Items"
    assert job.objects == {"data": [1]}
    assert job.base_dir == python_file.parent


@pytest.mark.parametrize(
    ("attr", "sentence"),
    [
        ("number", "`.*gpt.py:number` is a int, not a job: point to a Job, or to a function"),
        ("needy", "`.*gpt.py:needy` failed: TypeError: needy.. missing 1 required"),
        ("wrong", "`.*gpt.py:wrong` failed at .*gpt.py:22: ZeroDivisionError: division by zero"),
        ("jbo", "there is no `jbo` for `.*gpt.py:jbo`; did you mean `job`?"),
    ],
)
def test_python_mistakes(python_file: Path, attr: str, sentence: str) -> None:
    with pytest.raises(JobError, match=sentence):
        load_job(f"{python_file}:{attr}")


def test_a_mistake_in_a_python_job_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("from holdfast.job import Job\n\njob = Job(model='a', data='b', stepz=3)\n")
    with pytest.raises(JobError, match=r"at .*bad\.py:3: unknown field `stepz`; did you mean `steps`\?$"):
        load_job(path)
