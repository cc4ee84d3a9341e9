"""Compile kernels whose threads run one by one, in loops or as fibers, to shared objects."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from metalbench import build_cache
from metalbench._core import CompileError
from metalbench.chips import SIMD_WIDTH
from metalbench.msl.frontend.constants import Value
from metalbench.msl.frontend.edits import Edits, TranslationUnit
from metalbench.msl.frontend.loop_exits import NO_UNROLL_MACRO
from metalbench.msl.frontend.lower import LoweredKernel, is_metal4, lower
from metalbench.msl.frontend.source import Source
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.toolchain.clang import (
    BUFFER_ALIGNMENT,
    CONVERGENT_FLAGS,
    GPU,
    GPU_FLAGS,
    HOPPER,
    LANE_FLAGS,
    NVPTX,
    NVPTX_HOPPER,
    TENSOR_LANE_FLAGS,
    VECTOR_FLAGS,
    BuildOptions,
    Toolchain,
    find_toolchain,
    list_disabled_passes,
    list_flags,
)
from metalbench.msl.toolchain.compile import (
    LARGEST_LANE,
    OPTIMISING_S,
    MessageTranslator,
    assemble,
    check_stack_usage,
    compile_shared_object,
    emit_assembly,
    generate_ir,
    optimise,
)
from metalbench.msl.toolchain.diagnostics import Diagnostics
from metalbench.msl.toolchain.host_calls import refuse_host_calls
from metalbench.msl.toolchain.run_tool import CrashedError, TooSlowError
from metalbench.msl.toolchain.symbols import explain_undefined, explain_unknown
from metalbench.msl.transforms import block_layout
from metalbench.msl.transforms.alignment import lower_alignment, raise_alignment
from metalbench.msl.transforms.counting import count
from metalbench.msl.transforms.lop3 import join_bitwise_operations
from metalbench.msl.transforms.metal_semantics import give_metal_semantics
from metalbench.msl.transforms.packed_conversions import pack_conversions
from metalbench.msl.transforms.shared_addresses import store_shared_addresses
from metalbench.msl.transforms.tensor_cores import lower_matrices
from metalbench.msl.vectorize.body import LaunchShape
from metalbench.msl.vectorize.module import vectorize_module


def compile_threads(
    code: TranslationUnit,
    kernel: str,
    translate: MessageTranslator,
    *,
    fibers: bool,
    checked: bool,
    fast_math: bool,
    spaces: bool,
    tools: Sequence[str] = (),
    reasons: list[str] | None = None,
) -> Path:
    """Compile lowered text to a shared object; store the text next to it. Raise CompileError.

    With `fibers` each thread is a fiber; `checked` builds require it. If optimisations are reduced,
    the reason is appended to `reasons`.
    """
    if not checked:
        code = _ignore_gpu_hints(code)
    chain = find_toolchain()
    metal4 = is_metal4(code.text)
    options = list_flags(
        checked=checked, fast_math=fast_math, spaces=spaces, metal4=metal4, tools=tools
    )
    written = translate.source_digest if checked else ""
    made_of = ("object", chain.key, repr(options), repr(tools), repr(fibers), written, code.text)
    target = build_cache.locate_file(build_cache.digest(*made_of), ".so")
    with build_cache.write_atomically(target) as path:
        frames = compile_shared_object(
            code,
            path,
            chain,
            translate,
            options,
            checked=checked,
            fibers=fibers,
            check_arithmetic=checked and "arithmetic" in tools,
            follow=checked and "init" in tools,
            reasons=reasons,
        )
        check_stack_usage(frames, kernel, chain.headers, together=False)
        if chain.target.debug_in_object:
            path.with_suffix(".o").replace(target.with_suffix(".o"))
        with build_cache.write_atomically(target.with_suffix(".cpp")) as text:
            text.write_text(code.text)
    return target


def compile_fibers_from_file(text: Path, kernel: str, *, fast_math: bool, spaces: bool) -> Path:
    """Compile the lowered text of a file as fibers, as `compile_threads` does."""
    code = TranslationUnit(text.read_text(), Edits(""), 0)
    source = Source("", kernel, "")
    return compile_threads(
        code,
        kernel,
        MessageTranslator(check_ir=lambda ir: refuse_host_calls(ir, source, code)),
        fibers=True,
        checked=False,
        fast_math=fast_math,
        spaces=spaces,
    )


# Kernels as vectors: the LLVM IR of one lane, and of each shape of launch a shared object.

# The function of one lane, by the beginning of its name.
_LANE = "mb_vector_source"
# Functions of a SIMD-group as a whole: its lanes may not be run in parts.
_COLLECTIVE = tuple(
    f"mb_vector_{each}"
    for each in (
        *("lane", "ballot", "shuffle", "first", "sum", "product", "min", "max", "and", "or", "xor"),
        *("inclusive", "exclusive"),
    )
)
_FULL_UNROLLING = re.compile(r"(#[ \t]*pragma[ \t]+clang[ \t]+loop[ \t]+unroll\()full(\))")
_UNROLLING_ON_GPUS = re.compile(
    r"#[ \t]*pragma[ \t]+clang[ \t]+loop[ \t]+unroll\((?:enable|disable)\)"
)
_LOOP_TOKEN = re.compile(r"[(){};]|\b(?:simdgroup|threadgroup)_barrier\b")
_OWN_SYMBOL, _MATRIX = "_ZN2mbL", "matrix_"
_NARROWER = (16, 8)


def lane_of(
    code: TranslationUnit,
    tools: Toolchain,
    translate: MessageTranslator,
    *,
    fast_math: bool,
    spaces: bool,
) -> Path:
    """The file in the cache that has the kernel of one lane as IR.

    Raises CompileError, IrError where LLVM's passes take too long.
    """
    code = _limit_unrolling(code)
    options = list_lane_flags(code, fast_math=fast_math, spaces=spaces)
    key = build_cache.digest("lane", tools.key, repr(options), code.text)
    target = build_cache.locate_file(key, ".ll")
    if not target.exists():
        try:
            text = generate_ir(code, tools, options, translate, processor_s=OPTIMISING_S)
        except TooSlowError:
            raise IrError(
                f"LLVM's passes took more than {OPTIMISING_S} s of processor time for one thread"
            ) from None
        with build_cache.write_atomically(target) as path:
            path.write_text(text)
    return target


def _limit_unrolling(code: TranslationUnit) -> TranslationUnit:
    """Return the text with full unrolling as a wish, to which LLVM's threshold applies.

    On a processor, memory is as fast as registers, and a product of matrices takes a hundred
    instructions if threads access the elements. A kernel of several thousand cannot be vectorised.

    A loop with a barrier is not unrolled. Such a loop stores the tile of a product strip by strip.
    Every copy of its body is vectorised separately, and the code of a 32 x 32 tile was 1.5 times as
    long and 15 % slower with two copies. A barrier in a branch does not count: attention's loop,
    whose iterations are conditional, was 2 % faster unrolled.
    """
    code = _ignore_gpu_hints(code)
    start = code.source_start
    source = code.text[start:]

    def limit(pragma: re.Match[str]) -> str:
        return (
            f"{pragma[1]}{'disable' if _has_barrier(source, pragma.end()) else 'enable'}{pragma[2]}"
        )

    return replace(code, text=code.text[:start] + _FULL_UNROLLING.sub(limit, source))


def _has_barrier(source: str, start: int) -> bool:
    """Return whether the block of the loop at `start` has a barrier outside of inner blocks."""
    depth = 0
    for token in _LOOP_TOKEN.finditer(source, start):
        if depth == 1 and token[0].endswith("_barrier"):
            return True
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(token[0], 0)
        if depth == 0 and token[0] in "};":
            break
    return False


def _ignore_gpu_hints(code: TranslationUnit) -> TranslationUnit:
    """Return the text without pragmas that enable or disable unrolling.

    They are hints for the registers of GPUs. On processors they made reductions of rows 1.3 times
    and pools 1.2 times as slow.
    """
    start = code.source_start
    text = code.text[:start] + _UNROLLING_ON_GPUS.sub("", code.text[start:])
    return replace(code, text=text)


def check_size(lane: Path) -> None:
    """Raise IrError for a kernel that is too large to be written for all lanes at once."""
    functions = Module(lane.read_text()).functions
    found = next((each for name, each in functions.items() if name.startswith(_LANE)), None)
    if found is None:
        raise IrError(f"the module does not define {_LANE}")
    count = found.length
    if count > LARGEST_LANE:
        raise IrError(f"{count} instructions of one thread, more than {LARGEST_LANE}")


def list_lane_flags(code: TranslationUnit, *, fast_math: bool, spaces: bool = False) -> list[str]:
    """Return clang's options for the kernel of one lane."""
    # LLVM may drop the metadata of such a loop if it removes one of its conditions.
    passes = [*LANE_FLAGS, *(["-fno-unroll-loops"] if NO_UNROLL_MACRO in code.text else [])]
    if is_metal4(code.text):
        passes += TENSOR_LANE_FLAGS
    metal4 = is_metal4(code.text)
    return list_flags(
        checked=False, fast_math=fast_math, spaces=spaces, metal4=metal4, passes=passes
    )


def list_widths(lane: Path) -> tuple[int, ...]:
    """Return the possible numbers of lanes along x of one call, the largest first."""
    functions = Module(lane.read_text()).functions.values()
    if any(_is_collective(called) for function in functions for called in function.callees):
        return (SIMD_WIDTH,)
    return (SIMD_WIDTH, *_NARROWER)


def _is_collective(function: str) -> bool:
    is_matrix = function.removeprefix(_OWN_SYMBOL).lstrip("0123456789").startswith(_MATRIX)
    return function.startswith(_COLLECTIVE) or (function.startswith(_OWN_SYMBOL) and is_matrix)


def build_entry(
    lane: Path,
    launch: LaunchShape,
    kernel: str,
    *,
    fast_math: bool,
    reasons: list[str] | None = None,
) -> Path:
    """Return the shared object for launches of a shape; compile it if the cache lacks it.

    If optimisations are reduced, the reason is appended to `reasons`. Raise IrError if the kernel
    cannot be vectorised or needs more than the stack.
    """
    reasons = [] if reasons is None else reasons
    tools = find_toolchain()
    options = list_flags(checked=False, fast_math=fast_math, passes=VECTOR_FLAGS)
    key = build_cache.digest("vectors", tools.key, repr(options), lane.name, str(launch))
    target = build_cache.locate_file(key, ".so")
    explained = target.with_suffix(".reason")
    if target.exists():
        reasons += explained.read_text().splitlines() if explained.exists() else []
        return target
    module = vectorize_module(lane.read_text(), launch)
    options += list_disabled_passes(tools)
    reduced: list[str] = []
    with build_cache.write_atomically(target) as path:
        try:
            frames = assemble(
                module,
                path,
                tools,
                MessageTranslator(linker=explain_unknown),
                options,
                reasons=reduced,
            )
            check_stack_usage(frames, kernel, tools.headers, together=True)
        except CompileError as error:
            raise IrError(str(error)) from error
        if tools.target.debug_in_object:
            path.with_suffix(".o").replace(target.with_suffix(".o"))
        if reduced:
            with build_cache.write_atomically(explained) as file:
                file.write_text("\n".join(reduced))
    reasons += reduced
    return target


# Counted builds: their shared objects, each with a file that says what its numbers count.

# As written, but for the headers' own functions, which are within the user's: what is counted.
_AS_WRITTEN = [
    "-O0",
    "-Xclang",
    "-disable-O0-optnone",
    *CONVERGENT_FLAGS,
    "-DMB_COUNTED=1",
    "-DMB_MATRIX_DISTRIBUTED=1",
]
# And what is made of that, calls included.
_COMPILED = ["-O1", *CONVERGENT_FLAGS, "-fno-vectorize", "-fno-slp-vectorize"]


def build_counted_threads(
    code: TranslationUnit,
    kernel: str,
    translate: MessageTranslator,
    *,
    fast_math: bool,
    spaces: bool,
) -> Path:
    """Return the counted build of lowered text. Raise CompileError."""
    tools = find_toolchain()
    metal4 = is_metal4(code.text)
    written, compiled = (
        list_flags(checked=False, fast_math=fast_math, spaces=spaces, metal4=metal4, passes=passes)
        for passes in (_AS_WRITTEN, _COMPILED)
    )
    target = build_cache.locate_file(
        build_cache.digest("counted", tools.key, repr(written), code.text), ".so"
    )
    with build_cache.write_atomically(target) as path:
        module = Module(generate_ir(code, tools, written, translate))
        give_metal_semantics(module, checked=False)
        counted = count(module)
        block_layout.inline_meeting_functions(module)
        module = Module(optimise(str(module), tools, translate, compiled))
        block_layout.lay_out_blocks(module)
        frames = assemble(str(module), path, tools, translate, [*compiled, *block_layout.FLAGS])
        check_stack_usage(frames, kernel, tools.headers, together=False)
        if tools.target.debug_in_object:
            path.with_suffix(".o").replace(target.with_suffix(".o"))
        with build_cache.write_atomically(target.with_suffix(".counts")) as record:
            record.write_text(json.dumps(counted.record()))
        with build_cache.write_atomically(target.with_suffix(".cpp")) as lowered:
            lowered.write_text(code.text)
    return target


def numbers_of(target: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of a counted build: memory access `sites` and code `segments`."""
    found: dict[str, list[dict[str, Any]]] = json.loads(target.with_suffix(".counts").read_text())
    return found


# Kernels for NVIDIA GPUs: PTX, which the driver compiles for the GPU that it finds.

# Functions that the driver would have to find elsewhere; what lies in memory is the kernel's own.
_MISSING = re.compile(r"^\s*\.extern \.func\s+(?:\([^)]*\)\s*)?([\w$]+)", re.M)
# Variables that are initialised with the address of another variable.
_INITIALISED = re.compile(
    r"^\s*\.(?:visible |weak |global |const )[^\n]*=[^\n]*\bgeneric\(([\w$]+)\)", re.M
)


def ptx_of(
    code: TranslationUnit,
    translate: MessageTranslator,
    *,
    fast_math: bool,
    spaces: bool,
    buffer_alignment: int = BUFFER_ALIGNMENT,
    architecture: str = "",
) -> Path:
    """Return the file with the PTX of lowered text, in the same folder.

    Its buffers must begin at multiples of `buffer_alignment` bytes. Raises CompileError.
    """
    goal = NVPTX_HOPPER if architecture == HOPPER and is_metal4(code.text) else NVPTX
    tools = replace(find_toolchain(), target=goal)
    options = list_flags(
        checked=False,
        fast_math=fast_math,
        spaces=spaces,
        metal4=is_metal4(code.text),
        goal=goal,
        passes=GPU_FLAGS,
    )
    target = build_cache.locate_file(
        build_cache.digest("ptx", tools.key, repr(options), str(buffer_alignment), code.text),
        ".ptx",
    )
    as_it_is = [*options, "-Xclang", "-disable-llvm-passes"]
    generated = Module(generate_ir(code, tools, as_it_is, translate))
    store_shared_addresses(generated)
    lower_alignment(generated)

    def compile_module(module: Module) -> str:
        optimised = Module(optimise(str(module), tools, translate, options))
        pack_conversions(optimised)
        lower_matrices(optimised)
        raise_alignment(optimised, buffer_alignment)
        join_bitwise_operations(optimised)
        return emit_assembly(str(optimised), tools, translate, as_it_is)

    ptx = compile_module(generated)
    if find_shared_initialisers(ptx):
        # LLVM makes a table of what a `switch` chooses from.
        for name, attributes in generated.attribute_groups.items():
            generated.set_attribute_group(name, f'"no-jump-tables"="true" {attributes}')
        ptx = compile_module(generated)
    # Nothing is linked to a kernel.
    missing = dict.fromkeys(_MISSING.findall(ptx))
    if missing:
        said = "\n".join(f"undefined symbol: {name}" for name in missing)
        raise CompileError(translate.linker(said) or said)
    _check_initialisers(ptx)
    for path, text in ((target.with_suffix(".cpp"), code.text), (target, ptx)):
        with build_cache.write_atomically(path) as made:
            made.write_text(text)
    return target


def find_shared_initialisers(ptx: str) -> list[str]:
    """Return the variables of threadgroup memory that initialisers in PTX have addresses of."""
    return [
        name
        for name in dict.fromkeys(_INITIALISED.findall(ptx))
        if re.search(
            rf"^\s*(?:\.extern |\.visible )?\.shared [^\n]*\b{re.escape(name)}\[", ptx, re.M
        )
    ]


def _check_initialisers(ptx: str) -> None:
    """Raise CompileError for a constant that no GPU of NVIDIA's can be given."""
    names = find_shared_initialisers(ptx)
    if names:
        raise CompileError(
            f"cuda: a constant holds the address of threadgroup memory ({', '.join(names)}), which "
            "PTX has no initialiser for; choose the pointer with `if` or arithmetic instead"
        )


# Compile one kernel of a source: as vectors if possible, or else thread by thread.


def compile_kernel(
    source: Source, function: str, constants: Mapping[str | int, Value], options: BuildOptions
) -> build_cache.Record:
    """Compile a kernel; return the fields of `CompiledKernel`, and `object`, the file's digest.

    Raise CompileError.
    """
    lowered = lower(source, function, constants)
    diagnostics = Diagnostics(source, lowered.code)
    translate = MessageTranslator(
        diagnostics.translate,
        lambda said: explain_undefined(said, source),
        lambda ir: refuse_host_calls(ir, source, lowered.code),
        diagnostics.map_columns,
        _digest_source(source),
    )
    try:
        record = _compile_lowered(lowered, translate, options)
    except CrashedError as error:
        raise CompileError(f"{source.filename}: {error}") from None
    except IrError as error:
        raise CompileError(
            f"{source.filename}: the engine cannot compile kernel {function}: {error}. The fault "
            "is the engine's; please report it with the source"
        ) from error
    return record | {
        "name": lowered.kernel.name,
        "object": build_cache.digest_file(record["path"]),
        "arguments": lowered.bindings.arguments,
        "attributes": lowered.bindings.attributes,
        "max_threads": lowered.max_threads,
        "needs_fibers": lowered.needs_fibers,
        "fast_math": options.fast_math,
        "spaces": lowered.spaces,
        "any_order": lowered.any_order,
    }


def _digest_source(source: Source) -> str:
    """Return a digest of a source and of the files that it includes."""
    folder = Path(source.filename).resolve().parent
    included = (str(folder / name) for name in source.tokens.files)
    return build_cache.digest(
        source.text, *(str(build_cache.digest_file(path)) for path in included)
    )


def _compile_lowered(
    lowered: LoweredKernel, translate: MessageTranslator, options: BuildOptions
) -> build_cache.Record:
    """Return the compiled files, and why the kernel is not vectorised or less optimised."""
    fast_math = options.fast_math
    if options.mode == GPU:
        return _compile_ptx(lowered, translate, options) | {"reason": ""}
    record, reason = None, _explain_no_vectors(lowered, options)
    if options.counted:
        record = _compile_counted(lowered, translate, fast_math=fast_math)
    elif not reason:
        record, reason = _compile_vectors(lowered, translate, fast_math=fast_math)
    if record is None:
        reasons = [reason]
        record = _compile_threads(lowered, translate, options, reasons)
        reason = "; ".join(dict.fromkeys(reasons))
    return record | {"reason": reason}


def _explain_no_vectors(lowered: LoweredKernel, options: BuildOptions) -> str:
    """Return why a kernel is not vectorised, except for its code; empty if it may be."""
    if options.instrumentation:
        return f"a {options.instrumentation} build instruments every thread"
    if not lowered.needs_fibers:
        return "its threads do not synchronise"
    return "" if options.mode == "vectors" else "METALBENCH_ENGINE is fibers"


def _compile_vectors(
    lowered: LoweredKernel, translate: MessageTranslator, *, fast_math: bool
) -> tuple[build_cache.Record | None, str]:
    """Compile SIMD-groups as vectors. Return None with the reason if that is not possible.

    The reason of a kernel that is compiled says why its optimisations are reduced.
    """
    reasons: list[str] = []
    kind = {"fast_math": fast_math, "spaces": lowered.spaces}
    try:
        lane = lane_of(lowered.code, find_toolchain(), translate, **kind)
        check_size(lane)
        widths = list_widths(lane)
        path = build_entry(
            lane,
            LaunchShape(widths[0], rows=True),
            lowered.kernel.name,
            fast_math=fast_math,
            reasons=reasons,
        )
    except IrError as error:
        return None, str(error)
    with build_cache.write_atomically(lane.with_suffix(".cpp")) as text:
        text.write_text(lowered.code.text)
    record = {"path": str(path), "engine": "vectors", "widths": widths, "lane": str(lane)}
    return record, "; ".join(reasons)


def _compile_ptx(
    lowered: LoweredKernel, translate: MessageTranslator, options: BuildOptions
) -> build_cache.Record:
    """Compile a kernel for NVIDIA GPUs."""
    path = ptx_of(
        lowered.code,
        translate,
        fast_math=options.fast_math,
        spaces=lowered.spaces,
        buffer_alignment=options.buffer_alignment,
        architecture=options.architecture,
    )
    return {"path": str(path), "engine": "cuda", "widths": (), "lane": ""}


def _compile_counted(
    lowered: LoweredKernel, translate: MessageTranslator, *, fast_math: bool
) -> build_cache.Record:
    """Compile a kernel that counts its operations: as fibers, whether it synchronises or not."""
    kind = {"fast_math": fast_math, "spaces": lowered.spaces}
    target = build_counted_threads(lowered.code, lowered.kernel.name, translate, **kind)
    return {"path": str(target), "engine": "fibers", "widths": (), "lane": ""}


def _compile_threads(
    lowered: LoweredKernel, translate: MessageTranslator, options: BuildOptions, reasons: list[str]
) -> build_cache.Record:
    """Compile a kernel whose threads run one by one: in loops, or as fibers.

    If optimisations are reduced, the reason is appended to `reasons`.
    """
    fibers = lowered.needs_fibers or options.checked
    target = compile_threads(
        lowered.code,
        lowered.kernel.name,
        translate,
        fibers=fibers,
        checked=options.checked,
        fast_math=options.fast_math,
        spaces=lowered.spaces,
        tools=options.tools,
        reasons=reasons,
    )
    return {
        "path": str(target),
        "engine": "fibers" if fibers else "loops",
        "widths": (),
        "lane": "",
    }
