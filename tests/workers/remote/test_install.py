"""The very version that runs here can be installed elsewhere."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
import tarfile
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from metalbench.cli import machine as on
from metalbench.cli import main
from metalbench.workers import install
from metalbench.workers.ssh import Address, RemoteError
from metalbench.workers.version import InstalledVersion, get_local_version, hash_sources

from .conftest import Machine

ROOT = Path(__file__).parents[3]
# An argument that later versions of Python require.
SAFELY: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


@pytest.fixture(scope="module")
def packed() -> bytes:
    return install.build_archive()


def test_build_archive_has_build_inputs_and_no_products(packed: bytes) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        names = {each.partition("/")[2] for each in tar.getnames()}
    assert {"pyproject.toml", "CMakeLists.txt", "build_backend/backend.py", "README.md"} <= names
    assert {"csrc/core/device.cpp", "csrc/msl/mb/abi.h", "kernels/common/softmax.py"} <= names
    assert {
        "metalbench/workers/install.py",
        "agent_steel/__main__.py",
        "puzzles/01_map.md",
    } <= names
    build = (install.find_checkout() / "CMakeLists.txt").read_text(encoding="utf-8")
    for folder in re.findall(r"install\(DIRECTORY (\w+)/", build):
        assert [each for each in names if each.startswith(f"{folder}/")], folder
    assert not [each for each in names if each.endswith((".so", ".pyc", "_core.pyi"))]
    assert not [each for each in names if each.split("/")[0] in ("tests", "build", ".git")]


def test_an_installed_package_is_packed_from_its_checkout(
    packed: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        inside = tar.getnames()[0].partition("/")[0]
        tar.extractall(tmp_path, **SAFELY)
    checkout = (tmp_path / inside).rename(tmp_path / "a checkout")
    record = {"url": checkout.as_uri(), "dir_info": {}}
    told = {"version": "1.0", "read_text": lambda self, name: json.dumps(record)}
    installed = type("Installed", (), told)
    monkeypatch.setattr(metadata, "distribution", lambda name: installed())
    # As if the package lay somewhere else.
    monkeypatch.setattr(install, "__file__", "/site-packages/metalbench/workers/install.py")
    assert install.find_checkout() == checkout
    (checkout / "metalbench" / "errors.py").write_text("")
    hash_sources.cache_clear()
    with pytest.raises(RemoteError, match="a checkout has changed since"):
        install.build_archive()


def test_versions_differ_where_a_line_of_python_or_of_a_header_does(tmp_path: Path) -> None:
    (package := tmp_path / "metalbench").mkdir()
    (headers := tmp_path / "msl").mkdir()
    (package / "kernels").mkdir()
    seen = set()
    for path in (package / "a.py", headers / "b.h", package / "a.py", package / "kernels/c.py"):
        path.write_text(f"{path.read_text() if path.exists() else ''}1\n")
        hash_sources.cache_clear()
        seen.add(hash_sources(package, headers))
    hash_sources.cache_clear()
    # The library's tasks are sent along, whatever is there.
    assert len(seen) == 3


def test_the_line_of_a_version_is_read_again() -> None:
    assert InstalledVersion.parse(get_local_version().greeting) == get_local_version()
    for line in ("", "metalbench-serves", "metalbench-serves one 0.1 abc", "You have mail."):
        assert InstalledVersion.parse(line) is None


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("notes.txt", "holds something that is not a virtual environment"),
        ("", "no Python from 3.10"),
    ],
)
def test_install_reports_why_it_failed(
    inside: str, said: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "build_archive", lambda: b"")
    monkeypatch.setattr("metalbench.workers.ssh.PYTHONS", ("no-such-python",))
    if inside:
        (machine.home / "of-mine").mkdir(exist_ok=True)
        (machine.home / "of-mine" / inside).write_text("")
    folder = "~/of-mine" if inside else "~/of none"
    with pytest.raises(RemoteError, match=rf"could not be installed in {folder}: .*{said}"):
        install.install(Address("mac", folder=folder))
    assert not (machine.home / "of none").exists()


def test_a_person_at_a_terminal_is_asked(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(on, "_confirm_installation", lambda why: bool(asked.append(why)))
    machine.metalbench.unlink()
    done = CliRunner().invoke(main, ["run", "relu", "--on", "ssh://mac"])
    assert done.exit_code == 2
    (why,) = asked
    assert "found none in ~/.metalbench/on" in why


@pytest.mark.parametrize("option", ["--install", "--no-verify-here"])
def test_remote_options_need_an_address(option: str) -> None:
    done = CliRunner().invoke(main, ["run", "relu", option])
    assert done.exit_code == 2
    assert f"{option}: expected --on with it" in done.stderr


@pytest.mark.slow
def test_install_builds_and_installs_there(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For real, but for the packages that it needs: those are taken from here."""
    tools = [str(Path(shutil.which(name) or "").parent) for name in ("cmake", "ninja")]
    there = {
        # A new environment has no packages: these are found on the path.
        "PYTHONPATH": str(Path(np.__file__).parents[1]),
        "PIP_NO_DEPS": "1",
        # So pip spells that there is to be none.
        "PIP_NO_BUILD_ISOLATION": "0",
        "PATH": f"{':'.join(dict.fromkeys(tools))}:$PATH",
    }
    monkeypatch.setattr("metalbench.workers.ssh.PYTHONS", (sys.executable,))
    exported = "; ".join(f"export {name}={value}" for name, value in there.items())
    (machine.home / ".bashrc").write_text(f"{exported}\n")
    (machine.home / ".profile").write_text(f"{exported}\n")
    options = ("--device", "cpu", "--time", "0.1", "--db", str(tmp_path / "results.db"))
    arguments = ["run", "relu", "--on", "ssh://mac/~/bench of mine", *options]
    done = CliRunner().invoke(main, [*arguments, "--install"])
    assert done.exit_code == 0, done.output
    assert "Installing metalbench on ssh://mac/~/bench of mine" in done.stderr
    assert (machine.home / "bench of mine" / "pyvenv.cfg").exists()
    # By now it is there.
    again = CliRunner().invoke(main, arguments)
    assert again.exit_code == 0, again.output
    assert "Installing" not in again.output
    (machine.home / ".bashrc").unlink()
    (machine.home / ".profile").unlink()
