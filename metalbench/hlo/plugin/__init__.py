"""A plugin for JAX: with `JAX_PLATFORMS=metalbench`, its programs run as Metal kernels."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module

from metalbench.hlo.jaxlib_version import check_jaxlib

NAME = "metalbench"
# Which device of metalbench's it is: auto, cpu, metal or cuda.
DEVICE = "METALBENCH_JAX_DEVICE"


def initialize() -> None:
    """What JAX calls of each plugin that is installed.

    Nothing happens unless `JAX_PLATFORMS` (or `jax.config.jax_platforms`) names it: that it is
    there must not make it the default device of programs which never heard of it.
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
    # Else JAX keeps what it is told to donate, with a warning.
    donating = getattr(mlir, "_platforms_with_donation", None)
    if donating is not None and NAME not in donating:
        donating.append(NAME)
    _register_rules()


def _register_rules() -> None:
    """Rules of jax's own for platforms without LAPACK, where it registers them for one alone.

    They have no public name: a version of jax that has them elsewhere goes without, and says
    itself that there is no rule for this platform.
    """
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg

    with suppress(ImportError, AttributeError):
        eigh = import_module("jax._src.tpu.linalg.eigh")
        mlir.register_lowering(linalg.eigh_p, eigh._eigh_tpu_lowering, platform=NAME)
