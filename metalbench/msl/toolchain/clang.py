"""Find clang, and list its options for a build and a system."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from metalbench._core import CompileError, Unsupported
from metalbench.build_cache import digest, digest_trees
from metalbench.msl.ir.places import OWN

GPU = "cuda"
# Bytes, as the widest vector access needs. Buffers of GPUs begin at multiples of it, unless the
# host has sliced them.
BUFFER_ALIGNMENT = 16


@dataclass(frozen=True)
class BuildOptions:
    """Options for the execution and instrumentation of a kernel.

    `mode` is "vectors" or "fibers", for kernels that synchronise, or `GPU`. `checked` builds find
    defects, more of them with `tools`; `counted` builds count operations. Both instrument every
    thread and run as fibers. The buffers of a kernel for a GPU are aligned to `buffer_alignment`
    bytes. `architecture` is that of the GPU: `HOPPER`, or empty for every GPU.
    """

    mode: str
    checked: bool = False
    fast_math: bool = True
    tools: tuple[str, ...] = ()
    counted: bool = False
    buffer_alignment: int = BUFFER_ALIGNMENT
    architecture: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError for a build of both kinds: it would not check."""
        if self.checked and self.counted:
            raise ValueError("build: expected checked or counted, got both")

    @property
    def instrumentation(self) -> str:
        """The kind of instrumentation: `checked`, `counted` or empty."""
        return "checked" if self.checked else "counted" if self.counted else ""


# Kernels with tensors use the tensor cores of these GPUs. Other code is the same for every GPU.
HOPPER = "sm_90"

# The compilation targets: Linux, macOS and NVIDIA GPUs.

_MAC = "14.0"
_MAC_TRIPLE = f"arm64-apple-macosx{_MAC}"


@dataclass(frozen=True)
class CompilationTarget:
    """The flags of clang and its linker for one system.

    `object_format` names the folder of the MSL headers for the format, or is empty. `zig_linker`
    are arguments for zig, `clang_linker` those for a clang without a separate linker. With
    `debug_in_object`, the linker leaves debug information in the object file.
    """

    object_format: str
    triple: str
    compiler: tuple[str, ...]
    kernel_address: tuple[str, ...]
    zig_linker: tuple[str, ...]
    clang_linker: tuple[str, ...]
    debug_in_object: bool


# Flags for the host's processor.
_HOST_FLAGS = (
    "-fPIC",
    "-mrecip=none",
    "-gline-tables-only",
    # Clang for Darwin inserts calls to the host's stack protector by default.
    "-fno-stack-protector",
    # Large frames touch every page, so that none skips the one below the stack. The driver has the
    # option for some systems only.
    "-Xclang",
    "-fstack-clash-protection",
)
# Undefined symbols are reported, with the line that uses them.
LLD_FLAGS = ("-z", "defs", "--warn-unresolved-symbols")
_KERNEL_ADDRESS = "-fsanitize=kernel-address"

ELF = CompilationTarget(
    object_format="elf",
    triple=f"{platform.machine()}-unknown-linux-gnu",
    compiler=(*_HOST_FLAGS, "-march=native"),
    kernel_address=(_KERNEL_ADDRESS,),
    zig_linker=("ld.lld", *LLD_FLAGS),
    clang_linker=("-nostdlib",),
    debug_in_object=False,
)
MACH_O = CompilationTarget(
    object_format="mach_o",
    triple=_MAC_TRIPLE,
    # Every Mac with Apple silicon supports this.
    compiler=(*_HOST_FLAGS, f"--target={_MAC_TRIPLE}", "-mcpu=apple-m1"),
    # The driver has it for other systems only; the pass is the same.
    kernel_address=("-Xclang", _KERNEL_ADDRESS),
    # Without this option zig builds its C library first, which takes half a minute.
    zig_linker=("cc", "-target", f"aarch64-macos.{_MAC}", "-nostdlib", "-lSystem"),
    clang_linker=(f"--target={_MAC_TRIPLE}",),
    debug_in_object=True,
)

# PTX, which the driver of every GPU from Ampere (2020) on compiles for itself.
NVPTX = CompilationTarget(
    object_format="",
    triple="nvptx64-nvidia-cuda",
    compiler=(
        "--target=nvptx64-nvidia-cuda",
        "-march=sm_80",
        # Drivers from 2022 on support it.
        "--cuda-feature=+ptx78",
        # Line directives only: with line tables the driver would compile for debugging.
        "-gline-directives-only",
        "-DMB_GPU=1",
    ),
    kernel_address=(),
    zig_linker=(),
    clang_linker=(),
    debug_in_object=False,
)

# The same for Hopper GPUs only, whose tensor cores have other instructions.
NVPTX_HOPPER = replace(
    NVPTX,
    compiler=(
        *(each for each in NVPTX.compiler if not each.startswith(("-march", "--cuda-feature"))),
        "-march=sm_90a",
        "--cuda-feature=+ptx80",
        "-DMB_HOPPER=1",
    ),
)


def find_host_target() -> CompilationTarget:
    """Return the target of this machine. Raise Unsupported."""
    if sys.platform != "darwin":
        return ELF
    if platform.machine() != "arm64":
        raise Unsupported(
            f"the cpu device runs on Macs with Apple silicon, got {platform.machine()}; "
            "use Linux on this machine"
        )
    return MACH_O


# Flags of checked builds: cheap checks always, expensive ones for the tools that need them.

TOOLS = ("mem", "race", "init", "sync", "arithmetic")

# The coverage pass does not trace copies of a whole struct, such as a float4 in memory.
# AddressSanitizer's pass, with these flags, turns these copies, and nothing else, into calls.
_CHECKED_FLAGS = (
    "-O1",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-DMB_CHECKED=1",
    # The runtime reads the call stack of a fault.
    "-fno-omit-frame-pointer",
    "-fsanitize=alignment,array-bounds,integer-divide-by-zero",
    # The last array of a struct has its declared length.
    "-fstrict-flex-arrays=3",
    # Accesses through a null pointer are executed, and so are reported.
    "-fno-delete-null-pointer-checks",
    # Messages contain the names of variables.
    "-fno-discard-value-names",
    # The return address identifies the failed check.
    "-fno-optimize-sibling-calls",
    "-mllvm",
    "-enable-tail-merge=false",
    "-fsanitize-coverage=trace-loads,trace-stores,bb,trace-pc-guard",
    "-mllvm",
    "-asan-kernel-mem-intrinsic-prefix=1",
    "-mllvm",
    "-asan-globals=0",
    "-mllvm",
    "-asan-instrument-reads=0",
    "-mllvm",
    "-asan-instrument-writes=0",
    "-mllvm",
    "-asan-instrument-atomics=0",
    "-mllvm",
    "-asan-instrument-byval=0",
)
# Redzones after private variables. Clang reports them by calls: the engine's shadow memory is not
# at AddressSanitizer's offset.
_REDZONE_FLAGS = (
    "-DMB_ZONES=1",
    "-mllvm",
    "-asan-stack=1",
    "-mllvm",
    "-asan-max-inline-poisoning-size=0",
    "-mllvm",
    "-asan-mapping-offset=0",
)
# Operations that Metal defines but that are rarely intended.
_ARITHMETIC_FLAGS = ("-fsanitize=shift-exponent,float-cast-overflow,signed-integer-overflow",)


def check_tools(tools: Iterable[str]) -> tuple[str, ...]:
    """Return these tools in a fixed order. Raise CompileError for unknown names."""
    named = set(tools)
    if unknown := sorted(named - set(TOOLS)):
        raise CompileError(
            f"tools: expected some of {', '.join(TOOLS)}, got {', '.join(map(repr, unknown))}"
        )
    return tuple(each for each in TOOLS if each in named)


def list_checked_flags(goal: CompilationTarget, tools: Iterable[str]) -> list[str]:
    """Return the compiler's flags of a checked build with these tools."""
    arithmetic = _ARITHMETIC_FLAGS if "arithmetic" in tools else ()
    zones = _REDZONE_FLAGS if "mem" in tools else ("-mllvm", "-asan-stack=0")
    return [*goal.kernel_address, *_CHECKED_FLAGS, *zones, *arithmetic]


# Find the compiler: the ziglang wheel's clang, or METALBENCH_CLANG; define its flags.

COMMON_FLAGS = [
    "-std=c++17",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-nostdinc",
    "-nostdinc++",
    "-fno-finite-loops",
    "-fno-math-errno",
    # As in Metal, conversions saturate, and NaN becomes zero.
    "-fno-strict-float-cast-overflow",
    # As in Metal; on aarch64 Linux clang's `char` is unsigned by default.
    "-fsigned-char",
    "-fdeclspec",
    "-Xclang",
    "-ffloat16-excess-precision=none",
    "-Xclang",
    "-fbfloat16-excess-precision=none",
    "-Wno-everything",
    # As in Metal, arrays have constant lengths. The others are errors of clang unless its warnings
    # are turned off.
    "-Werror=vla",
    "-Werror=c++11-narrowing",
    "-Werror=return-mismatch",
    "-Werror=address-of-temporary",
    "-ferror-limit=20",
    "-fno-elide-type",
    "-fno-color-diagnostics",
    "-fno-crash-diagnostics",
    "-ftemplate-depth=1024",
]
# Arithmetic in half precision would let the processor fuse a multiplication with an addition,
# which then rounds once where Metal rounds twice.
_NO_ARM_HALF = ["-Xclang", "-target-feature", "-Xclang", "-fullfp16"]
HALF_FLAGS = {"x86_64": ["-mno-avx512fp16"], "aarch64": _NO_ARM_HALF, "arm64": _NO_ARM_HALF}
# Without LSE instructions clang calls `__aarch64_ldadd4_relax` and others of compiler-rt, which
# is not linked.
ATOMIC_FLAGS = {"aarch64": ["-mno-outline-atomics"]}
FAST_FLAGS = [
    "-fassociative-math",
    "-freciprocal-math",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fapprox-func",
]
PRECISE_FLAGS = ["-ffp-contract=off", "-DMB_FAST_MATH=0"]
# Calls of SIMD-group functions must not be duplicated: lanes reconverge at one call site. Clang
# drops `convergent` from mb::meet, whose body has no visible convergent call. The block placement
# of the code generator ignores the attribute (on aarch64 it copied a call to each side of a
# branch).
CONVERGENT_FLAGS = [
    "-fconvergent-functions",
    "-mllvm",
    "-tail-dup-placement=false",
    "-mllvm",
    "-disable-tail-duplicate",
]
# Loops are not vectorised under the run-time condition that an index does not wrap: clang 22 drops
# the condition for `private_array[i % 4]`, and accesses memory after the array.
WRAPPING_FLAGS = [
    "-mllvm",
    "-vectorize-scev-check-threshold=0",
    "-mllvm",
    "-pragma-vectorize-scev-check-threshold=0",
]
# For sources in which address spaces select overloads (frontend/address_spaces.py). C++23 has
# explicit object parameters, whose type includes the address space.
SPACES_FLAGS = ["-std=c++23", "-DMB_SPACES=1", "-Xclang", "-fsycl-is-device"]
# For sources of Metal 4. C++20 has literal classes as template arguments, C++23 subscripts of
# several indices: Metal 4 has both for tensors.
METAL4_FLAGS = ["-std=c++23", "-fno-char8_t"]
RELEASE_FLAGS = ["-O3", *CONVERGENT_FLAGS, *WRAPPING_FLAGS]
# With scatter instructions, clang vectorises the loop over threads. Each access of a private array
# is then a gather or a scatter, which was 40 times as slow.
NO_SCATTER_FLAGS = {"x86_64": ["-mno-scatter"]}
_NO_VECTORISATION = ["-fno-vectorize", "-fno-slp-vectorize"]
# Flags for the code of one lane, which is vectorised afterwards (msl/vectorize). All functions are
# inlined, because SIMD-group functions must be in the kernel. Jump threading past a reconvergence
# point would move it later and turn loops into masked loops. Loads that both sides of a branch
# share are not hoisted, because they may be combined with neighbouring loads. Loops are unrolled at
# most four times: hardware prefetchers stay within a page, and a threadgroup's loops often have
# strides of a KiB.
LANE_FLAGS = [
    "-O2",
    *CONVERGENT_FLAGS,
    *WRAPPING_FLAGS,
    *_NO_VECTORISATION,
    "-mllvm",
    "-inline-threshold=20000",
    "-mllvm",
    "-jump-threading-threshold=0",
    "-mllvm",
    "-simplifycfg-hoist-common=false",
    "-mllvm",
    "-unroll-max-count=4",
    "-mllvm",
    "-pragma-unroll-threshold=220",
    "-DMB_VECTOR=1",
]
# Elements of a cooperative tensor stay accesses of one size, so that its memory is rows of lanes.
TENSOR_LANE_FLAGS = ["-mllvm", "-disable-loop-idiom-memcpy"]
# Flags for the vectorised module, whose code was optimised as one lane: half of the passes find
# nothing to do. Loop strength reduction and post-RA scheduling take long without a gain. The
# modules have no debug information of variables, which only the older of LLVM's two implementations
# detects immediately.
_FEW_PASSES = [
    "-fno-unroll-loops",
    "-mllvm",
    "-disable-lsr",
    "-mllvm",
    "-post-RA-scheduler=0",
    "-mllvm",
    "-experimental-debug-variable-locations=false",
]
VECTOR_FLAGS = ["-O1", *WRAPPING_FLAGS, *_NO_VECTORISATION, *_FEW_PASSES]
# Instead of -O3 for small kernels that do not synchronise: two thirds of the time. The loop over
# threads is vectorised, because its metadata requests that at any level.
QUICK_FLAGS = ["-O1", *_FEW_PASSES]
# Flags for a GPU. Matrices must be in registers, which cannot be indexed: all loops over their
# elements must be unrolled and all functions inlined, or the elements are in local memory.
GPU_FLAGS = [
    "-O3",
    "-fconvergent-functions",
    "-mllvm",
    "-unroll-threshold=4000",
    "-mllvm",
    "-unroll-max-iteration-count-to-analyze=64",
    "-mllvm",
    "-inline-threshold=100000",
]
_RESERVED = re.compile(r"\b(?:mb|MB)_\w+")


@dataclass(frozen=True)
class Toolchain:
    """Command prefixes of clang and its linker, and the folder of the MSL headers."""

    clang: tuple[str, ...]
    linker: tuple[str, ...]
    headers: Path
    target: CompilationTarget = ELF

    @cached_property
    def version(self) -> str:
        """The first line of clang's version, such as `clang version 22.1.8`."""
        answer = subprocess.run(
            [*self.clang, "--version"], capture_output=True, text=True, check=False
        )
        lines = answer.stdout.splitlines()
        return lines[0] if lines else "clang of unknown version"

    @cached_property
    def key(self) -> str:
        """A digest of the compiler, the headers, this front end and the processor."""
        program = os.stat(self.clang[0])
        clang = f"{self.clang}{program.st_size}{program.st_mtime_ns}{_read_processor()}"
        own = Path(__file__).parents[1]
        return digest(clang, digest_trees([(self.headers, ("",)), (own, (".py",))]))

    @property
    def include_flags(self) -> list[str]:
        """The include folders of the MSL headers, and their name in debug information (OWN)."""
        folders = [self.headers, self.headers / self.target.object_format]
        # Trailing slashes: the compiler compares prefixes of paths.
        names = [f"-fdebug-prefix-map={each}/={OWN}/{each.name}/" for each in self.own_folders]
        return [*(f"-I{folder}" for folder in dict.fromkeys(folders)), *names]

    @property
    def own_folders(self) -> list[Path]:
        """The folders of the headers that kernels are compiled with."""
        return [self.headers / name for name in ("mb", "elf", "mach_o")]

    @property
    def empty_headers(self) -> Path:
        """The folder of empty files with the names of Metal's headers, for the preprocessor."""
        return self.headers / "empty"

    @property
    def empty_tensor_headers(self) -> Path:
        """The folder of empty files with the names of the headers that Metal has from 4.0 on."""
        return self.headers / "empty_metal4"


def list_flags(
    *,
    checked: bool,
    fast_math: bool,
    spaces: bool = False,
    metal4: bool = False,
    goal: CompilationTarget | None = None,
    passes: Sequence[str] | None = None,
    tools: Sequence[str] = (),
) -> list[str]:
    """Return the compiler's flags of a build, for this machine unless `goal` is given.

    `metal4` is for a source of Metal 4 (`lower.is_metal4`). `passes` replaces the optimisation
    flags of an unchecked build with loops over threads; `tools` are those of a checked build.
    """
    goal = goal or find_host_target()
    machine = goal.triple.partition("-")[0]
    if passes is None:
        passes = [*RELEASE_FLAGS, *NO_SCATTER_FLAGS.get(machine, [])]
    return [
        *COMMON_FLAGS,
        *goal.compiler,
        *HALF_FLAGS.get(machine, []),
        *ATOMIC_FLAGS.get(machine, []),
        *(FAST_FLAGS if fast_math else PRECISE_FLAGS),
        *(METAL4_FLAGS if metal4 else ()),
        # Without an auxiliary target, clang 22 crashes on bfloat.
        *([*SPACES_FLAGS, "-Xclang", "-aux-triple", "-Xclang", goal.triple] if spaces else []),
        *([*CONVERGENT_FLAGS, *list_checked_flags(goal, tools)] if checked else passes),
    ]


@cache
def _find_by_name(named: str | None) -> Toolchain:
    headers, goal = _find_headers(), find_host_target()
    if named:
        program = shutil.which(named)
        linker = shutil.which("ld.lld", path=str(Path(program or named).parent)) or shutil.which(
            "ld.lld"
        )
        if program is None:
            raise Unsupported(
                f"METALBENCH_CLANG: expected a clang, got {named}, which is not there"
            )
        if linker and goal is ELF:
            return Toolchain((program,), (linker, *LLD_FLAGS), headers, goal)
        return Toolchain((program,), (program, *goal.clang_linker), headers, goal)
    found = importlib.util.find_spec("ziglang")
    if found is not None and found.origin is not None:
        zig = Path(found.origin).parent / ("zig.exe" if os.name == "nt" else "zig")
        if zig.exists():
            return Toolchain((str(zig), "clang"), (str(zig), *goal.zig_linker), headers, goal)
    raise Unsupported(
        "the cpu device compiles MSL with clang, which is missing; run `pip install ziglang`, "
        "or set METALBENCH_CLANG to a clang 19 or later"
    )


def find_toolchain() -> Toolchain:
    """Return the compiler in use. Raise Unsupported, with advice, if there is none."""
    return _find_by_name(os.environ.get("METALBENCH_CLANG"))


@cache
def find_reserved_names(tools: Toolchain) -> re.Pattern[str]:
    """Return a pattern of the MSL headers' internal names, which sources must not use.

    A name that ends in an underscore is a prefix of names that a macro concatenates. Names of the
    preprocessor's headers are excluded, because they are in the user's expanded source.
    """
    texts = (path.read_text() for path in tools.headers.rglob("*.h"))
    empty = (tools.empty_headers, tools.empty_tensor_headers)
    said = (path.read_text() for each in empty for path in each.rglob("*") if path.is_file())
    names = {name for text in texts for name in _RESERVED.findall(text)}
    names -= {name for text in said for name in _RESERVED.findall(text)}
    return re.compile("|".join(f"{name}\\w*" if name[-1] == "_" else name for name in names))


def _find_headers() -> Path:
    """Return csrc/msl of a checkout, or its copy in an installed wheel. Raise Unsupported."""
    checkout = Path(__file__).resolve().parents[3] / "csrc" / "msl"
    if (checkout / "mb").is_dir():
        return checkout
    core = importlib.util.find_spec("metalbench._core")
    if core is not None and core.origin is not None:
        installed = Path(core.origin).parent / "include" / "msl"
        if (installed / "mb").is_dir():
            return installed
        raise Unsupported(
            f"the MSL headers are missing: expected them in {installed}; install metalbench again"
        )
    raise Unsupported(
        f"the MSL headers are missing: expected them in {checkout}; install metalbench again"
    )


@cache
def _read_processor() -> str:
    """Return the facts that -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()} {platform.version()}"
    wanted = ("flags", "Features", "model", "CPU part", "vendor_id", "cpu family")
    first: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in wanted:
            first.setdefault(name.strip(), value)
    return f"{platform.machine()} {first}"


# Disable LLVM's passes that find nothing to do in a vectorised module.
#
# The code of the module went through all passes as one lane's code. These passes find almost
# nothing in it and take about a tenth of the time of code generation. The remaining passes handle
# the vectors: promotion of variables, loop-invariant code motion, common subexpressions.

_FIRST_WITH_OPTION = 22  # of clang's versions
_DISABLED = (
    # Module passes: function arguments and globals.
    *("ipsccp", "called-value-propagation", "globalopt", "openmp-opt", "inject-tli-mappings"),
    # Loop passes.
    *("indvars", "loop-idiom", "loop-deletion", "loop-rotate", "loop-unroll", "loop-unroll-full"),
    *("loop-distribute", "loop-sink", "loop-instsimplify", "loop-simplifycfg", "loop-load-elim"),
    # Scalar passes.
    *("sccp", "bdce", "adce", "memcpyopt", "reassociate", "vector-combine", "tailcallelim"),
    *("libcalls-shrinkwrap", "div-rem-pairs", "float2int", "lower-constant-intrinsics"),
    "alignment-from-assumptions",
)
# Passes that take quadratic time in the number of a function's loops. Without loop-rotate alone,
# indvars takes 46 s for 670 loops; with loop-rotate, that one takes 2.4 s.
_SUPERLINEAR = (
    *("loop-rotate", "indvars", "loop-idiom", "loop-deletion", "loop-unroll", "loop-unroll-full"),
)
_VERSION = re.compile(r"\bversion (\d+)")


def list_disabled_passes(tools: Toolchain) -> list[str]:
    """Return the flags that disable these passes, if this clang has the option."""
    return _disable(_DISABLED, tools)


def list_superlinear_passes(tools: Toolchain) -> list[str]:
    """Return the flags that disable passes of quadratic time, if this clang has the option."""
    return _disable(_SUPERLINEAR, tools)


def _disable(passes: Sequence[str], tools: Toolchain) -> list[str]:
    version = _VERSION.search(tools.version)
    if version is None or int(version[1]) < _FIRST_WITH_OPTION:
        return []
    return ["-mllvm", f"-opt-disable={','.join(passes)}"]
