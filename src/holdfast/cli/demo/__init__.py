"""`holdfast demo`: one job on one worker, then on four of which one is killed; the model is the same."""

from typing import Annotated

import typer

from holdfast.errors import Stopped


def demo(
    as_json: Annotated[bool, typer.Option("--json", help="Print nothing but one JSON object at the end.")] = False,
) -> None:
    """Train on 1 worker, then on 4 of which one is killed: the same model, to the bit. Takes less than a minute."""
    # What it takes is loaded now, so that other commands do not wait for it.
    from holdfast.cli.demo.experiment import Size
    from holdfast.cli.demo.play import play, stage_for

    try:
        play(stage_for(as_json), Size.of_this_machine()).require_equal()
    except KeyboardInterrupt:
        raise Stopped("the demo was stopped; nothing of it is left running") from None
