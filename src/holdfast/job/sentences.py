"""From pydantic's findings to sentences for users: the dotted field, the value, and what to write instead."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from holdfast.errors import JobError
from holdfast.job.anatomy import kind_of, sections
from holdfast.job.near import hint

WANTED = {
    "int_type": "a whole number: write it like 8, without quotes or point",
    "float_type": "a number: write it like 0.5, without quotes",
    "finite_number": "a finite number: write it like 0.5",
    "bool_type": "true or false: write one of the two, without quotes",
    "string_type": 'text: write it like "name", in quotes',
    "dict_type": "a table: write it like { width = 32 }",
    "model_type": "a table: write it like { field = value }",
    "model_attributes_type": "a table: write it like { field = value }",
    "tuple_type": 'a list: write it like ["auc", "accuracy"] or [0.9, 0.99]',
    "invalid-json-value": "a number, text, a list or a table: build other things inside the model or source",
}
BOUNDS = {
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "string_too_short": "must not be empty",
    "too_long": "must have no more than {max_length} items",
}


@dataclass(frozen=True)
class Finding:
    """One mistake, and where it was made: the spec that owns the field, and the spec that was being built."""

    kind: str
    path: str
    word: str
    value: Any
    context: dict[str, Any]
    message: str
    owner: type[BaseModel]
    root: type[BaseModel]

    @property
    def said(self) -> str:
        value = repr(self.value)
        return f"{self.path} = {value if len(value) <= 60 else value[:57] + '...'}"


def job_error(error: ValidationError, root: type[BaseModel]) -> JobError:
    """A sentence per mistake, a line each. A misspelt field makes another seem missing, so it goes alone."""
    findings = _findings(error, root)
    urgent = [finding for finding in findings if finding.kind == "extra_forbidden"] or findings
    return JobError("\n".join(dict.fromkeys(map(_sentence, urgent))))


def _findings(error: ValidationError, root: type[BaseModel]) -> list[Finding]:
    found = []
    for details in error.errors(include_url=False):
        owner, path = _place(root, details["loc"])
        word = str(details["loc"][-1]) if details["loc"] else ""
        context = details.get("ctx", {})
        found.append(Finding(details["type"], path, word, details["input"], context, details["msg"], owner, root))
    return found


def _place(root: type[BaseModel], loc: tuple[int | str, ...]) -> tuple[type[BaseModel], str]:
    """The spec that a location lies in, and the path to it, without the marks that pydantic puts on kinds."""
    owner, path, choices = root, "", list[type[BaseModel]]()
    for part in loc:
        chosen = [spec for spec in choices if kind_of(spec) == part]
        if chosen:
            owner, choices = chosen[0], []
        elif isinstance(part, int):
            path += f"[{part}]"
        else:
            owner = choices[0] if len(choices) == 1 else owner
            choices = sections(owner).get(part, [])
            path += f".{part}"
    return owner, path.removeprefix(".")


def _sentence(finding: Finding) -> str:
    if finding.kind in WANTED:
        return f"{finding.said} is not {WANTED[finding.kind]}"
    if finding.kind in BOUNDS:
        return f"{finding.said} {BOUNDS[finding.kind].format(**finding.context)}"
    if finding.kind in SENTENCES:
        return SENTENCES[finding.kind](finding)
    return f"{finding.said}: {finding.message}"


def _unknown(finding: Finding) -> str:
    """The field may be another kind's, or another section's, or misspelt."""
    path, word = finding.path, finding.word
    homes = [(name, spec) for name, specs in sections(finding.root).items() for spec in specs]
    homes = [(name, spec) for name, spec in homes if word in spec.model_fields]
    kinds = [str(kind_of(spec)) for name, spec in homes if path == f"{name}.{word}"]
    if kinds:
        return f"unknown field `{path}` for this kind: it belongs to {', '.join(kinds)}"
    if homes:
        return f"unknown field `{path}`; did you mean `{homes[0][0]}.{word}`?"
    return f"unknown field `{path}`{hint(word, finding.owner.known_fields())}"  # type: ignore[attr-defined]


def _missing(finding: Finding) -> str:
    field = finding.owner.model_fields.get(finding.word)
    about = f" ({field.description})" if field and field.description else ""
    return f"`{finding.path}` is missing: add it{about}"


def _not_one_of(finding: Finding) -> str:
    return f"{finding.said} is unknown: write one of {', '.join(_quoted(finding.context['expected']))}"


def _unknown_kind(finding: Finding) -> str:
    kind = finding.context["tag"]
    return f"{finding.path}.kind = {kind!r} is unknown{hint(kind, _quoted(finding.context['expected_tags']))}"


def _own(finding: Finding) -> str:
    """A validator of ours raised the rest of a sentence that begins with the field."""
    subject = finding.said if isinstance(finding.value, str | int | float) else finding.path
    return f"{subject} {finding.context['error']}".strip()


def _quoted(text: str) -> list[str]:
    return re.findall(r"'([^']*)'", text)


SENTENCES: dict[str, Callable[[Finding], str]] = {
    "extra_forbidden": _unknown,
    "missing": _missing,
    "literal_error": _not_one_of,
    "union_tag_invalid": _unknown_kind,
    "value_error": _own,
}
