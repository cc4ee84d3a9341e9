"""The house: which room of the package may import which, and that no import runs in a circle."""

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
ABOVE = Path(agent_steel.__file__).parent
# From the ground up: a room imports from those before it, never from one that comes after.
ROOMS = (
    "errors",
    "foreign_text",
    "plain_file",
    "foreign_json",
    "kind",
    "cores",
    "chips",
    "uncollected",
    "isolation.confinement",
    "isolation.encoding",
    "isolation.limits",
    "isolation.memory",
    "isolation.descendants",
    "isolation.thread_times",
    "isolation.scratch",
    "stats",
    "msl.reading",
    "msl.ir",
    "msl.vector",
    "msl.emission",
    "msl.transforms",
    "msl.rewriting",
    "msl.building",
    "msl",
    "task",
    "formats",
    "suites.kernelbench.problems",
    "kernel",
    "isolation.death",
    "isolation.group_reaper",
    "isolation.process",
    "isolation.executing",
    "isolation.executor",
    "isolation.sandbox",
    "custom_kernel",
    "hlo.jaxlib_version",
    "hlo.graph",
    "hlo.operations",
    "hlo.reading",
    "hlo.passes",
    "hlo.emission",
    "hlo.running",
    "hlo",
    "hlo.plugin",
    "counting",
    "snapshot",
    "measure.cache",
    "reference",
    "verify",
    "measure",
    "analysis",
    "result",
    "store",
    "run",
    "python_candidate",
    "suites",
    "comparison",
    "isolation",
    "checking",
    "profiling",
    "puzzle",
    "remote",
    "tuning",
    "leaderboard",
    "generations",
    "cluster",
    "report",
    "hlo.bench",
    "testing",
    "pytest_plugin",
    "cli",
    "__main__",
    "",
)

# Those of agent_steel: what an attempt is, where attempts are kept, who proposes, and the loop.
ROOMS_ABOVE = (
    "usage",
    "attempt",
    "proposal",
    "target",
    "counted",
    "source",
    "history",
    "subject",
    "device_lock",
    "roofs",
    "tuning.transformations",
    "tuning",
    "models.prompts",
    "models",
    "models.providers",
    "proposers",
    "loop",
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
def graph_of(package: Path) -> dict[str, set[str]]:
    """Which files of a package import which, by module name."""
    files = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        # Kernels and puzzles lie there once installed. They are what the package reads, no rooms.
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


def room_of(module: str, rooms: Sequence[str] = ROOMS) -> str:
    """The room that a module is in: the longest of the list that its name begins with."""
    inside = module.partition(".")[2]
    found = (room for room in rooms if inside == room or inside.startswith(f"{room}."))
    return max(found, key=len, default="unlisted" if inside else "")


def back_up(graph: Mapping[str, set[str]], rooms: Sequence[str] = ROOMS) -> list[str]:
    """Imports of a room from one that comes after it."""
    return [
        f"{module} ({room_of(module, rooms)}) imports {other} ({room_of(other, rooms)})"
        for module, imported in graph.items()
        for other in imported
        if rooms.index(room_of(other, rooms)) > rooms.index(room_of(module, rooms))
    ]


HOUSES = pytest.mark.parametrize(
    ("package", "rooms"),
    [(PACKAGE, ROOMS), (ABOVE, ROOMS_ABOVE)],
    ids=["metalbench", "agent_steel"],
)


@HOUSES
def test_every_file_is_in_a_room(package, rooms):
    assert [each for each in graph_of(package) if room_of(each, rooms) == "unlisted"] == []


@HOUSES
def test_every_room_of_the_list_exists(package, rooms):
    assert set(rooms) == {room_of(module, rooms) for module in graph_of(package)}


@HOUSES
def test_no_import_runs_in_a_circle(package, rooms):
    try:
        TopologicalSorter(graph_of(package)).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


@HOUSES
def test_no_import_runs_back_up(package, rooms):
    assert back_up(graph_of(package), rooms) == []


def test_what_makes_kernels_faster_is_above_the_house():
    """agent_steel imports metalbench, never the other way round."""
    assert graph_of(ABOVE)
    for path in PACKAGE.rglob("*.py"):
        imported = imports_of(ast.parse(path.read_text()))
        assert not [each for each in imported if each.partition(".")[0] == "agent_steel"], path


def test_of_the_core_agent_steel_opens_devices_alone():
    """What it measures it has measured by metalbench, in processes that are confined."""
    for path in ABOVE.rglob("*.py"):
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
    (fault,) = back_up(graph)
    assert "metalbench.stats.location (stats) imports metalbench.cli.run (cli)" in fault
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()
