"""Find loops that count, and fuse those on single elements into one kernel.

A loop counts if its condition compares an integer of the state, to which the body adds a constant,
with a bound that the body does not change. The host then knows the number of iterations.

A counted loop becomes one kernel if each element of the state depends only on the same element, on
scalars of the state, and on values from outside: a thread runs all iterations on one element, which
stays in a register. Results that the body stacks are written as they are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metalbench.hlo.ir import (
    Block,
    ElementType,
    Operation,
    TensorValue,
    find_splat,
    replace_values,
)
from metalbench.hlo.operations import (
    CONTROL_FLOW,
    ELEMENTWISE,
    MOVEMENTS,
    OPERATIONS,
    has_side_effects,
)
from metalbench.hlo.passes.fusion import is_index_preserving


@dataclass(frozen=True)
class LoopCounter:
    """The counter of a loop that ends at a bound, so that its iterations are known before.

    `start` and `bound` are numbers, or values that the host reads when the loop begins. If
    `is_inclusive`, the body also runs for the bound.
    """

    start: int | TensorValue
    bound: int | TensorValue
    step: int
    is_inclusive: bool
    element: ElementType


_COMPARISONS = {"LT": (1, False), "LE": (1, True), "GT": (-1, False), "GE": (-1, True)}
_MIRRORED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}


def find_loop_counter(operation: Operation) -> LoopCounter | None:
    """Return the counter of a loop: an integer of its state to which a constant is added.

    The condition compares it with a constant, a value from outside, or unchanged state.
    """
    condition, body = operation.regions
    if any(map(has_side_effects, condition.operations)):
        return None
    test = condition.returned[0].operation
    if test is None or test.name != "compare" or test not in condition.operations:
        return None
    left, right = test.operands
    direction = test.attributes["comparison_direction"]
    if _find_step(body, condition, left) == 0:
        left, right, direction = right, left, _MIRRORED.get(direction, "")
    step = _find_step(body, condition, left)
    if step == 0 or direction not in _COMPARISONS:
        return None
    number = condition.arguments.index(left)
    bound: int | TensorValue | None = right
    if right in condition.arguments:
        other = condition.arguments.index(right)
        if body.returned[other] is not body.arguments[other]:
            return None
        bound = operation.operands[other]
    elif right.operation in condition.operations:
        bound = _find_integer(right)
    sign, is_inclusive = _COMPARISONS[direction]
    element = left.type.element
    # A narrow integer wraps around below the range of its storage.
    if bound is None or step * sign <= 0 or not element.is_integer or element.is_narrow:
        return None
    if isinstance(bound, TensorValue):
        bound = _or_value(bound)
    start = _or_value(operation.operands[number])
    return LoopCounter(start, bound, step, is_inclusive, element)


def _find_step(body: Block, condition: Block, value: TensorValue) -> int:
    """Return the constant that a body adds to an element of the loop's state.

    `value` is the element in the condition. Return 0 for another value, or another change.
    """
    if value not in condition.arguments:
        return 0
    number = condition.arguments.index(value)
    change = body.returned[number].operation
    if change is None or change.name not in ("add", "subtract"):
        return 0
    left, right = change.operands
    if change.name == "add" and right is body.arguments[number]:
        left, right = right, left
    if left is not body.arguments[number]:
        return 0
    step = _find_integer(right) or 0
    return step if change.name == "add" else -step


def _find_integer(value: TensorValue) -> int | None:
    """Return the value of a constant of one integer; None for another value."""
    operation = value.operation
    if operation is None or operation.name != "constant" or not value.type.element.is_integer:
        return None
    return int(operation.attributes["value"]) if value.type.size == 1 else None


def _or_value(value: TensorValue) -> int | TensorValue:
    """Return the number of a constant, or the value itself."""
    found = _find_integer(value)
    return value if found is None else found


def count_iterations(counter: LoopCounter | None) -> int | None:
    """Return the number of iterations of a loop, or None if it is not known before a run."""
    if counter is None or not isinstance(counter.start, int) or not isinstance(counter.bound, int):
        return None
    distance = (counter.bound - counter.start) * (1 if counter.step > 0 else -1)
    count = -(-distance // abs(counter.step))
    if counter.is_inclusive:
        count = distance // abs(counter.step) + 1
    return max(count, 0)


# Fuse loops on single elements.

# Operations of a body: a long kernel compiles slowly.
MAX_OPERATIONS = 300
# Nothing ends a kernel between its iterations, and the places of stacked results are computed.
MAX_ITERATIONS = 1 << 20


@dataclass(frozen=True)
class ElementLoop:
    """A counted loop whose iterations a thread can run on one element.

    Numbers are those of the loop's operands. `states` change from one iteration to the next,
    `stacked` results are written once for each iteration; the body leaves others unchanged.
    """

    counter: int
    start: int
    step: int
    iterations: int
    shape: tuple[int, ...]
    states: tuple[int, ...]
    stacked: tuple[int, ...]


def fuse_loops(block: Block) -> None:
    """Fuse loops in place, also in regions of control flow."""
    operations: list[Operation] = []
    new: dict[TensorValue, TensorValue] = {}
    for operation in block.operations:
        replace_values(operation, new)
        for region in operation.regions if operation.name in CONTROL_FLOW else ():
            fuse_loops(region)
        loop = find_element_loop(operation) if operation.name == "while" else None
        if loop is None:
            operations.append(operation)
        else:
            operations += _fuse_loop(operation, loop, new)
    block.operations = operations
    block.returned = [new.get(each, each) for each in block.returned]


def _fuse_loop(
    loop: Operation, form: ElementLoop, new: dict[TensorValue, TensorValue]
) -> list[Operation]:
    """Return the operations that replace a loop; add the replaced results to `new`."""
    _, body = loop.regions
    own = {form.counter, *form.states, *form.stacked}
    inner = {
        body.arguments[number]: loop.operands[number]
        for number in range(len(loop.operands))
        if number not in own
    }
    for each in body.operations:
        replace_values(each, inner)
    body.returned = [inner.get(each, each) for each in body.returned]
    new.update(
        (loop.results[number], loop.operands[number])
        for number in range(len(loop.operands))
        if number not in own
    )
    end = loop.results[form.counter]
    value = np.array(form.start + form.step * form.iterations)
    count = replace(
        loop,
        name="constant",
        operands=[],
        results=[],
        attributes={"value": value.astype(end.type.element.numpy)},
        regions=[],
    )
    count.results = [TensorValue(end.type, count)]
    new[end] = count.results[0]
    fused = replace(
        loop,
        name="counted_loop",
        operands=[loop.operands[number] for number in form.states],
        results=[loop.results[number] for number in (*form.states, *form.stacked)],
        attributes={"loop": form},
        regions=[body],
    )
    for number, result in enumerate(fused.results):
        result.operation, result.number = fused, number
    return [count, fused]


def find_element_loop(loop: Operation) -> ElementLoop | None:
    """Return the form of a loop that one kernel can run, or None."""
    counter = find_loop_counter(loop)
    iterations = count_iterations(counter)
    if counter is None or not isinstance(counter.start, int):
        return None
    if iterations is None or not 0 < iterations <= MAX_ITERATIONS:
        return None
    condition, body = loop.regions
    if len(body.operations) > MAX_OPERATIONS or not all(map(_is_movable, body.operations)):
        return None
    test = condition.returned[0].operation
    if test is None:
        return None
    number = next(
        condition.arguments.index(each)
        for each in test.operands
        if each in condition.arguments and _find_step(body, condition, each)
    )
    changed = [
        each
        for each in range(len(loop.operands))
        if each != number and body.returned[each] is not body.arguments[each]
    ]
    stacked = tuple(each for each in changed if _is_stacked(body, each))
    states = tuple(each for each in changed if each not in stacked)
    shapes = {body.arguments[each].type.shape for each in states}
    shapes |= {body.arguments[each].type.shape[1:] for each in stacked}
    shapes.discard(())
    if len(shapes) > 1 or not changed:
        return None
    shape = next(iter(shapes), ())
    form = ElementLoop(number, counter.start, counter.step, iterations, shape, states, stacked)
    return form if _depends_on_elements(body, form) and _fills_stacks(body, form) else None


def _is_movable(operation: Operation) -> bool:
    """Return whether a thread can compute an element of an operation inside a loop."""
    if operation.name == "constant":
        return find_splat(operation.attributes["value"]) is not None
    return operation.name in ELEMENTWISE or operation.name in MOVEMENTS


def _is_stacked(body: Block, number: int) -> bool:
    """Return whether the body only replaces a slice of this part of the state, along axis 0."""
    argument, update = body.arguments[number], body.returned[number].operation
    if update is None or update.name != "dynamic_update_slice":
        return False
    operand, slice_, _, *starts = update.operands
    shape = argument.type.shape
    uses = sum(each.find_inputs().count(argument) for each in body.operations)
    returned = sum(each is update.results[0] for each in body.returned)
    return (
        operand is argument
        and uses == 1
        and returned == 1
        and not any(update.results[0] in each.operands for each in body.operations)
        and slice_.type.shape == (1, *shape[1:])
        and all(_find_integer(each) == 0 for each in starts)
    )


def _depends_on_elements(body: Block, form: ElementLoop) -> bool:
    """Return whether the parts of the state depend only on the same element and on scalars."""
    size = tuple(each for each in form.shape if each != 1)
    by_element = {
        body.arguments[number]
        for number in form.states
        if form.shape and body.arguments[number].type.shape == form.shape
    }
    updates = {body.returned[number].operation for number in form.stacked}
    for operation in body.operations:
        used = [each for each in operation.operands if each in by_element]
        if not used or operation in updates:
            continue
        result = operation.results[0]
        if tuple(each for each in result.type.shape if each != 1) != size:
            return False
        if not all(is_index_preserving(operation, each) for each in used):
            return False
        by_element.update(operation.results)
    scalars = [number for number in form.states if not body.arguments[number].type.shape]
    if form.shape and any(body.returned[number] in by_element for number in scalars):
        return False
    for each in updates:
        if each is None:
            return False
        _, slice_, start, *_ = each.operands
        if start in by_element or (slice_ in by_element and slice_.type.shape[1:] != form.shape):
            return False
    return True


def _fills_stacks(body: Block, form: ElementLoop) -> bool:
    """Return whether the iterations write each slice of the stacked results once."""
    if not form.stacked:
        return True
    for number in form.stacked:
        update = body.returned[number].operation
        if update is None or body.arguments[number].type.shape[0] != form.iterations:
            return False
        places = _compute_places(update.operands[2], body.arguments[form.counter], form)
        if places is None or not np.array_equal(np.sort(places), np.arange(form.iterations)):
            return False
    return True


_TESTS: dict[str, Callable[..., Any]] = {
    "EQ": np.equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
    "NE": np.not_equal,
}
Places = np.ndarray[tuple[int], np.dtype[np.int64]]


def _compute_places(value: TensorValue, counter: TensorValue, form: ElementLoop) -> Places | None:
    """Return an integer in all iterations; None if it depends on more than the counter."""
    constant, operation = _find_integer(value), value.operation
    if value is counter:
        return form.start + form.step * np.arange(form.iterations, dtype=np.int64)
    if constant is not None:
        return np.full(form.iterations, constant, np.int64)
    function = None if operation is None else _find_function(operation)
    if operation is None or function is None or value.type.size != 1:
        return None
    given = [_compute_places(each, counter, form) for each in operation.operands]
    known = [each for each in given if each is not None]
    if len(known) < len(given):
        return None
    return np.asarray(function(*known), np.int64)


def _find_function(operation: Operation) -> Callable[..., Any] | None:
    """Return NumPy's function for an operation on integers, or None."""
    if operation.name == "compare":
        return _TESTS[operation.attributes["comparison_direction"]]
    if operation.name == "select":
        return np.where
    if operation.name in ("convert", "reshape"):
        return np.positive
    known = OPERATIONS[operation.name].numpy
    return getattr(np, known) if known else None
