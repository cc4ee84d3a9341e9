"""Print the devices whose results can be trusted on this machine, as METALBENCH_DEVICES takes them.

    METALBENCH_DEVICES=$(python tools/usable_devices.py) pytest

`metal,cpu` on a Mac whose GPU is of family Apple7 (M1) or newer, else `cpu`: the GPU of a virtual
machine, such as those of hosted runners, is of an older one, and custom kernels give zeros there.
"""

from __future__ import annotations

import re
import sys

from metalbench import _core

OLDEST = 7


def usable() -> str:
    """Devices by name, with commas; why the GPU is none of them goes to the standard error."""
    if "metal" not in _core.devices():
        return "cpu"
    try:
        metal = _core.open("metal")
    except _core.Error as error:
        print(f"metal: left out, for it cannot be opened: {error}", file=sys.stderr)
        return "cpu"
    family = str(metal.capabilities["family"])
    known = re.fullmatch(r"apple(\d+)", family)
    if known and int(known[1]) >= OLDEST:
        return "metal,cpu"
    print(
        f"metal: left out, for {metal.name} is of family {family or 'unknown'}; kernels are to be "
        f"trusted from apple{OLDEST} on",
        file=sys.stderr,
    )
    return "cpu"


if __name__ == "__main__":
    print(usable())
