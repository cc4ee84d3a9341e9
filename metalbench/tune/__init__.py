"""Search for the fastest values of a kernel's tunables on a device."""
