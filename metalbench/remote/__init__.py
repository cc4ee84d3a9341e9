"""Another machine, over the system's ssh: kernels are written here and measured there."""
