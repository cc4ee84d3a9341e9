"""``metalbench serve``, which ``--on`` starts on the other machine."""

from __future__ import annotations

import sys

import click

from metalbench.report.console import echo


@click.command(hidden=True)
def serve() -> None:
    """Run kernels for another machine's --on, over standard input and output."""
    from metalbench.remote.version import version_here

    echo(f"\n{version_here().line}")
    sys.stdout.flush()
    from metalbench.remote.there import over_standard_streams
    from metalbench.remote.there import serve as serve_over

    line = over_standard_streams()
    try:
        serve_over(line)
    except (EOFError, OSError):
        # The other side has gone.
        return
