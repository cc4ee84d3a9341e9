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

# Cheap, and each change can break another case.
pytestmark = pytest.mark.whole

PACKAGE = Path(metalbench.__file__).parent
AGENT = Path(agent_steel.__file__).parent
# A package imports only from packages before it in this list.
PACKAGES = (
    "errors",
    "expression",
    "safe_text",
    "untrusted_files",
    "json_files",
    "finding_kinds",
    "process",
    "chips",
    "devices",
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
    "hlo.jax_rules",
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
    "puzzle",
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
    "networks",
    "proposers",
    "generating",
    "welding",
    "cli",
    "__main__",
    "",
)


def list_imports(tree: ast.AST) -> Iterator[str]:
    """Yield every module that a file imports, also in functions and for type checkers only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{each.name}" for each in node.names)


@cache
def read_graph(root: Path) -> dict[str, set[str]]:
    """Return the imports between the modules of a package, by module name."""
    files = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        # Kernels and puzzles are installed in these folders. They are data of the package.
        if parts[1] in ("kernels", "puzzles"):
            continue
        files[".".join(parts).removesuffix(".__init__")] = path
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        graph[name] = set()
        for imported in list_imports(ast.parse(path.read_text())):
            # A name imported from a module counts as an import of the module.
            found = imported if imported in files else imported.rpartition(".")[0]
            # The compiled core is below everything.
            if found in files and not imported.startswith(f"{root.name}._core"):
                graph[name].add(found)
        graph[name].discard(name)
    return graph


def find_package(module: str, packages: Sequence[str] = PACKAGES) -> str:
    """Return the longest entry of the list that a module's name begins with."""
    inside = module.partition(".")[2]
    found = (each for each in packages if inside == each or inside.startswith(f"{each}."))
    return max(found, key=len, default="unlisted" if inside else "")


def find_backward_imports(
    graph: Mapping[str, set[str]], packages: Sequence[str] = PACKAGES
) -> list[str]:
    """Return imports of a package from one that comes after it."""
    place = {name: packages.index(find_package(name, packages)) for name in graph}
    return [
        f"{module} ({packages[place[module]]}) imports {other} ({packages[place[other]]})"
        for module, imported in graph.items()
        for other in imported
        if place[other] > place[module]
    ]


BOTH = pytest.mark.parametrize(
    ("root", "packages"),
    [(PACKAGE, PACKAGES), (AGENT, AGENT_PACKAGES)],
    ids=["metalbench", "agent_steel"],
)


@BOTH
def test_every_module_is_in_a_package_of_the_list(root, packages):
    assert [each for each in read_graph(root) if find_package(each, packages) == "unlisted"] == []


@BOTH
def test_every_package_of_the_list_exists(root, packages):
    assert set(packages) == {find_package(module, packages) for module in read_graph(root)}


@BOTH
def test_imports_have_no_cycle(root, packages):
    try:
        TopologicalSorter(read_graph(root)).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


@BOTH
def test_imports_keep_the_order_of_packages(root, packages):
    assert find_backward_imports(read_graph(root), packages) == []


def test_metalbench_does_not_import_agent_steel():
    assert read_graph(AGENT)
    for path in PACKAGE.rglob("*.py"):
        imported = list_imports(ast.parse(path.read_text()))
        assert not [each for each in imported if each.partition(".")[0] == "agent_steel"], path


def test_agent_steel_measures_in_confined_processes_only():
    for path in AGENT.rglob("*.py"):
        imported = list(list_imports(ast.parse(path.read_text())))
        measures = (
            "metalbench.measure.sampling.measure",
            "metalbench.compare.head_to_head.head_to_head",
        )
        assert not [each for each in imported if each.startswith(measures)], path


def test_find_backward_imports_and_cycles(tmp_path):
    root = tmp_path / "metalbench"
    (root / "stats").mkdir(parents=True)
    (root / "cli").mkdir()
    (root / "stats/median.py").write_text("def f():\n    from metalbench.cli import run\n")
    (root / "cli/run.py").write_text("import metalbench.stats.median\n")
    graph = read_graph(root)
    (fault,) = find_backward_imports(graph)
    assert "metalbench.stats.median (stats) imports metalbench.cli.run (cli)" in fault
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()
