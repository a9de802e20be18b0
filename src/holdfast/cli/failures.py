"""From whatever goes wrong to one sentence on stderr and an exit code."""

import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from holdfast.errors import HoldfastError

_UsageError: Any = typer.BadParameter.__base__
_INTERRUPTED = 130
_PIPE_CLOSED = 141


def guarded(command: Callable[[], Any]) -> int:
    """The exit code of the command; nothing but that and a sentence comes out of an error."""
    try:
        return _called(command)
    except BrokenPipeError:
        # The reader has gone, as `head` does. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED


def _called(command: Callable[[], Any]) -> int:
    try:
        code = command()
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except HoldfastError as error:
        return _told(str(error), error.exit_code)
    except _UsageError as error:
        return _told(_usage(error), error.exit_code)
    except KeyboardInterrupt:
        return _told("interrupted", _INTERRUPTED)
    except Exception as error:
        return _told(_unexpected(error), HoldfastError.exit_code)
    if code == _INTERRUPTED:
        return _told("interrupted", _INTERRUPTED)
    return code if isinstance(code, int) else 0


def _told(sentence: str, code: int) -> int:
    if sentence:
        sys.stdout.flush()
        print(f"holdfast: {sentence}", file=sys.stderr)
    return code


def _usage(error: Any) -> str:
    if type(error).__name__ == "NoArgsIsHelpError":  # the help itself is what was asked for, and it has been printed
        return ""
    path = error.ctx.command_path if error.ctx else "holdfast"
    return f"{error.format_message().rstrip('.')}; `{path} --help` tells more"


def _unexpected(error: Exception) -> str:
    text = "".join(traceback.format_exception(error))
    summary = f"{type(error).__name__}: {error}".partition("\n")[0]
    try:
        path = _saved(text)
    except OSError:
        sys.stderr.write(text)
        return f"this should not have happened ({summary}); please report it with the traceback above"
    return f"this should not have happened ({summary}); please report it with the traceback in {path}"


def _saved(text: str) -> Path:
    from holdfast.ledger import home

    folder = home() / "crashes"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    path.write_text(f"{' '.join(sys.argv)}\n\n{text}")
    return path
