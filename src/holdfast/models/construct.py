"""From what a job says about its model to the module itself."""

from __future__ import annotations

import copy
import inspect
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, JobError, ModelError
from holdfast.job.imports import resolve
from holdfast.job.near import hint
from holdfast.models.catalogue import CATALOGUE
from holdfast.models.named import users_own

if TYPE_CHECKING:
    from torch import nn


def build(
    use: str, args: Mapping[str, Any], info: Mapping[str, Any], base_dir: Path, live: object | None = None
) -> nn.Module:
    """A fresh module; its first weights come from torch's global generator, which the caller seeds.

    A parameter of the factory that has no default and is not in `args` is filled from the dataset's `info`.
    An instance (`live`, or what `use` names) is copied: training never changes the user's own object.
    """
    from torch import nn

    found = _target(use, base_dir) if live is None else live
    model = _copied(use, found, args) if isinstance(found, nn.Module) else _called(use, found, args, info)
    if not isinstance(model, nn.Module):
        raise ModelError(
            f"model `{use}` gave a {type(model).__name__}, not a torch.nn.Module; "
            "name a module class, a function that returns a module, or a module"
        )
    return model


def _target(use: str, base_dir: Path) -> object:
    if use in CATALOGUE:
        return resolve(CATALOGUE[use].factory, base_dir)
    return users_own("model", use, CATALOGUE, base_dir)


def _copied(use: str, module: nn.Module, args: Mapping[str, Any]) -> nn.Module:
    if args:
        raise JobError(f"model `{use}` is already built, so model.args cannot change it; remove {_listed(args)}")
    try:
        return copy.deepcopy(module)
    except Exception as error:
        raise ModelError(f"model `{use}` cannot be copied: {_cause(error)}; give its class instead") from error


def _called(use: str, factory: object, args: Mapping[str, Any], info: Mapping[str, Any]) -> object:
    if not callable(factory):
        raise ModelError(
            f"model `{use}` is a {type(factory).__name__}; name a module class or a function giving a module"
        )
    complete = _completed(use, _parameters(factory), args, _facts(info))
    try:
        return factory(**complete)
    except HoldfastError:
        raise
    except Exception as error:
        raise ModelError(_failure(use, complete, error)) from error


def _parameters(factory: object) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(factory).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # a callable of a compiled extension may hide its signature
        return {"args": inspect.Parameter("args", inspect.Parameter.VAR_KEYWORD)}


def _completed(
    use: str, parameters: Mapping[str, inspect.Parameter], args: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    named = {n: p for n, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in args:
        if name not in named and not takes_any:
            raise JobError(f"model `{use}` has no argument `{name}`{hint(name, named)}")
    required = [n for n, p in named.items() if p.default is p.empty and n not in args]
    for name in required:
        if name not in known:
            raise JobError(f"model `{use}` needs `{name}`, which the dataset does not give; add it to model.args")
    return {**args, **{name: known[name] for name in required}}


def _facts(info: Mapping[str, Any]) -> dict[str, Any]:
    """What a factory may ask for by the name of a parameter: `info` itself, and what follows from it."""
    n_outputs = info.get("n_classes") if info.get("task") == "classification" else 1
    return {name: value for name, value in {"n_outputs": n_outputs, **info}.items() if value is not None}


def _failure(use: str, args: Mapping[str, Any], error: Exception) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in args.items()) or "no arguments"
    return f"model `{use}` could not be built with {given}: {_cause(error)}"


def _cause(error: Exception) -> str:
    """The error and its deepest line outside torch, where the user can look for it."""
    import torch

    torch_dir = str(Path(torch.__file__).parent)
    frames = traceback.extract_tb(error.__traceback__)
    where = [frame for frame in frames if not frame.filename.startswith(torch_dir)][-1]
    return f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in names)
