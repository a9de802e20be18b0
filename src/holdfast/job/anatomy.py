"""What specs are made of: which sections a job has, and which kinds each section may be."""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel


def specs_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The specs that a field of this annotation may hold, itself or in a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from specs_in(inner)


def sections(root: type[BaseModel]) -> dict[str, list[type[BaseModel]]]:
    """The fields that hold specs, with the specs each may hold."""
    found = {name: list(specs_in(field.annotation)) for name, field in root.model_fields.items()}
    return {name: specs for name, specs in found.items() if specs}


def kind_of(spec: type[BaseModel]) -> str | None:
    """The word that tells this spec from the others that may stand in its place."""
    return spec.model_fields["kind"].default if "kind" in spec.model_fields else None
