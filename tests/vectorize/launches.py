"""Vectorize small functions of one lane, compile them, and call them."""

from __future__ import annotations

import ctypes
import platform
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite.binding
import ml_dtypes
import numpy as np

from metalbench.msl.toolchain.clang import (
    VECTOR_FLAGS,
    find_toolchain,
    list_disabled_passes,
    list_flags,
)
from metalbench.msl.toolchain.compile import MessageTranslator, assemble
from metalbench.msl.toolchain.symbols import explain_unknown
from metalbench.msl.vectorize.body import LaunchShape
from metalbench.msl.vectorize.module import vectorize_module

Arrays = Mapping[str, np.ndarray]
Memory = Mapping[str, "np.ndarray | int"]
ALL = 0xFFFFFFFF
SOME = 0xA35F0CFE  # without lane 0, with holes, with the last one
AVX2 = "+avx,+avx2,+fma,+f16c"
AVX512 = f"{AVX2},+avx512f,+avx512bw,+avx512dq,+avx512vl"
_TYPES = {
    **{np.dtype(f"{sign}{size}"): f"i{8 * size}" for sign in "iu" for size in (1, 2, 4, 8)},
    np.dtype("f2"): "half",
    np.dtype("f4"): "float",
    np.dtype("f8"): "double",
    np.dtype(ml_dtypes.bfloat16): "bfloat",
}
# What the kernels' headers define, because no library is linked (mb/scalar.h).
_TO_BFLOAT = """
@llvm.used = appending global [1 x ptr] [ptr @__truncsfbf2], section "llvm.metadata"
define weak hidden bfloat @__truncsfbf2(float %v) {
  %bits = bitcast float %v to i32
  %nan = fcmp uno float %v, 0.0
  %high = lshr i32 %bits, 16
  %odd = and i32 %high, 1
  %half = add i32 %odd, 32767
  %sum = add i32 %bits, %half
  %rounded = lshr i32 %sum, 16
  %chosen = select i1 %nan, i32 32704, i32 %rounded
  %short = trunc i32 %chosen to i16
  %r = bitcast i16 %short to bfloat
  ret bfloat %r
}"""
_NAMES = {"b1": "i1", "u8": "i8", "u16": "i16", "u32": "i32", "u64": "i64"}
_NAMES |= {"f16": "half", "bf16": "bfloat", "f32": "float"}
_ONE_OPERAND = (
    *("sum", "product", "min", "max", "and", "or", "xor", "first"),
    *("inclusive_sum", "exclusive_sum", "inclusive_product", "exclusive_product"),
)


@dataclass(frozen=True)
class Threads:
    """Positions of the live threads of a call, as arrays."""

    lane: np.ndarray
    index: np.ndarray
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray


@dataclass(frozen=True)
class Form:
    """A shape of launch, the lanes that are live in it, and the processor's features."""

    width: int = 32
    rows: bool = True
    live: int = ALL
    features: str = ""

    @property
    def launch(self) -> LaunchShape:
        return LaunchShape(self.width, self.rows)

    def everyone(self) -> Threads:
        """All lanes, live or not."""
        lane = np.arange(self.width)
        index = 64 + lane
        if self.rows:
            return Threads(lane, index, 16 + lane, np.full_like(lane, 3), np.full_like(lane, 1))
        return Threads(lane, index, index % 7, index // 7 % 3, index // 21)

    def threads(self) -> Threads:
        every, is_live = self.everyone(), self.live >> np.arange(self.width) & 1 == 1
        return Threads(*(each[is_live] for each in vars(every).values()))


Want = Callable[..., None]
ROWS = Form()
FORMS = {
    "32 in a row": ROWS,
    "16 in a row": Form(16),
    "8 in a row": Form(8),
    "any 32": Form(rows=False),
    "some of 32": Form(rows=False, live=SOME),
}
MACHINES = {"without masks": "", "avx2": AVX2, "avx512": AVX512}


def check(
    folder: Path, form: Form, body: str, want: Want, more: str = "", /, **memory: np.ndarray | int
) -> None:
    """Run `body` and compare its arrays with what `want(threads, **arrays)` makes of them.

    `want` gets the live threads only: numpy's fancy indices make that the work of all of them.
    """
    got = run(folder, form, body, more, memory)
    if got is None:
        return
    expected = {name: np.copy(each) for name, each in memory.items()}
    with np.errstate(all="ignore"):
        want(form.threads(), **{k: each if each.ndim else each[()] for k, each in expected.items()})
    for name, array in got.items():
        # Of bfloat16 numpy knows no NaNs.
        dtype = "f4" if array.dtype == ml_dtypes.bfloat16 else array.dtype
        found, wanted = array.astype(dtype), expected[name].astype(dtype)
        np.testing.assert_array_equal(found, wanted, err_msg=f"{name}, {form}")


def run(
    folder: Path, form: Form, body: str, more: str, memory: Memory
) -> dict[str, np.ndarray] | None:
    """Return the arrays after one call; None if this processor lacks the features."""
    path = folder / "body.so"
    emit_text = vectorize_module(module(body, more, memory, form.features), form.launch)
    (folder / "body.ll").write_text(emit_text)
    verify_and_link(emit_text, path)
    if not runs(form.features):
        return None
    arrays = {name: np.copy(each) for name, each in memory.items() if isinstance(each, np.ndarray)}
    numbers = [each for each in memory.values() if not isinstance(each, np.ndarray)]
    call(path, form, [each.ctypes.data for each in arrays.values()], numbers)
    return arrays


def verify_and_link(module: str, path: Path) -> None:
    """Compile and link a module that LLVM's verifier accepts. Raises RuntimeError."""
    llvmlite.binding.parse_assembly(module).verify()
    tools = find_toolchain()
    options = [
        *list_flags(checked=False, fast_math=False, passes=VECTOR_FLAGS),
        *list_disabled_passes(tools),
    ]
    assemble(module, path, tools, MessageTranslator(linker=explain_unknown), options)


def call(path: Path, form: Form, pointers: list[int], numbers: list[int]) -> ctypes.CDLL:
    """Call `mb_vector_body` of a shared object for one SIMD-group."""
    library = ctypes.CDLL(str(path))
    launch = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
    group = (ctypes.c_int32 * max(len(numbers), 1))(*numbers)
    arena = np.arange(256, dtype=np.uint8)
    every = form.everyone()
    positions = np.array([every.x, every.y, every.z], np.uint32)
    place = [int(each[0]) for each in (every.index, every.x, every.y, every.z)]
    library.mb_vector_body.restype = None
    library.mb_vector_body(
        launch,
        group,
        ctypes.c_void_p(arena.ctypes.data),
        *map(ctypes.c_uint32, place),
        ctypes.c_uint32(2),
        None if form.rows else ctypes.c_void_p(positions.ctypes.data),
        ctypes.c_uint32(form.live),
    )
    return library


def emit_text(body: str, form: Form = ROWS, more: str = "", **memory: np.ndarray | int) -> str:
    """Return the text of the vectorized `mb_vector_body`."""
    text = vectorize_module(module(body, more, memory, form.features), form.launch)
    return re.search(r"^define void @mb_vector_body.*?^}", text, re.MULTILINE | re.DOTALL)[0]


def module(body: str, more: str, memory: Memory, features: str = "") -> str:
    """A module with a function of one lane, in which names stand for what is there.

    `%NAME` is an array's address or a number, `%NAME.lane` a lane's own element's address; `%lane`,
    `%index`, `%x`, `%y`, `%z`, `%simdgroup` and `%arena` say where a lane is, `%i` is `%lane` as
    i64. Markers are declared; `mb_vector_meet` counts where `mb_info` points to.
    """
    arrays = {name: each for name, each in memory.items() if isinstance(each, np.ndarray)}
    numbers = [name for name in memory if name not in arrays]
    lines = [
        line
        for at, (name, array) in enumerate(arrays.items())
        for line in _array(at, name, array, own=f"%{name}.lane" in body)
    ]
    for at, name in enumerate(numbers):
        lines.append(f"%{name}.at = getelementptr i32, ptr %group, i64 {at}")
        lines.append(f"%{name} = load i32, ptr %{name}.at, align 4")
    used = body + "\n".join(lines)
    if re.search(r"%i\b", used):
        lines.insert(0, "%i = zext nneg i32 %lane to i64")
        used += " %lane"
    for name in ("lane", "index", "x", "y", "z", "simdgroup", "arena"):
        if re.search(rf"(?<![\w.])%{name}(?![\w.])", used):
            type_ = "ptr" if name == "arena" else "i32"
            lines.insert(0, f"%{name} = call {type_} @mb_vector_{name}()")
    text = "\n".join(["entry:", *lines, body.strip()])
    end = "" if re.search(r"ret void\s*$", text) else "ret void"
    attributes = f'attributes #0 = {{ "target-features"="{features}" }}' if features else ""
    return "\n".join(
        [
            "@mb_vector_rows = external hidden constant i8",
            '@mb_storage_meetings = hidden global i32 0, section "mb_threadgroup"',
            "define ptr @mb_info() {\n  ret ptr @mb_storage_meetings\n}",
            _declarations(text + more),
            "define hidden void @mb_vector_meet() noinline {",
            "  %before = atomicrmw add ptr @mb_storage_meetings, i32 1 monotonic, align 4",
            "  ret void",
            "}",
            more,
            _TO_BFLOAT if "bfloat" in text else "",
            f"define void @mb_vector_source(ptr %launch, ptr %group) {'#0 ' * bool(features)}{{",
            *map(_indent, text.split("\n")),
            f"  {end}",
            "}",
            attributes,
            "",
        ]
    )


def _indent(line: str) -> str:
    line = line.strip()
    return line if line.endswith(":") else f"  {line}"


def _array(at: int, name: str, array: np.ndarray, *, own: bool) -> list[str]:
    lines = [
        f"%{name}.at = getelementptr ptr, ptr %launch, i64 {at}",
        f"%{name} = load ptr, ptr %{name}.at, align 8",
    ]
    if own:
        lines.append(f"%{name}.lane = getelementptr {_TYPES[array.dtype]}, ptr %{name}, i64 %i")
    return lines


def _declarations(text: str) -> str:
    """Return declarations of the markers that a text calls."""
    found = []
    for name in sorted(set(re.findall(r"@(mb_vector_\w+)\(", text)) - {"mb_vector_meet"}):
        stem = name.removeprefix("mb_vector_")
        function, _, kind = stem.rpartition("_")
        type_ = _NAMES.get(kind, "i32")
        given = {"ballot": "i1", "barrier": ""}.get(stem, "")
        if function in _ONE_OPERAND:
            given = type_
        elif function == "shuffle":
            given = f"{type_}, i32"
        result = {"barrier": "void", "arena": "ptr"}.get(stem, type_)
        found.append(f"declare {result} @{name}({given})")
    return "\n".join(found)


@cache
def runs(features: str) -> bool:
    """Return whether this processor has all features of the list."""
    if platform.machine() != "x86_64":
        return True
    has = set(re.findall(r"\w+", Path("/proc/cpuinfo").read_text()))
    return all(each.removeprefix("+") in has for each in features.split(",") if each)
