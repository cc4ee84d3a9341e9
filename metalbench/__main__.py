"""``python -m metalbench`` is the command ``metalbench``."""

from metalbench.cli import main

if __name__ == "__main__":
    main(prog_name="metalbench")
