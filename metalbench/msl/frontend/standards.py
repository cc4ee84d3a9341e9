"""The versions of the Metal Shading Language, which a kernel is compiled for by `--std`."""

from __future__ import annotations

# The versions of the language by the name that Metal's compiler has for them in `-std=`, with the
# value of __METAL_VERSION__.
STANDARDS = {"metal3.1": 310, "metal3.2": 320, "metal4.0": 400, "metal4.1": 410}
DEFAULT_STANDARD = "metal3.1"
VERSION_MACRO = "__METAL_VERSION__"
# A compiler option of metalbench.hlo: if this macro is given to the compiler, a source may have
# `double`, and literals with the suffix `L` have that type. `#define` in a source has no effect.
DOUBLE_MACRO = "__METALBENCH_DOUBLE__"
# Another one, for `cpu`: LLVM runs few passes on kernels that do not synchronise.
QUICK_MACRO = "__METALBENCH_QUICK__"
# Another one: the number of the layout that cooperative tensors have, of those that
# csrc/msl/mb/tensor_layout.h defines. A kernel that relies on no layout gives the same result with
# each of them.
TENSOR_LAYOUT_MACRO = "__METALBENCH_TENSOR_LAYOUT__"
TENSOR_LAYOUTS = 4
# The first version with tensors.
TENSORS_SINCE = STANDARDS["metal4.0"]


def define_version(standard: str) -> dict[str, str]:
    """Return the macro that selects a version by its name; none for an empty name."""
    return {VERSION_MACRO: str(STANDARDS[standard])} if standard else {}
