"""The order of packages, which imports keep, and imports without cycles."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import agent_steel
import metalbench

PACKAGE = Path(metalbench.__file__).parent
AGENT = Path(agent_steel.__file__).parent
# A package imports only from packages before it in this list.
PACKAGES = (
    "errors",
    "safe_text",
    "untrusted_files",
    "finding_kinds",
    "process",
    "chips",
    "build_cache",
    "stats",
    "sandbox",
    "msl.frontend",
    "msl.ir",
    "msl.analysis",
    "msl.vectorize",
    "msl.transforms",
    "msl.toolchain",
    "msl",
    "task",
    "formats",
    "kernelbench.problems",
    "kernel",
    "mlx",
    "hlo.jaxlib_version",
    "hlo.ir",
    "hlo.operations",
    "hlo.importer",
    "hlo.passes",
    "hlo.codegen",
    "hlo.runtime",
    "hlo",
    "hlo.plugin",
    "profiling.counts",
    "measure.device_limits",
    "reference",
    "verify",
    "measure",
    "store",
    "run",
    "kernelbench.pytorch",
    "kernelbench.candidates",
    "compare",
    "checking",
    "profiling",
    "workers",
    "kernelbench",
    "puzzles",
    "tune",
    "report",
    "hlo.bench",
    "testing",
    "cli",
    "__main__",
    "",
)

# The same for agent_steel.
AGENT_PACKAGES = (
    "attempt",
    "device_lock",
    "source",
    "proposal",
    "roofline",
    "history",
    "models",
    "tuning",
    "loop",
    "proposers",
    "generating",
    "welding",
    "cli",
    "__main__",
    "",
)


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Every module that a file imports, also inside of functions and for type checkers alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{each.name}" for each in node.names)


@cache
def graph_of(root: Path) -> dict[str, set[str]]:
    """Which files of a package import which, by module name."""
    files = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        # Kernels and puzzles lie there once installed. They are what the package reads, no packages.
        if parts[1] in ("kernels", "puzzles"):
            continue
        files[".".join(parts).removesuffix(".__init__")] = path
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        graph[name] = set()
        for imported in imports_of(ast.parse(path.read_text())):
            # A name imported from a module counts as an import of the module.
            found = imported if imported in files else imported.rpartition(".")[0]
            # The compiled core is below everything.
            if found in files and not imported.startswith(f"{package.name}._core"):
                graph[name].add(found)
        graph[name].discard(name)
    return graph


def package_of(module: str, packages: Sequence[str] = PACKAGES) -> str:
    """The package that a module is in: the longest of the list that its name begins with."""
    inside = module.partition(".")[2]
    found = (
        package for package in packages if inside == package or inside.startswith(f"{package}.")
    )
    return max(found, key=len, default="unlisted" if inside else "")


def find_backward_imports(
    graph: Mapping[str, set[str]], packages: Sequence[str] = PACKAGES
) -> list[str]:
    """Imports of a package from one that comes after it."""
    return [
        f"{module} ({package_of(module, packages)}) imports {other} ({package_of(other, packages)})"
        for module, imported in graph.items()
        for other in imported
        if packages.index(package_of(other, packages))
        > packages.index(package_of(module, packages))
    ]


BOTH = pytest.mark.parametrize(
    ("package", "packages"),
    [(PACKAGE, PACKAGES), (AGENT, AGENT_PACKAGES)],
    ids=["metalbench", "agent_steel"],
)


@BOTH
def test_every_file_is_in_a_package(package, packages):
    assert [each for each in graph_of(package) if package_of(each, packages) == "unlisted"] == []


@BOTH
def test_every_package_of_the_list_exists(package, packages):
    assert set(packages) == {package_of(module, packages) for module in graph_of(package)}


@BOTH
def test_no_import_runs_in_a_circle(package, packages):
    try:
        TopologicalSorter(graph_of(package)).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


@BOTH
def test_no_import_runs_find_backward_imports(package, packages):
    assert find_backward_imports(graph_of(package), packages) == []


def test_what_makes_kernels_faster_is_above_the_house():
    """agent_steel imports metalbench, never the other way round."""
    assert graph_of(AGENT)
    for path in PACKAGE.rglob("*.py"):
        imported = imports_of(ast.parse(path.read_text()))
        assert not [each for each in imported if each.partition(".")[0] == "agent_steel"], path


def test_of_the_core_agent_steel_opens_devices_alone():
    """What it measures it has measured by metalbench, in processes that are confined."""
    for path in AGENT.rglob("*.py"):
        imported = list(imports_of(ast.parse(path.read_text())))
        measures = ("metalbench.measure.sampling.measure", "metalbench.compare.head_to_head")
        assert not [each for each in imported if each.startswith(measures)], path


def test_imports_that_run_back_up_are_seen(tmp_path):
    package = tmp_path / "metalbench"
    (package / "stats").mkdir(parents=True)
    (package / "cli").mkdir()
    (package / "stats/median.py").write_text("def f():\n    from metalbench.cli import run\n")
    (package / "cli/run.py").write_text("import metalbench.stats.location\n")
    graph = graph_of(package)
    (fault,) = find_backward_imports(graph)
    assert "metalbench.stats.location (stats) imports metalbench.cli.run (cli)" in fault
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()
