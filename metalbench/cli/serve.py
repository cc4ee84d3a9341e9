"""``metalbench serve``, which ``--on`` starts on the other machine."""

from __future__ import annotations

import sys

import click

from metalbench.report.console import echo


@click.command(hidden=True)
def serve() -> None:
    """Run kernels for another machine's --on, over standard input and output."""
    from metalbench.workers.version import get_local_version

    echo(f"\n{get_local_version().greeting}")
    sys.stdout.flush()
    from metalbench.workers.server import connect_standard_streams
    from metalbench.workers.server import serve as serve_over

    line = connect_standard_streams()
    try:
        serve_over(line)
    except (EOFError, OSError):
        # The other side has gone.
        return
