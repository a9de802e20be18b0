"""docs/job-reference.md is what the specs say."""

from pathlib import Path

import pytest

from holdfast.job import Job
from holdfast.job.anatomy import sections
from holdfast.job.reference import reference

DOCS = Path(__file__).parents[3] / "docs" / "job-reference.md"


def test_the_file_is_up_to_date() -> None:
    assert DOCS.read_text(encoding="utf-8") == reference(), "python -m holdfast.job.reference > " + str(DOCS)


@pytest.mark.parametrize(
    ("spec", "name"),
    [(spec, name) for specs in sections(Job).values() for spec in specs for name in spec.model_fields],
)
def test_every_field_says_what_it_means(spec: type, name: str) -> None:
    assert spec.model_fields[name].description  # type: ignore[attr-defined]
    assert f"| `{name}` |" in reference()
