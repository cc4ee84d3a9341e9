"""The command ``metalbench``, which is also ``python -m metalbench``."""

from metalbench.cli.interruption import leave_at_once


def main() -> None:
    """Run the command."""
    leave_at_once()
    from metalbench.report.console import print_safe_tracebacks

    print_safe_tracebacks()
    from metalbench.cli import main as command

    command(prog_name="metalbench")


if __name__ == "__main__":
    main()
