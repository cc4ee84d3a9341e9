"""The kernel library: find tasks and kernels by folder. Tasks are imported when they are used."""

from __future__ import annotations

import ast
import importlib.util
import keyword
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

from metalbench.errors import DeclarationError, MetalBenchError, TaskError, suggestion
from metalbench.kernel import header, source_files
from metalbench.kernel.header import Kernel, TargetDevice, device_names
from metalbench.msl.frontend.standards import STANDARDS, TENSORS_SINCE
from metalbench.task import Task

SETS = ("common", "standard", "full")
# Benchmark suites of other projects, each in a folder of this name. They are selected by name only.
SUITES = tuple(f"kernelbench/level{level}" for level in (1, 2, 3, 4))
# Families of operations of machine-learning models, each in a folder of `families`. They are too
# many to run by default.
FAMILIES = tuple(
    f"families/{name}"
    for name in (
        "elementwise",
        "reduction",
        "norm",
        "rope",
        "gemm",
        "quantised",
        "attention",
        "cache",
        "experts",
        "recurrent",
        "transform",
        "random",
        "convolution",
        "vision",
        "audio",
        "indexing",
        "integers",
        "science",
        "linalg",
        "types",
        "training",
    )
)
NAMED = (*SUITES, *FAMILIES)
ALL = "all"
# The set of the kernels in the folders of --kernels.
USER = "user"
# The set of one kernel for each technique: lines `NAME TECHNIQUE` of a file of the library.
QUICK = "quick"
QUICK_FILE = "quick.txt"
# A file in the folder of a family: names of its tasks that are in other sets, one per line.
ALSO = "also.txt"


@dataclass
class Entry:
    """A task and its kernel files; files of the user's folders come first.

    `orphaned` is the error message for kernel files without a task.
    """

    name: str
    set: str
    task_path: Path
    kernel_paths: list[Path] = field(default_factory=list)
    orphaned: str = ""

    @cached_property
    def description(self) -> str:
        """The first line of the docstring of the task file. The file is parsed, not run.

        Raise TaskError for a file that cannot be parsed.
        """
        self._check_task_file()
        tree = _parse(self.task_path)
        return (ast.get_docstring(tree) or "").partition("\n")[0]

    @cached_property
    def task(self) -> Task:
        """The declared task. Imports its file, and with it MLX.

        Raise TaskError, with file and line, if the import fails or the file lacks the task.
        """
        self._check_task_file()
        module = f"metalbench_tasks.{self.set.replace('/', '.')}.{self.name}"
        return _load(self.name, self.task_path, module)

    def _check_task_file(self) -> None:
        if self.orphaned:
            raise TaskError(self.orphaned)

    @property
    def unsolved(self) -> bool:
        """Whether this is a problem of a suite without a kernel."""
        return self.set in SUITES and not self.kernel_paths

    def kernel_path(self, chip: str | None = None) -> Path:
        """Return the file for `chip` ("m4_max"), else for its family ("m4"), else for all chips.

        The user's folders come before the library. Raise DeclarationError without any kernel.
        """
        wanted = [f"{self.name}.metal"]
        if chip:
            family = chip.partition("_")[0]
            wanted = [f"{self.name}.{chip}.metal", f"{self.name}.{family}.metal", *wanted]
        folders = list(dict.fromkeys(path.parent for path in self.kernel_paths))
        for folder in folders:
            for file in wanted:
                if folder / file in self.kernel_paths:
                    return folder / file
        raise DeclarationError(
            f"[{self.name}] no kernel; write {self.name}.metal next to {self.task_path.name} "
            "or into a folder given as --kernels"
        )

    def kernel(
        self,
        device: TargetDevice | None = None,
        *,
        dtype: str | None = None,
        standard: str = "",
    ) -> Kernel:
        """Return the kernel for `device`, with its defaults; without it, the one for all chips.

        A variant with tensors, if there is one for `dtype`, is chosen by a `standard` of Metal 4.
        Without `standard` it is chosen on the devices of its `// preferred:` lines. The kernel has
        this `standard`, or else that of its header. Raise the errors of `kernel_path` and
        `kernel.read`.
        """
        path = self.kernel_path(device.chip if device else None)
        kernel = self._variant(path, device, dtype, standard) or header.read(path, self.name)
        kernel = replace(kernel, standard=standard or kernel.standard)
        return kernel if device is None else kernel.on(device_names(device))

    @property
    def variant_path(self) -> Path | None:
        """The file of the variant with tensors of the kernel for all chips; None without one.

        A folder with a kernel, but without a variant, hides the variants of later folders.
        """
        for folder in dict.fromkeys(path.parent for path in self.kernel_paths):
            variant = folder / f"{self.name}.{header.TENSOR_VARIANT}.metal"
            if variant in self.kernel_paths:
                return variant
            if folder / f"{self.name}.metal" in self.kernel_paths:
                return None
        return None

    def _variant(
        self, plain: Path, device: TargetDevice | None, dtype: str | None, standard: str
    ) -> Kernel | None:
        """Return the variant with tensors if it replaces the kernel in `plain`."""
        path = self.variant_path
        is_asked = STANDARDS.get(standard, 0) >= TENSORS_SINCE
        # A kernel for one chip is more special than the variant.
        if path is None or plain != self.kernel_path() or (standard and not is_asked):
            return None
        variant = header.read(path, self.name)
        if dtype is not None and dtype not in variant.dtypes:
            return None
        if is_asked or (device is not None and header.is_preferred(variant, device, dtype)):
            return variant
        return None


class Library:
    """The tasks of the library and of `folders`. Later folders override earlier ones.

    A user's folder may hold NAME.py with NAME.metal, or only NAME.metal for a known task. Errors of
    a task, and kernels without a task, are reported when the entry is used. Raise DeclarationError
    for a folder that does not exist.

    Tasks of suites and families are selected by name or set. Iteration, length and lists without a
    set exclude them.
    """

    def __init__(self, folders: Iterable[Path | str] = (), *, root: Path | None = None) -> None:
        self._entries: dict[str, Entry] = {}
        self._orphans: list[Path] = []
        self._also: dict[str, list[str]] = {}
        root = root or source_files.library_folder()
        self._quick = _read_quick(root / QUICK_FILE)
        for name in (*SETS, *NAMED):
            if (root / name).is_dir():
                self._add(root / name, name)
        for folder in folders:
            self._add_user_folder(Path(folder))
        known = list(self._entries)
        for path in self._orphans:
            name = path.name.partition(".")[0]
            if name not in known:
                missing = (
                    f"[{name}] {path} solves no known task: {suggestion(name, known)}; "
                    f"a new task needs {name}.py next to it"
                )
                task_path = path.with_name(f"{name}.py")
                self._entries[name] = Entry(name, "user", task_path, [path], missing)

    @property
    def techniques(self) -> Mapping[str, str]:
        """The technique of each kernel of the set `QUICK`."""
        return self._quick

    def __iter__(self) -> Iterator[Entry]:
        return (each for each in self._entries.values() if each.set not in NAMED)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def sets(self) -> list[str]:
        """Return the names of all sets, including suites as a whole, families, and "all"."""
        own = [*(each.set for each in self._entries.values()), *self._also]
        whole = [each.partition("/")[0] for each in own]
        alone = [each.rpartition("/")[2] for each in own if each in FAMILIES]
        return list(dict.fromkeys([*own, *whole, *alone, ALL, *([QUICK] if self._quick else [])]))

    def names(self, set_name: str | None = None) -> list[str]:
        """Return names of all tasks, or of those of one set, in the library's order.

        Tasks of suites and families need the name of their set, of the group of sets
        ("kernelbench", "families") or of the family ("attention"). "all" excludes suites.
        """
        if set_name is None:
            return [each.name for each in self]
        if set_name == QUICK:
            return list(self._quick)
        if set_name == ALL:
            return [each.name for each in self._entries.values() if each.set not in SUITES]
        family = set_name if set_name in FAMILIES else f"families/{set_name}"
        wanted = {set_name, family} if family in FAMILIES else {set_name}
        own = (each for each in self._entries.values())
        found = [e.name for e in own if wanted & {e.set, e.set.partition("/")[0]}]
        return [*self._also.get(family, ()), *found]

    def entry(self, name: str) -> Entry:
        """Return the task called `name`; the DeclarationError suggests similar names."""
        if name not in self._entries:
            hint = suggestion(name, self._entries)
            if not hint.startswith("did"):
                hint = "`metalbench list` shows all"
                if Path(name).is_dir():
                    hint = f"it is a folder: --kernels {name} reads the tasks and kernels in it"
            raise DeclarationError(f"unknown kernel {name!r}; {hint}")
        return self._entries[name]

    def _add_user_folder(self, folder: Path) -> None:
        if not folder.is_dir():
            raise DeclarationError(f"--kernels {folder}: expected a folder, found none")
        self._add(folder, USER)
        for inner in sorted(each for each in folder.iterdir() if each.is_dir()):
            self._add(inner, inner.name)

    def _add(self, folder: Path, set_name: str) -> None:
        if set_name in FAMILIES and (folder / ALSO).is_file():
            self._also[set_name] = (folder / ALSO).read_text(encoding="utf-8").split()
        # Names: every command lists the library, and paths take several times as long to compare.
        names = sorted(os.listdir(folder))
        for file in names:
            if file.endswith(".py") and not file.startswith("_"):
                name = file.removesuffix(".py")
                known = self._entries.get(name)
                kernels_so_far = known.kernel_paths if known else []
                self._entries[name] = Entry(name, set_name, folder / file, kernels_so_far)
        for file in reversed(names):
            if file.endswith(".metal"):
                entry = self._entries.get(file.partition(".")[0])
                if entry is None:
                    self._orphans.append(folder / file)
                else:
                    entry.kernel_paths.insert(0, folder / file)


def find(
    names: Sequence[str] = (), set_name: str | None = None, folders: Iterable[Path | str] = ()
) -> list[Entry]:
    """Return the tasks called `names`, else all (of one set); raise DeclarationError if unknown."""
    folders = tuple(folders)
    library = Library(folders)
    known = library.sets()
    if set_name == USER and USER not in known:
        raise DeclarationError(_explain_empty_set(folders))
    if set_name is not None and set_name not in known:
        raise DeclarationError(f"unknown set {set_name!r}; {suggestion(set_name, known)}")
    return [library.entry(name) for name in names or library.names(set_name)]


def find_kernel(
    named: str | Path,
    task: str | None = None,
    folders: Iterable[Path | str] = (),
    *,
    device: TargetDevice | None = None,
    dtype: str | None = None,
    standard: str = "",
) -> tuple[Kernel, Task]:
    """Return the kernel called `named`, or that in the file `named` with a task; and the task.

    The other arguments and errors are those of `Entry.kernel`.
    """
    if task is None:
        (entry,) = find([str(named)], None, folders)
        return entry.kernel(device, dtype=dtype, standard=standard), entry.task
    (entry,) = find([task], None, folders)
    kernel = header.read(Path(named), entry.name)
    kernel = replace(kernel, standard=standard or kernel.standard)
    return kernel if device is None else kernel.on(device_names(device)), entry.task


def _explain_empty_set(folders: Sequence[Path | str]) -> str:
    """Return why the set of the user's kernels is empty."""
    if not folders:
        return "--set user: expected --kernels DIR, which is the folder of these kernels"
    named = ", ".join(map(str, folders))
    return (
        f"--set user: --kernels {named} has no kernels; expected NAME.py, which declares the task, "
        "and NAME.metal"
    )


def _read_quick(path: Path) -> dict[str, str]:
    """Return the techniques of kernels by name; nothing for a library without such a file."""
    if not path.is_file():
        return {}
    lines = (line.partition(" ") for line in path.read_text(encoding="utf-8").splitlines())
    return {name: technique for name, _, technique in lines if name}


def load_task(path: Path) -> Task:
    """Return the task that the file at `path` declares under the name of the file.

    The file is read anew. Raise TaskError, with file and line, if the import fails or the file
    lacks the task.
    """
    return _load(path.stem, path, f"metalbench_tasks.{path.stem}")


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"), str(path))
    except SyntaxError as error:
        raise TaskError(_syntax_error(path, error)) from error
    except (OSError, ValueError) as error:
        raise TaskError(f"[{path.stem}] {path} cannot be read: {error}") from error


def _syntax_error(path: Path, error: SyntaxError) -> str:
    # Of another file, which the task imports.
    where = path if error.filename in (None, str(path)) else f"{path}: {error.filename}"
    return f"[{path.stem}] {where}:{error.lineno}: SyntaxError: {error.msg}"


def _place(path: Path, error: BaseException) -> str:
    """Return file and line at which the task file raised `error`."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)


class _AsItIs(SourceFileLoader):
    """Load a file without cached bytecode, whose time stamp has a resolution of one second."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the text."""
        return self.source_to_code(self.get_data(self.path), self.path)


def _load(name: str, path: Path, module_name: str) -> Task:
    loader = _AsItIs(module_name, str(path))
    spec = importlib.util.spec_from_file_location(module_name, path, loader=loader)
    if spec is None or spec.loader is None:
        raise TaskError(f"[{name}] {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise TaskError(_syntax_error(path, error)) from error
    except MetalBenchError as error:
        raise TaskError(f"{error} ({_place(path, error)})") from error
    except (Exception, SystemExit) as error:  # the user's code: whatever it raises is its fault
        cause = f"{type(error).__name__}: {error}"
        where = _place(path, error)
        raise TaskError(f"[{name}] {where} cannot be imported: {cause}") from error
    declared = getattr(module, name, None)
    if not isinstance(declared, Task):
        raise TaskError(f"[{name}] {path}: expected a function {name!r} under @task(...)")
    return declared


# Write the files of a new task and its kernel, from a template or from another task.

TASK = '''\
"""Twice the input."""

from metalbench.task import normal, output, task


@task(
    sizes=dict(
        small=dict(n=100), odd1=dict(n=1023), seed=dict(n=1 << 20), large=dict(n=1 << 24)
    ),
    gpu_headlines=("large",),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,  # what is right: NumPy, float64
    dtypes=("float32", "float16", "bfloat16"),
    flops="n",
    baseline="x + x",
)
def {name}(x):  # the reference to beat: MLX
    return x + x
'''
KERNEL = """\
// Twice the input: one thread for each element, for a start. Say here how it works, and why so.
// dispatch: twice  threads_in_grid=(n)  threads=(TG)
// tune: TG = 256, 64, 1024
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void twice(device const DTYPE* x, device DTYPE* y, uint i [[thread_position_in_grid]]) {
  y[i] = DTYPE(2 * float(x[i]));
}
"""


def scaffold(name: str, folder: Path, *, like: Entry | None = None) -> tuple[Path, Path]:
    """Write NAME.py and NAME.metal into `folder`; create the folder if it is missing.

    The files of the task `like` are copied and renamed; by default they come from a template. Raise
    DeclarationError, before any write, for an invalid Python name and for existing files.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise DeclarationError(
            f"[{name}] expected a name of lower-case letters, digits and underscores that begins "
            "with a letter, as a task's function has"
        )
    targets = folder / f"{name}.py", folder / f"{name}.metal"
    for path in targets:
        if path.exists() or path.is_symlink():
            raise DeclarationError(f"[{name}] {path} is already there; choose another name")
    texts = (TASK.format(name=name), KERNEL) if like is None else _copies(name, like)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in zip(targets, texts, strict=True):
        # "x" also refuses a link to a file that does not exist.
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    return targets


def _copies(name: str, like: Entry) -> tuple[str, str]:
    task = like.task_path.read_text(encoding="utf-8")
    renamed = re.sub(rf"^def {like.name}\(", f"def {name}(", task, flags=re.MULTILINE)
    return renamed, like.kernel_path().read_text(encoding="utf-8")
