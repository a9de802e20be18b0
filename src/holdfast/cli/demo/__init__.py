"""`holdfast demo`: one job on one worker, then on four of which one is killed; the model is the same."""

from holdfast.cli.arguments import Json
from holdfast.errors import Stopped


def demo(as_json: Json = False) -> None:
    """See the promise kept: one worker, then four of which one is killed, and the same model to the bit."""
    # What it takes is loaded now, so that other commands do not wait for it.
    from holdfast.cli.demo.experiment import Size
    from holdfast.cli.demo.play import play, stage_for

    try:
        play(stage_for(as_json), Size.of_this_machine()).require_equal()
    except KeyboardInterrupt:
        raise Stopped("the demo was stopped, and nothing of it is left running") from None
