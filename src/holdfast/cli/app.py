"""All commands, in the groups in which `holdfast --help` shows them."""

from collections.abc import Callable

import typer

from holdfast.cli.attach import attach
from holdfast.cli.chaos import chaos
from holdfast.cli.check import check
from holdfast.cli.clean import clean
from holdfast.cli.data import data
from holdfast.cli.demo import demo
from holdfast.cli.doctor import doctor
from holdfast.cli.drain import drain
from holdfast.cli.evaluate import evaluate
from holdfast.cli.events import events
from holdfast.cli.export import export
from holdfast.cli.logs import logs
from holdfast.cli.models import models
from holdfast.cli.pause import pause
from holdfast.cli.predict import predict
from holdfast.cli.ps import ps
from holdfast.cli.replay import replay
from holdfast.cli.resume import resume
from holdfast.cli.run import run
from holdfast.cli.scale import scale
from holdfast.cli.set import set_
from holdfast.cli.show import show
from holdfast.cli.stop import stop
from holdfast.cli.version import version

app = typer.Typer(
    help="Distributed training that gives the same model, to the bit, however many workers there were.",
    epilog="RUN is the id of a run, the beginning of one, or `last`. Runs are in $HOLDFAST_HOME, else ~/.holdfast.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def holdfast() -> None: ...


_GROUPS: dict[str, tuple[Callable[..., None], ...]] = {
    "Train": (run, check, attach, pause, resume, stop, scale, drain, set_),
    "Look": (ps, show, logs, events),
    "Use the model": (evaluate, predict, export),
    "Find out": (demo, chaos, replay, models, data, doctor, clean, version),
}

for _group, _commands in _GROUPS.items():
    for _command in _commands:
        app.command(_command.__name__.rstrip("_"), rich_help_panel=_group)(_command)
