"""Instrument a checked build with clang's MemorySanitizer.

Its pass (-fsanitize=kernel-memory) gives every value a shadow and an origin, and asks a runtime,
here csrc/msl/mb/cpu/uninitialised.h, for those of memory. It must run before every pass that may
replace an undefined value by a convenient one. In code without any optimisation every variable is
in memory, though, which costs a hundredfold. So variables become values first (SROA), and a
declaration stores an uninitialised value: the result of a call, which knows the variable's name and
place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metalbench.msl.ir.model import Alloca, CallInstruction, Part
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.rewriter import Rewriter
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import ArrayType, Float, Int, Layout, Pointer, Struct, Type, Vector
from metalbench.msl.transforms.debug_locations import locate_calls
from metalbench.msl.transforms.source_names import Names, name_of_value

# Every pass of the pipeline that concludes something, by its name there.
# fmt: off
_CONCLUDING = (
    "simplifycfg", "ipsccp", "globalopt", "instcombine", "called-value-propagation", "early-cse",
    "inline", "function-attrs", "speculative-execution", "jump-threading",
    "correlated-propagation", "reassociate", "loop-rotate", "licm", "simple-loop-unswitch",
    "loop-simplifycfg", "loop-instsimplify", "loop-idiom", "indvars", "loop-deletion",
    "loop-unroll-full", "loop-unroll", "sccp", "bdce", "dse", "memcpyopt", "tailcallelim",
    "deadargelim", "rpo-function-attrs", "gvn", "constraint-elimination", "libcalls-shrinkwrap",
    "mldst-motion", "div-rem-pairs", "loop-sink", "instsimplify", "globaldce", "constmerge",
    "float2int", "lower-constant-intrinsics", "loop-distribute", "inject-tli-mappings",
    "loop-vectorize", "slp-vectorizer", "vector-combine", "transform-warning", "infer-alignment",
    "loop-load-elim", "alignment-from-assumptions", "expand-memcmp", "openmp-opt",
    "openmp-opt-cgscc", "inferattrs", "forceattrs", "elim-avail-extern", "cg-profile",
    "rel-lookup-table-converter", "callsite-splitting", "lower-expect", "loop-simplify", "lcssa",
)
# fmt: on

# The shadow of a larger variable is kept in memory only.
_MOST_LEAVES = 16
_INTEGERS = (8, 16, 32, 64)
# The name of the function that numbers branches when the code is loaded.
_CONSTRUCTOR = "sancov.module_ctor"
_OVERFLOWING = "add", "sub", "mul"
_DARWIN, _LINUX = "--target=arm64-apple-", "--target=aarch64-unknown-linux-gnu"


def front_end_flags(options: Iterable[str]) -> list[str]:
    """Return the flags with which clang's front end marks functions for MemorySanitizer."""
    marked = [each.replace("kernel-address", "kernel-memory") for each in options]
    return [*marked, "-fno-sanitize-memory-param-retval", "-DMB_SHADOW=1"]


def pass_flags(options: Iterable[str]) -> list[list[str]]:
    """Return the flags of each run of clang that makes variables values and instruments them.

    Accesses are traced before, without those of the shadow. MemorySanitizer's pass refuses Darwin,
    as it does not know where shadows are there. Here a runtime knows, so the pass has a separate
    run, in which the module is one of Linux.
    """
    flags = [*front_end_flags(options), "-mllvm", f"-opt-disable={','.join(_CONCLUDING)}"]
    if not any(each.startswith(_DARWIN) for each in flags):
        return [flags]
    place = flags.index("-fsanitize=kernel-memory")
    tracing = [*flags[: place - 1], *flags[place + 1 :]]  # without -Xclang before it
    shadowing = without_tracing(flags)
    return [tracing, [_LINUX if each.startswith(_DARWIN) else each for each in shadowing]]


def without_tracing(options: Iterable[str]) -> list[str]:
    """Return the flags for code in which accesses are traced already."""
    return [each for each in options if not each.startswith("-fsanitize-coverage")]


def mark_allocas_uninitialized(module: Module) -> None:
    """Store uninitialised values where the user's variables begin to live.

    Raises IrError if the module has no function that returns such a value.
    """
    names = Names(module, "@mb.birth")
    for function in module.users_functions():
        definitions, rewriter = function.definitions(), Rewriter(function)
        for _, each in function.instructions:
            if not (
                isinstance(each, CallInstruction) and each.name.startswith("llvm.lifetime.start.")
            ):
                continue
            variable = definitions.get(each.operands[-1].text)
            if isinstance(variable, Alloca) and each.place:
                leaves = list(_list_scalars(variable.allocated, module.layout))
                if not 0 < len(leaves) <= _MOST_LEAVES:
                    continue
                name = names.constant(name_of_value(variable.result))
                for number, (path, scalar) in enumerate(leaves):
                    if not module.declares(f"mb_nothing_{scalar}"):
                        raise IrError(f"the module has no mb_nothing_{scalar}")
                    of = f"{variable.result[1:]}.{number}"
                    indices = "".join(f", i32 {at}" for at in (0, *path))
                    rewriter.insert_after(
                        each,
                        f"%mb.value.{of} = call {scalar} @mb_nothing_{scalar}(ptr {name})"
                        f"{each.located}",
                        f"%mb.at.{of} = getelementptr {variable.allocated}, "
                        f"ptr {variable.result}{indices}{each.located}",
                        f"store {scalar} %mb.value.{of}, ptr %mb.at.{of}, align 1{each.located}",
                    )
        rewriter.apply()


def _list_scalars(type_: Type, layout: Layout) -> Iterator[tuple[tuple[int, ...], Type]]:
    """Yield the scalars in a type, each with its indices; more than are used of a large one."""
    resolved = layout.resolve(type_)
    if isinstance(resolved, Float | Pointer) or (
        isinstance(resolved, Int) and resolved.bits in _INTEGERS
    ):
        yield (), resolved
        return
    members: tuple[Type, ...] = ()
    if isinstance(resolved, ArrayType):
        members = (resolved.element,) * min(resolved.count, _MOST_LEAVES + 1)
    elif isinstance(resolved, Struct):
        members = resolved.members
    for number, member in enumerate(members):
        for path, scalar in _list_scalars(member, layout):
            yield (number, *path), scalar


def instrument_results(module: Module) -> None:
    """Replace instructions whose results MemorySanitizer's pass does not instrument.

    With `-fsanitize=signed-integer-overflow` a sum is a part of what `llvm.sadd.with.overflow`
    returns, marked `!nosanitize`. The pass takes every value with that mark for initialised. It
    knows `add`, so the sum becomes one; the intrinsic stays for the overflow bit alone. All other
    instructions with the mark compute conditions of checks, which no kernel sees.

    Of `llvm.fptosi.sat` the pass reports the operand, though nothing is decided by it. So the call
    gets the mark, and the shadow of its operand comes from `x ^ x`, which is 0: as one bit, which
    is uninitialised if any bit is, and then as wide as the result. One of the two operands has the
    mark, so that they are not the same to LLVM, which knows what `x ^ x` is.
    """
    mark = ""
    for function in module.functions.values():
        if not (function.mentions(".with.overflow.") or function.mentions("i.sat.")):
            continue
        rewriter = Rewriter(function)
        for _, each in function.instructions:
            if not isinstance(each, CallInstruction):
                continue
            if operation := _find_overflowing(each):
                for part in function.users_of(each.result):
                    if isinstance(part, Part) and part.indices == (0,):
                        left, right = each.operands
                        sum_ = f"{part.result} = {operation} {left}, {right.text}"
                        attached = part.attachments.replace(
                            f", !nosanitize {part.attachment('nosanitize')}", ""
                        )
                        rewriter.replace(part, f"{sum_}{attached}")
            elif each.name.startswith(("llvm.fptosi.sat.", "llvm.fptoui.sat.")):
                mark = mark or module.metadata.add("!{}")
                rewriter.replace(each, *_convert(each, mark))
        rewriter.apply()


def _find_overflowing(call: CallInstruction) -> str:
    """Return the operation of a call that also returns whether it overflows, or ""."""
    if ".with.overflow." not in call.text or not call.attachment("nosanitize"):
        return ""
    operation = call.name.split(".")[1][1:]
    return operation if operation in _OVERFLOWING else ""


def _convert(conversion: CallInstruction, mark: str) -> Iterator[str]:
    """Yield the instructions that convert a float and give the result the operand's shadow."""
    (operand,) = conversion.operands
    to, at = conversion.type, conversion.located

    def like_operand(element: Type) -> Type:
        of = operand.type
        return Vector(of.count, element) if isinstance(of, Vector) else element

    scalar = operand.type.element if isinstance(operand.type, Vector) else operand.type
    if not isinstance(scalar, Float):
        raise IrError(f"no conversion of a float: {conversion.text.strip()!r}")
    # A number as the name of a value must come in order.
    name = f"%mb.to.{conversion.result[1:]}"
    whole, one = like_operand(Int(scalar.bits)), like_operand(Int(1))
    zero = "zeroinitializer" if isinstance(whole, Vector) else "0"
    yield f"{name} = call {to} {conversion.callee}({operand}){at}, !nosanitize {mark}"
    yield f"{name}.bits = bitcast {operand} to {whole}{at}"
    yield f"{name}.given = bitcast {operand} to {whole}{at}, !nosanitize {mark}"
    yield f"{name}.none = xor {whole} {name}.bits, {name}.given{at}"
    yield f"{name}.any = icmp ne {whole} {name}.none, {zero}{at}"
    yield f"{name}.all = sext {one} {name}.any to {to}{at}"
    yield f"{conversion.result} = xor {to} {name}, {name}.all{at}"


def prepare_for_address_sanitizer(module: Module) -> None:
    """Change an instrumented module into one for the passes of all checked builds.

    The function that numbers branches runs when the code is loaded, where no thread has a shadow:
    it becomes empty.
    """
    for group, attributes in module.attribute_groups.items():
        changed = attributes.replace("sanitize_memory", "sanitize_address")
        if changed != attributes:
            module.set_attribute_group(group, changed)
    for name, function in module.functions.items():
        if name.startswith(_CONSTRUCTOR):
            function.set_body("  ret void")
    locate_calls(module)
