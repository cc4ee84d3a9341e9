"""Find the compiler: the ziglang wheel's clang, or METALBENCH_CLANG; define its flags."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from metalbench._core import Unsupported
from metalbench.msl.building.cache import digest
from metalbench.msl.building.targets import ELF, LLD_FLAGS, Target, find_host_target
from metalbench.msl.building.tools import list_checked_flags
from metalbench.msl.building.trees import digest_trees
from metalbench.msl.ir.places import OWN

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
# For sources in which address spaces select overloads (rewriting/spaces.py). C++23 has explicit
# object parameters, whose type includes the address space.
SPACES_FLAGS = ["-std=c++23", "-DMB_SPACES=1", "-Xclang", "-fsycl-is-device"]
RELEASE_FLAGS = ["-O3", *CONVERGENT_FLAGS, *WRAPPING_FLAGS]
# With scatter instructions, clang vectorises the loop over threads. Each access of a private array
# is then a gather or a scatter, which was 40 times as slow.
NO_SCATTER_FLAGS = {"x86_64": ["-mno-scatter"]}
_NO_VECTORISATION = ["-fno-vectorize", "-fno-slp-vectorize"]
# Flags for the code of one lane, which is vectorised afterwards (msl/emission). All functions are
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
    "-DMB_VECTOR=1",
]
# Flags for the vectorised module, whose code was optimised as one lane: half of the passes find
# nothing to do. Loop strength reduction and post-RA scheduling take long without a gain. The
# modules have no debug information of variables, which only the older of LLVM's two implementations
# detects immediately.
VECTOR_FLAGS = [
    "-O1",
    *WRAPPING_FLAGS,
    *_NO_VECTORISATION,
    "-fno-unroll-loops",
    "-mllvm",
    "-disable-lsr",
    "-mllvm",
    "-post-RA-scheduler=0",
    "-mllvm",
    "-experimental-debug-variable-locations=false",
]
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
    target: Target = ELF

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


def list_flags(
    *,
    checked: bool,
    fast_math: bool,
    spaces: bool = False,
    goal: Target | None = None,
    passes: Sequence[str] | None = None,
    tools: Sequence[str] = (),
) -> list[str]:
    """Return the compiler's flags of a build, for this machine unless `goal` is given.

    `passes` replaces the optimisation flags of an unchecked build with loops over threads; `tools`
    are those of a checked build.
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
        # Without an auxiliary target, clang 22 crashes on bfloat.
        *([*SPACES_FLAGS, *_pass_to_frontend("-aux-triple", goal.triple)] if spaces else []),
        *([*CONVERGENT_FLAGS, *list_checked_flags(goal, tools)] if checked else passes),
    ]


def _pass_to_frontend(*options: str) -> list[str]:
    """Return options for clang's front end that its driver does not accept."""
    return [part for option in options for part in ("-Xclang", option)]


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
    said = (path.read_text() for path in tools.empty_headers.rglob("*") if path.is_file())
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
