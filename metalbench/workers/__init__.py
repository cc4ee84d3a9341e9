"""Run every kernel in a separate process, so that a kernel cannot affect another kernel."""
