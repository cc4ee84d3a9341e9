"""Kernels with one slow place each, and twins without it: the planted set of the lints.

The line that ends in `//!` has the finding. `BODY` is the body of a kernel with the arguments of
SIGNATURE; a case may have lines before it and other header lines.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """\
// value: n = 4096
// value: k = 16
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: f threads_in_grid=(n) threads=(64)
"""
INCLUDES = "#include <metal_stdlib>\nusing namespace metal;\n"
SIGNATURE = (
    "kernel void f(device const float* x, device float* y, constant uint& n, constant uint& k, "
    "uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], "
    "uint lane [[thread_index_in_simdgroup]])"
)


@dataclass(frozen=True)
class PlantedCase:
    """A body with a finding of `rule`, and the `twin` without one."""

    rule: str
    name: str
    body: str
    twin: str
    before: str = ""
    head: str = HEAD
    twin_head: str = HEAD

    def source(self, *, planted: bool) -> str:
        """Return the file with the slow place, or the twin."""
        head, body = (self.head, self.body) if planted else (self.twin_head, self.twin)
        return f"{head}{INCLUDES}{self.before}{SIGNATURE}\n{{\n{body}\n}}\n"

    @property
    def line(self) -> int:
        """The line of the finding."""
        lines = self.source(planted=True).splitlines()
        mark = "// dispatch:" if self.rule == "few-threadgroups" else "//!"
        (found,) = (number for number, text in enumerate(lines, 1) if mark in text)
        return found


SUM = "float s = 0;\n"
ARRAY = "for (uint j = 0; j < 16; ++j) a[j] = x[i + j];\n"
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);\n"


def _loop(statement: str, before: str = "", after: str = "") -> str:
    return f"{SUM}{before}for (uint j = 0; j < k; ++j) {{\n{statement}\n}}\n{after}y[i] = s;"


def _case(rule: str, name: str, body: str, twin: str, before: str = "") -> PlantedCase:
    return PlantedCase(rule, name, body, twin, before)


def _long_loop(length: int, mark: str) -> str:
    each = f"for (uint j = 0; j < {length}; ++j)"
    return (
        f"{SUM}float a[{length}];{mark}\n{each} a[j] = x[i + j] * x[i + 2 * j] + 1;\n"
        f"for (uint r = 0; r < k; ++r)\n{each} s = fma(s, a[j], exp(a[j]));\ny[i] = s;"
    )


def _thread_arrays() -> list[PlantedCase]:
    rule = "thread-array"
    return [
        _case(
            rule,
            "index of a loop of unknown length",
            _loop("s += a[j];", f"float a[16];  //!\n{ARRAY}"),
            f"{SUM}float a[16];\n{ARRAY}for (uint j = 0; j < 16; ++j) s += a[j];\ny[i] = s;",
        ),
        _case(
            rule,
            "index from memory",
            f"float a[16];  //!\n{ARRAY}y[i] = a[uint(x[0]) & 15u];",
            f"float a[16];\n{ARRAY}y[i] = a[15];",
        ),
        _case(
            rule,
            "loop too long to be unrolled",
            _long_loop(64, "  //!"),
            _long_loop(8, ""),
        ),
        _case(
            rule,
            "matrices stored in a loop of unknown length",
            "simdgroup_float8x8 m[4];  //!\n"
            "for (uint j = 0; j < 4; ++j) simdgroup_load(m[j], x + 64 * j, 8);\n"
            "for (uint j = 0; j < min(k, 4u); ++j) simdgroup_store(m[j], y + 64 * j, 8);",
            "simdgroup_float8x8 m[4];\n"
            "for (uint j = 0; j < 4; ++j) simdgroup_load(m[j], x + 64 * j, 8);\n"
            "for (uint j = 0; j < 4; ++j) simdgroup_store(m[j], y + 64 * j, 8);",
        ),
        _case(
            rule,
            "member of a struct",
            _loop("s += own.a[j & 7];", "Own own;  //!\nown.fill(x + i);\n"),
            f"{SUM}Own own;\nown.fill(x + i);\n"
            "for (uint j = 0; j < 8; ++j) s += own.a[j];\ny[i] = s;",
            "struct Own {\n  float a[8];\n  void fill(device const float* p) thread {\n"
            "    for (uint j = 0; j < 8; ++j) a[j] = p[j];\n  }\n};\n",
        ),
        _case(
            rule,
            "component of a vector by an index from memory",
            "float4 v[4];  //!\nfor (uint j = 0; j < 4; ++j) v[j] = float4(x[i + j]) + float(j);\n"
            "y[i] = v[uint(x[1]) & 3u].x;",
            "float4 v[4];\nfor (uint j = 0; j < 4; ++j) v[j] = float4(x[i + j]) + float(j);\n"
            "y[i] = v[3].x;",
        ),
    ]


def _live_values(count: int, type_: str = "float") -> str:
    """Return code that keeps `count` values over a loop, all of which change in it."""
    names = [f"v{at}" for at in range(count)]
    given = "".join(f"{type_} {name} = x[i + {at}];\n" for at, name in enumerate(names))
    # Each line of the loop has one register; the loop's own line has counter and address.
    mark = "  //!" if count > 52 else ""
    changed = "".join(
        f"{name} = fma({name}, b, {names[at - 1]});\n" for at, name in enumerate(names)
    )
    total = " + ".join(names)
    return (
        f"{given}for (uint j = 0; j < k; ++j) {{{mark}\nconst {type_} b = x[j];\n{changed}}}\n"
        f"y[i] = {total};"
    )


def _registers() -> list[PlantedCase]:
    return [
        _case("registers", f"{many} values", _live_values(many), _live_values(few))
        for many, few in ((64, 16), (72, 24), (90, 32), (110, 8), (120, 48))
    ]


def _spills() -> list[PlantedCase]:
    return [
        _case("register-spill", f"{many} values", _live_values(many), _live_values(few))
        for many, few in ((130, 16), (140, 40), (160, 48), (180, 8), (200, 24))
    ]


def _strides() -> list[PlantedCase]:
    rule = "strided-access"
    return [
        _case(rule, "columns of a constant pitch", "y[i] = x[i * 32];  //!", "y[i] = x[i + 32];"),
        _case(rule, "write with a pitch", "y[i * 8 + 3] = x[i];  //!", "y[i + 3] = x[i];"),
        _case(
            rule,
            "row of each thread in a loop",
            _loop("s += x[i * 64 + j];  //!"),
            _loop("s += x[i + j * 64];"),
        ),
        _case(
            rule,
            "row of each thread with a run-time pitch",
            _loop("s += x[i * n + j];  //!"),
            _loop("s += x[i + j * n];"),
        ),
        _case(
            rule,
            "member of a large struct",
            "y[i] = ((device const Record*)x)[i].b;  //!",
            "device const Record& own = ((device const Record*)x)[i];\n"
            "y[i] = own.a + own.b + own.c;",
            "struct Record { float a; float b; float c; float d; };\n",
        ),
        _case(
            rule,
            "one of four components",
            "y[i] = ((device const float4*)x)[i].x;  //!",
            "const float4 v = ((device const float4*)x)[i];\ny[i] = v.x + v.y + v.z + v.w;",
        ),
        _case(
            rule,
            "run-time pitch of the output",
            "y[t * k] = x[i];  //!",
            "if (t < k) y[t + k] = x[i];",
        ),
    ]


def _bank_conflicts() -> list[PlantedCase]:
    rule = "bank-conflict"

    def transpose(pitch: str, mark: str, type_: str = "float") -> str:
        return (
            f"threadgroup {type_} tile[3000];\ntile[t] = {type_}(x[i]);\n{BARRIER}"
            f"y[i] = float(tile[{pitch}]);{mark}"
        )

    column = f"tile[0][lane] = x[i];\n{BARRIER}y[i] = tile[lane][3];"
    return [
        _case(rule, "pitch of 32", transpose("t * 32", "  //!"), transpose("t * 33", "")),
        _case(rule, "pitch of 16", transpose("t * 16 + 1", "  //!"), transpose("t * 17 + 1", "")),
        _case(rule, "pitch of 8", transpose("lane * 8", "  //!"), transpose("lane * 9", "")),
        _case(
            rule,
            "half with a pitch of 64",
            transpose("lane * 64", "  //!", "half"),
            transpose("lane * 66", "", "half"),
        ),
        _case(
            rule,
            "column of a 2D tile",
            f"threadgroup float tile[32][32];\n{column}  //!",
            f"threadgroup float tile[32][33];\n{column}",
        ),
        _case(
            rule,
            "vectors side by side",
            f"threadgroup float4 tile[1000];\ntile[t] = x[i];\n{BARRIER}y[i] = tile[t * 8].x;  //!",
            f"threadgroup float4 tile[1000];\ntile[t] = x[i];\n{BARRIER}"
            "const float4 v = tile[t];\ny[i] = v.x + v.y + v.z + v.w;",
        ),
    ]


def _divergent_branches() -> list[PlantedCase]:
    rule = "divergent-branch"
    return [
        _case(
            rule,
            "odd lanes",
            _loop("if (lane & 1) {  //!\ns += exp(x[j]);\n} else {\ns -= sin(x[j + n]);\n}"),
            _loop("if (n & 1) {\ns += exp(x[j]);\n} else {\ns -= sin(x[j + n]);\n}"),
        ),
        _case(
            rule,
            "half of the lanes",
            _loop("if (lane < 16) {  //!\ns += x[j] * x[j + 1];\n} else {\ns *= x[j + 7];\n}"),
            _loop("if (k < 16) {\ns += x[j] * x[j + 1];\n} else {\ns *= x[j + 7];\n}"),
        ),
        _case(
            rule,
            "data of each thread",
            _loop(
                "if (v > 0) {  //!\ns += x[j] * v;\n} else {\ns *= x[j + n];\n}",
                "const float v = x[i];\n",
            ),
            _loop("s += (v > 0 ? v : -v) * x[j];", "const float v = x[i];\n"),
        ),
        _case(
            rule,
            "writes of both sides",
            _loop(
                "if (t % 3 == j % 3) {  //!\ny[i + j] = x[j];\n} else {\ns = x[i + j + n] * s;\n}"
            ),
            _loop("if (j % 3 == 1) {\ny[i + j] = x[j];\n} else {\ns = x[i + j + n] * s;\n}"),
        ),
        _case(
            rule,
            "a call on each side",
            _loop("if ((i ^ j) & 1) {  //!\ns += log(s + x[j]);\n} else {\ns += cos(s * x[j]);\n}"),
            _loop("if (i < n) s += log(s + x[j]) + cos(s * x[j]);"),
        ),
        _case(
            rule,
            "SIMD-groups, whole",
            _loop("if (t & 4) {  //!\ns += exp(x[j]);\n} else {\ns -= sin(x[j + n]);\n}"),
            "const uint own = simd_broadcast_first(t) & 32;\n"
            + _loop("if (own) {\ns += exp(x[j]);\n} else {\ns -= sin(x[j + n]);\n}"),
        ),
    ]


def _integer_divisions() -> list[PlantedCase]:
    rule = "integer-division"
    return [
        _case(rule, "quotient", _loop("s += x[j / n];  //!"), _loop("s += x[j / 12];")),
        _case(rule, "remainder", _loop("s += x[(i + j) % n];  //!"), _loop("s += x[(i + j) % 7];")),
        _case(
            rule,
            "signed",
            _loop("s += float(int(j) / int(n));  //!"),
            _loop("s += float(int(j) / 9);"),
        ),
        _case(
            rule,
            "per thread",
            _loop("s += x[(j * 5) / (t + 1)];  //!"),
            _loop("s += x[j * 5 + own];", "const uint own = i / n;\n"),
        ),
        _case(
            rule,
            "of vectors",
            _loop("s += float((uint2(j, j + 1) / uint2(n, k)).y);  //!"),
            _loop("s += float((uint2(j, j + 1) / uint2(3, 5)).y);"),
        ),
        _case(
            rule,
            "in a function",
            _loop("s += x[wrap(j * 3, n)];"),
            _loop("s += x[min(j * 3, n)];"),
            "inline uint wrap(uint a, uint b) { return a % b; }  //!\n",
        ),
    ]


def _precise_functions() -> list[PlantedCase]:
    rule = "precise-function"
    cases = [
        (name, f"s += precise::{name}(x[j]);  //!", f"s += {twin}{name}(x[j]);")
        for name, twin in (
            ("sin", ""),
            ("exp", "fast::"),
            ("log2", ""),
            ("rsqrt", "fast::"),
            ("tanh", ""),
        )
    ]
    cases.append(("before the loop", "s += metal::precise::cos(x[j]);  //!", "s += x[j] * v;"))
    before = "const float v = precise::cos(x[i]);\n"
    fast = f"// math: fast\n{HEAD}"
    return [
        PlantedCase(rule, name, _loop(body), _loop(twin, before), head=fast, twin_head=fast)
        for name, body, twin in cases
    ]


def _pitch_of_two(other: str) -> str:
    """Declare a pitch that LLVM joins by a phi."""
    use = "y[i] = x[i + pitch];"
    return f"ulong pitch = n;\nif (n > 3) {{\npitch = {other};\n{use}\n}}\n"


def _wide_addresses() -> list[PlantedCase]:
    rule = "wide-address"
    pitch = "const ulong pitch = ulong(n) * k;\n"
    return [
        _case(
            rule,
            "product of a pitch of 64 bits",
            pitch + _loop("s += x[j * pitch + t];  //!"),
            # One instruction multiplies values of 32 bits to one of 64.
            _loop("s += x[ulong(j) * n + t];"),
        ),
        _case(
            rule,
            "counter of type ulong",
            f"{SUM}for (ulong j = 0; j < ulong(k); ++j) s += x[j * 7 + i];  //!\ny[i] = s;",
            f"{SUM}for (uint j = 0; j < k; ++j) s += x[j * 7 + i];\ny[i] = s;",
        ),
        _case(
            rule,
            "long",
            f"const long pitch = long(k) * n;\n{_loop('s += x[long(j) * pitch - t + 64];  //!')}",
            _loop("s += x[long(j) * long(k) - long(t) + 64];"),
        ),
        _case(
            rule,
            "pointer of a row",
            pitch
            + _loop("device const float* row = x + pitch * j;  //!\ns += row[t] + row[t + 1];"),
            _loop("device const float* row = x + ulong(j) * n;\ns += row[t] + row[t + 1];"),
        ),
        _case(
            rule,
            "write",
            pitch + _loop("y[j * pitch + t] = s;  //!\ns += x[i + j];"),
            _loop("y[size_t(n) * j + t] = s;\ns += x[i + j];"),
        ),
        _case(
            rule,
            "pitch of one of two values",
            _pitch_of_two("ulong(k) * n") + _loop("s += x[j * pitch + t];  //!"),
            _pitch_of_two("k") + _loop("s += x[ulong(j) * pitch + t];"),
        ),
        _case(
            rule,
            "quotient",
            _loop("s += x[ulong(j) * n / 3 + t];  //!"),
            _loop("s += x[j * 5 / 3 + t];"),
        ),
    ]


def _threadgroup_memory() -> list[PlantedCase]:
    rule = "threadgroup-memory"

    def fill(size: int, mark: str, type_: str = "float") -> str:
        return (
            f"threadgroup {type_} tile[{size}];{mark}\ntile[t] = {type_}(x[i]);\n{BARRIER}"
            "y[i] = float(tile[63 - t]);"
        )

    def two(size: int, mark: str) -> str:
        return f"threadgroup float b[100];\nb[t] = x[i];\n{fill(size, mark)}\ny[i] += b[63 - t];"

    return [
        _case(rule, "20 KiB", fill(5120, "  //!"), fill(1024, "")),
        _case(rule, "32 KiB", fill(8192, "  //!"), fill(4096, "")),
        _case(rule, "half", fill(9000, "  //!", "half"), fill(8000, "", "half")),
        _case(rule, "two arrays", two(4000, "  //!"), two(3900, "")),
        _case(rule, "bytes", fill(16385, "  //!", "uchar"), fill(16384, "", "uchar")),
    ]


def _few_threadgroups() -> list[PlantedCase]:
    rule = "few-threadgroups"
    grid = "threads_in_grid=(n) threads=(64)"

    def launch(text: str) -> str:
        return HEAD.replace(f"f {grid}", f"f {text}")

    return [
        PlantedCase(
            rule, name, "y[i] = x[i];", "y[i] = x[i];", head=launch(few), twin_head=launch(many)
        )
        for name, few, many in (
            ("large threadgroups", "threads_in_grid=(n) threads=(1024)", grid),
            ("one threadgroup", "threadgroups=(1) threads=(64)", "threadgroups=(64) threads=(64)"),
            ("by a value", "threadgroups=(k / 4) threads=(64)", "threadgroups=(k) threads=(64)"),
            (
                "two dimensions",
                "threadgroups=(2, 3) threads=(64)",
                "threadgroups=(2, 4) threads=(64)",
            ),
            ("few threads", "threads_in_grid=(k) threads=(4)", "threads_in_grid=(k) threads=(2)"),
        )
    ]


def _large_code(count: int, mark: str) -> str:
    return _loop(
        f"#pragma clang loop unroll(full)\nfor (uint q = 0; q < {count}; ++q)\n"
        f"s = fma(s, x[q * 3 + j], sin(s + float(q)));{mark}"
    )


def _footprints() -> list[PlantedCase]:
    return [
        _case(
            "instruction-footprint",
            f"{many} iterations unrolled",
            _large_code(many, "  //!"),
            _large_code(few, ""),
        )
        for many, few in ((400, 16), (512, 32), (600, 64), (800, 8), (1000, 100))
    ]


CASES = [
    *_thread_arrays(),
    *_registers(),
    *_spills(),
    *_strides(),
    *_bank_conflicts(),
    *_divergent_branches(),
    *_integer_divisions(),
    *_precise_functions(),
    *_wide_addresses(),
    *_threadgroup_memory(),
    *_few_threadgroups(),
    *_footprints(),
]
