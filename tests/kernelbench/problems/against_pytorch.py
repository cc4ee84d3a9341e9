"""Compare a problem's bodies with the published module, on the same inputs and parameters."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError
from metalbench.kernel.library import Entry
from metalbench.kernelbench.problems.declaration import PROBLEMS
from metalbench.kernelbench.pytorch.module import TorchModule, several
from metalbench.reference.torch_form import import_torch_for
from metalbench.task.declaration import spell_size
from metalbench.task.workload import Workload, workload

Values = np.ndarray[Any, Any]
# Weights behind flattened images, with their channels: here those come last.
FLATTENED = {("kb3_004_lenet5", "fc1.weight"): 16}
MOST_TRIED = 2000
# Of all extents' product: more takes too long in float64.
MOST_ELEMENTS = 1 << 24
NEAR = 1e-6


class Unmatched(Exception):  # noqa: N818 - no error but what is found
    """The published file has no extents at which its arrays are those of a size of ours."""


def file_of(entry: Entry, folder: Path) -> Path:
    """The published file of a problem, in a checkout's folder of levels."""
    found = re.match(r"kb(\d)_(\d+)_", entry.name)
    assert found
    return next((folder / f"level{found[1]}").glob(f"{int(found[2])}_*.py"))


def largest_difference(entry: Entry, folder: Path, seed: int = 1) -> float:
    """Between our float64 results at a small size and the module's, relative to the largest.

    Raises Unmatched where the module cannot be brought to these shapes.
    """
    module = TorchModule.of(file_of(entry, folder))
    for size in _sizes(entry, module):
        with suppress(Unmatched):
            return _difference_at(entry, module, size, seed)
    raise Unmatched(entry.name)


def _sizes(entry: Entry, module: TorchModule) -> Iterator[str]:
    """`small`; then as far as the file says the same number once for several of its extents.

    What it says within its classes, or nowhere, stays as it is published.
    """
    yield "small"
    own, small = PROBLEMS[entry.name].sizes["paper"], entry.task.sizes["small"]
    said = set(module.source.numbers.values())
    same = {
        extent: max(small[each] for each in own if own[each] == extent)
        for extent in said & set(own.values())
    }
    level = {name: same.get(extent, extent) for name, extent in own.items()}
    if spell_size(level) != spell_size(small) and prod(level.values()) < MOST_ELEMENTS:
        yield spell_size(level)
    mixed = {name: small[name] if own[name] in said else own[name] for name in own}
    if mixed not in (level, dict(small)) and prod(mixed.values()) < MOST_ELEMENTS:
        yield spell_size(mixed)


def _difference_at(entry: Entry, module: TorchModule, size: str, seed: int) -> float:
    work, plain = (workload(entry.task, size, seed=each) for each in (seed, 0))
    best = np.inf
    for model, arguments in _models(entry, work, module):
        held = {name.replace(".", "_") for name, _ in model.named_parameters()}
        own = {*PROBLEMS[entry.name].inputs, *held}
        # Where the definition has a number a parameter stands, which is that number at seed 0.
        inputs = {n: (work if n in own else plain).inputs[n] for n in work.inputs}
        here = replace(work, inputs=inputs)
        best = min(best, _difference(entry, here, model, arguments))
        if best < NEAR:
            break
    if best == np.inf:
        raise Unmatched(entry.name)
    return best


def _difference(entry: Entry, work: Workload, model: Any, arguments: list[Any]) -> float:
    torch = import_torch_for(entry.name)
    state = _state(torch, model, work)
    inputs = [work.inputs[name] for name in PROBLEMS[entry.name].inputs]
    best = np.inf
    arrays = [each for each in arguments if hasattr(each, "shape")]
    for layout in _layouts(inputs, [tuple(each.shape) for each in arrays]):
        given = (
            torch.from_numpy(np.array(each, order="C")).to(own.dtype)
            for each, own in zip(layout, arrays, strict=True)
        )
        # Plain numbers among them are constants of our tasks.
        tensors = [next(given) if hasattr(each, "shape") else each for each in arguments]
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as that a norm's features are not looked at
            got = several(torch.func.functional_call(model, state, tuple(tensors), strict=False))[0]
        for expected in _alike(next(iter(work.expected.values())), tuple(got.shape)):
            values = got.numpy().reshape(expected.shape)
            scale = max(1e-30, float(np.abs(expected).max()))
            best = min(best, float(np.abs(values - expected).max()) / scale)
    return best


def _models(entry: Entry, work: Workload, module: TorchModule) -> Iterator[tuple[Any, list[Any]]]:
    """The module with shapes as ours, in float64, and the arguments that it would draw."""
    for values in _extents(entry, work, module):
        try:
            model, arguments = module.built(values, "meta")
        except DeclarationError:
            continue
        if _fits(work, entry, model, arguments):
            model, arguments = module.built(values, double=True)
            yield model.double(), arguments


def _extents(entry: Entry, work: Workload, module: TorchModule) -> Iterator[dict[str, int]]:
    """The file's numbers, each as a number of ours that is as large in the published problem."""
    own, small = PROBLEMS[entry.name].sizes["paper"], entry.task.extents(work.size)
    names = {
        name: value
        for name, value in module.source.numbers.items()
        if value in own.values() or name in module.source.extents
    }
    choices = []
    for value in names.values():
        like = [small[name] for name, extent in own.items() if extent == value]
        choices.append(list(dict.fromkeys([*like, value])) if like else [value, *small.values()])
    for place, chosen in enumerate(product(*choices)):
        if place == MOST_TRIED:
            return
        yield dict(zip(names, chosen, strict=True))


def _fits(work: Workload, entry: Entry, model: Any, arguments: list[Any]) -> bool:
    ours = [work.inputs[name] for name in PROBLEMS[entry.name].inputs]
    shapes = [tuple(each.shape) for each in arguments if hasattr(each, "shape")]
    if len(ours) != len(shapes):
        return False
    if not all(any(True for _ in _alike(a, b)) for a, b in zip(ours, shapes, strict=True)):
        return False
    for name, each in model.named_parameters():
        held = work.inputs.get(name.replace(".", "_"))
        if held is not None and held.size != each.numel():
            return False
    return True


def _alike(values: Values, shape: tuple[int, ...]) -> Iterator[Values]:
    """`values` as it is and with its channels first, where that has the shape."""
    if values.shape == shape or (values.size == 1 and not shape):
        yield values
    if values.ndim > 2:
        moved = np.moveaxis(values, -1, 1)
        if moved.shape == shape:
            yield moved


def _layouts(inputs: list[Values], shapes: list[tuple[int, ...]]) -> Iterator[tuple[Values, ...]]:
    yield from product(*(list(_alike(a, b)) for a, b in zip(inputs, shapes, strict=True)))


def _state(torch: Any, model: Any, work: Workload) -> Mapping[str, Any]:
    """Our parameters by the module's names, laid out as it has them."""
    state = {name: each.detach().clone() for name, each in model.named_parameters()}
    state |= {name: each.detach().clone() for name, each in model.named_buffers()}
    for prefix, layer in model.named_modules():
        for short, own in layer.named_parameters(recurse=False):
            name = f"{prefix}.{short}" if prefix else short
            held = work.inputs.get(name.replace(".", "_"))
            if held is not None:
                values = _weights(torch, layer, short, held.astype(np.float64))
                channels = FLATTENED.get((work.task.name, name))
                if channels:
                    values = np.swapaxes(values.reshape(len(values), -1, channels), 1, 2)
                state[name] = torch.from_numpy(np.array(values, order="C")).reshape(own.shape)
    return state


def _weights(torch: Any, layer: Any, short: str, held: Values) -> Values:
    convolution = torch.nn.modules.conv
    if short != "weight" or not isinstance(layer, convolution._ConvNd):
        return held
    if not isinstance(layer, convolution._ConvTransposeNd):
        return np.moveaxis(held, -1, 1)
    filters, *taps, inner = held.shape
    split = held.reshape(layer.groups, filters // layer.groups, *taps, inner)
    return np.moveaxis(split, -1, 1).reshape(layer.groups * inner, -1, *taps)
