"""Plan and run programs on a device."""
