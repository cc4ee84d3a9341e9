"""Generate kernels of whole tensors: sorts, scatters, random bits, other operations in stages."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from math import prod

from metalbench.errors import Unsupported
from metalbench.hlo.codegen.data_movement import locate_start_index
from metalbench.hlo.codegen.elementwise import cast_to_float, truncate_integer
from metalbench.hlo.codegen.factorizations import build_householder_product
from metalbench.hlo.codegen.fourier import build_fft
from metalbench.hlo.codegen.kernel import KernelStage, StageBuilder
from metalbench.hlo.codegen.packed_products import UNROLL
from metalbench.hlo.codegen.prefixes import build_prefix_chunks, build_prefix_join
from metalbench.hlo.codegen.reductions import open_loops
from metalbench.hlo.codegen.writer import Arithmetic, KernelWriter, format_loop, get_msl_type
from metalbench.hlo.ir import Operation, TensorType
from metalbench.hlo.passes.lowering import split_update_axes


def build_sort(operation: Operation) -> list[KernelStage]:
    """Return the stage of a stable sort, by insertion or by merging.

    With the attribute `run` only runs of that length are sorted. With `merged`, runs of that length
    are sorted already, and pairs of them are merged.
    """
    if "merged" in operation.attributes:
        return [_build_merge(operation, operation.attributes["merged"])]
    return [_build_insertion_sort(operation)]


class _SortAxis:
    """The axis of a sort; a line is the elements along it."""

    def __init__(self, operation: Operation) -> None:
        self.shape = operation.operands[0].type.shape
        rank = len(self.shape)
        self.axis = operation.attributes.get("dimension", -1) % max(rank, 1)
        self.size = self.shape[self.axis] if rank else 1
        self.rest = [*self.shape[: self.axis], *self.shape[self.axis + 1 :]]

    def locate_element(self, rest: Sequence[str], number: str) -> list[str]:
        """Return the index of an element of a line."""
        return [*rest[: self.axis], number, *rest[self.axis :]] if self.shape else []


def _build_insertion_sort(operation: Operation) -> KernelStage:
    """Return the stage of a binary insertion sort of each run."""
    line = _SortAxis(operation)
    run = operation.attributes.get("run", line.size)
    lines, runs = operation.operands[0].type.size // max(line.size, 1), -(-line.size // max(run, 1))

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        *rest, part = writer.unravel_index(thread, [*line.rest, runs])
        first, end = ("0", str(line.size)) if runs == 1 else (f"{part} * {run}", "")
        begin = writer.declare_index(first)
        stop = end or writer.declare_index(f"min({begin} + {run}, {line.size})")
        with writer.open_block(f"for (int k = {begin}; k < {stop}; ++k)"):
            new = [
                writer.emit_value(each, line.locate_element(rest, "k"))
                for each in operation.operands
            ]
            # Binary search: the position after the last element that does not follow the new one.
            writer.add_line(f"int low = {begin}, high = k;")
            with writer.open_block("while (low < high)"):
                middle = writer.declare("int", "(low + high) / 2")
                at = writer.linearize(line.locate_element(rest, middle), line.shape)
                pairs = []
                for name, output, each in zip(new, outputs, operation.operands, strict=True):
                    pairs += [name, writer.declare(get_msl_type(each.type), f"{output}[{at}]")]
                (before,) = writer.emit_region(operation.regions[0], pairs)
                writer.add_line(f"if ({before}) high = {middle}; else low = {middle} + 1;")
            with writer.open_block("for (int m = k; m > low; --m)"):
                to, source = (
                    writer.linearize(line.locate_element(rest, each), line.shape)
                    for each in ("m", "(m - 1)")
                )
                for output in outputs:
                    writer.add_line(f"{output}[{to}] = {output}[{source}];")
            at = writer.linearize(line.locate_element(rest, "low"), line.shape)
            for name, output in zip(new, outputs, strict=True):
                writer.add_line(f"{output}[{at}] = {name};")

    return KernelStage(lines * runs, write)


def _build_merge(operation: Operation, run: int) -> KernelStage:
    """Return the stage that merges pairs of runs.

    The new position of an element is the number of elements of both runs that precede it. Equal
    elements of the left run precede those of the right run, so the sort is stable.
    """
    line, operands = _SortAxis(operation), operation.operands

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        index = writer.unravel_index(thread, line.shape)
        rest, own = [*index[: line.axis], *index[line.axis + 1 :]], index[line.axis]
        start = writer.declare_index(f"{own} / {2 * run} * {2 * run}")
        left = writer.declare("bool", f"{own} < {start} + {run}")
        new = [writer.emit_value(each, index) for each in operands]
        bounds = [f"min({start} + {count}, {line.size})" for count in (run, 2 * run)]
        writer.add_line(f"int low = {left} ? {bounds[0]} : {start};")
        writer.add_line(f"int high = {left} ? {bounds[1]} : {start} + {run};")
        other = writer.declare("int", "low")
        with writer.open_block("while (low < high)"):
            middle = writer.declare("int", "(low + high) / 2")
            pairs = []
            for mine, each in zip(new, operands, strict=True):
                theirs = writer.emit_value(each, line.locate_element(rest, middle))
                pairs += [
                    writer.declare(get_msl_type(each.type), f"{left} ? {theirs} : {mine}"),
                    writer.declare(get_msl_type(each.type), f"{left} ? {mine} : {theirs}"),
                ]
            (before,) = writer.emit_region(operation.regions[0], pairs)
            writer.add_line(f"if ({before} == {left}) low = {middle} + 1; else high = {middle};")
        within = f"{own} - ({left} ? {start} : {start} + {run})"
        to = writer.declare_index(f"{start} + {within} + low - {other}")
        at = writer.linearize(line.locate_element(rest, to), line.shape)
        for name, output in zip(new, outputs, strict=True):
            writer.add_line(f"{output}[{at}] = {name};")

    return KernelStage(operands[0].type.size, write)


def build_top_k(operation: Operation) -> list[KernelStage]:
    """Return the stage that selects the first `k` elements in order of each chunk of a line.

    The attributes are those of a sort, `k`, and `chunks`: the parts of a line, of equal length but
    for the last one. Each chunk's elements follow those of the one before. Equal elements keep
    their order.
    """
    line, count, chunks = (
        _SortAxis(operation),
        operation.attributes["k"],
        operation.attributes["chunks"],
    )
    lines, length = operation.operands[0].type.size // line.size, line.size // chunks

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        *rest, part = writer.unravel_index(thread, [*line.rest, chunks])
        begin = writer.declare_index(f"{part} * {length}")
        end = writer.declare_index(f"{part} == {chunks - 1} ? {line.size} : {begin} + {length}")
        types = [get_msl_type(each.type) for each in operation.operands]
        best = [writer.make_name("best") for _ in types]
        for name, type_ in zip(best, types, strict=True):
            writer.add_line(f"{type_} {name}[{count}];")
        writer.add_line("int held = 0;")

        def precedes(new: Sequence[str], place: str) -> str:
            pairs = []
            for name, held, type_ in zip(new, best, types, strict=True):
                pairs += [name, writer.declare(type_, f"{held}[{place}]")]
            (found,) = writer.emit_region(operation.regions[0], pairs)
            return found

        with writer.open_block(f"for (int k = {begin}; k < {end}; ++k)"):
            at = line.locate_element(rest, "k")
            new = [writer.emit_value(each, at) for each in operation.operands]
            with writer.open_block(f"if (held == {count})"):
                writer.add_line(f"if (!{precedes(new, str(count - 1))}) continue;")
            writer.add_line(f"int m = min(held, {count - 1});")
            with writer.open_block("while (m > 0)"):
                writer.add_line(f"if (!{precedes(new, 'm - 1')}) break;")
                for name in best:
                    writer.add_line(f"{name}[m] = {name}[m - 1];")
                writer.add_line("--m;")
            for name, value in zip(best, new, strict=True):
                writer.add_line(f"{name}[m] = {value};")
            writer.add_line(f"held = min(held + 1, {count});")
        shape = operation.results[0].type.shape
        with writer.open_block(f"for (int k = 0; k < {count}; ++k)"):
            place = writer.declare_index(f"{part} * {count} + k")
            position = writer.linearize(line.locate_element(rest, place), shape)
            for output, name in zip(outputs, best, strict=True):
                writer.add_line(f"{output}[{position}] = {name}[k];")

    return [KernelStage(lines * chunks, write)]


# Generate scatter: updates of an operand at indices that are values of the program.


# Updates whose places a thread finds before it applies them, so that reads of indices overlap.
UPDATES_AT_ONCE = 8


def build_scatter(operation: Operation) -> list[KernelStage]:
    """Return the stages that copy the operands, then update them.

    Two updates of one element may collide, and the region is arbitrary. Only a fixed order gives
    the same result every time, so one thread applies the updates that may collide. Updates that
    never collide are parallel. With the attribute `parts`, which is prime, a thread applies only
    updates of elements whose position has its own remainder.
    """
    count = len(operation.operands) // 2
    operands, updates = operation.operands[:count], operation.operands[count + 1 :]
    shape, windows = operands[0].type.shape, updates[0].type.shape
    apart, in_turn = split_update_axes(operation)
    parts, turns = operation.attributes.get("parts", 1), prod(windows[axis] for axis in in_turn)

    def copy(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        index = writer.unravel_index(thread, shape)
        for value, output in zip(operands, outputs, strict=True):
            writer.add_line(f"{output}[i] = {writer.emit_value(value, index)};")

    def apply(writer: KernelWriter, place: str, index: list[str], outputs: list[str]) -> None:
        old = [
            writer.declare(get_msl_type(each.type), f"{output}[{place}]")
            for each, output in zip(operands, outputs, strict=True)
        ]
        new = writer.emit_region(
            operation.regions[0], [*old, *(writer.emit_value(each, index) for each in updates)]
        )
        for output, name in zip(outputs, new, strict=True):
            writer.add_line(f"{output}[{place}] = {name};")

    def join(own: Sequence[str], turn: Sequence[str]) -> list[str]:
        named = dict(zip((*apart, *in_turn), (*own, *turn), strict=True))
        return [named[axis] for axis in range(len(windows))]

    def update(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        own = writer.unravel_index(thread, [windows[axis] for axis in apart])
        with ExitStack() as stack:
            index = join(own, open_loops(writer, stack, [windows[axis] for axis in in_turn]))
            places, inside = _locate_target(writer, operation, index)
            stack.enter_context(writer.open_block(f"if ({inside})"))
            apply(writer, writer.declare_index(writer.linearize(places, shape)), index, outputs)

    def update_part(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        part, *own = writer.unravel_index(thread, [parts, *(windows[axis] for axis in apart)])
        with writer.open_block(f"for (int first = 0; first < {turns}; first += {UPDATES_AT_ONCE})"):
            found: list[tuple[str, list[str]]] = []
            for number in range(UPDATES_AT_ONCE):
                turn = writer.declare_index(f"min(first + {number}, {turns - 1})")
                index = join(own, writer.unravel_index(turn, [windows[each] for each in in_turn]))
                places, inside = _locate_target(writer, operation, index)
                if number and turns % UPDATES_AT_ONCE:
                    inside += f" && first + {number} < {turns}"
                place = writer.linearize(places, shape)
                found.append((writer.declare("int", f"{inside} ? {place} : -1"), index))
            for place, index in found:
                own_part = f"uint({place}) % {parts}u == uint({part})"
                with writer.open_block(f"if ({place} >= 0 && {own_part})"):
                    apply(writer, place, index, outputs)

    stages = [KernelStage(operands[0].type.size, copy)]
    threads = parts * prod(windows[axis] for axis in apart)
    write = update if parts == 1 else update_part
    return [*stages, KernelStage(threads, write)] if updates[0].type.size else stages


def _locate_target(
    writer: KernelWriter, operation: Operation, index: list[str]
) -> tuple[list[str], str]:
    """Return the index of an update in the operand, and the condition that it is in bounds."""
    count = len(operation.operands) // 2
    shape, starts = operation.operands[0].type.shape, operation.operands[count]
    numbers = operation.attributes["scatter_dimension_numbers"]
    window, vector = numbers["update_window_dims"], numbers["index_vector_dim"]
    batch = [each for axis, each in enumerate(index) if axis not in window]
    skipped = (*numbers["inserted_window_dims"], *numbers["input_batching_dims"])
    within = iter([index[axis] for axis in window])
    offsets = ["0" if axis in skipped else next(within) for axis in range(len(shape))]
    places, inside = list(offsets), ["true"]
    for number, axis in enumerate(numbers["scattered_dims_to_operand_dims"]):
        at = locate_start_index(batch, vector, number, len(starts.type.shape))
        # A start index may have 64 bits: the sum must not wrap into the operand.
        start = writer.declare("long", f"long({writer.emit_value(starts, at)})")
        place = writer.declare("int", f"int({start} + {offsets[axis]})")
        inside.append(f"{start} >= -{shape[axis]} && {start} <= {shape[axis]}")
        inside.append(f"{place} >= 0 && {place} < {shape[axis]}")
        places[axis] = place
    for axis, other in zip(
        numbers["input_batching_dims"], numbers["scatter_indices_batching_dims"], strict=True
    ):
        places[axis] = batch[other if other < vector else other - 1]
    return places, " && ".join(inside)


# Generate rng_bit_generator: counter-based random numbers, one thread for each element.
#
# The order of counters is that of XLA on the CPU, so that a key gives the same numbers.


def build_rng_bit_generator(operation: Operation) -> list[KernelStage]:
    """Return the stages that update the state and fill the result.

    The state is a key and a counter of one word, or for Philox of one or two words.
    """
    (state,), (_, result) = operation.operands, operation.results
    is_threefry = operation.attributes["rng_algorithm"] == "THREE_FRY"
    _check_types(operation, is_threefry)
    count = _count_counters(result.type, is_threefry)

    def update(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        own, low = writer.emit_value(state, (thread,)), writer.emit_value(state, ("1",))
        writer.add_line(f"ulong next = {own};")
        writer.add_line(f"if (i == 1u) next = {low} + {count}ul;")
        writer.add_line(f"if (i == 2u && {low} + {count}ul < {low}) next += 1ul;")
        writer.add_line(f"{outputs[0]}[i] = next;")

    def fill(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        key, low = (writer.emit_value(state, (each,)) for each in "01")
        if is_threefry:
            place, word = _locate_threefry_word(writer, thread, result.type)
            writer.add_line(f"const uint2 bits = shlo::threefry({key}, {low} + ulong({place}));")
        else:
            each = _count_philox_elements(result.type)
            # If the state has no word for the counter's upper half, XLA uses the key.
            high = writer.emit_value(state, ("2",)) if state.type.size == 3 else key
            counter = writer.declare("ulong", f"{low} + ulong({thread} / {each})")
            carried = f"{high} + ulong({counter} < {low})"
            writer.add_line(f"const uint4 bits = shlo::philox({key}, {counter}, {carried});")
            word = writer.declare_index(f"{thread} % {each} * {4 // each}")
        found = f"bits[{word}]"
        if result.type.element.bits == 64:
            found = f"ulong({found}) | ulong(bits[{word} + 1]) << 32"
        writer.add_line(f"{outputs[1]}[i] = {truncate_integer(found, result.type.element)};")

    return [KernelStage(state.type.size, update), KernelStage(result.type.size, fill)]


def _check_types(operation: Operation, is_threefry: bool) -> None:
    """Raise Unsupported for another state, or for elements that are not integers."""
    (state,), (_, result) = operation.operands, operation.results
    sizes = (2,) if is_threefry else (2, 3)
    if state.type.element.name != "ui64" or state.type.shape not in [(each,) for each in sizes]:
        expected = " or ".join(f"tensor<{each}xui64>" for each in sizes)
        raise Unsupported(f"{operation.where}: expected a state {expected}, got {state.type}")
    if not result.type.element.is_integer:
        raise Unsupported(f"{operation.where}: expected integers, got {result.type}")


def _count_counters(type_: TensorType, is_threefry: bool) -> int:
    """Return the number of counters that a result needs."""
    if is_threefry:
        return type_.size if type_.element.bits == 64 else prod(_split_threefry_axis(type_)[1])
    return -(-type_.size // _count_philox_elements(type_))


def _count_philox_elements(type_: TensorType) -> int:
    """Return the number of elements from one counter of Philox."""
    return 2 if type_.element.bits == 64 else 4


def _split_threefry_axis(type_: TensorType) -> tuple[int, list[int]]:
    """Return the axis whose halves share counters, and the shape of the counters.

    It is the first axis of even size, or else the first of the longest axes.
    """
    sizes = list(type_.shape) or [1]
    even = [axis for axis, size in enumerate(sizes) if size % 2 == 0]
    axis = even[0] if even else sizes.index(max(sizes))
    sizes[axis] = -(-sizes[axis] // 2)
    return axis, sizes


def _locate_threefry_word(writer: KernelWriter, thread: str, type_: TensorType) -> tuple[str, str]:
    """Return the counter of an element, and which of the counter's words it is."""
    if type_.element.bits == 64:
        return thread, "0"
    axis, sizes = _split_threefry_axis(type_)
    index = list(writer.unravel_index(thread, type_.shape or (1,)))
    word = writer.declare_index(f"{index[axis]} % 2")
    index[axis] = writer.declare_index(f"{index[axis]} / 2")
    return writer.linearize(index, sizes), word


# Generate operations with one or more stages over whole tensors.


def build_cholesky(operation: Operation) -> list[KernelStage]:
    """Return the stage with one thread for each matrix.

    The other triangle is zero. Floats are accumulated in float.
    """
    (matrix,) = operation.operands
    *batch, size, _ = matrix.type.shape
    kind, lower = get_msl_type(matrix.type), operation.attributes.get("lower", False)
    number = Arithmetic(matrix.type.element)

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        index, output = writer.unravel_index(thread, batch), outputs[0]

        def at(row: str, column: str) -> str:
            place = (row, column) if lower else (column, row)
            return f"{output}[{writer.linearize([*index, *place], matrix.type.shape)}]"

        with writer.open_block(f"for (int c = 0; c < {size}; ++c)"):
            with writer.open_block("for (int r = 0; r < c; ++r)"):
                writer.add_line(f"{at('r', 'c')} = {kind}(0);")
            with writer.open_block(f"for (int r = c; r < {size}; ++r)"):
                place = ("r", "c") if lower else ("c", "r")
                given = number.widen(writer.emit_value(matrix, [*index, *place]))
                total = writer.declare_variable(number.type, given)
                with writer.open_block("for (int k = 0; k < c; ++k)"):
                    left, right = (number.widen(at(each, "k")) for each in "rc")
                    writer.add_line(f"{total} -= {number.multiply(left, number.conjugate(right))};")
                diagonal = number.format_sqrt(total)
                other = number.divide_by_real(total, number.widen(at("c", "c")))
                writer.add_line(f"{at('r', 'c')} = {kind}(r == c ? {diagonal} : {other});")

    count = matrix.type.size // max(size * size, 1)
    return [KernelStage(count, write)]


def build_triangular_solve(operation: Operation) -> list[KernelStage]:
    """Return the stage of a substitution, with one thread for each right-hand side.

    The other triangle of `a` is not read.
    """
    a, b = operation.operands
    left = operation.attributes["left_side"]
    transposed = "NO_TRANSPOSE" not in str(operation.attributes.get("transpose_a", "NO_TRANSPOSE"))
    unit = operation.attributes["unit_diagonal"]
    adjoint = operation.attributes.get("transpose_a") == "ADJOINT"
    number = Arithmetic(b.type.element)
    *batch, rows, columns = b.type.shape
    size, sides = (rows, columns) if left else (columns, rows)
    # X A = B is equivalent to A' X' = B'.
    flipped = transposed if left else not transposed
    forwards = operation.attributes["lower"] != flipped

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        *index, side = writer.unravel_index(thread, [*batch, sides])

        def pair(row: str) -> list[str]:
            return [*index, row, side] if left else [*index, side, row]

        def coefficient(row: str, column: str) -> str:
            place = (column, row) if flipped else (row, column)
            given = number.widen(writer.emit_value(a, [*index, *place]))
            return number.conjugate(given) if adjoint else given

        # The compiler would unroll a loop of known length around one of unknown length, which
        # takes it up to half a minute.
        writer.add_line("#pragma clang loop unroll(disable)")
        with writer.open_block(f"for (int n = 0; n < {size}; ++n)"):
            row = writer.declare("int", "n" if forwards else f"{size - 1} - n")
            total = writer.declare_variable(
                number.type, number.widen(writer.emit_value(b, pair(row)))
            )
            bounds = f"int k = 0; k < {row}" if forwards else f"int k = {row} + 1; k < {size}"
            with writer.open_block(f"for ({bounds}; ++k)"):
                known = number.widen(f"{outputs[0]}[{writer.linearize(pair('k'), b.type.shape)}]")
                writer.add_line(f"{total} -= {number.multiply(coefficient(row, 'k'), known)};")
            found = total if unit else number.divide(total, coefficient(row, row))
            place = writer.linearize(pair(row), b.type.shape)
            writer.add_line(f"{outputs[0]}[{place}] = {get_msl_type(b.type)}({found});")

    return [KernelStage(b.type.size // max(size, 1), write)]


def build_pack_panels(operation: Operation) -> list[KernelStage]:
    """Return the stage that packs an operand, with one thread for a panel's elements at one depth.

    Lines beyond the operand's last one repeat it.
    """
    (operand,) = operation.operands
    batch, own, depth = (operation.attributes[each] for each in ("batch", "own", "depth"))
    width, shape = operation.attributes["width"], operand.type.shape
    type_ = operation.results[0].type
    lines = shape[own[-1]]

    def write(writer: KernelWriter, thread: str, outputs: list[str]) -> None:
        *outer, panel, k = writer.unravel_index(thread, type_.shape[:-1])
        deep = writer.unravel_index(k, [shape[each] for each in depth])
        to = writer.declare_index(f"{thread} * {width}")

        def write_lines(most: str) -> None:
            writer.add_line(UNROLL)
            with writer.open_block(format_loop("line", width)):
                last = f"{panel} * {width} + line"
                last = writer.declare_index(f"min({last}, {most})" if most else last)
                places = dict(zip((*batch, *own), (*outer, last), strict=True))
                places.update(zip(depth, deep, strict=True))
                element = writer.emit_value(operand, [places[axis] for axis in range(len(shape))])
                if operand.type.element != type_.element:
                    element = cast_to_float(element, operand.type.element)
                writer.add_line(f"{outputs[0]}[{to} + line] = {element};")

        if lines % width == 0:
            write_lines("")
            return
        # Without a limit the elements of a full panel are found to be neighbours.
        with writer.open_block(f"if ({panel} < {lines // width})"):
            write_lines("")
        with writer.open_block("else"):
            write_lines(str(lines - 1))

    return [KernelStage(type_.size // width, write)]


STAGED: dict[str, StageBuilder] = {
    "cholesky": build_cholesky,
    "fft": build_fft,
    "householder_product": build_householder_product,
    "rng_bit_generator": build_rng_bit_generator,
    "scatter": build_scatter,
    "sort": build_sort,
    "triangular_solve": build_triangular_solve,
}
# Operations that passes make, which no program has.
STAGED_BY_PASSES: dict[str, StageBuilder] = {
    "pack_panels": build_pack_panels,
    "prefix_chunks": build_prefix_chunks,
    "prefix_join": build_prefix_join,
    "top_k": build_top_k,
}
