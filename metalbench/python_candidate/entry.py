"""How a candidate is called: a function of the task's name, or KernelBench's `ModelNew`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from metalbench.errors import DispatchError
from metalbench.python_candidate.source import CLASS

Arrays = Mapping[str, Any]
Entry = Callable[[Arrays], Any]
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def find_entry(
    namespace: Mapping[str, Any],
    task: str,
    inputs: Sequence[str],
    values: Mapping[str, int | float],
) -> Entry:
    """What is called with the task's inputs by name; `values` are its sizes and constants.

    A function, or `forward`, takes inputs by their names; one that has other names takes them in
    their order. What `forward` does not take are the module's parameters: `conv_weight` is its
    `conv.weight`, or its own `conv_weight`. Raises DispatchError for what does not fit.
    """
    if CLASS not in namespace:
        return _EntryPoint(namespace[task], task, inputs, values)
    made = namespace[CLASS]
    if not callable(made):
        raise DispatchError(f"[{task}] {CLASS}: expected a class, got {type(made).__name__}")
    model = made(**_for_constructor(made, task, values))
    forward = getattr(model, "forward", None) or model
    return _EntryPoint(forward, task, inputs, values, model)


class _EntryPoint:
    def __init__(
        self,
        function: Callable[..., Any],
        task: str,
        inputs: Sequence[str],
        values: Mapping[str, int | float],
        model: Any = None,
    ) -> None:
        if not callable(function):
            raise DispatchError(f"[{task}] expected a function, got {type(function).__name__}")
        self._function = function
        self._model = model
        self._values = {}
        self._places: list[str] = []
        self._task = task
        parameters = _parameters(function)
        taken = [each for each in parameters if each in inputs]
        needed = [name for name, each in parameters.items() if each.default is each.empty]
        if all(each in inputs or each in values for each in needed) and taken:
            self._values = {each: values[each] for each in parameters if each in values}
            self._names = taken
        else:
            self._places = self._names = self._in_order(parameters, inputs, needed)
        self._attributes = [each for each in inputs if each not in self._names]
        if self._attributes and model is None:
            missing = ", ".join(self._attributes)
            raise DispatchError(
                f"[{task}] expected a function of ({', '.join(inputs)}), got one of "
                f"({', '.join(parameters)}), without {missing}"
            )

    def __call__(self, arrays: Arrays) -> Any:
        for name in self._attributes:
            _set(self._model, name.split("_"), arrays[name], f"[{self._task}] {CLASS}: {name}")
        if self._places:
            return self._function(*(arrays[each] for each in self._places))
        return self._function(**{each: arrays[each] for each in self._names}, **self._values)

    def _in_order(
        self, parameters: Mapping[str, Any], inputs: Sequence[str], needed: Sequence[str]
    ) -> list[str]:
        several = any(each.kind is each.VAR_POSITIONAL for each in parameters.values())
        places = [name for name, each in parameters.items() if each.kind in _BY_PLACE]
        count = len(inputs) if several else len(places)
        if not len(needed) <= len(inputs) or count == 0:
            raise DispatchError(
                f"[{self._task}] expected parameters for ({', '.join(inputs)}), got "
                f"({', '.join(parameters)})"
            )
        return list(inputs[:count])


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


def _for_constructor(
    made: Any, task: str, values: Mapping[str, int | float]
) -> dict[str, int | float]:
    """Sizes and constants that the constructor asks for by name."""
    given, lacking = {}, []
    for name, each in _parameters(made).items():
        if name in values:
            given[name] = values[name]
        elif each.default is each.empty and each.kind in _BY_PLACE:
            lacking.append(name)
    if lacking:
        raise DispatchError(
            f"[{task}] {CLASS}({', '.join(lacking)}): expected a constructor without arguments, or "
            f"of ({', '.join(values)})"
        )
    return given


def _set(owner: Any, parts: Sequence[str], value: Any, where: str) -> None:
    """Set the parameter that `parts` lead to; a part of it may have `_` in its name."""
    whole = "_".join(parts)
    if hasattr(owner, whole):
        setattr(owner, whole, value)
        return
    for end in range(1, len(parts)):
        name = "_".join(parts[:end])
        inner = owner[int(name)] if _is_index(owner, name) else getattr(owner, name, None)
        if inner is not None:
            _set(inner, parts[end:], value, where)
            return
    raise DispatchError(f"{where}: the module has no such parameter, and `forward` takes none")


def _is_index(owner: Any, name: str) -> bool:
    return isinstance(owner, list | tuple) and name.isdigit() and int(name) < len(owner)
