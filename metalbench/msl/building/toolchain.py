"""The compiler that MSL goes through: the ziglang wheel's clang, or what METALBENCH_CLANG names."""

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
    # As Metal: what does not fit gives the nearest end, NaN gives zero.
    "-fno-strict-float-cast-overflow",
    # As Metal: clang's `char` is unsigned on aarch64 Linux by default.
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
# Without LSE instructions clang calls `__aarch64_ldadd4_relax` and the like, of a library that
# kernels are not linked with.
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
# Calls of SIMD-group functions must not be copied: lanes meet only at one and the same call. clang
# drops `convergent` from mb::meet, whose body has no convergent call it can see; and the placement
# of machine code does not know of it at all (on aarch64 each side of a branch got its own copy).
CONVERGENT_FLAGS = [
    "-fconvergent-functions",
    "-mllvm",
    "-tail-dup-placement=false",
    "-mllvm",
    "-disable-tail-duplicate",
]
# Loops that would only be vectorised on the condition that an index does not wrap are left as they
# are: clang 22 forgets the condition for `private_array[i % 4]`, and accesses what lies behind.
WRAPPING_FLAGS = [
    "-mllvm",
    "-vectorize-scev-check-threshold=0",
    "-mllvm",
    "-pragma-vectorize-scev-check-threshold=0",
]
# For sources in which address spaces decide what is called (rewriting/spaces.py). C++23 lets a
# member function name its object, and with that the space that it is in.
SPACES_FLAGS = ["-std=c++23", "-DMB_SPACES=1", "-Xclang", "-fsycl-is-device"]
RELEASE_FLAGS = ["-O3", *CONVERGENT_FLAGS, *WRAPPING_FLAGS]
# Where a processor can scatter, clang makes vectors of threads whose arrays then lie apart: every
# access of a private array was a gather or a scatter, and forty times as slow as within a thread.
NO_SCATTER_FLAGS = {"x86_64": ["-mno-scatter"]}
_LOOPS_AS_THEY_ARE = ["-fno-vectorize", "-fno-slp-vectorize"]
# Of one lane: optimised, for what is then written again for all lanes (msl/emission). Functions
# are inlined whatever it costs, because what lanes do together cannot be within others. A jump that
# is threaded past where lanes meet makes them meet later, and a loop in between one of masks. What
# both sides of a branch read is left with what else they read, of which it may be a part. Loops are
# unrolled four times at most: a processor foresees what an instruction reads next only within a
# page, and a threadgroup's loops often go in steps of a KiB.
LANE_FLAGS = [
    "-O2",
    *CONVERGENT_FLAGS,
    *WRAPPING_FLAGS,
    *_LOOPS_AS_THEY_ARE,
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
# Of all lanes, which are vectors already, of what was optimised for one of them: half of the passes
# find nothing more to do. What chooses how addresses in loops are computed, and what puts
# instructions in order a second time when they have registers, takes long, and the code is no
# faster. Of variables there is no debug information, which only the older of two passes sees at
# once.
VECTOR_FLAGS = [
    "-O1",
    *WRAPPING_FLAGS,
    *_LOOPS_AS_THEY_ARE,
    "-fno-unroll-loops",
    "-mllvm",
    "-disable-lsr",
    "-mllvm",
    "-post-RA-scheduler=0",
    "-mllvm",
    "-experimental-debug-variable-locations=false",
]
# For a GPU. Matrices must end up in registers, which have no index: every loop over them is to be
# unrolled, and every function inlined, or their elements go to memory.
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
    """A clang and its linker as command prefixes, and the directory of the MSL headers."""

    clang: tuple[str, ...]
    linker: tuple[str, ...]
    headers: Path
    target: Target = ELF

    @cached_property
    def version(self) -> str:
        """Clang's own first line, such as `clang version 22.1.8`."""
        answer = subprocess.run(
            [*self.clang, "--version"], capture_output=True, text=True, check=False
        )
        lines = answer.stdout.splitlines()
        return lines[0] if lines else "clang of unknown version"

    @cached_property
    def key(self) -> str:
        """Changes with the compiler, the headers, this front end and the processor."""
        program = os.stat(self.clang[0])
        clang = f"{self.clang}{program.st_size}{program.st_mtime_ns}{_processor()}"
        own = Path(__file__).parents[1]
        return digest(clang, digest_trees([(self.headers, ("",)), (own, (".py",))]))

    @property
    def include_flags(self) -> list[str]:
        """Return where the MSL headers are, and what debug information calls them (OWN)."""
        folders = [self.headers, self.headers / self.target.object_format]
        # Of whole folders: the compiler compares no more than the beginnings of paths.
        names = [f"-fdebug-prefix-map={each}/={OWN}/{each.name}/" for each in self.own_folders]
        return [*(f"-I{folder}" for folder in dict.fromkeys(folders)), *names]

    @property
    def own_folders(self) -> list[Path]:
        """Return the folders of the headers that kernels are compiled with."""
        return [self.headers / name for name in ("mb", "elf", "mach_o")]

    @property
    def empty_headers(self) -> Path:
        """Empty files by the names of Metal's headers, for the preprocessor."""
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
    """The compiler's flags for one kind of build, on this machine if no other is given.

    `passes` are what an unchecked build is optimised with, if not as loops over threads are;
    `tools` what a checked one is for.
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
        # Without a second target, the same one here, clang 22 crashes on bfloat.
        *([*SPACES_FLAGS, *_for_frontend("-aux-triple", goal.triple)] if spaces else []),
        *([*CONVERGENT_FLAGS, *list_checked_flags(goal, tools)] if checked else passes),
    ]


def _for_frontend(*options: str) -> list[str]:
    """Options that clang's driver does not know."""
    return [part for option in options for part in ("-Xclang", option)]


@cache
def _find(named: str | None) -> Toolchain:
    headers, goal = _headers(), find_host_target()
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
    """The compiler in use.

    Raises Unsupported when there is none, saying how to get one.
    """
    return _find(os.environ.get("METALBENCH_CLANG"))


@cache
def find_reserved_names(tools: Toolchain) -> re.Pattern[str]:
    """What the MSL headers call things of their own, macros among them: no source may do so.

    What ends in an underscore there is the beginning of names that a macro puts together. What the
    preprocessor's own headers say is no source's doing.
    """
    texts = (path.read_text() for path in tools.headers.rglob("*.h"))
    said = (path.read_text() for path in tools.empty_headers.rglob("*") if path.is_file())
    names = {name for text in texts for name in _RESERVED.findall(text)}
    names -= {name for text in said for name in _RESERVED.findall(text)}
    return re.compile("|".join(f"{name}\\w*" if name[-1] == "_" else name for name in names))


def _headers() -> Path:
    """csrc/msl of a checkout, or where the wheel puts it: beside `_core`."""
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
def _processor() -> str:
    """What -march=native depends on."""
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
