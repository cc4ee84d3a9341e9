"""The other commands, and what they must not import."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import click
import pytest
from click.testing import CliRunner

from metalbench.cli import group, main
from metalbench.cli.doctor import Health, examinations
from metalbench.cli.group import OWN
from metalbench.run.trial import Stage
from metalbench.workers.channel import list_worker_messages


def command_of(name: str) -> click.Command:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    return found


def test_help_has_examples() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert "metalbench run softmax" in result.output
    assert "Exit codes: 0 all correct" in result.output


@pytest.mark.parametrize("command", sorted(OWN))
def test_commands_are_listed_by_their_own_names(command: str) -> None:
    assert command_of(command).name == command


@pytest.mark.parametrize("command", sorted(OWN))
def test_every_command_has_help(command: str) -> None:
    result = CliRunner().invoke(main, [command, "-h"])
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main {command}")


@pytest.mark.parametrize(
    "command",
    ["run", "compare", "history", "compile", "leaderboard", "certify", "reproduce", "summary"],
)
def test_help_of_commands_lists_exit_codes(command: str) -> None:
    said = " ".join(CliRunner().invoke(main, [command, "-h"]).output.split())
    assert "Exit codes: 0" in said
    assert "2 wrong usage or environment" in said


@pytest.mark.parametrize("option", ["--device", "--kernels", "--include", "--db"])
def test_shared_options_are_declared_once(option: str) -> None:
    declared = [
        next(each for each in command_of(name).params if option in each.opts)
        for name in ("run", "show", "compare", "certify", "reproduce")
    ]
    first, *others = [(each.name, each.multiple, each.help) for each in declared]
    assert others == [first] * 4


@pytest.mark.parametrize(
    ("command", "here"),
    [
        ("bench softmax", "No such command 'bench': say `metalbench run`."),
        ("inspect softmax", "say `metalbench show NAME`, with --engine or --emit"),
        ("run --diff main", "No such option '--diff': say `--baseline RUN`."),
        ("run softmax --tune TG=64", "say `--tuned` after `metalbench tune NAME`."),
        ("run --threshold 3%", "say `--max-regression PERCENT`."),
        # Other names get the nearest suggestion, if there is one.
        ("histroy", "No such command 'histroy'; did you mean 'history'?"),
        ("xyzzy", "No such command 'xyzzy'."),
        ("show softmax --threshold 3%", "No such option '--threshold'"),
    ],
)
def test_command_names_of_other_programs_suggest_ours(command: str, here: str) -> None:
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code == 2
    assert here in result.output
    known = "say" in here
    assert known == ("say " in result.output)


def test_suggested_command_names_exist() -> None:
    for here in group.OTHER_COMMANDS.values():
        for name in re.findall(r"`metalbench (\w+)", here):
            assert name in OWN
    for (command, _), here in group.OTHER_OPTIONS.items():
        (option,) = re.findall(r"`(--[\w-]+)", here)
        assert any(option in each.opts for each in command_of(command).params)


@pytest.mark.parametrize(
    ("command", "first", "second"),
    [
        ("run relu --json - --csv -", "--json", "--csv"),
        ("check relu --json - --sarif -", "--json", "--sarif"),
        ("compare latest --json - --markdown -", "--json", "--markdown"),
        ("leaderboard --html - --csv -", "--html", "--csv"),
    ],
)
def test_two_files_on_standard_output_are_refused(command: str, first: str, second: str) -> None:
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code == 2
    text = " ".join(result.output.split())
    assert f"{first} is written to standard output already; name a file" in text
    assert f"'{second}'" in text


def test_version() -> None:
    from importlib.metadata import version

    result = CliRunner().invoke(main, ["--version"])
    assert result.output == f"metalbench {version('metalbench')}\n"


def test_list_shows_every_task_with_its_types(shell: Any) -> None:
    result = shell("list", "--set", "common")
    assert {line.split()[1] for line in result.stdout.splitlines()[1:]} == {"common"}
    everything = [line.split() for line in shell("list").stdout.splitlines()]
    assert ["twice", "user", "float32", "Twice", "the", "input."] in everything
    assert "softmax" in {line[0] for line in everything}


def test_show_has_task_sizes_source_reflection_and_history(shell: Any) -> None:
    before = shell("show", "twice")
    assert before.exit_code == 0, before.output
    assert "none; `metalbench run twice` makes some" in before.stdout
    shell("run", "twice")
    text = shell("show", "twice").stdout
    for part in ("normal(0, 1)", "n 4096", "headline", "y[i] = 2 * x[i];", "buffer(1)"):
        assert part in text
    (line,) = [line for line in text.splitlines() if " correct " in line]
    assert line.split()[3:5] == ["seed", "float32"]
    history = text.partition("History\n")[2]
    assert history.startswith("cpu (")


def test_show_engine_prints_the_execution_mode(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALBENCH_ENGINE", "vectors")
    plain, checked = shell("show", "twice", "--engine").stdout.splitlines()[1:3]
    assert plain.split(maxsplit=3) == ["twice", "plain", "loops", "its threads do not synchronise"]
    assert checked.split()[:3] == ["twice", "checked", "fibers"]
    (plain,) = (
        line
        for line in shell("show", "softmax", "--engine").stdout.splitlines()
        if " plain " in line
    )
    assert "vectors of 32 threads" in plain
    assert plain.endswith("its threads synchronise")


def test_show_prints_lowered_texts(shell: Any) -> None:
    lowered = shell("show", "twice", "--emit", "cpp", "--dtype", "float32")
    assert "MB_KERNEL(" in lowered.stdout
    assert ".visible .entry" in shell("show", "twice", "--emit", "ptx").stdout
    assert "is written for float32, not float16" in str(
        shell("show", "twice", "--emit", "cpp", "--dtype", "float16").output
    )
    assert "undeclared identifier 'z'" in shell("show", "broken", "--emit", "cpp").output


def test_show_engine_reports_kernels_that_cannot_run(shell: Any, kernels: Any) -> None:
    assert "undeclared identifier 'z'" in shell("show", "broken", "--engine").stdout
    (kernels / "twice.metal").unlink()
    assert shell("show", "twice", "--engine").stdout == "twice has no kernel yet\n"


def test_show_of_a_broken_kernel_prints_the_compile_error(shell: Any) -> None:
    result = shell("show", "broken", "--no-source")
    assert result.exit_code == 0
    assert "undeclared identifier 'z'" in result.stdout


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion_prints_the_one_line_to_add(shell_name: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell_name])
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    assert f"_METALBENCH_COMPLETE={shell_name}_source" in result.stdout


def test_completion_of_names() -> None:
    environment = {
        "_METALBENCH_COMPLETE": "bash_complete",
        "COMP_WORDS": "metalbench run log_s",
        "COMP_CWORD": "2",
    }
    result = CliRunner().invoke(main, [], env=environment, prog_name="metalbench")
    assert result.output == "plain,log_softmax\nplain,log_softmax_cross_entropy\n"


def test_completion_of_other_machines(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config"
    config.write_text("Host mac mac-mini *.local !old\n  User me\nHOST=studio # comment\n")
    monkeypatch.setattr("metalbench.cli.machine.SSH_CONFIG", config)
    for command in ("run", "certify", "tune"):
        (option,) = (each for each in command_of(command).params if "--on" in each.opts)
        context = click.Context(command_of(command))
        found = option.shell_complete(context, "ssh://m")
        assert [each.value for each in found] == ["ssh://mac", "ssh://mac-mini"]
    assert option.shell_complete(context, "ssh://s")[0].value == "ssh://studio"
    config.unlink()
    assert option.shell_complete(context, "") == []


@pytest.mark.parametrize("command", ["run", "certify", "tune"])
def test_help_describes_other_machines(command: str) -> None:
    said = " ".join(CliRunner().invoke(main, [command, "-h"]).output.split())
    assert "--on ssh://HOST Run the kernels on another machine, such as ssh://mac.local" in said
    assert f"metalbench {command} softmax --on ssh://mac.local" in said


def test_doctor_examines_all_parts_and_never_raises(shell: Any) -> None:
    result = shell("doctor")
    assert result.exit_code == 0, result.output
    for name, _ in examinations(shell.db):
        assert name in result.stdout
    assert "a trial kernel ran correctly" in result.stdout


def test_doctor_reports_failures_and_how_to_fix_them(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METALBENCH_CLANG", "/no/such/clang")
    shell.db.write_text("no database " * 100)
    result = shell("doctor")
    assert result.exit_code == 2
    assert "-> pip install ziglang" in result.stdout
    assert "/no/such/clang" in result.stdout
    assert "file is not a database" in result.stdout


def test_doctor_takes_a_kernel_through_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    examine = dict(examinations())["isolation"]
    assert "a trial kernel ran correctly in one" in examine().detail
    # What a worker sends and this side cannot read.
    monkeypatch.setitem(list_worker_messages(), "result", Stage)
    finding = examine()
    assert finding.health is Health.BROKEN
    assert "sent an invalid result: result: Expected `str`, got `object`" in finding.detail
    assert finding.remedy == "metalbench run --in-process"


def test_doctor_reports_a_failed_examination_as_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlx.core", None)
    (mlx,) = [examine for name, examine in examinations() if name == "mlx"]
    finding = mlx()
    assert finding.health is Health.BROKEN
    assert finding.remedy.startswith("pip install")


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import metalbench", "click numpy scipy mlx rich sqlite3 metalbench._core"),
        ("import metalbench.cli", "numpy scipy mlx rich sqlite3 metalbench._core"),
        (
            "from metalbench.cli import main; main(['list'], standalone_mode=False)",
            "scipy mlx.core sqlite3 importlib.metadata metalbench.cli.run metalbench.cli.tune",
        ),
        (
            "from metalbench.cli import main; main(['run', '--help'], standalone_mode=False)",
            "numpy rich sqlite3 importlib.metadata metalbench.cli.listing metalbench.cli.hlo",
        ),
        (
            "import metalbench.stats, metalbench.store, metalbench.run.runner",
            "scipy mlx.core metalbench.run.attempt metalbench.verify importlib.metadata",
        ),
    ],
)
def test_modules_are_imported_only_when_needed(code: str, absent: str) -> None:
    check = f"import sys; {code}; print([m for m in {absent.split()!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_python_dash_m_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "metalbench", "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: metalbench ")


def test_show_and_run_warn_about_tests_that_fast_math_may_remove(shell: Any, kernels: Any) -> None:
    path = kernels / "twice.metal"
    text = path.read_text().replace("2 * x[i]", "isnan(x[i]) ? 0 : 2 * x[i]")
    path.write_text("// math: fast\n" + text)
    warning = f"NaN or infinity under `// math: fast`: {path}:7:10: `isnan`"
    for command in ("show", "run"):
        result = shell(command, "twice")
        assert result.exit_code == 0, result.output
        assert warning.replace(" ", "") in "".join(result.stdout.split())
