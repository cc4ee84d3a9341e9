"""The command ``agent_steel``, which is also ``python -m agent_steel``."""

from metalbench.cli.interruption import leave_at_once


def main() -> None:
    """Run the command."""
    leave_at_once()
    from metalbench.report.console import print_safe_tracebacks

    print_safe_tracebacks()
    from agent_steel.cli import main as command

    command(prog_name="agent_steel")


if __name__ == "__main__":
    main()
