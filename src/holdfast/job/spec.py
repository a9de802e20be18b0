"""The base of every section of a job: frozen, closed to unknown fields, with errors that are sentences."""

from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from holdfast.errors import JobError
from holdfast.job.sentences import job_error

OFF = "none"


class Spec(BaseModel):
    """One section. TOML has no null: whatever may be None is switched off by the word "none"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    if not TYPE_CHECKING:  # type checkers should see the fields as keywords, not **fields

        def __init__(self, **fields):
            try:
                super().__init__(**fields)
            except ValidationError as error:
                raise job_error(error, type(self)) from None

        # A nested section is then validated by its parent, whose error can name the whole dotted path.
        __init__.__pydantic_base_init__ = True

        def __setattr__(self, name, value):
            if name in type(self).model_fields:
                raise JobError(f"`{name}` cannot be changed to {value!r}: build another job or section")
            super().__setattr__(name, value)

    @model_validator(mode="before")
    @classmethod
    def _switch_off(cls, fields: Any) -> Any:
        if not isinstance(fields, dict):
            return fields
        return {name: None if value == OFF and cls.may_be_off(name) else value for name, value in fields.items()}

    @classmethod
    def may_be_off(cls, name: str) -> bool:
        field = cls.model_fields.get(name)
        return field is not None and type(None) in get_args(field.annotation)

    @classmethod
    def known_fields(cls) -> list[str]:
        """All names that may be written here, for near misses."""
        return list(cls.model_fields)

    def given(self) -> dict[str, Any]:
        """What was said explicitly, and the kind: enough to build an equal section, and to be built upon."""
        said = self.model_dump(exclude_unset=True)
        if "kind" in type(self).model_fields:
            said["kind"] = getattr(self, "kind")  # noqa: B009 - only some sections have kinds
        return said
