"""The models that a job can name. Listing them imports nothing: a factory is a path until it is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One model of the catalogue: `factory` is `module:attr`, imported only when a job asks for it.

    `args` describes each of its arguments.
    """

    tasks: tuple[str, ...]
    factory: str
    doc: str
    args: Mapping[str, str]


_N_FEATURES = "numbers per sample; taken from the dataset"
_N_OUTPUTS = "outputs per sample; taken from the dataset: its classes, or one for a binary or regression task"
_VOCABULARY_SIZE = "number of ids; taken from the dataset"

CATALOGUE: dict[str, Entry] = {
    "linear": Entry(
        ("regression",),
        "holdfast.models.linear:Linear",
        "linear regression",
        {"n_features": _N_FEATURES, "n_outputs": _N_OUTPUTS},
    ),
    "logistic": Entry(
        ("binary", "classification"),
        "holdfast.models.linear:Linear",
        "logistic regression on dense features",
        {"n_features": _N_FEATURES, "n_outputs": _N_OUTPUTS},
    ),
    "logistic_bag": Entry(
        ("binary", "classification"),
        "holdfast.models.linear:LogisticBag",
        "logistic regression on bags of ids, padded with id 0",
        {"vocabulary_size": _VOCABULARY_SIZE, "n_outputs": _N_OUTPUTS},
    ),
    "mlp": Entry(
        ("binary", "classification", "regression"),
        "holdfast.models.mlp:MLP",
        "fully connected layers with ReLU",
        {
            "n_features": _N_FEATURES,
            "n_outputs": _N_OUTPUTS,
            "hidden": "widths of the hidden layers",
            "dropout": "share of hidden activations dropped in training",
        },
    ),
    "cnn": Entry(
        ("binary", "classification", "regression"),
        "holdfast.models.cnn:CNN",
        "a small convolutional network with batch normalisation, for images of any size",
        {
            "n_outputs": _N_OUTPUTS,
            "n_channels": "channels of an image",
            "width": "channels of the first stage; each further stage has twice as many",
            "stages": "number of stages; each further stage halves the image",
            "dropout": "share of features dropped before the last layer in training",
        },
    ),
    "gpt": Entry(
        ("language",),
        "holdfast.models.gpt:GPT",
        "a decoder-only transformer: pre-norm, head tied to the token embedding",
        {
            "vocabulary_size": _VOCABULARY_SIZE,
            "context": "most tokens seen at once; taken from the dataset",
            "layers": "number of transformer blocks",
            "heads": "attention heads per block",
            "width": "size of a token's vector, a multiple of `heads`",
            "dropout": "share of activations dropped in training",
        },
    ),
}
