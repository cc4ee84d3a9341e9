"""Changes of loops and of single expressions: unroll factors, loads ahead, tails, functions."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from agent_steel.tuning.edit import free_name, with_tune_line
from agent_steel.tuning.syntax import (
    Assignment,
    Branch,
    CallStatement,
    ForLoop,
    KernelFunction,
    LocalVariable,
    NotPlainError,
    Return,
    Statement,
    Words,
    each_statement,
    find_accesses,
    find_assigned_names,
    map_accesses,
    map_words,
    names_in,
    read_function,
    replace_words,
    split_product,
    split_sum,
    strip_parentheses,
    substitute,
)
from metalbench.kernel.header import Kernel
from metalbench.msl.frontend.tokens import split_source

Change = Callable[[ForLoop], list[Statement] | None]


def change_loops(kernel: Kernel, change: Change) -> str | None:
    """Return the kernel's text with each loop that `change` accepts replaced; None if none is."""
    source, count = kernel.source, 0
    for dispatch in kernel.dispatches:
        function = read_function(replace(kernel, source=source), dispatch)
        if function is None:
            continue
        body, changed = _change(function.body, change)
        if changed:
            source = function.with_body(source, body)
            count += changed
    return source if count else None


def _change(body: Iterable[Statement], change: Change) -> tuple[tuple[Statement, ...], int]:
    found: list[Statement] = []
    count = 0
    for each in body:
        if isinstance(each, ForLoop):
            inner, changed = _change(each.body, change)
            if changed:
                found.append(replace(each, body=inner))
                count += changed
                continue
            other = change(each)
            found.extend([each] if other is None else other)
            count += other is not None
        elif isinstance(each, Branch):
            then, first = _change(each.then, change)
            other_side, second = _change(each.other, change)
            found.append(Branch(each.test, then, other_side))
            count += first + second
        else:
            found.append(each)
    return tuple(found), count


def read_counted_loop(loop: ForLoop) -> tuple[str, Words] | None:
    """Return variable and bound of a loop that counts up by one from 0; None for another."""
    name = loop.start.name
    if loop.start.type != "uint" or loop.start.value not in (("0",), ("0u",)):
        return None
    if (loop.step.target, loop.step.operator, loop.step.value) != ((name,), "+=", ("1",)):
        return None
    if (
        loop.test[:2] != (name, "<")
        or len(loop.test) != 3
        or name in find_assigned_names(loop.body)
    ):
        return None
    if loop.test[2] in find_assigned_names(loop.body):
        return None
    return name, loop.test[2:]


def _has_loop_or_end(body: Iterable[Statement]) -> bool:
    return any(isinstance(each, (ForLoop, Return, CallStatement)) for each in each_statement(body))


def _is_name(words: Words) -> bool:
    return len(words) == 1 and words[0].isidentifier()


class UnrollFactor:
    """Loops of any length do several iterations at a time, and what is left behind them."""

    technique = "unroll factors"
    summary = (
        "Loops do several iterations for each test, and the rest behind them. Loads of several "
        "iterations can be under way at a time."
    )
    needs = "a loop without loops in it that counts up by one to a variable that it does not change"

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with such loops unrolled by a tunable."""
        factor = free_name(kernel, "UNROLL")

        def change(loop: ForLoop) -> list[Statement] | None:
            known = read_counted_loop(loop)
            if known is None or _has_loop_or_end(loop.body) or not _is_name(known[1]):
                return None
            name, bound = known
            if bound[0] in kernel.tunables or f"{name}_" in kernel.source:
                return None
            base, step = f"{name}_base_", f"{name}_step_"
            whole = ("(", *bound, "-", *bound, "%", factor, ")")
            inner = ForLoop(
                LocalVariable("uint", step, ("0",)),
                (step, "<", factor),
                Assignment((step,), "+=", ("1",)),
                (LocalVariable("uint", name, (base, "+", step)), *loop.body),
            )
            return [
                ForLoop(
                    LocalVariable("uint", base, ("0",)),
                    (base, "<", *whole),
                    Assignment((base,), "+=", (factor,)),
                    (inner,),
                ),
                replace(loop, start=replace(loop.start, value=whole)),
            ]

        found = change_loops(kernel, change)
        if found is not None:
            found = re.sub(
                r"^(\s*)(for \(uint \w+_step_ = )", r"\1#pragma unroll\n\1\2", found, flags=re.M
            )
            yield with_tune_line(found, factor, (4, 2, 8, 16))


class LoadsAhead:
    """A loop loads the elements of its next iteration before it computes with those of this one."""

    technique = "loads ahead"
    summary = (
        "Each iteration begins with the loads of the next one, so that they are under way while it "
        "computes."
    )
    needs = (
        "a loop that counts up by one and loads, in each iteration, elements of read-only buffers "
        "at indices that only its variable changes"
    )

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with loads one iteration ahead."""
        constants = self._read_only(kernel)
        numbers = itertools.count()
        if re.search(r"\b(ahead|now)_\d", kernel.source):
            return  # it has them

        def change(loop: ForLoop) -> list[Statement] | None:
            known = read_counted_loop(loop)
            if known is None or _has_loop_or_end(loop.body):
                return None
            name, bound = known
            local = {each.name for each in loop.body if isinstance(each, LocalVariable)}
            moving = find_assigned_names(loop.body) | local
            loads: dict[tuple[str, Words], None] = {}
            for each in loop.body:
                if not isinstance(each, (LocalVariable, Assignment)):
                    continue
                if {"?", "&&", "||"} & set(each.value):
                    continue
                for buffer, index in find_accesses(each.value, constants):
                    names = names_in(index)
                    if name in names and not names & (moving | set(constants)):
                        loads[buffer, index] = None
            if not loads:
                return None
            before: list[Statement] = []
            inner: list[Statement] = []
            fetch: list[Statement] = []
            values: dict[tuple[str, Words], str] = {}
            for buffer, index in loads:
                number = next(numbers)
                ahead, now = f"ahead_{number}_", f"now_{number}_"
                element = constants[buffer]
                at_start = replace_words(index, {name: ("0",)})
                before += [
                    LocalVariable(element, ahead, (element, "(", "0", ")")),
                    Branch(
                        ("0", "<", *bound),
                        (Assignment((ahead,), "=", (buffer, "[", *at_start, "]")),),
                    ),
                ]
                inner.append(LocalVariable(element, now, (ahead,)))
                following = replace_words(index, {name: ("(", name, "+", "1", ")")})
                fetch.append(Assignment((ahead,), "=", (buffer, "[", *following, "]")))
                values[buffer, index] = now
            inner.append(Branch((name, "+", "1", "<", *bound), tuple(fetch)))

            def use(buffer: str, index: Words) -> Words:
                if (buffer, index) in values:
                    return (values[buffer, index],)
                return (buffer, "[", *index, "]")

            body = substitute(loop.body, lambda words: map_accesses(words, constants, use))
            return [*before, replace(loop, body=(*inner, *body))]

        try:
            found = change_loops(kernel, change)
        except NotPlainError:
            return
        if found is not None:
            yield found

    @staticmethod
    def _read_only(kernel: Kernel) -> Mapping[str, str]:
        """Return the element types of buffers that no function of the kernel writes."""
        found: dict[str, str] = {}
        written: set[str] = set()
        for dispatch in kernel.dispatches:
            function = read_function(kernel, dispatch)
            if function is None:
                continue
            written |= find_assigned_names(function.body)
            for name, each in function.buffers.items():
                if each.is_const and found.setdefault(name, each.element) != each.element:
                    written.add(name)
        return {name: kind for name, kind in found.items() if name not in written}


class PeeledTail:
    """A test for the end that all iterations have is done once, before the loop."""

    technique = "peeled tails"
    summary = (
        "Where the last iteration is within bounds all are, so that the loop needs no test in each "
        "iteration. A second copy of the loop, with the tests, does what is left."
    )
    needs = (
        "a loop to a number or a tunable all of whose iterations do nothing unless an index that "
        "grows with the iteration is below a bound"
    )

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with such loops twice: without their test, and as they are."""

        def change(loop: ForLoop) -> list[Statement] | None:  # noqa: PLR0911 - a return for each form that is refused
            known = read_counted_loop(loop)
            if known is None or not loop.body or _has_loop_or_end(loop.body):
                return None
            name, bound = known
            if not (bound[0].isdecimal() or bound[0] in kernel.tunables):
                return None
            *declared, last = loop.body
            if not isinstance(last, Branch) or last.other:
                return None
            values: dict[str, Words] = {}
            for each in declared:
                if not isinstance(each, LocalVariable) or each.type != "uint" or each.extent:
                    return None
                values[each.name] = ("(", *replace_words(each.value, values), ")")
            test = strip_parentheses(last.test)
            if "<" not in test or {"&&", "||", "?", "[", "-"} & set(test):
                return None
            at = test.index("<")
            left, right = replace_words(test[:at], values), test[at + 1 :]
            if not _grows_with(left, name) or name in names_in(replace_words(right, values)):
                return None
            if names_in(right) & (set(values) | find_assigned_names(loop.body)):
                return None
            end = replace_words(left, {name: ("(", *bound, "-", "1", ")")})
            begin = replace_words(left, {name: ("0",)})
            # An index beyond 2^32 begins again at 0.
            whole: Words = (*end, "<", *right, "&&", *begin, "<=", *end)
            return [
                Branch(whole, (replace(loop, body=(*declared, *last.then)),), (loop,)),
            ]

        found = change_loops(kernel, change)
        if found is not None:
            yield found


def _grows_with(index: Words, variable: str) -> bool:
    """Return whether an index is a sum in which the variable is a term, or a factor of terms."""
    terms = split_sum(index)
    if terms is None:
        return False
    found = 0
    for each in terms:
        factors = split_product(each)
        if factors is None:
            if variable in names_in(each):
                return False
            continue
        within = [(variable,) == tuple(part) for part in factors]
        if any(variable in names_in(part) for part in factors) and sum(within) != 1:
            return False
        found += any(within)
    return found > 0


class Reciprocals:
    """Divisions of each element by the same number become products with its reciprocal."""

    technique = "reciprocals"
    summary = (
        "What loops divide by the same variable they multiply by its reciprocal, which is computed "
        "once. A division takes several times as long as a product, and the result may differ in "
        "the last bit."
    )
    needs = "a loop that divides by a variable of floating point that it does not change"

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel without such divisions."""
        source, count = kernel.source, 0
        for dispatch in kernel.dispatches:
            function = read_function(replace(kernel, source=source), dispatch)
            if function is None:
                continue
            body = self._change(function)
            if body != function.body:
                source = function.with_body(source, body)
                count += 1
        if count:
            yield source

    @staticmethod
    def _change(function: KernelFunction) -> tuple[Statement, ...]:
        floats = {
            each.name
            for each in function.body
            if isinstance(each, LocalVariable) and each.type == "float" and not each.extent
        }
        floats |= {
            each.name
            for each in function.parameters
            if each.element == "float" and not each.is_pointer and not each.attribute
        }
        body: list[Statement] = []
        for each in function.body:
            if not isinstance(each, ForLoop):
                body.append(each)
                continue
            known = floats - find_assigned_names([each])
            used: set[str] = set()

            def change(words: Words, known: set[str] = known, used: set[str] = used) -> Words:
                found = list(words)
                for index in range(1, len(words) - 1):
                    is_last = words[index + 2 : index + 3] not in (("[",), (".",), ("(",))
                    if words[index] == "/" and words[index + 1] in known and is_last:
                        found[index : index + 2] = ["*", f"{words[index + 1]}_inverse"]
                        used.add(words[index + 1])
                return tuple(found)

            (other,) = substitute([each], change)
            body += [
                LocalVariable("float", f"{name}_inverse", ("1.0f", "/", name))
                for name in sorted(used)
            ]
            body.append(other)
        # Of two loops that divide by the same variable the first one has the declaration, if the
        # variable does not change in between.
        names = [each.name for each in body if isinstance(each, LocalVariable)]
        names += [each.name for each in function.parameters]
        return tuple(body) if len(names) == len(set(names)) else function.body


FAST = frozenset(
    {
        *("exp", "exp2", "exp10", "log", "log2", "log10", "pow", "powr", "sqrt", "rsqrt"),
        *("sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "atan2"),
    }
)


class FastFunctions:
    """Functions become their fast variants, or precise ones the usual ones."""

    technique = "fast functions"
    summary = (
        "Mathematical functions are replaced by their fast variants, and precise variants by the "
        "usual ones. They have larger errors, which verification compares with the tolerance."
    )
    needs = "calls of functions of the Metal library that have such variants, in the file itself"

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with `fast::` functions, and without `precise::` ones."""
        parts = split_source(kernel.source)
        yield from self._without_precise(kernel.source, parts)
        code = [each for each in parts if not each.isspace() and not each.startswith(("//", "/*"))]
        defined = {name for before, name in itertools.pairwise(code) if before in ("float", "T")}
        text: list[str] = []
        previous, count = "", 0
        for index, part in enumerate(parts):
            following = next((each for each in parts[index + 1 :] if not each.isspace()), "")
            is_call = following == "(" and previous not in (".", "::", "->")
            if part in FAST and is_call and part not in defined:
                text.append(f"fast::{part}")
                count += 1
            else:
                text.append(part)
            if not part.isspace():
                previous = part
        if count:
            yield "".join(text)

    @staticmethod
    def _without_precise(source: str, parts: list[str]) -> Iterator[str]:
        if "precise" in parts:
            yield re.sub(r"\b(metal\s*::\s*)?precise\s*::\s*(?=\w+\s*\()", "", source)


class HalfAccumulation:
    """Sums of half-precision elements are kept in half precision."""

    technique = "half accumulation"
    summary = (
        "Variables that loops add to have half precision, which has twice the rate on Apple's GPUs "
        "and takes half the registers. Only short sums stay within the tolerance."
    )
    needs = "a kernel for float16 alone, with float variables that loops add to"

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with half accumulators."""
        if kernel.dtypes != ("float16",):
            return
        source, count = kernel.source, 0
        for dispatch in kernel.dispatches:
            function = read_function(replace(kernel, source=source), dispatch)
            if function is None:
                continue
            joined = {
                each.target[0]
                for loop in each_statement(function.body)
                if isinstance(loop, ForLoop)
                for each in each_statement(loop.body)
                if isinstance(each, Assignment) and each.operator == "+="
            }
            body = tuple(self._narrow(function.body, joined))
            if body != function.body:
                source = function.with_body(source, body)
                count += 1
        if count:
            yield source

    def _narrow(self, body: Iterable[Statement], joined: set[str]) -> Iterator[Statement]:
        def narrow(inner: Iterable[Statement]) -> Iterator[Statement]:
            return self._narrow(inner, joined)

        for each in body:
            if isinstance(each, LocalVariable) and each.type == "float" and each.name in joined:
                value = ("half", "(", *each.value, ")") if each.value else ()
                yield replace(each, type="half", value=value)
            elif isinstance(each, Assignment) and each.target[0] in joined:
                yield replace(each, value=("half", "(", *each.value, ")"))
            else:
                yield map_words(each, lambda words: words, narrow)
