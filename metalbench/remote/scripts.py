"""What the other machine's shell is asked to do, in the words of any POSIX shell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from metalbench.remote.address import Address

NOTHING_THERE = "metalbench-not-installed"
ANOTHER_THERE = "metalbench-of-another-kind"
# Where a Mac has its newer versions of Python, which no login shell of ssh's has on its path.
PYTHON_FOLDERS = ("/opt/homebrew/bin", "/usr/local/bin")
PYTHONS = ("python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python3")
NO_PYTHON = 3
NOT_OURS = 4


def make_serve_script(address: Address, variables: Mapping[str, str]) -> str:
    """Start `metalbench serve`, or say that it is not there, or what else is.

    As long as it runs a Mac that can does not fall asleep, which it may where nobody types.
    """
    env = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    elsewhere = "" if address.folder else 'if [ ! -x "$m" ]; then m=$(command -v metalbench); fi; '
    return _as_one_word(
        f"m={address.shell_folder}/bin/metalbench; {elsewhere}"
        f'if [ -z "$m" ] || [ ! -x "$m" ]; then echo {NOTHING_THERE}; exit; fi; '
        "c=; if command -v caffeinate > /dev/null; then c='caffeinate -i'; fi; "
        f'env {env} $c "$m" serve || echo {ANOTHER_THERE} "$m": $("$m" --version 2>&1 | tail -n 1)'
    )


def make_install_script(address: Address, archive: str) -> str:
    """Read an archive of the sources from standard input, and install it into the folder.

    The folder becomes a virtual environment if it is none yet. Exit codes: `NO_PYTHON` where none
    is new enough, `NOT_OURS` of a folder that holds something else.
    """
    path = ":".join(PYTHON_FOLDERS)
    new_enough = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"
    quoted = shlex.quote(new_enough)
    return _as_one_word(
        f"f={address.shell_folder}; PATH=$PATH:{path}; "
        't=$(mktemp -d) || exit 1; trap "rm -rf \\"$t\\"" EXIT; '
        f'cat > "$t"/{shlex.quote(archive)} || exit 1; '
        'if [ ! -x "$f"/bin/python ]; then '
        f'if [ -n "$(ls -A "$f" 2>/dev/null)" ]; then exit {NOT_OURS}; fi; '
        f"p=; for each in {' '.join(PYTHONS)}; do "
        f'if "$each" -c {quoted} 2>/dev/null; then p=$each; break; fi; done; '
        f'if [ -z "$p" ]; then exit {NO_PYTHON}; fi; '
        'mkdir -p "$f" && "$p" -m venv "$f" || exit 1; fi; '
        f'b="$f"/bin/python; "$b" -m pip wheel -q --no-deps -w "$t" "$t"/{shlex.quote(archive)} && '
        '"$b" -m pip install -q "$t"/*.whl && '
        # The same version may be there already, made of other sources.
        '"$b" -m pip install -q --no-deps --force-reinstall "$t"/*.whl'
    )


def _as_one_word(script: str) -> str:
    """The script for whatever shell the account has."""
    return f"exec sh -c {shlex.quote(script)}"
