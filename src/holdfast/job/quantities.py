"""The kinds of number and table that fields are made of. Strict: "500" is not 500, and true is not 1."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

Count = Annotated[int, Field(strict=True, ge=1)]
Whole = Annotated[int, Field(strict=True, ge=0)]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Ratio = Annotated[float, Field(strict=True, ge=0, le=1)]
Decay = Annotated[float, Field(strict=True, ge=0, lt=1)]
Flag = Annotated[bool, Field(strict=True)]


def _lists(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_lists(item) for item in value]
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    return value


def _without_none(value: Any) -> Any:
    if value is None:
        raise ValueError("holds None, which a job file cannot say: leave that argument out")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _without_none(item)
    return value


Args = Annotated[dict[str, JsonValue], BeforeValidator(_lists), AfterValidator(_without_none)]
