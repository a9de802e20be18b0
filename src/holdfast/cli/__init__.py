"""The command line. Loading it loads no torch: a command gets what it needs when it needs it."""


def main() -> int:
    """Run the command that this process was started with; its exit code."""
    from holdfast.cli.app import app
    from holdfast.cli.failures import guarded

    return guarded(lambda: app(prog_name="holdfast", standalone_mode=False))
