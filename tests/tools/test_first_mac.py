"""tools/first_mac.sh from its first word to its archive, with stand-ins for what a Mac has."""

from __future__ import annotations

import os
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools/first_mac.sh"
STEPS = [
    *("machine", "venv", "install", "doctor", "three-kernels", "three-controls", "reference-cost"),
    *("install-tests", "metal-tests", "run", "run-again", "compare", "control", "encoding-cost"),
    *("xcrun-metal", "all-tests", "metal-tests-validated", "faulting-tests"),
]
# What it calls, each of which writes down how; some do more.
SAYS = 'echo "$(basename "$0") $* ${MTL_DEBUG_LAYER:-} ${MTL_SHADER_VALIDATION:-}" >> "$CALLS"'
PROGRAMS = {
    "uname": 'if [ "$*" = -s ]; then echo "${KERNEL:-Darwin}"; fi',
    "sw_vers": "echo 'ProductVersion: 26.0'",
    "system_profiler": "echo 'Chip: Apple M4'; echo 'Serial Number (system): SECRET'",
    "pmset": "true",
    "sysctl": "echo 'Apple M4'",
    "xcode-select": "true",
    "xcrun": 'case "$*" in *"--find metal"*) exit "${NO_METAL:-0}";; esac',
    "brew": "exit 1",
}
METALBENCH = """
case "$*" in
  run*--json*) for last; do :; done; echo '{}' > "$last"; mkdir -p "$METALBENCH_HOME";;
esac
case "$*" in *--ab-control*) exit "${CONTROL:-0}";; esac
if [ "$*" = doctor ] && [ -n "${HANGS:-}" ]; then exec sleep 1000; fi
"""
PYTHON = """
case "$*" in
  "-m venv "*) mkdir -p "$3/bin"; cp "$STANDS/python" "$STANDS/metalbench" "$3/bin";;
  *"pip install"*) exit "${INSTALL:-0}";;
  *--collect-only*) echo "tests/device/test_a.py::test_one[metal]"; echo;
    echo "tests/device/test_a.py::test_two[metal]"; echo; echo "2 tests collected";;
  *test_one*) exit "${ONE:-0}";;
  *"pytest tests"*|*"pytest -n 1"*) exit "${TESTS:-0}";;
esac
"""


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{SAYS}\n{text}\n")
    path.chmod(0o755)


class Mac:
    """A machine on which the script runs, and what was called there."""

    def __init__(self, folder: Path) -> None:
        stands = folder / "stands"
        stands.mkdir()
        for name, text in {**PROGRAMS, "python": PYTHON, "metalbench": METALBENCH}.items():
            program(stands / name, text)
        self.output = folder / "output"
        self.calls_file = folder / "calls"
        self.calls_file.touch()
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.environment = {
            "PATH": f"{stands}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "PYTHON": str(stands / "python"),
            "STANDS": str(stands),
            "CALLS": str(self.calls_file),
            "TMPDIR": str(self.temporary),
            "HOME": str(folder),
        }

    @property
    def command(self) -> list[str]:
        return ["bash", str(TOOL), str(self.output)]

    def run(self, **environment: str) -> subprocess.CompletedProcess[str]:
        everything = {**self.environment, **environment}
        return subprocess.run(
            self.command, env=everything, capture_output=True, text=True, check=False, timeout=120
        )

    @property
    def calls(self) -> list[str]:
        return self.calls_file.read_text().splitlines()

    @property
    def archive(self) -> dict[str, str]:
        """The files of the archive, by their path within its folder."""
        with tarfile.open(f"{self.output}.tar.gz") as packed:
            files = {each.name: packed.extractfile(each) for each in packed if each.isfile()}
            return {
                name.partition("/")[2]: file.read().decode() for name, file in files.items() if file
            }

    @property
    def exits(self) -> dict[str, int]:
        """The exit code of every step that the summary tells of."""
        lines = [line.split() for line in self.archive["summary.txt"].splitlines()]
        return {words[-1]: int(words[2]) for words in lines if words[1] == "exit"}


@pytest.fixture
def mac(tmp_path: Path) -> Mac:
    return Mac(tmp_path)


def test_every_step_runs_in_order_and_all_is_packed(mac: Mac) -> None:
    answer = mac.run()
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert answer.stderr == ""
    assert mac.exits == dict.fromkeys(STEPS, 0)
    logs = [f"logs/{number:02}-{name}.log" for number, name in enumerate(STEPS, 1)]
    results = ["three.json", "three-controls.json", "run.json", "run-again.json", "control.json"]
    assert set(mac.archive) == {"summary.txt", *logs, *results}
    assert mac.archive["summary.txt"].endswith("0 of 18 steps failed\n")
    assert f"Send back {mac.output}.tar.gz" in answer.stdout
    assert "about four hours" in answer.stdout.partition("machine")[0]
    assert answer.stdout.index("-first.tar.gz") < answer.stdout.index("install-tests")
    # The environment is its own, and nothing of it is left or sent.
    assert not any(mac.temporary.iterdir())


def test_the_tests_run_with_metals_validation_and_without(mac: Mac) -> None:
    mac.run()
    tests = [call.split() for call in mac.calls if "tests/metal" in call]
    assert [words[-2:] for words in tests] == [["tests/test_tiny.py", "tests/metal"], ["1", "1"]]
    # Tests of all devices follow later: some may take the GPU from the process.
    assert "tests/device" not in tests[0]


def test_the_first_results_are_packed_after_ten_minutes(mac: Mac) -> None:
    mac.run(CONTROL="3")
    with tarfile.open(f"{mac.output}-first.tar.gz") as packed:
        names = {Path(name).name for name in packed.getnames()}
    assert {"three.json", "summary.txt", "05-three-kernels.log"} <= names
    assert "run.json" not in names


def test_tests_that_may_lose_the_gpu_run_in_separate_processes(mac: Mac) -> None:
    answer = mac.run(ONE="1")
    ends = [call.split()[-1] for call in mac.calls if "--gpu-faults" in call]
    assert ends[1:] == [f"tests/device/test_a.py::test_{name}[metal]" for name in ("one", "two")]
    assert mac.exits["faulting-tests"] == 1
    assert "1 of 18 steps failed" in answer.stdout
    assert "--gpu-faults" in mac.calls[-1]


def test_no_serial_number_is_sent(mac: Mac) -> None:
    mac.run()
    log = mac.archive["logs/01-machine.log"]
    assert "Chip: Apple M4" in log
    assert "ProductVersion: 26.0" in log
    assert "SECRET" not in log


def test_a_failed_step_does_not_stop_the_others(mac: Mac) -> None:
    answer = mac.run(CONTROL="3", TESTS="1")
    assert answer.returncode == 1
    failing = {"control": 3, "three-controls": 3, "metal-tests": 1, "metal-tests-validated": 1}
    assert mac.exits == {**dict.fromkeys(STEPS, 0), **failing}
    assert "4 of 18 steps failed" in answer.stdout


def test_a_failed_installation_is_reported_and_packed(mac: Mac) -> None:
    answer = mac.run(INSTALL="1")
    assert answer.returncode == 1
    assert mac.exits == {"machine": 0, "venv": 0, "install": 1}
    assert "Nothing else can run" in answer.stdout
    assert not any(call.startswith("metalbench") for call in mac.calls)


def test_without_the_full_xcode_its_compiler_is_left_out(mac: Mac) -> None:
    answer = mac.run(NO_METAL="1")
    assert answer.returncode == 0
    assert set(mac.exits) == {*STEPS} - {"xcrun-metal"}
    assert "left out            xcrun-metal: xcrun has no metal" in mac.archive["summary.txt"]


def test_ctrl_c_keeps_the_existing_results(mac: Mac) -> None:
    environment = {**mac.environment, "HANGS": "1"}
    with subprocess.Popen(
        mac.command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as script:
        assert script.stdout is not None
        shown = ""
        while "doctor" not in shown:
            shown += script.stdout.read(1)
        script.send_signal(signal.SIGINT)
        rest = script.stdout.read()
        assert script.wait(60) == 130
    assert f"Send back {mac.output}.tar.gz" in rest
    assert mac.exits == {"machine": 0, "venv": 0, "install": 0}
    assert "interrupted in step 4" in mac.archive["summary.txt"]
    assert not any(mac.temporary.iterdir())


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"KERNEL": "Linux"}, "expected macOS"),
        ({"PYTHON": "", "PATH": "STANDS:/nowhere"}, "brew install python"),
    ],
)
def test_missing_tools_are_reported_before_the_first_step(
    mac: Mac, environment: dict[str, str], message: str
) -> None:
    if "PATH" in environment:
        for name in ("bash", "dirname", "date", "basename"):
            (Path(mac.environment["STANDS"]) / name).symlink_to(f"/usr/bin/{name}")
        environment["PATH"] = environment["PATH"].replace("STANDS", mac.environment["STANDS"])
    answer = mac.run(**environment)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert not mac.output.exists()
