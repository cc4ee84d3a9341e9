"""Restrictions of a kernel's process from its start."""

from __future__ import annotations

import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from metalbench.sandbox import landlock
from metalbench.store.result import Status

linux = pytest.mark.skipif(sys.platform != "linux", reason="seccomp and Landlock are Linux's")
files = pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")


@linux
@pytest.mark.parametrize(
    ("behaviour", "refusal"),
    [
        ("leaves_a_child", "Operation not permitted"),
        ("signals_the_run", "Operation not permitted"),
        pytest.param("reads_the_run", "Permission denied", marks=files),
        pytest.param("writes_elsewhere", "Permission denied", marks=files),
    ],
)
def test_a_confined_process_refuses_the_behaviour(
    runs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, refusal: str
) -> None:
    monkeypatch.setenv("TEST_FILE", str(tmp_path / "made"))
    (result,) = runs(behaviour)
    assert refusal in result.failures[0].message
    assert not (tmp_path / "made").exists()


def test_a_confined_process_has_one_folder_which_is_emptied(runs: Any) -> None:
    before = set(Path(tempfile.gettempdir()).glob("metalbench-*/x"))
    (result,) = runs("writes_to_its_folder")
    assert result.status is Status.CORRECT, result.failures
    assert set(Path(tempfile.gettempdir()).glob("metalbench-*/x")) <= before


def test_secrets_are_not_among_its_variables(runs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_TOKEN", "hidden")
    (result,) = runs("reads_a_secret")
    assert result.status is Status.CORRECT, result.failures


def test_a_task_cannot_connect_to_a_port(runs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), 5).close()
        monkeypatch.setenv("TEST_PORT", str(port))
        (result,) = runs("phones")
    assert any(
        word in result.failures[0].message for word in ("unreachable", "denied", "permitted")
    )


def test_exit_code_0_without_a_result_is_a_crash(runs: Any) -> None:
    (result,) = runs("exits_well")
    assert result.status is Status.FAILED
    assert "ended with exit code 0 and no result" in result.failures[0].message


def test_mlx_for_gpus_is_known_by_its_name(tmp_path: Path) -> None:
    """Its import fails where the devices are forbidden, on the cpu device as well."""
    from metalbench.workers.needed import needs_gpu_for_mlx

    (tmp_path / "mlx_cpu-0.32.4.dist-info").mkdir()
    folders = [str(tmp_path / "absent"), str(tmp_path)]
    assert not needs_gpu_for_mlx(folders)
    (tmp_path / "mlx_cuda_13-0.32.4.dist-info").mkdir()
    assert needs_gpu_for_mlx(folders)
