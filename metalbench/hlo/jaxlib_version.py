"""Check the version of jaxlib before it is loaded: another version may end the process."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

from metalbench.errors import Unsupported

# The MLIR bindings and the C API change between minor versions: https://docs.jax.dev/en/latest/
# changelog.html. The bound is that of pyproject.toml.
OLDEST, NEXT = (0, 10), (0, 13)


def check_jaxlib() -> None:
    """Raise Unsupported unless a supported version of jaxlib is installed.

    The version comes from the metadata of the installed package. No code of the package runs.
    """
    try:
        found = version("jaxlib")
    except PackageNotFoundError as error:
        raise Unsupported(
            "StableHLO is read by jaxlib, which is not installed: pip install 'metalbench[hlo]'"
        ) from error
    numbers = tuple(map(int, re.findall(r"\d+", found)[:2]))
    if not OLDEST <= numbers < NEXT:
        wanted = f">={'.'.join(map(str, OLDEST))},<{'.'.join(map(str, NEXT))}"
        raise Unsupported(
            f"jaxlib: expected a version {wanted}, got {found}: pip install 'jaxlib{wanted}'"
        )
