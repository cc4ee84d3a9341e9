"""The sandbox of macOS, sandbox(7). It is permanent, and children inherit it."""

from __future__ import annotations

import ctypes

from metalbench.errors import Unsupported
from metalbench.isolation.confinement.system import load_c_library

# Deny the network except Unix sockets, with the rules of Bazel's sandbox.
WORKER_PROFILE = b"""(version 1)
(allow default)
(deny network*)
(allow network* (remote unix-socket))
(allow network* (local unix-socket))
"""
# Mach services and IOKit, which the GPU driver uses, remain allowed. The last match decides.
SEALED_PROFILE = b"""(version 1)
(allow default)
(deny network*)
(deny file-write*)
(deny file-read-data (subpath "/Users") (subpath "/Volumes") (subpath "/private"))
(deny process-exec*)
(deny process-fork)
(deny signal)
(allow signal (target self))
"""


def enter_sandbox(profile: bytes) -> None:
    """Apply a profile to this process. Raises Unsupported if that is not possible."""
    system = load_c_library()
    if not hasattr(system, "sandbox_init"):
        raise Unsupported("sandbox: this macOS has no sandbox_init")
    message = ctypes.c_char_p()
    if system.sandbox_init(profile, ctypes.c_uint64(0), ctypes.byref(message)) != 0:
        raise Unsupported(f"sandbox: {(message.value or b'').decode(errors='replace')}")
