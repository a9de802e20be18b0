"""The trained model of a run, for the commands that use it."""

from holdfast.ledger import Ledger
from holdfast.run.launch import place_of, saved_state
from holdfast.run.trained import Trained, trained_model


def trained(ledger: Ledger, run: str) -> Trained:
    """From the newest checkpoint that is whole."""
    return trained_model(place_of(ledger, run), saved_state(ledger, run))
