"""`holdfast version`."""


def version() -> None:
    """Print the version."""
    from holdfast import __version__

    print(__version__)
