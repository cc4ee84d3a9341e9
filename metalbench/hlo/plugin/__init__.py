"""Register the plugin for JAX: `JAX_PLATFORMS=metalbench` runs programs as Metal kernels."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pkgutil import extend_path

from metalbench.hlo.jax_rules import NAME, register_rules
from metalbench.hlo.jaxlib_version import check_jaxlib

# In a checkout this folder is found first; the compiled plugin is in site-packages.
__path__ = extend_path(__path__, __name__)

# The environment variable with the device: auto, cpu, metal or cuda.
DEVICE = "METALBENCH_JAX_DEVICE"


def initialize() -> None:
    """Register the platform with JAX, which calls this function of each installed plugin.

    Do nothing unless `JAX_PLATFORMS` (or `jax.config.jax_platforms`) names the platform: an
    installed plugin must not become the default device of other programs.
    """
    import jax
    from jax._src import xla_bridge
    from jax._src.interpreters import mlir

    platforms = jax.config.jax_platforms or ""
    if NAME not in platforms.split(","):
        return
    check_jaxlib()
    library = import_module(f"{__name__}._pjrt").__file__
    options = {"device": os.environ.get(DEVICE, "auto")}
    xla_bridge.register_plugin(NAME, priority=500, library_path=library, options=options)
    # Otherwise JAX ignores donations, with a warning.
    donating = getattr(mlir, "_platforms_with_donation", None)
    if donating is not None and NAME not in donating:
        donating.append(NAME)
    register_rules()
    _let_interrupts_pass()


def _let_interrupts_pass() -> None:
    """Run Python before JAX raises the error of an interrupted compilation.

    The exception of Ctrl-C waits until Python runs, and must replace that error.
    """
    with suppress(ImportError, AttributeError):
        compiler = import_module("jax._src.compiler")
        compiler.register_xla_runtime_error_handler(lambda error: None)
