"""Read kernels as row forms: what happens to one row, in loops over its elements.

Two kinds of plain kernels have a row form: one thread for each row, and one threadgroup for each
row with trees in threadgroup memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_steel.tuning.edit import (
    SHARING,
    read_count,
)
from agent_steel.tuning.syntax import (
    Assignment,
    Branch,
    CallStatement,
    ForLoop,
    FunctionParameter,
    KernelFunction,
    LocalVariable,
    NotPlainError,
    Return,
    Statement,
    Words,
    all_words,
    each_statement,
    find_accesses,
    find_assigned_names,
    find_declared_names,
    map_accesses,
    names_in,
    read_function,
    replace_words,
    spell,
    split_offset,
    split_words,
    strip_parentheses,
    substitute,
)
from metalbench.kernel.header import Kernel

TYPES = frozenset({"float", "half", "int", "uint"})
JOINS = {"max": "max", "fmax": "max", "min": "min", "fmin": "min"}
IDENTITY = {"sum": "0", "product": "1"}
SIMD = {"sum": "simd_sum", "product": "simd_product", "max": "simd_max", "min": "simd_min"}
CONDITIONAL = frozenset({"?", "&&", "||"})


@dataclass(frozen=True)
class Reduction:
    """A variable that a loop joins values into: by `how`, or as the place of the largest."""

    name: str
    type: str
    how: str
    index: str = ""
    index_type: str = ""


@dataclass(frozen=True)
class RowLoop:
    """A loop over the elements of a row. With `scan` it needs its variable at each element."""

    variable: str
    type: str
    bound: Words
    body: tuple[Statement, ...]
    reductions: tuple[Reduction, ...]
    scan: str = ""


@dataclass(frozen=True)
class RowForm:
    """The work of a kernel on one row: statements, and loops over its elements."""

    function: KernelFunction
    row: str
    count: str
    sizes: frozenset[str]
    items: tuple[Statement | RowLoop, ...]
    parameters: tuple[FunctionParameter, ...]
    is_tree: bool = False

    @property
    def loops(self) -> list[RowLoop]:
        """The loops over the elements of the row."""
        return [each for each in self.items if isinstance(each, RowLoop)]


def read_row_form(kernel: Kernel) -> RowForm | None:
    """Return the row form of a kernel of one dispatch; None if it has none."""
    dispatch = kernel.plain_dispatch
    if dispatch is None or kernel.inouts or kernel.scratches:
        return None
    function = read_function(kernel, dispatch)
    if function is None or dispatch.threadgroup_bytes or "_ " in f"{function.text} ":
        return None
    if any(name.endswith("_") for name in re.findall(r"\b\w+\b", function.text)):
        return None
    try:
        if dispatch.threads_in_grid is not None:
            return _of_threads(kernel, function)
        return _of_threadgroups(kernel, function)
    except NotPlainError:
        return None


def _of_threads(kernel: Kernel, function: KernelFunction) -> RowForm | None:
    """Read a kernel with one thread for each row."""
    count = read_count(kernel.dispatches[0].threads_in_grid)
    row = function.find_parameter("thread_position_in_grid")
    others = [each for each in function.parameters if not each.attribute]
    if count is None or row is None or row.element != "uint" or row.is_pointer:
        return None
    if len(others) != len(function.parameters) - 1 or SHARING.search(function.text):
        return None
    body = _without_guard(function.body, row.name, count[0])
    items = _read_items(function, body, row.name)
    return RowForm(function, row.name, *count, items, tuple(others))


def _without_guard(body: tuple[Statement, ...], row: str, count: str) -> tuple[Statement, ...]:
    """Leave out a test that the row exists: the grid has no other threads."""
    first = body[0] if body else None
    if isinstance(first, Branch) and first.then == (Return(),) and not first.other:
        test = strip_parentheses(first.test)
        if test[:2] == (row, ">=") and spell(test[2:]) == count:
            return body[1:]
    return body


def _of_threadgroups(kernel: Kernel, function: KernelFunction) -> RowForm | None:
    """Read a kernel with one threadgroup for each row, and trees in threadgroup memory."""
    (dispatch,) = kernel.dispatches
    count = read_count(dispatch.threadgroups)
    row = function.find_parameter("threadgroup_position_in_grid")
    thread = function.find_parameter("thread_position_in_threadgroup") or function.find_parameter(
        "thread_index_in_threadgroup"
    )
    others = [each for each in function.parameters if not each.attribute]
    if count is None or row is None or thread is None or len(dispatch.threads) != 1:
        return None
    if len(others) != len(function.parameters) - 2 or {row.element, thread.element} != {"uint"}:
        return None
    width = str(dispatch.threads[0]).strip()
    if re.search(r"\b(atomic\w*|simd\w*|quad_\w+)\b", function.text):
        return None
    body = _without_trees(function.body, thread.name, width)
    if body is None or any(thread.name in words for words in all_words(body)):
        return None
    items = _read_items(function, body, row.name)
    return RowForm(function, row.name, *count, items, tuple(others), is_tree=True)


# Trees in threadgroup memory, written as what they compute.


def _without_trees(
    body: tuple[Statement, ...], thread: str, width: str
) -> tuple[Statement, ...] | None:
    """Return the body for one thread that does the work of all; None if it is not of that form.

    A loop from the thread's number in steps of the number of threads becomes a loop over all
    elements. A tree leaves in its first element what the variable of one thread then has.
    """
    shared = {
        each.name
        for each in body
        if isinstance(each, LocalVariable)
        and each.space == "threadgroup"
        and each.extent == (width,)
    }
    found: list[Statement] = []
    totals: dict[str, str] = {}
    partial: set[str] = set()
    index = 0
    while index < len(body):
        each = body[index]
        index += 1
        if isinstance(each, LocalVariable) and each.name in shared:
            continue
        if isinstance(each, CallStatement) and each.words[0] == "threadgroup_barrier":
            continue
        tree = _read_tree(body[index - 1 :], shared, thread, width)
        if tree is not None:
            name, variable, how, length = tree
            if _find_join(body[: index - 1], variable) != how:
                return None
            totals[name] = variable
            partial.discard(variable)
            index += length - 1
            continue
        loop = _unstride(each, thread, width)
        if loop is not None:
            partial |= find_assigned_names(loop.body) - set(local_names(loop.body))
            found.append(loop)
            continue
        if (
            isinstance(each, Branch)
            and not each.other
            and strip_parentheses(each.test) in ((thread, "==", "0"), (thread, "==", "0u"))
        ):
            found.extend(_with_totals(each.then, totals))
            continue
        found.extend(_with_totals((each,), totals))
    # What is a part of the result in one thread only must have been joined before it is used.
    joined = set(totals.values())
    if any(name in words for name in shared for words in all_words(found)):
        return None
    return tuple(found) if totals and partial - joined <= _buffers_of(found) else None


def _buffers_of(statements: Iterable[Statement]) -> set[str]:
    return {
        each.target[0]
        for each in each_statement(statements)
        if isinstance(each, Assignment) and len(each.target) > 1
    }


def local_names(statements: Iterable[Statement]) -> Iterator[str]:
    """Return the names that statements declare."""
    return (each.name for each in each_statement(statements) if isinstance(each, LocalVariable))


def _with_totals(
    statements: Iterable[Statement], totals: Mapping[str, str]
) -> tuple[Statement, ...]:
    def change(name: str, index: Words) -> Words:
        if index not in (("0",), ("0u",)):
            raise NotPlainError
        return (totals[name],)

    return substitute(statements, lambda words: map_accesses(words, totals, change))


def _unstride(statement: Statement, thread: str, width: str) -> ForLoop | None:
    if not isinstance(statement, ForLoop):
        return None
    step = statement.step
    if statement.start.value != (thread,) or (step.operator, step.value) != ("+=", (width,)):
        return None
    return replace(
        statement,
        start=replace(statement.start, value=("0",)),
        step=replace(step, value=("1",)),
    )


def _read_tree(  # noqa: PLR0911 - a return for each form that is refused
    body: Sequence[Statement], shared: set[str], thread: str, width: str
) -> tuple[str, str, str, int] | None:
    """Read `shared[t] = v; barrier; for (s = width / 2; s > 0; s /= 2) { if (t < s) ... barrier }`.

    Return the array, the variable, how values are joined, and the number of statements.
    """
    if len(body) < 3 or not width.isdecimal() or int(width) & (int(width) - 1):
        return None
    store, barrier, loop = body[:3]
    if not (isinstance(store, Assignment) and isinstance(loop, ForLoop)):
        return None
    name = store.target[0]
    if name not in shared or store.target != (name, "[", thread, "]") or len(store.value) != 1:
        return None
    if not _is_barrier(barrier) or len(loop.body) != 2 or not _is_barrier(loop.body[1]):
        return None
    s = loop.start.name
    halves = (("/=", ("2",)), ("/=", ("2u",)), (">>=", ("1",)), (">>=", ("1u",)))
    begins = ((str(int(width) // 2),), (width, "/", "2"), (width, ">>", "1"))
    if (loop.step.operator, loop.step.value) not in halves or loop.start.value not in begins:
        return None
    if loop.test not in ((s, ">", "0"), (s, ">", "0u"), (s, "!=", "0"), (s, ">=", "1")):
        return None
    inner = loop.body[0]
    if not isinstance(inner, Branch) or inner.test != (thread, "<", s) or inner.other:
        return None
    if len(inner.then) != 1 or not isinstance(inner.then[0], Assignment):
        return None
    other = (name, "[", thread, "+", s, "]")
    own = (name, "[", thread, "]")
    step = inner.then[0]
    if step.target != own:
        return None
    if (step.operator, step.value) == ("+=", other) or step.value == (*own, "+", *other):
        return name, store.value[0], "sum", 3
    if len(step.value) > 3 and step.value[0] in JOINS and step.operator == "=":
        parts = split_words(step.value[2:-1], ",")
        if sorted(parts) == sorted([own, other]):
            return name, store.value[0], JOINS[step.value[0]], 3
    return None


def _is_barrier(statement: Statement) -> bool:
    return isinstance(statement, CallStatement) and statement.words[0] == "threadgroup_barrier"


def _find_join(body: Iterable[Statement], variable: str) -> str:
    """Return how loops join values into a variable; empty if they do not, or in several ways."""
    found = set()
    for each in each_statement(body):
        if isinstance(each, Assignment) and each.target == (variable,):
            joined = read_join(each)
            found.add(joined[0] if joined else "")
    return found.pop() if len(found) == 1 else ""


# Loops over the elements of a row.


def _read_items(
    function: KernelFunction, body: tuple[Statement, ...], row: str
) -> tuple[Statement | RowLoop, ...]:
    """Sort statements; raise NotPlainError if threads could not share the work."""
    buffers = function.buffers
    types = {each.name: each.type for each in body if isinstance(each, LocalVariable)}
    items: list[Statement | RowLoop] = []
    written = {each.target[0] for each in find_stores(body, buffers)}
    if row in find_assigned_names(body):
        raise NotPlainError
    for each in body:
        if isinstance(each, ForLoop) and (found := _read_loop(each, types, buffers)) is not None:
            items.append(found)
            continue
        if any(isinstance(inner, Return) for inner in each_statement([each])):
            raise NotPlainError
        if any(isinstance(inner, CallStatement) for inner in each_statement([each])):
            raise NotPlainError
        is_store = isinstance(each, Assignment) and each.target[0] in buffers
        if not is_store and find_stores([each], buffers):
            raise NotPlainError
        words = [each.value, each.target[2:-1]] if is_store else all_words([each])  # type: ignore[union-attr]
        for several in words:
            # Other threads may not have written what this one reads.
            if any(name in written for name, _ in find_accesses(several, buffers)):
                raise NotPlainError
        if is_store and each.operator != "=":  # type: ignore[union-attr]
            raise NotPlainError
        items.append(each)
    if not any(isinstance(each, RowLoop) for each in items):
        raise NotPlainError
    _expect_own_elements(items, buffers)
    return tuple(items)


def find_stores(statements: Iterable[Statement], buffers: Iterable[str]) -> list[Assignment]:
    """Return the assignments to elements of buffers."""
    known = set(buffers)
    return [
        each
        for each in each_statement(statements)
        if isinstance(each, Assignment) and each.target[0] in known
    ]


def _expect_own_elements(items: Iterable[Statement | RowLoop], buffers: Iterable[str]) -> None:
    """Raise NotPlainError if a loop reads what another thread writes before or afterwards."""
    stored: dict[str, set[Words]] = {}
    for each in items:
        stores = find_stores(each.body if isinstance(each, RowLoop) else [each], buffers)
        variable = {each.variable: ("#",)} if isinstance(each, RowLoop) else {}
        for store in stores:
            index = replace_words(store.target[2:-1], variable)
            stored.setdefault(store.target[0], set()).add(index)
    for each in items:
        if not isinstance(each, RowLoop):
            continue
        for words in all_words(each.body):
            for name, index in find_accesses(words, buffers):
                own = replace_words(index, {each.variable: ("#",)})
                if name in stored and stored[name] != {own}:
                    raise NotPlainError


def _read_loop(  # noqa: PLR0911 - a return for each form that is refused
    loop: ForLoop, types: Mapping[str, str], buffers: Mapping[str, FunctionParameter]
) -> RowLoop | None:
    """Read a loop over elements 0 to a bound; None if it is of another kind."""
    c = loop.start.name
    test = loop.test
    if loop.start.type not in ("uint", "int") or loop.start.value not in (("0",), ("0u",)):
        return None
    if (loop.step.operator, loop.step.value) != ("+=", ("1",)) or loop.step.target != (c,):
        return None
    if test[:2] != (c, "<") or not re.fullmatch(r"[A-Za-z_]\w*", spell(test[2:])):
        return None
    local = find_declared_names(loop.body)
    if c in find_assigned_names(loop.body) or test[2] in find_assigned_names(loop.body) | local:
        return None
    scan = _read_scan(loop, types, buffers)
    if scan is not None:
        return scan
    reductions: dict[str, Reduction] = {}
    if not _BodyReader(c, types, local, buffers, reductions).read(loop.body):
        return None
    joined = set(reductions) | {each.index for each in reductions.values() if each.index}
    if any(joined & names_in(words) for words in _values(loop.body, joined)):
        return None
    body, kind = loop.body, loop.start.type
    return RowLoop(c, kind, test[2:], body, tuple(reductions.values()))


@dataclass
class _BodyReader:
    """Collects what a loop over the elements of a row joins."""

    variable: str
    types: Mapping[str, str]
    local: set[str]
    buffers: Mapping[str, FunctionParameter]
    reductions: dict[str, Reduction]

    def read(self, body: Iterable[Statement]) -> bool:
        """Return whether each element may be a different thread's."""
        return all(self._read(each) for each in body)

    def _read(self, each: Statement) -> bool:
        if isinstance(each, LocalVariable):
            return not each.extent and not each.space
        if isinstance(each, Assignment):
            name = each.target[0]
            if name in self.buffers:
                return split_offset(each.target[2:-1], self.variable) is not None
            return name in self.local or _add_join(each, self.types, self.reductions)
        if not isinstance(each, Branch):
            return False
        place = _read_place(each, self.variable, self.types)
        if place is None:
            return self.read(each.then) and self.read(each.other)
        return self.reductions.setdefault(place.name, place) is place


def _add_join(each: Assignment, types: Mapping[str, str], reductions: dict[str, Reduction]) -> bool:
    joined = read_join(each)
    name = each.target[0]
    if joined is None or types.get(name) not in TYPES:
        return False
    found = Reduction(name, types[name], joined[0])
    return reductions.setdefault(name, found) == found


def read_join(each: Assignment) -> tuple[str, Words] | None:
    """Return how a variable and a value are joined, and the value; None for another assignment."""
    if len(each.target) != 1:
        return None
    name, value = each.target[0], strip_parentheses(each.value)
    if each.operator in ("+=", "*="):
        return ("sum" if each.operator == "+=" else "product"), value
    if each.operator != "=":
        return None
    if len(value) > 3 and value[0] in JOINS and value[1] == "(" and value[-1] == ")":
        parts = split_words(value[2:-1], ",")
        if len(parts) == 2 and (name,) in parts:
            parts.remove((name,))
            return JOINS[value[0]], parts[0]
    for sign, how in (("+", "sum"), ("*", "product")):
        if value[:2] == (name, sign) and not _has_lower(value[2:], sign):
            return how, value[2:]
    return None


def _has_lower(words: Words, sign: str) -> bool:
    """Return whether an operator that binds less than `sign` is outside of brackets."""
    lower = {"?", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "&", "|", "^", "<<", ">>"}
    lower |= {"-", "+"} if sign == "*" else set()
    lower |= {"/", "%"} if sign == "*" else set()
    return any(len(split_words(words, each)) > 1 for each in lower)


def _read_place(branch: Branch, c: str, types: Mapping[str, str]) -> Reduction | None:
    """Read `if (value > best) { best = value; index = c; }`."""
    if branch.other or len(branch.then) != 2:
        return None
    by_target = {each.target: each for each in branch.then if isinstance(each, Assignment)}
    index = next((each for each in by_target.values() if each.value == (c,)), None)
    best = next((each for each in by_target.values() if each is not index), None)
    if index is None or best is None or {index.operator, best.operator} != {"="}:
        return None
    if len(best.target) != 1 or len(index.target) != 1:
        return None
    name, value = best.target[0], best.value
    if _has_lower(value, "+"):
        return None
    how = {
        (*value, ">", name): "max",
        (name, "<", *value): "max",
        (*value, "<", name): "min",
        (name, ">", *value): "min",
    }.get(strip_parentheses(branch.test))
    kinds = types.get(name), types.get(index.target[0])
    if how is None or kinds[0] not in TYPES or kinds[1] not in ("uint", "int"):
        return None
    return Reduction(name, str(kinds[0]), how, index.target[0], str(kinds[1]))


def _values(body: Iterable[Statement], joined: set[str]) -> Iterator[Words]:
    """Yield all expressions of a loop without the joined variables where they are joined."""
    for each in body:
        if isinstance(each, Assignment):
            found = read_join(each) if each.target[0] in joined else None
            yield found[1] if found else each.value
            if len(each.target) > 1:
                yield each.target[2:-1]
        elif isinstance(each, Branch):
            names = {inner.target[0] for inner in each.then if isinstance(inner, Assignment)}
            if names <= joined and len(names) == 2 and not each.other:
                values = [inner.value for inner in each.then if isinstance(inner, Assignment)]
                yield from values
                continue
            yield each.test
            yield from _values(each.then, joined)
            yield from _values(each.other, joined)
        else:
            yield from all_words([each])


def _read_scan(  # noqa: PLR0911 - a return for each form that is refused
    loop: ForLoop, types: Mapping[str, str], buffers: Mapping[str, FunctionParameter]
) -> RowLoop | None:
    """Read a loop that adds to a variable, and stores it or a function of it for each element."""
    local = find_declared_names(loop.body)
    updates = [
        each
        for each in loop.body
        if isinstance(each, Assignment) and len(each.target) == 1 and each.target[0] not in local
    ]
    if len(updates) != 1 or not all(isinstance(e, (Assignment, LocalVariable)) for e in loop.body):
        return None
    name = updates[0].target[0]
    joined = read_join(updates[0])
    if joined is None or joined[0] != "sum" or types.get(name) != "float" or name in joined[1]:
        return None
    before = loop.body[: loop.body.index(updates[0])]
    after = loop.body[loop.body.index(updates[0]) + 1 :]
    if any(name in words for words in all_words(before)):
        return None  # an exclusive sum
    if not any(name in words for words in all_words(after)):
        return None  # a plain sum
    if any(each.extent or each.space for each in before + after if isinstance(each, LocalVariable)):
        return None
    for each in find_stores(loop.body, buffers):
        if split_offset(each.target[2:-1], loop.start.name) is None or each.operator != "=":
            return None
    if find_stores(before, buffers):
        return None
    reduction = Reduction(name, "float", "sum")
    return RowLoop(
        loop.start.name, loop.start.type, loop.test[2:], loop.body, (reduction,), scan=name
    )
