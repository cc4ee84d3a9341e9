"""``python -m benchmarks.engine [NAME...]``."""

from benchmarks.engine.command import main

main()
