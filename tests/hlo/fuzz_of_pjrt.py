"""Calls of PJRT's whole table at random, as no caller should make them; none may end the process.

    python tests/hlo/fuzz_of_pjrt.py FIRST LAST [CALLS]

Each seed is a process: it calls functions with handles that live, that were destroyed, that are of
another kind, null or no addresses at all; with sizes that are wrong and numbers that mean nothing.
What it may not do, because no callee can tell, is to point to memory that is not there.
"""

from __future__ import annotations

import ctypes
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import calls_of_pjrt as pjrt
import numpy as np

KINDS = {
    "DeviceDescription": "description",
    "Device": "device",
    "Client": "client",
    "Memory": "memory",
    "TopologyDescription": "topology",
    "LoadedExecutable": "loaded",
    "Executable": "executable",
    "Buffer": "buffer",
    "Event": "event",
}
# Results of successful calls: the word of the structure, and the kind of handle.
MADE = {
    "Client_TopologyDescription": (1, "topology"),
    "Client_LookupDevice": (2, "device"),
    "Client_LookupAddressableDevice": (2, "device"),
    "Client_Compile": (4, "loaded"),
    "Client_BufferFromHostBuffer": (12, "buffer"),
    "Executable_DeserializeAndLoad": (3, "loaded"),
    "Device_GetDescription": (1, "description"),
    "Device_DefaultMemory": (1, "memory"),
    "LoadedExecutable_GetExecutable": (1, "executable"),
    "Buffer_ReadyEvent": (1, "event"),
    "Buffer_Device": (1, "device"),
    "Buffer_Memory": (1, "memory"),
    "Buffer_CopyToDevice": (2, "buffer"),
    "Buffer_CopyToMemory": (2, "buffer"),
}
# Destroying calls are rare: they would leave few handles.
RARE = ("Client_Destroy", "Client_Create")
PROGRAMS = (
    *[pjrt.DOUBLE, pjrt.DONATING] * 3,
    b"nonsense",
    b"",
    pjrt.DOUBLE.replace(b"f32", b"f6E2M3FN"),
)
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
ROOM = 8192


class Caller:
    """The calls of one process: existing handles, and destroyed ones."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.handles: dict[str, list[int]] = {kind: [] for kind in KINDS.values()}
        self.kept: list[object] = []
        self.errors = 0
        self.went_well: Counter[str] = Counter()
        # The callback destroys its error.
        self.callback = CALLBACK(lambda error, _: self.consume_error(error))
        self.handles["client"].append(pjrt.client())

    def consume_error(self, error: int | None) -> None:
        """Read an error, and destroy it."""
        if error:
            self.errors += 1
            assert pjrt.message_of(error)
            pjrt.API["Error_Destroy"](pjrt.Arguments(error).memory)

    def handle(self, kind: str) -> int:
        """Return mostly a valid handle of that kind, else another one, null or a random address."""
        drawn = self.random.random()
        if drawn < 0.75 and self.handles[kind]:
            return self.random.choice(self.handles[kind][-6:])
        others = [each for handles in self.handles.values() for each in handles[-3:]]
        if drawn < 0.9 and others:
            return self.random.choice(others)
        return self.random.choice([0, 0, 8, 2**40, -8, self.memory(64)])

    def memory(self, size: int, content: bytes = b"") -> int:
        """Return memory that stays allocated, with this content or random bytes."""
        made = ctypes.create_string_buffer(content or self.random.randbytes(size), max(size, 1))
        self.kept.append(made)
        return ctypes.addressof(made)

    def number(self) -> int:
        """Return a small or an absurd number."""
        odd = (-1, 2**31 - 1, -(2**31), 2**62, -(2**63))
        return self.random.choice(odd) if self.random.random() < 0.2 else self.random.randrange(4)

    def words(self, name: str) -> list[int]:
        """Return the arguments of a function."""
        special = getattr(self, name.lower(), None)
        if special is not None:
            return special()
        kind = next((kind for prefix, kind in KINDS.items() if name.startswith(f"{prefix}_")), None)
        # Missing functions read no arguments; the others have memory for their results.
        return [self.handle(kind)] if kind else []

    def call(self, name: str) -> None:
        """Make one call, in which some argument may be wrong."""
        words = self.words(name)
        size = 500
        if self.random.random() < 0.1:
            size = self.random.choice([0, 8, 15, 16, 24, 32, 40, 64, 120, 4000])
        arguments = pjrt.Arguments(*words, size=size, room=ROOM)
        error = pjrt.API[name](arguments.memory)
        if error:
            # An event may return an error; every error has a message.
            self.consume_error(error)
            return
        self.went_well[name] += 1
        if name in MADE:
            word, kind = MADE[name]
            if arguments[word]:
                self.handles[kind].append(arguments[word])

    def program(self) -> int:
        text, form = self.random.choice(PROGRAMS), self.random.choice([b"mlir"] * 5 + [b"hlo", b""])
        words = (self.memory(len(text), text), len(text), self.memory(len(form), form), len(form))
        made = pjrt.Arguments(*words)
        self.kept.append(made)
        return ctypes.addressof(made.memory)

    def client_compile(self) -> list[int]:
        where = 0 if self.random.random() < 0.05 else self.program()
        options = self.random.choice([0, 0, 0, 7])
        return [self.handle("client"), where, self.memory(8) if options else 0, options]

    def executable_deserializeandload(self) -> list[int]:
        size = self.random.randrange(64)
        return [self.handle("client"), self.memory(64), size, 0, 0, 0]

    def client_lookupdevice(self) -> list[int]:
        return [self.handle("client"), self.number()]

    client_lookupaddressabledevice = client_lookupdevice

    def client_defaultdeviceassignment(self) -> list[int]:
        both = self.random.choice([1 | 1 << 32, 2 | 1 << 32, 0])
        return [self.handle("client"), both, self.random.randrange(3), self.memory(64)]

    def client_bufferfromhostbuffer(self) -> list[int]:
        rank = self.random.randrange(4)
        sizes = [self.random.choice([0, 1, 2, 3, 4]) for _ in range(rank)]
        if rank and self.random.random() < 0.2:
            # Not a valid size of a tensor: the host has no memory for it.
            sizes[0] = self.random.choice([-1, 2**31, 2**62, -(2**63)])
        kind = self.random.randrange(-1, 32)
        if self.random.random() < 0.5:
            # The shapes of the programs' arguments.
            kind, rank, sizes = pjrt.F32, 1, [4]
        dims = self.memory(64, np.array([*sizes, 0], np.int64).tobytes())
        strides, count = 0, 0
        if self.random.random() < 0.2:
            # Within the memory: 64 elements of 16 bytes, from the middle on.
            steps = [self.random.choice([-16, 0, 4, 8, 16]) for _ in range(rank)]
            strides = self.memory(64, np.array([*steps, 0], np.int64).tobytes())
            count = rank if self.random.random() < 0.8 else self.random.randrange(4)
        data = self.memory(4096) + 2048 if self.random.random() < 0.9 else 0
        words = [self.handle("client"), data, kind, dims, rank]
        place = [self.handle("device") if self.random.random() < 0.2 else 0]
        place += [self.handle("memory") if self.random.random() < 0.2 else 0]
        return [*words, strides, count, self.random.randrange(4), *place, self.layout(), 0, 0]

    def layout(self) -> int:
        """Return sometimes a layout of the host: tiled or with strides, of any rank up to four."""
        if self.random.random() < 0.7:
            return 0
        rank = self.random.randrange(5)
        numbers = [self.random.choice([0, 1, 2, -1, 3]) for _ in range(8)]
        items = self.memory(64, np.array(numbers, np.int64).tobytes())
        # The head, the larger of the two forms, and the tag of the form.
        union = [56, 0, items, rank, 0, 0, self.random.choice([0, 0, 1])]
        content = np.array([80, 0, *union, self.random.choice([0, 0, 1])], np.int64).tobytes()
        return self.memory(128, content)

    def buffer_tohostbuffer(self) -> list[int]:
        size = self.random.choice([0, 1, 16, 2048, 2048])
        data = self.random.choice([0, self.memory(4096) + 2048, self.memory(4096) + 2048])
        return [self.handle("buffer"), 0, data, size, 0]

    def buffer_copyrawtohost(self) -> list[int]:
        offset, size = self.number(), self.number()
        return [self.handle("buffer"), self.memory(4096), offset, size if size < 4096 else -1, 0]

    def buffer_copytodevice(self) -> list[int]:
        return [self.handle("buffer"), self.handle("device"), 0]

    def buffer_copytomemory(self) -> list[int]:
        return [self.handle("buffer"), self.handle("memory"), 0]

    def event_onready(self) -> list[int]:
        callback = ctypes.cast(self.callback, ctypes.c_void_p).value or 0
        return [self.handle("event"), callback if self.random.random() < 0.9 else 0, 0]

    def executable_optimizedprogram(self) -> list[int]:
        code = self.random.choice([0, self.memory(4096)])
        made = pjrt.Arguments(code, self.random.choice([0, 10, 4096]), 0, 0)
        self.kept.append(made)
        where = ctypes.addressof(made.memory) if self.random.random() < 0.9 else 0
        return [self.handle("executable"), where]

    def loadedexecutable_execute(self) -> list[int]:
        count = self.random.choice([0, 1, 1, 1, 2])
        given = [self.handle("buffer") for _ in range(count)]
        inner = self.memory(64, np.array([*given, 0], np.int64).tobytes())
        outer = self.memory(16, np.array([inner, 0], np.int64).tobytes())
        results = self.memory(64, bytes(64))
        lists = self.memory(16, np.array([results, 0], np.int64).tobytes())
        outer, lists = (0 if self.random.random() < 0.05 else each for each in (outer, lists))
        devices = 1 if self.random.random() < 0.9 else self.number()
        kept = pjrt.Arguments(0, 0, 0, 0, 0, self.memory(64), self.random.randrange(3))
        self.kept.append(kept)
        options = ctypes.addressof(kept.memory) if self.random.random() < 0.5 else 0
        done = self.memory(16, bytes(16)) if self.random.random() < 0.5 else 0
        device = self.handle("device") if self.random.random() < 0.1 else 0
        words = [self.handle("loaded"), options, outer, devices, count, lists, done, device]
        self.after = (results, done)
        return words

    def run(self, calls: int) -> None:
        """Make a number of calls; print the name of each before it is made."""
        names = [name for name in pjrt.NAMES if name not in (*pjrt.SILENT, "Client_Create")]
        makers = [name for name in MADE if name in names] + ["LoadedExecutable_Execute"] * 3
        for _ in range(calls):
            rare = self.random.random() < 0.01
            name = self.random.choice(names if self.random.random() < 0.7 else makers)
            if name in RARE and not rare:
                continue
            print(name, flush=True)
            self.after = (0, 0)
            self.call(name)
            for place, kind in zip(self.after, ("buffer", "event"), strict=True):
                found = ctypes.c_int64.from_address(place).value if place else 0
                if found:
                    self.handles[kind].append(found)
            # Few clients, as programs take buffers of their own client alone.
            if not self.handles["client"] or self.random.random() < 0.002:
                self.handles["client"].append(pjrt.client())


def find_forbidden_end(seed: int, calls: int) -> str:
    """Return the last call of a seed's process if it crashed or hung, else an empty text."""
    command = [sys.executable, __file__, "--seed", str(seed), str(calls)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent
    )
    if done.returncode == 0:
        return ""
    called = done.stdout.splitlines()
    return f"seed {seed}: {done.returncode} after {len(called)} calls, {called[-1:]}\n{done.stderr}"


if __name__ == "__main__":
    if sys.argv[1] == "--seed":
        caller = Caller(int(sys.argv[2]))
        caller.run(int(sys.argv[3]))
        counts = {kind: len(each) for kind, each in caller.handles.items()}
        print("errors", caller.errors, counts)
        print(json.dumps(caller.went_well))
    else:
        calls = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
        wrong = [
            find_forbidden_end(seed, calls) for seed in range(int(sys.argv[1]), int(sys.argv[2]))
        ]
        print(*filter(None, wrong), sep="\n")
        print(f"{len(wrong)} processes, {len([each for each in wrong if each])} ended")
