"""Errors of connections are reported before anything is measured, with how to fix them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from metalbench.cli import main
from metalbench.workers.version import get_local_version

from .conftest import Machine

Refused = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path, kernels: Path) -> Refused:
    """Return the message of a run that ends before it has begun."""

    def refused(address: str, *options: str) -> str:
        where = ("--kernels", str(kernels), "--db", str(tmp_path / "results.db"))
        done: Result = CliRunner().invoke(main, ["run", "twice", "--on", address, *options, *where])
        assert done.exit_code == 2, done.output
        return " ".join(done.stderr.split())

    return refused


def test_a_missing_installation_there_is_reported(machine: Machine, refused: Refused) -> None:
    machine.metalbench.unlink()
    said = refused("ssh://mac")
    here = get_local_version()
    assert f"expected metalbench {here} there, and found none in ~/.metalbench/on" in said
    assert "add --install, which installs this very version there" in said
    assert "found none in ~/other;" in refused("ssh://mac/~/other")


def test_a_different_version_there_is_reported(machine: Machine, refused: Refused) -> None:
    there = replace(get_local_version(), number="0.0.9", sources="0123456789abcdef")
    machine.has(f"echo {there.greeting}; cat > /dev/null")
    said = refused("ssh://mac")
    assert f"expected metalbench {get_local_version()}, as it is here; there is {there}" in said
    assert "add --install" in said


def test_a_mac_is_kept_awake(machine: Machine, refused: Refused) -> None:
    awake = machine.home.parent / "there" / "caffeinate"
    awake.write_text('#!/bin/sh\n[ "$1" = -i ] && shift && echo kept awake >&2 && "$@"\n')
    awake.chmod(0o755)
    machine.has("exit 3")
    assert "cannot serve" in (said := refused("ssh://mac"))
    assert "kept awake" in said
    awake.unlink()


def test_a_version_there_without_serve_is_reported(machine: Machine, refused: Refused) -> None:
    machine.has(
        'if [ "$1" = --version ]; then echo metalbench 0.0.1; exit; fi; '
        "echo \"Error: No such command 'serve'.\" >&2; exit 2"
    )
    said = refused("ssh://mac")
    assert f"what is there cannot serve: {machine.metalbench}: metalbench 0.0.1" in said
    assert "No such command 'serve'" in said


@pytest.mark.parametrize(
    ("host", "reason"), [("unreachable", "Connection refused"), ("refused", "Permission denied")]
)
def test_an_unreachable_machine_is_reported(
    machine: Machine, refused: Refused, host: str, reason: str
) -> None:
    said = refused(f"ssh://{host}")
    assert f"ssh://{host} cannot be reached:" in said
    assert reason in said
    assert f"`ssh -- {host} true` has to work without a question" in said


@pytest.mark.slow
def test_a_missing_device_there_is_reported(machine: Machine, refused: Refused) -> None:
    said = refused("ssh://mac", "--device", "metal", "--no-verify-here")
    assert "ssh://mac: " in said
    machine.wait_until_nothing_runs()
