"""Check accesses through pointers into an array that is a member of a struct, in checked builds.

Clang checks a subscript of the member itself. A pointer does not show where the array ends: the
next member begins right behind it. So, before anything is optimised, each pointer into an array of
a struct carries its bounds: through the thread's variables of pointers, each of which has two more
for them, and through parameters of the user's functions, for which the caller passes the bounds to
the runtime right before the call. An access through such a pointer is preceded by a check. Pointers
that are members themselves, or results of functions, carry no bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeGuard

from metalbench.msl.ir.model import (
    Alloca,
    CallInstruction,
    ElementPointer,
    Function,
    Instruction,
    Memory,
)
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.rewriter import Rewriter
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import POINTER, ArrayType
from metalbench.msl.transforms.source_names import (
    Names,
    is_element,
    is_load_of_pointer,
    is_member,
    is_metals,
    spell,
)

# Parameters whose bounds a call may pass (`max_handed` of csrc/msl/mb/cpu/abi.h).
_MOST_PASSED = 8
_HELPERS = ("mb_within", "mb_hand", "mb_handed_low", "mb_handed_bytes")


class Bounds(NamedTuple):
    """The pointer to an array's first element, and its size in bytes: two values.

    `is_direct` marks an element as the source names it, which clang checks.
    """

    low: str
    size: str
    is_direct: bool = False


def check_member_bounds(module: Module) -> None:
    """Check each such access in the user's functions. Raises IrError without the runtime's part."""
    bodies = {each.name: _Body(each) for each in module.users_functions()}
    # Bounds that one function passes to another may be passed on.
    is_new = True
    while is_new:
        is_new = any([each.propagate(bodies) for each in bodies.values()])  # noqa: C419
    names = Names(module, "@mb.member")
    for body in bodies.values():
        if not body.bounds:
            continue
        if missing := [each for each in _HELPERS if not module.declares(each)]:
            raise IrError(f"the module has no {missing[0]} for the arrays of {body.function.name}")
        body.instrument(bodies, names)


def _values_beside(value: str) -> Bounds:
    """Return the values for a pointer's bounds, or the variables for those of a variable."""
    name = value[1:].strip('"')
    return Bounds(f"%mb.low.{name}", f"%mb.bytes.{name}")


@dataclass
class _Body:
    """A function of the user's, and which of its pointers and variables have bounds."""

    function: Function
    bounds: dict[str, Bounds] = field(default_factory=dict)
    # Numbers of the parameters that have bounds.
    bounded: set[int] = field(default_factory=set)
    # Variables of pointers that have variables for bounds.
    _variables: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._definitions = self.function.definitions()
        self._stores: list[Memory] = []
        self._calls: list[CallInstruction] = []
        # What may have bounds: addresses, and loads of pointers.
        self._derived: list[ElementPointer | Memory] = []
        for _, each in self.function.instructions:
            if isinstance(each, ElementPointer) or is_load_of_pointer(each):
                self._derived.append(each)
            elif _is_store_of_pointer(each):
                self._stores.append(each)
            elif isinstance(each, CallInstruction):
                self._calls.append(each)
        self._promotable = {
            name
            for name, each in self._definitions.items()
            if isinstance(each, Alloca) and each.allocated == POINTER and self._is_promotable(name)
        }

    def _is_promotable(self, variable: str) -> bool:
        """Return whether a variable is loaded and stored only, as LLVM's mem2reg demands."""
        for each in self.function.users_of(variable):
            if _is_store_of_pointer(each) and each.operands[0].text != variable:
                continue
            if isinstance(each, CallInstruction) and each.name.startswith("llvm.lifetime."):
                continue
            if not is_load_of_pointer(each):
                return False
        return True

    def propagate(self, bodies: Mapping[str, _Body]) -> bool:
        """Find pointers with bounds; return whether there are more, here or in what is called."""
        before = len(self.bounds) + len(self._variables)
        for number in self.bounded:
            value = self.function.parameters[number].text
            self.bounds.setdefault(value, _values_beside(value))
        known = -1
        while known != len(self.bounds) + len(self._variables):
            known = len(self.bounds) + len(self._variables)
            for store in self._stores:
                stored, variable = store.operands
                if stored.text in self.bounds and variable.text in self._promotable:
                    self._variables.add(variable.text)
            for each in self._derived:
                if bounds := self._find_bounds(each):
                    self.bounds[each.result] = bounds
        passed = [self._pass_to(bodies[call.name], call) for call in self._calls_of(bodies)]
        return known != before or any(passed)

    def _find_bounds(self, made: ElementPointer | Memory) -> Bounds | None:
        if isinstance(made, Memory):
            is_known = made.address.text in self._variables
            return _values_beside(made.result) if is_known else None
        base = made.operands[0].text
        if is_element(made) and is_member(self._definitions.get(base)):
            # The last array of a struct that is as long as its buffer is declared with one element.
            size = f"ptrtoint (ptr getelementptr ({made.element}, ptr null, i32 1) to i64)"
            is_direct = made.operands[2].text != "0"
            assert isinstance(made.element, ArrayType)
            return Bounds(base, size, is_direct) if made.element.count > 1 else None
        return self.bounds.get(base)

    def _calls_of(self, bodies: Mapping[str, _Body]) -> list[CallInstruction]:
        return [each for each in self._calls if each.name in bodies]

    def _pass_to(self, called: _Body, call: CallInstruction) -> bool:
        """Note which parameters a call passes bounds for; return whether one is new."""
        passed = {
            number
            for number, value in enumerate(call.operands[:_MOST_PASSED])
            if value.type == POINTER and value.text in self.bounds
        }
        is_new = not passed <= called.bounded
        called.bounded |= passed
        return is_new

    def instrument(self, bodies: Mapping[str, _Body], names: Names) -> None:
        """Insert what carries bounds, and the checks."""
        rewriter = Rewriter(self.function)
        all_of = [each for _, each in self.function.instructions]
        located = next((each.located for each in all_of if each.place), "")
        rewriter.insert_at_start(self.function.entry, *self._receive(located))
        for each in all_of:
            rewriter.insert_before(each, *self._store_bounds(each))
            if each.place:
                rewriter.insert_before(each, *self._check(each, names))
                if isinstance(each, CallInstruction) and each.name in bodies:
                    rewriter.insert_before(each, *self._pass_bounds(each, bodies[each.name]))
            rewriter.insert_after(each, *self._load_bounds(each))
        rewriter.apply()

    def _receive(self, located: str) -> Iterator[str]:
        """At the beginning: the bounds that the caller has passed."""
        for number in sorted(self.bounded):
            value = self.function.parameters[number].text
            low, size, _ = _values_beside(value)
            given = f"(i32 {number}, ptr {value}){located}"
            yield f"{low} = call ptr @mb_handed_low{given}"
            yield f"{size} = call i64 @mb_handed_bytes(i32 {number}){located}"

    def _store_bounds(self, each: Instruction) -> Iterator[str]:
        if _is_store_of_pointer(each) and each.address.text in self._variables:
            low, size, _ = self.bounds.get(each.operands[0].text, Bounds("null", "0"))
            beside = _values_beside(each.address.text)
            yield f"store ptr {low}, ptr {beside.low}, align 8"
            yield f"store i64 {size}, ptr {beside.size}, align 8"

    def _load_bounds(self, each: Instruction) -> Iterator[str]:
        if each.result in self._variables:
            low, size, _ = _values_beside(each.result)
            yield f"{low} = alloca ptr, align 8"
            yield f"{size} = alloca i64, align 8"
            yield f"store ptr null, ptr {low}, align 8"
            yield f"store i64 0, ptr {size}, align 8"
        if is_load_of_pointer(each) and each.address.text in self._variables:
            value, variable = _values_beside(each.result), _values_beside(each.address.text)
            yield f"{value.low} = load ptr, ptr {variable.low}, align 8"
            yield f"{value.size} = load i64, ptr {variable.size}, align 8"

    def _pass_bounds(self, call: CallInstruction, called: _Body) -> Iterator[str]:
        """Before a call: the bounds of each parameter that may have some."""
        for number in sorted(called.bounded):
            value = call.operands[number]
            if known := self.bounds.get(value.text):
                what = f"{value}, ptr {known.low}, i64 {known.size}"
                yield f"call void @mb_hand(i32 {number}, {what}){call.located}"

    def _check(self, each: Instruction, names: Names) -> Iterator[str]:
        """Before an access: the check that it is within its bounds."""
        for value in _find_accessed(each):
            bounds = self.bounds.get(value)
            if bounds and not bounds.is_direct:
                what = f"ptr {value}, ptr {bounds.low}, i64 {bounds.size}"
                name = names.constant(self._spell(value))
                yield f"call void @mb_within({what}, ptr {name}){each.located}"

    def _spell(self, value: str) -> str:
        """Return the array's own name, or that of the pointer to it."""
        made = self._definitions.get(value)
        if isinstance(made, ElementPointer):
            base = made.operands[0].text
            if is_element(made) and is_member(self._definitions.get(base)):
                return f"`{spell(base, self._definitions)}`"
            return self._spell(base)
        pointer = spell(value, self._definitions)
        return f"the array that `{pointer}` points into" if pointer else "an array in a struct"


def _is_store_of_pointer(each: Instruction) -> TypeGuard[Memory]:
    """Return whether an instruction stores a pointer, neither volatile nor atomic."""
    return isinstance(each, Memory) and each.text.lstrip().startswith("store ptr ")


def _find_accessed(each: Instruction) -> list[str]:
    """Return the local pointers through which an instruction accesses memory.

    Functions of the MSL headers, and copies, access what their arguments point to.
    """
    if isinstance(each, Memory):
        return [] if each.is_atomic else [each.address.text]
    if isinstance(each, CallInstruction) and (
        is_metals(each.name) or each.name.startswith("llvm.mem")
    ):
        return [given.text for given in each.operands if given.type == POINTER]
    return []
