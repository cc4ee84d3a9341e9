"""Confinement of processes that run foreign native code.

`confine` runs at the start of a process, `seal` before the first instruction of a kernel. Compilers
are confined at their start. Each file holds one mechanism of the system. A missing mechanism is
skipped and reported.
"""
