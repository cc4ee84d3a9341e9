"""Fuse two dispatches: compute what the first one stores where the next one reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_steel.tuning.edit import SHARING
from agent_steel.tuning.syntax import (
    Assignment,
    KernelFunction,
    LocalVariable,
    NotPlainError,
    Words,
    each_statement,
    find_accesses,
    map_accesses,
    read_function,
    replace_words,
    strip_parentheses,
    substitute,
)
from metalbench.kernel.header import Dispatch, Kernel


class FusedDispatches:
    """A dispatch that stores one element a thread moves into the one that reads them."""

    technique = "fused dispatches"
    summary = (
        "What a first dispatch stores for each element, the next one computes where it reads it. "
        "That saves a dispatch, and the traffic of what is in between."
    )
    needs = (
        "two dispatches in a row, of which the first stores one element of a scratch array in each "
        "thread, at its position, and only the second reads that array"
    )

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with one dispatch fewer, for each pair that can be fused."""
        for first, second in zip(kernel.dispatches, kernel.dispatches[1:], strict=False):
            try:
                text = _fuse(kernel, first, second)
            except NotPlainError:
                continue
            if text is not None:
                yield text


def _fuse(kernel: Kernel, first: Dispatch, second: Dispatch) -> str | None:  # noqa: PLR0911 - a return for each form that is refused
    names = [each.function for each in kernel.dispatches]
    # An array may have another name in a function whose arguments the lines bind.
    if kernel.inouts or any(each.arguments for each in kernel.dispatches):
        return None
    if names.count(first.function) > 1 or names.count(second.function) > 1:
        return None
    producer, consumer = read_function(kernel, first), read_function(kernel, second)
    if producer is None or consumer is None or SHARING.search(producer.text):
        return None
    found = _read_producer(kernel, producer, first)
    if found is None:
        return None
    scratch, position, value = found
    element = producer.buffers[scratch].element
    inputs = {name for name, _ in find_accesses(value, producer.buffers)}
    if scratch not in consumer.buffers or consumer.buffers[scratch].element != element:
        return None
    others = [each for each in kernel.dispatches if each not in (first, second)]
    if any(re.search(rf"\b{scratch}\b", _text_of(kernel, each)) for each in others):
        return None
    written = {
        each.target[0] for each in each_statement(consumer.body) if isinstance(each, Assignment)
    }
    if written & (inputs | {scratch}) or _are_assigned(consumer, value):
        return None
    taken = {each.name: each for each in consumer.parameters}
    wanted = [
        each
        for each in producer.parameters
        if each.name not in (scratch, position) and _is_used(each.name, value)
    ]
    if any(each.name in taken and taken[each.name].element != each.element for each in wanted):
        return None

    def compute(_: str, index: Words) -> Words:
        computed = replace_words(value, {position: ("(", *index, ")")})
        return (element, "(", *map_accesses(computed, inputs, _strip), ")")

    body = substitute(consumer.body, lambda words: map_accesses(words, [scratch], compute))
    head = _without_parameter(consumer, scratch)
    for each in wanted:
        if each.name not in taken:
            head = head.replace("(", f"({each.text}, ", 1)
    fused = KernelFunction(
        *(consumer.name, consumer.parameters, body, consumer.begin, consumer.end), head=head
    )
    source = fused.with_body(kernel.source, body)
    shift = len(source) - len(kernel.source) if consumer.begin < producer.begin else 0
    begin, end = producer.begin + shift, producer.end + shift
    source = source[:begin] + source[end:].lstrip("\n")
    source = re.sub(rf"^\s*//\s*dispatch:\s*{first.function}\b[^\n]*\n", "", source, flags=re.M)
    return re.sub(rf"^\s*//\s*scratch:\s*{scratch}\b[^\n]*\n", "", source, flags=re.M)


def _strip(name: str, index: Words) -> Words:
    return (name, "[", *strip_parentheses(index), "]")


def _read_producer(  # noqa: PLR0911 - a return for each form that is refused
    kernel: Kernel, producer: KernelFunction, dispatch: Dispatch
) -> tuple[str, str, Words] | None:
    """Return the array that is stored to, the position's name, and the value for an element."""
    position = producer.find_parameter("thread_position_in_grid")
    grid = dispatch.threads_in_grid
    if position is None or position.element != "uint" or grid is None or len(grid) != 1:
        return None
    if sum(bool(each.attribute) for each in producer.parameters) != 1 or not producer.body:
        return None
    *before, last = producer.body
    values: dict[str, Words] = {}
    for each in before:
        if not isinstance(each, LocalVariable) or not each.value or each.extent or each.space:
            return None
        values[each.name] = (each.type, "(", *replace_words(each.value, values), ")")
    if not isinstance(last, Assignment) or last.operator != "=":
        return None
    scratch = last.target[0]
    if scratch not in {each.name for each in kernel.scratches} or "auto" in producer.text:
        return None
    if last.target != (scratch, "[", position.name, "]"):
        return None
    value = replace_words(last.value, values)
    if any(name == scratch for name, _ in find_accesses(value, producer.buffers)):
        return None
    return scratch, position.name, value


def _text_of(kernel: Kernel, dispatch: Dispatch) -> str:
    function = read_function(kernel, dispatch)
    # A function that cannot be read may do anything with the array.
    return kernel.source if function is None else function.text


def _are_assigned(consumer: KernelFunction, value: Words) -> bool:
    """Return whether a local variable of the consumer has a name that the value uses."""
    local = {each.name for each in each_statement(consumer.body) if isinstance(each, LocalVariable)}
    return bool(local & set(value))


def _is_used(name: str, value: Words) -> bool:
    return name in value


def _without_parameter(function: KernelFunction, name: str) -> str:
    """Return the head of a function without one of its parameters."""
    (parameter,) = (each for each in function.parameters if each.name == name)
    pattern = re.compile(rf"{re.escape(parameter.text)}\s*(\[\[[^\]]*\]\])?\s*,?\s*")
    head, count = pattern.subn("", function.head, count=1)
    if count != 1:
        raise NotPlainError
    return re.sub(r",\s*\)", ")", head)
