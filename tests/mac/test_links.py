"""macOS's linker refuses symbols that nothing defines, except those of lists that it reads.

A module of Python has many: the interpreter that loads it defines them. Linux's linker does not
ask, so the lists are compared with what the modules of this build need. Small libraries for macOS
show that the check of a whole cross-build (`metal_double.cross_compile`) finds each mistake.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import nanobind
import pytest
from elftools.elf.elffile import ELFFile
from mac.links import find_problems, is_python_symbol, read_symbol_lists
from mac.mach_o import Library, read_library
from mac.stubs import Stubs
from metal_double import cross_compile
from metal_double.build import BuildError, Target
from metal_double.compiler import zig

CHECKOUT = Path(__file__).parents[2]
OWN_LISTS = {"metalbench.hlo.plugin._pjrt": [CHECKOUT / "csrc/pjrt/embedding.sym"]}
SOURCE = """
int puts(const char *text);
int PyErr_Occurred(void);
int _Py_Dealloc(void);
int call(void) { return puts("text") + PyErr_Occurred() + _Py_Dealloc(); }
"""
ALLOWED = frozenset({"_PyErr_Occurred", "__Py_Dealloc"})
NAME = "libsmall.dylib"


def python_symbols(module: str) -> set[str]:
    """Names of Python's API that a module of this build leaves undefined, as macOS has them."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    with Path(spec.origin).open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".dynsym")
        names = {each.name for each in table.iter_symbols() if each["st_shndx"] == "SHN_UNDEF"}
    return {f"_{name}" for name in names if is_python_symbol(f"_{name}")}


@pytest.mark.skipif(sys.platform == "darwin", reason="the linker itself asks there")
@pytest.mark.parametrize("module", ["metalbench._core", "metalbench.hlo.plugin._pjrt"])
def test_symbol_lists_have_every_name_that_python_defines(module: str) -> None:
    nanobinds = read_symbol_lists([Path(nanobind.cmake_dir()) / "darwin-ld-cpython.sym"])
    own = read_symbol_lists(OWN_LISTS.get(module, []))
    needed = python_symbols(module)
    assert needed
    assert needed <= nanobinds | own
    # A list has nothing that is in the other one, or that no module needs.
    assert own <= needed - nanobinds


def test_read_symbol_lists_refuses_other_lines(tmp_path: Path) -> None:
    (tmp_path / "a.sym").write_text("-U _PyErr_Occurred\n_PyErr_Clear\n")
    with pytest.raises(ValueError, match="expected `-U _name`, got `_PyErr_Clear`"):
        read_symbol_lists([tmp_path / "a.sym"])


def link(
    folder: Path, *options: str, source: str = SOURCE, macos: str = "14.0", name: str = NAME
) -> Path:
    """A library for macOS, linked by ziglang, which has a stub of libSystem."""
    path = folder / name
    (folder / "small.c").write_text(source)
    command = [str(zig()), "cc", "-target", f"aarch64-macos.{macos}", "-nostdlib", "-shared"]
    command += ["-fno-sanitize=undefined", "-Wl,-undefined,dynamic_lookup", *options]
    if not any("install_name" in option for option in options):
        command.append(f"-Wl,-install_name,@rpath/{name}")
    subprocess.run([*command, "-o", str(path), str(folder / "small.c")], check=True)
    return path


@pytest.fixture(scope="module")
def stubs() -> Stubs:
    return Stubs([zig().parent / "lib" / "libc" / "darwin"])


def problems_of(
    path: Path,
    stubs: Stubs,
    allowed: frozenset[str] = ALLOWED,
    others: dict[str, Library] | None = None,
) -> list[str]:
    return find_problems(path, read_library(path), allowed, stubs, (14, 0), others or {})


def test_find_problems_accepts_a_library_whose_symbols_are_known(tmp_path, stubs) -> None:
    library = read_library(link(tmp_path))
    assert {"_puts", *ALLOWED} <= library.undefined
    assert "_call" in library.exported
    assert problems_of(tmp_path / NAME, stubs) == []


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_find_problems_names_a_python_symbol_that_no_list_allows(name, tmp_path, stubs) -> None:
    (problem,) = problems_of(link(tmp_path), stubs, ALLOWED - {name})
    heading = "the link line does not allow these Python symbols to be undefined:"
    assert problem.split() == [*heading.split(), name]


def test_find_problems_names_a_symbol_that_no_library_exports(tmp_path, stubs) -> None:
    source = "int puts_on_the_moon(void); int call(void) { return puts_on_the_moon(); }"
    (problem,) = problems_of(link(tmp_path, source=source), stubs)
    assert problem == "none of the linked libraries exports these symbols:\n  _puts_on_the_moon"


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("-Wl,-rpath,/home/me/lib", "expected a run path below @loader_path, got `/home/me/lib`"),
        (
            "-Wl,-install_name,/home/me/libsmall.dylib",
            "expected install name `@rpath/libsmall.dylib`, got `/home/me/libsmall.dylib`",
        ),
    ],
)
def test_find_problems_refuses_folders_of_this_machine(option, problem, tmp_path, stubs) -> None:
    assert problems_of(link(tmp_path, option), stubs) == [problem]


def test_find_problems_accepts_a_run_path_below_the_library(tmp_path, stubs) -> None:
    path = link(tmp_path, "-Wl,-rpath,@loader_path/lib")
    assert read_library(path).run_paths == ("@loader_path/lib",)
    assert problems_of(path, stubs) == []


def test_find_problems_refuses_another_minimum_version(tmp_path, stubs) -> None:
    (problem,) = problems_of(link(tmp_path, macos="15.1"), stubs)
    assert problem == "expected macOS (14, 0), got (15, 1)"


def test_find_problems_knows_other_libraries_of_the_build(tmp_path, stubs) -> None:
    other = link(tmp_path, source="int other(void) { return 0; }", name="libother.dylib")
    source = "int other(void); int call(void) { return other(); }"
    path = link(tmp_path, str(other), source=source)
    name = "@rpath/libother.dylib"
    assert name in read_library(path).libraries
    assert problems_of(path, stubs, others={name: read_library(other)}) == []
    loaded, missing = problems_of(path, stubs)
    assert loaded == f"loads `{name}`, which is neither macOS's nor of this build"
    assert missing.endswith("\n  _other")


def test_read_library_refuses_files_of_other_kinds(tmp_path) -> None:
    with pytest.raises(ValueError, match="expected a 64-bit Mach-O file"):
        read_library(Path(__file__))
    source = tmp_path / "small.c"
    source.write_text(SOURCE)
    path = tmp_path / "small.o"
    command = [str(zig()), "cc", "-target", "aarch64-macos", "-c", str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    with pytest.raises(ValueError, match="expected a linked file, got file type 1"):
        read_library(path)


@pytest.mark.parametrize("missing", [[], ["_PyErr_Occurred"]])
def test_cross_compile_reports_each_target(missing, tmp_path, monkeypatch, capsys) -> None:
    path, symbols = link(tmp_path), tmp_path / "python.sym"
    symbols.write_text("".join(f"-U {name}\n" for name in sorted(ALLOWED - set(missing))))
    targets = [Target("small", path, ("-bundle", f"-Wl,@{symbols}"))]
    monkeypatch.setattr(cross_compile, "cross_compile", lambda sdk: targets)
    assert cross_compile.main(["--sdk", str(tmp_path)]) == len(missing)
    first, *rest = capsys.readouterr().out.splitlines()
    count = len(read_library(path).undefined)
    assert first == f"{path}:" + (
        "" if missing else f" all {count} undefined symbols are accounted for"
    )
    assert [line.strip() for line in rest[1:]] == missing


def test_cross_compile_reports_a_failed_build(tmp_path, monkeypatch, capsys) -> None:
    def fail(sdk: Path) -> list[Target]:
        raise BuildError("what the linker said")

    monkeypatch.setattr(cross_compile, "cross_compile", fail)
    assert cross_compile.main(["--sdk", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "what the linker said\n"


def test_cross_compile_reports_a_stub_that_it_cannot_read(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "Old.tbd").write_text("--- !tapi-tbd-v3\n")
    monkeypatch.setattr(cross_compile, "cross_compile", lambda sdk: [])
    assert cross_compile.main(["--sdk", str(tmp_path)]) == 1
    assert "Old.tbd: expected `--- !tapi-tbd`" in capsys.readouterr().err


def test_cross_compile_builds_for_the_macos_of_the_wheels() -> None:
    version = "{}.{}".format(*cross_compile.MINIMUM_MACOS)
    settings = (CHECKOUT / "pyproject.toml").read_text()
    assert f'MACOSX_DEPLOYMENT_TARGET = "{version}"' in settings
