"""``metalbench completion``: click's own completion, and the line that turns it on."""

from __future__ import annotations

import os
from pathlib import Path

import click

from metalbench.report.console import echo

LINES = {
    "bash": ('eval "$(_METALBENCH_COMPLETE=bash_source metalbench)"', "~/.bashrc"),
    "zsh": ('eval "$(_METALBENCH_COMPLETE=zsh_source metalbench)"', "~/.zshrc"),
    "fish": (
        "_METALBENCH_COMPLETE=fish_source metalbench | source",
        "~/.config/fish/completions/metalbench.fish",
    ),
}


EXAMPLES = """\b
Examples:
  metalbench completion bash >> ~/.bashrc
  metalbench completion zsh >> ~/.zshrc
  metalbench completion fish >> ~/.config/fish/completions/metalbench.fish
"""


@click.command(epilog=EXAMPLES, short_help="Turn on completion in your shell.")
@click.argument("shell", type=click.Choice(list(LINES)), required=False)
def completion(shell: str | None) -> None:
    """Print the line that turns on completion in SHELL (default: yours)."""
    if shell is None:
        shell = Path(os.environ.get("SHELL", "")).name
        if shell not in LINES:
            raise click.UsageError(f"name your shell: one of {', '.join(LINES)}")
    line, file = LINES[shell]
    echo(line)
    # Not on standard output: the line alone is what gets appended to the file.
    echo(f"# Add this line to {file}, then open a new shell.", err=True)
