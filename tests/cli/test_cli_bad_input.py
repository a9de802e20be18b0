"""What users get wrong: each a sentence, an exit code, and nothing left running."""

import os
import re
from pathlib import Path

import pytest
from terminal import Done, Terminal

JOB = """\
model = "logistic"
data = "random"
[train]
replicas = 2
batch = 8
steps = 4
"""


def job(terminal: Terminal, old: str = "", new: str = "", extra: str = "") -> str:
    assert old in JOB
    return terminal.write("job.toml", JOB.replace(old, new, 1) + extra)


def run(terminal: Terminal, *arguments: str) -> Done:
    done = terminal.type("run", *arguments)
    assert done.out == ""
    return done


def test_unknown_field(terminal: Terminal) -> None:
    done = run(terminal, job(terminal, "replicas", "repliacs"))
    assert done.code == 2
    assert "`train.repliacs`" in done.sentence
    assert "did you mean `replicas`?" in done.sentence


def test_missing_file(terminal: Terminal) -> None:
    job(terminal)
    done = run(terminal, "jop.toml")
    assert (done.code, done.sentence) == (2, "there is no job file `jop.toml`; did you mean `job.toml`?")


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("--set=train.stepz=5", "did you mean `steps`?"),
        ("--set=train.steps", "`train.steps` is not an assignment: write it like train.steps=500"),
        ("--set=train.steps=many", "train.steps"),
        ("--workers=3", "crew.workers = 3 is more than train.replicas = 2"),
        ("--workers=none", "is not a number of workers"),
        ("--wrokers=3", "`holdfast run --help` tells more"),
    ],
)
def test_bad_options(terminal: Terminal, option: str, sentence: str) -> None:
    done = run(terminal, job(terminal), option)
    assert done.code == 2
    assert sentence in done.sentence


def test_not_toml(terminal: Terminal) -> None:
    done = run(terminal, job(terminal, "replicas = 2", "replicas = "))
    assert done.code == 2
    assert "job.toml:4: this is not TOML" in done.sentence


def test_unknown_run_and_command(terminal: Terminal) -> None:
    assert terminal.type("show", "last").sentence == "there is no run yet; `holdfast run JOB` makes the first"
    assert terminal.type("shwo").code == 2


def test_unknown_model(terminal: Terminal) -> None:
    done = run(terminal, job(terminal, "logistic", "logistik"), "--quiet")
    assert done.code == 6
    assert "unknown model `logistik`; did you mean `logistic`?" in done.sentence


def test_module_that_cannot_be_imported(terminal: Terminal) -> None:
    terminal.write("broken.py", "import torch\n\nboom = 1 / 0\n")
    done = run(terminal, job(terminal, "logistic", "broken.py:Net"))
    assert done.code == 6
    assert "ZeroDivisionError" in done.sentence
    assert "broken.py" in done.sentence


def test_loss_that_is_not_finite(terminal: Terminal) -> None:
    extra = '[optimizer]\nkind = "sgd"\nlr = 1e20\n'
    done = terminal.type("run", job(terminal, "logistic", "mlp", extra), "--json")
    assert (done.code, done.json["status"]) == (6, "failed")
    assert re.search(
        r"the loss is nan.*\(step 1, replica [01], samples \d+, .*\); no checkpoint had been", done.sentence
    )
    assert "the loss is nan" in terminal.type("show", "last").out


ITEMS = """\
import torch

class Items:
    def __len__(self):
        return {length}

    def __getitem__(self, index):
        if index == 13:
            raise OSError("disc 13 is scratched")
        return torch.ones(3), float(index % 2)

def make():
    return Items()
"""


def test_item_that_fails(terminal: Terminal) -> None:
    terminal.write("items.py", ITEMS.format(length=16))
    model = '{ use = "linear", args = { n_features = 3, n_outputs = 1 } }'
    toml = job(terminal, 'model = "logistic"\ndata = "random"', f'model = {model}\ndata = "items.py:make"')
    done = terminal.type("run", toml, "--set", "loss=mse", "--json")
    assert done.code == 6
    for part in ("item 13", "disc 13 is scratched", "step 0", "replica ", "samples "):
        assert part in done.sentence
    assert 'worker 0 failed:\n  File "' in done.err
    assert 'items.py", line 9' in done.err, "the user's own line is shown, too"


def test_empty_data(terminal: Terminal) -> None:
    terminal.write("items.py", ITEMS.format(length=0))
    done = run(terminal, job(terminal, '"random"', '"items.py:make"'))
    assert done.code == 6
    assert "empty" in done.sentence


def test_home_that_cannot_be_made(terminal: Terminal) -> None:
    terminal.write("home", "a file")
    done = run(terminal, job(terminal))
    assert done.code == 7
    assert "set HOLDFAST_HOME to a writable directory" in done.sentence


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_read_only_home(terminal: Terminal) -> None:
    terminal.home.mkdir(mode=0o500)
    done = run(terminal, job(terminal))
    assert done.code == 7
    assert "is read-only" in done.sentence


def test_reader_that_goes_away(terminal: Terminal) -> None:
    process = terminal.start("models")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    done = terminal.finished(process)
    assert done.err == ""
    assert done.code != 0


def test_doctor_finds_a_broken_ledger(terminal: Terminal) -> None:
    terminal.home.mkdir()
    (terminal.home / "ledger.db").write_text("this is not a database, and long enough to be taken for one" * 20)
    done = terminal.type("doctor", "--json")
    assert done.code == 5
    assert [name for name, finding in done.json["findings"].items() if not finding["ok"]] == ["ledger"]
    assert "ledger" in done.sentence


def test_doctor_is_content_here(terminal: Terminal) -> None:
    done = terminal.type("doctor")
    assert (done.code, done.err) == (0, "")
    assert str(Path(terminal.home)) in done.out
