"""Every rule, block by block, against torch's own optimizer on whole tensors."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rig import noise
from torch import Tensor

from holdfast.errors import JobError
from holdfast.job import SGD, Adagrad, Adam, AdamW, AnyOptimizer, RMSprop, TorchOptimizer
from holdfast.step.rules import STRETCH, Gradient, Log, Moment, elementwise
from holdfast.step.whole import WholeTensor

STEPS = 6
LENGTH = 4096
BLOCK = 1024

ELEMENTWISE: list[AnyOptimizer] = [
    AdamW(lr=0.01, weight_decay=0.1),
    AdamW(lr=0.01, betas=(0.5, 0.9), eps=1e-3),
    Adam(lr=0.01),
    Adam(lr=0.01, weight_decay=0.1),
    SGD(lr=0.1),
    SGD(lr=0.1, weight_decay=0.1),
    SGD(lr=0.1, momentum=0.9),
    SGD(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1),
    SGD(lr=0.1, momentum=0.9, nesterov=True),
    Adagrad(lr=0.1),
    Adagrad(lr=0.1, lr_decay=0.1, initial_accumulator_value=0.5, weight_decay=0.1),
    RMSprop(lr=0.01),
    RMSprop(lr=0.01, momentum=0.9, weight_decay=0.1),
    RMSprop(lr=0.01, centered=True),
    RMSprop(lr=0.01, momentum=0.9, centered=True, alpha=0.5, weight_decay=0.1),
]

WHOLE: list[tuple[str, dict[str, Any]]] = [
    ("Muon", {}),
    ("Adafactor", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("Adamax", {}),
    ("Adadelta", {}),
    ("ASGD", {}),
    ("AdamW", {"amsgrad": True}),
    ("SGD", {"momentum": 0.9}),
]


@pytest.mark.parametrize("spec", ELEMENTWISE, ids=repr)
def test_rule_by_blocks_is_torchs_on_the_whole(spec: AnyOptimizer) -> None:
    expected = of_torch(torchs(spec), noise(LENGTH), LENGTH)
    for found, wanted in zip(by_blocks(spec, noise(LENGTH), BLOCK), expected, strict=True):
        if spec.kind in ("adam", "adamw"):
            torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
        else:
            # Both use the same kernels, and a block begins where a vector would begin.
            assert torch.equal(found, wanted)


@pytest.mark.parametrize("spec", ELEMENTWISE, ids=repr)
def test_where_blocks_begin_changes_nothing(spec: AnyOptimizer) -> None:
    for found, wanted in zip(
        by_blocks(spec, noise(LENGTH), BLOCK), by_blocks(spec, noise(LENGTH), LENGTH), strict=True
    ):
        assert torch.equal(found, wanted)


@pytest.mark.parametrize("spec", [Adam(lr=0.1, weight_decay=0.1), AdamW(lr=0.1)], ids=repr)
def test_a_saving_rule_logs_the_old_values_and_adds_two_parts(spec: AnyOptimizer) -> None:
    length = 3 * STRETCH + 48
    first, second = noise(length, seed=1), noise(length, seed=2)
    old = [noise(length), noise(length, seed=3), noise(length, seed=4).abs()]
    summed, apart = [part.clone() for part in old], [part.clone() for part in old]
    moment = Moment(3, 0.1, 0.1)
    step_saving(spec, summed, [first + second], moment)
    log = step_saving(spec, apart, [first, second], moment)
    for found, wanted in zip(apart, summed, strict=True):
        assert torch.equal(found, wanted)
    assert log.saved.tolist() == [length]
    for found, wanted in zip([log.parameters, *log.state], old, strict=True):
        assert torch.equal(torch.from_numpy(found), wanted)


@pytest.mark.parametrize("begin", [0, STRETCH, 3 * STRETCH])
def test_a_saving_rule_can_begin_in_the_middle_and_keep_one_stretch(begin: int) -> None:
    spec, length, moment = AdamW(lr=0.1), 3 * STRETCH + 48, Moment(3, 0.1, 0.1)
    old = [noise(length), noise(length, seed=3), noise(length, seed=4).abs()]
    whole, rest = [part.clone() for part in old], [part.clone() for part in old]
    step_saving(spec, whole, [noise(length, seed=1)], moment)
    log = step_saving(spec, rest, [noise(length, seed=1)], moment, STRETCH, begin)
    for found, wanted, before in zip(rest, whole, old, strict=True):
        assert torch.equal(found[:begin], before[:begin])
        assert torch.equal(found[begin:], wanted[begin:])
    for found, wanted in zip([log.parameters, *log.state], old, strict=True):
        assert torch.equal(torch.from_numpy(found)[:48], wanted[3 * STRETCH :])


def step_saving(
    spec: AnyOptimizer, parts: list[Tensor], gradient: list[Tensor], moment: Moment, room: int = 1 << 20, begin: int = 0
) -> Log:
    rule = elementwise(spec)
    assert rule is not None
    assert rule.saving_update is not None
    places = [np.zeros(min(room, len(part)), np.float32) for part in parts]
    log = Log(places[0], places[1:], np.zeros(1, np.uint64), begin)
    parameters, *state = (part.numpy() for part in parts)
    rule.saving_update(parameters, Gradient([part.numpy() for part in gradient]), state, log, moment)
    return log


@pytest.mark.parametrize("spec", ELEMENTWISE, ids=repr)
def test_rule_is_torchs_reference_implementation(spec: AnyOptimizer) -> None:
    """The plain one, an operation at a time: the same to rounding."""
    expected = of_torch(torchs(spec, fused=False), noise(LENGTH), LENGTH)
    for found, wanted in zip(by_blocks(spec, noise(LENGTH), LENGTH), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


def by_blocks(spec: AnyOptimizer, start: Tensor, block: int) -> list[Tensor]:
    rule = elementwise(spec)
    assert rule is not None
    parameters = start.clone()
    states = [torch.full_like(parameters, value) for value in rule.initial]
    after = []
    for step in range(STEPS):
        gradient = gradient_of(step, len(start))
        for at in range(0, len(start), block):
            part = slice(at, at + block)
            moment = Moment(step + 1, spec.lr, spec.weight_decay)
            if rule.update is None:
                step_saving(spec, [parameters[part], *(state[part] for state in states)], [gradient[part]], moment)
            else:
                rule.update(parameters[part], gradient[part], [state[part] for state in states], moment)
        after.append(parameters.clone())
    return after


def of_torch(make: Any, start: Tensor, *shape: int) -> list[Tensor]:
    parameter = torch.nn.Parameter(start.clone().view(shape))
    optimizer = make([parameter])
    after = []
    for step in range(STEPS):
        parameter.grad = gradient_of(step, start.numel()).view(shape)
        optimizer.step()
        after.append(parameter.detach().clone())
    return after


def gradient_of(step: int, length: int) -> Tensor:
    return noise(length, seed=100 + step)


def torchs(spec: AnyOptimizer, fused: bool = True) -> Any:
    name = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD", "adagrad": "Adagrad", "rmsprop": "RMSprop"}[spec.kind]
    arguments: Mapping[str, Any] = spec.model_dump(exclude={"kind", "groups"})
    how = {"fused": True} if fused and name != "RMSprop" else {"foreach": False}
    return lambda parameters: getattr(torch.optim, name)(parameters, **arguments, **how)


@pytest.mark.parametrize(("name", "args"), WHOLE, ids=str)
def test_whole_tensor_rule_is_torchs_with_its_state_in_flat_memory(
    name: str, args: dict[str, Any], tmp_path: Path
) -> None:
    spec = TorchOptimizer(use=f"torch.optim:{name}", lr=0.05, weight_decay=0.01, args=args)
    rule = WholeTensor(spec, tmp_path)
    parameter = noise(8, 6)
    flat, state = memory_for(rule, parameter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make = getattr(torch.optim, name)
        expected = of_torch(lambda p: make(p, lr=0.05, weight_decay=0.01, **args), noise(8, 6), 8, 6)
    for step, wanted in enumerate(expected):
        gradient = gradient_of(step, 48).view(8, 6)
        # A new object each time, as after a death: everything that counts is in the flat memory.
        again = {key: flat[at : at + value.numel()].view(value.shape) for key, (at, value) in state.items()}
        WholeTensor(spec, tmp_path).update(parameter, gradient, again, Moment(step + 1, 0.05, 0.01))
        assert torch.equal(parameter, wanted)


def memory_for(rule: WholeTensor, parameter: Tensor) -> tuple[Tensor, dict[str, tuple[int, Tensor]]]:
    """What the memory of a run gives a tensor: one stretch of floats, whatever was in it before."""
    places: dict[str, tuple[int, Tensor]] = {}
    end = 0
    for key, shape in rule.state_shapes(parameter).items():
        places[key] = end, torch.empty(shape)
        end += torch.Size(shape).numel()
    return torch.full((end,), 7.0), places


def test_finding_out_the_state_leaves_the_parameter_alone(tmp_path: Path) -> None:
    parameter = noise(3, 2)
    shapes = WholeTensor(TorchOptimizer(use="torch.optim:NAdam"), tmp_path).state_shapes(parameter)
    assert shapes["exp_avg"] == (3, 2)
    assert torch.equal(parameter, noise(3, 2))
    assert parameter.grad is None


@pytest.mark.parametrize(
    ("use", "args", "sentence"),
    [
        ("torch.optim:Muon", {}, r"'torch\.optim:Muon' does not take a tensor of shape \(5,\)"),
        ("torch.optim:NAdam", {"beta": 1}, r"does not take .* optimizer\.args = \{'beta': 1\}"),
        ("torch.optim:Rprop", {}, r"does not take .*'weight_decay'"),
        ("torch.optim:LBFGS", {}, r"does not take .*'weight_decay'"),
        ("torch.optim:Mun", {}, "Muon"),
    ],
)
def test_an_optimizer_that_cannot_be_used_says_so(
    use: str, args: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(JobError, match=sentence):
        WholeTensor(TorchOptimizer(use=use, args=args), tmp_path).state_shapes(noise(5))
