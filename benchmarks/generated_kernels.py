"""Kernels of any number of lines, to measure how the time of a compilation grows with the source.

Each kind stresses another part of the compiler: long basic blocks, calls, branches, loops, many
functions, many kernels in a file.
"""

from __future__ import annotations

from collections.abc import Callable

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
VARIABLES = 24
# Lines of one function of the kind "functions", and of one kernel of the kind "kernels".
FUNCTION_LINES = 10


def generate_source(kind: str, lines: int, *, synchronises: bool = False) -> str:
    """Return a source with kernel `k`, whose body or functions have about `lines` lines.

    With `synchronises` the kernel has a barrier and a SIMD-group function, so it is vectorised.
    """
    functions, body = KINDS[kind](lines)
    return HEADER + functions + _write_kernel(body, synchronises=synchronises)


def _write_kernel(body: str, *, synchronises: bool) -> str:
    names = [f"v{number}" for number in range(VARIABLES)]
    begin = "".join(f"  float {each} = x[i + {number}];\n" for number, each in enumerate(names))
    meet = (
        "  threadgroup float s[256];\n  s[t] = v0;\n"
        "  threadgroup_barrier(mem_flags::mem_threadgroup);\n  v1 += simd_sum(s[t ^ 1]);\n"
        if synchronises
        else ""
    )
    return (
        "kernel void k(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],\n"
        "    constant int& n [[buffer(2)]], uint i [[thread_position_in_grid]],\n"
        "    uint t [[thread_index_in_threadgroup]]) {\n"
        f"{begin}{meet}{body}  y[i] = {' + '.join(names)};\n}}\n"
    )


def _operands(line: int) -> tuple[str, str, str]:
    """Return three variables: a target and two operands that differ from line to line."""
    return (
        f"v{line * 7 % VARIABLES}",
        f"v{(line * 11 + 5) % VARIABLES}",
        f"v{(line * 13 + 2) % VARIABLES}",
    )


def _straight(lines: int) -> tuple[str, str]:
    return "", "".join(_write_statement(line) for line in range(lines))


def _write_statement(line: int) -> str:
    target, a, b = _operands(line)
    return f"  {target} = fma({a}, {b}, {target} * {line % 17 + 1}.5f);\n"


def _calls(lines: int) -> tuple[str, str]:
    functions = "".join(
        f"inline float f{number}(float a, float b) {{ return a * b + {number}.25f; }}\n"
        for number in range(8)
    )
    body = ""
    for line in range(lines):
        target, a, b = _operands(line)
        body += f"  {target} = f{line % 8}({a}, {b} - {target});\n"
    return functions, body


def _branches(lines: int) -> tuple[str, str]:
    body = ""
    for line in range(lines):
        target, a, b = _operands(line)
        body += f"  if ({a} > {line}.0f) {{ {target} = x[i + {line}] * {b}; }}\n"
    return "", body


def _loops(lines: int) -> tuple[str, str]:
    body = ""
    for line in range(0, lines, 3):
        target, a, _ = _operands(line)
        body += "  for (int j = 0; j < n; ++j) {\n"
        body += f"    {target} = {target} * {a} + x[i + j];\n  }}\n"
    return "", body


def _functions(lines: int) -> tuple[str, str]:
    count = max(lines // FUNCTION_LINES, 1)
    functions, body = "", ""
    for number in range(count):
        inside = "".join(
            f"  a = a * b + {number * FUNCTION_LINES + line}.5f; b = b - a;\n"
            for line in range(FUNCTION_LINES - 3)
        )
        functions += f"inline float f{number}(float a, float b) {{\n{inside}  return a + b;\n}}\n"
        target, a, b = _operands(number)
        body += f"  {target} = f{number}({a}, {b});\n"
    return functions, body


def _kernels(lines: int) -> tuple[str, str]:
    functions = ""
    for number in range(max(lines // FUNCTION_LINES, 1)):
        inside = "".join(
            f"  y[i + {line}] = x[i] * {number}.5f + {line};\n"
            for line in range(FUNCTION_LINES - 3)
        )
        functions += (
            f"kernel void k{number}(device const float* x, device float* y,\n"
            f"    uint i [[thread_position_in_grid]]) {{\n{inside}}}\n"
        )
    return functions, "".join(_write_statement(line) for line in range(10))


# Functions and the body of the kernel, by the number of lines.
KINDS: dict[str, Callable[[int], tuple[str, str]]] = {
    "straight": _straight,
    "calls": _calls,
    "branches": _branches,
    "loops": _loops,
    "functions": _functions,
    "kernels": _kernels,
}
