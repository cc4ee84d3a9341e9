"""Call PJRT's C API through ctypes as a careless caller would, without JAX.

Each function is one test; the name is the argument. Every misuse must come back as an error with a
message. A crash ends this process, not the test process.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import random
import struct
import sys
import traceback

import numpy as np
import pytest

from metalbench.hlo.plugin import _pjrt

NAMES = [name.removeprefix("PJRT_") for name in _pjrt.functions]
SLOT = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
HEAD, WORD = 16, 8
# These functions return no error.
SILENT = ("Error_Destroy", "Error_Message")
INVALID_ARGUMENT, UNIMPLEMENTED = 3, 12
F32 = 11

_library = ctypes.CDLL(_pjrt.__file__)
_library.GetPjrtApi.restype = ctypes.c_void_p
_table = _library.GetPjrtApi()
_slots = (ctypes.c_void_p * len(NAMES)).from_address(_table + HEAD + 24)
API = {name: SLOT(slot) for name, slot in zip(NAMES, _slots, strict=True)}


class Refused(Exception):  # noqa: N818 - what an error of the API is here
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Arguments:
    """A structure of arguments: its size, no extensions, and words of eight bytes."""

    def __init__(self, *words, size=None, room=512):
        self.memory = ctypes.create_string_buffer(room)
        size = HEAD + WORD * len(words) if size is None else size
        struct.pack_into(f"<QQ{len(words)}q", self.memory, 0, size, 0, *words)

    def __getitem__(self, number):
        return struct.unpack_from("<q", self.memory, HEAD + WORD * number)[0]


def message_of(error):
    asked = Arguments(error, 0, 0)
    API["Error_Message"](asked.memory)
    return ctypes.string_at(asked[1], asked[2]).decode()


def call(name, *words, **sizes):
    """Call a function; return its arguments, or raise Refused. Errors are destroyed."""
    arguments = Arguments(*words, **sizes)
    error = API[name](arguments.memory)
    if error:
        asked = Arguments(error, 0)
        assert not API["Error_GetCode"](asked.memory)
        code, message = asked[1] & 0xFFFFFFFF, message_of(error)
        API["Error_Destroy"](Arguments(error).memory)
        raise Refused(code, message)
    return arguments


def refusal(name, *words, **sizes):
    """Return the code and message of the error of a call that must fail."""
    with pytest.raises(Refused) as found:
        call(name, *words, **sizes)
    return found.value.code, str(found.value)


def client():
    """Create a client of the CPU device."""
    key, value = ctypes.create_string_buffer(b"device"), ctypes.create_string_buffer(b"cpu")
    option = struct.pack(
        "<QQQQiiQQ", 56, 0, ctypes.addressof(key), 6, 0, 0, ctypes.addressof(value), 3
    )
    kept = ctypes.create_string_buffer(option)
    return call("Client_Create", ctypes.addressof(kept), 1, 0, 0, 0, 0, 0)[6]


def buffer(of, array, *, kind=F32, strides=None, shape=None):
    """Copy an array to the device."""
    shape = array.shape if shape is None else shape
    dims = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    steps = (ctypes.c_int64 * max(len(strides or ()), 1))(*(strides or ()))
    words = [of, array.ctypes.data, kind, ctypes.addressof(dims), len(shape)]
    words += [ctypes.addressof(steps) if strides else 0, len(strides or ()), 0, 0, 0, 0, 0, 0]
    made = call("Client_BufferFromHostBuffer", *words)
    call("Event_Destroy", made[11])
    return made[12]


def elements(of, count):
    """Return the elements of a float32 buffer."""
    found = np.zeros(count, np.float32)
    done = call("Buffer_ToHostBuffer", of, 0, found.ctypes.data, found.nbytes, 0)[4]
    call("Event_Destroy", done)
    return found


def compile_text(of, text, form=b"mlir"):
    code, kept = ctypes.create_string_buffer(text), ctypes.create_string_buffer(form)
    words = (ctypes.addressof(code), len(text), ctypes.addressof(kept), len(form))
    program = Arguments(*words)
    return call("Client_Compile", of, ctypes.addressof(program.memory), 0, 0, 0)[4]


def execute(of, arguments, results=1, devices=1):
    given = (ctypes.c_void_p * max(len(arguments), 1))(*arguments)
    outer = (ctypes.c_void_p * 1)(ctypes.addressof(given))
    made = (ctypes.c_void_p * max(results, 1))()
    lists = (ctypes.c_void_p * 1)(ctypes.addressof(made))
    words = (of, 0, ctypes.addressof(outer), devices, len(arguments), ctypes.addressof(lists), 0, 0)
    call("LoadedExecutable_Execute", *words)
    return list(made)


DOUBLE = b"""func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32> }"""
DONATING = DOUBLE.replace(b"4xf32>)", b"4xf32> {jax.buffer_donor = true})", 1)


def the_table_has_its_version():
    size, _, version_size, _, major, minor = struct.unpack("<QQQQii", ctypes.string_at(_table, 40))
    assert (size, version_size, major, minor) == (HEAD + 24 + WORD * len(NAMES), 24, 0, 90)
    assert all(_slots)


def null_is_refused_by_every_function():
    for name in NAMES:
        if name in SILENT:
            API[name](None)
            continue
        error = API[name](None)
        assert error, name
        assert f"PJRT_{name}" in message_of(error), name


def structures_that_are_too_short_are_refused_by_every_function():
    for name in NAMES:
        for size in (0, 1, 8):
            if name not in SILENT:
                code, message = refusal(name, size=size)
                assert code in (INVALID_ARGUMENT, UNIMPLEMENTED), name
                assert f"PJRT_{name}" in message, name


def structures_full_of_nulls_crash_no_function():
    for name in NAMES:
        for size in (HEAD, HEAD + WORD, HEAD + 2 * WORD, 120, 500):
            if name in SILENT or name == "Client_Create":
                continue
            error = API[name](Arguments(size=size).memory)
            assert not error or f"PJRT_{name}" in message_of(error), name


def random_numbers_in_other_fields_crash_no_function():
    of, drawn = client(), random.Random(0)
    array, odd = np.ones(64, np.float32), (-1, 0, 1, 2, 3, 2**31, 2**62, -(2**62))
    for _ in range(300):
        kind, rank = drawn.randrange(-2, 40), drawn.randrange(3)
        shape = [drawn.choice(odd) if drawn.random() < 0.3 else 2 for _ in range(rank)]
        fits = kind == F32 and all(0 <= each <= 3 for each in shape)
        with contextlib.nullcontext() if fits else contextlib.suppress(Refused):
            call("Buffer_Destroy", buffer(of, array, kind=kind, shape=shape))
    for identifier in (-1, 1, 2**31 - 1):
        assert "device 0" in refusal("Client_LookupDevice", of, identifier, 0)[1]


def missing_functions_are_named():
    lacking = 0
    for name in NAMES:
        error = (
            None if name in (*SILENT, "Client_Create") else API[name](Arguments(size=500).memory)
        )
        if error and "does not have this function" in message_of(error):
            assert f"PJRT_{name}" in message_of(error)
            lacking += 1
    assert 0 < lacking < 40, lacking


def a_program_runs_on_buffers_with_strides():
    of = client()
    array = np.arange(8, dtype=np.float32)
    given = buffer(of, array[::-2], strides=(-8,), shape=(4,))
    np.testing.assert_array_equal(elements(given, 4), [7, 5, 3, 1])
    (found,) = execute(compile_text(of, DOUBLE), [given])
    np.testing.assert_array_equal(elements(found, 4), [14, 10, 6, 2])
    call("Buffer_Destroy", given)
    call("Buffer_Destroy", found)
    call("Client_Destroy", of)


def uses_of_deleted_buffers_are_refused():
    of = client()
    given, program = buffer(of, np.ones(4, np.float32)), compile_text(of, DOUBLE)
    call("Buffer_Delete", given)
    call("Buffer_Delete", given)
    assert call("Buffer_IsDeleted", given, 0)[1] & 0xFF == 1
    for attempt in (lambda: elements(given, 4), lambda: execute(program, [given])):
        with pytest.raises(Refused, match="deleted"):
            attempt()
    event = call("Buffer_ReadyEvent", given, 0)[1]
    assert "deleted" in refusal("Event_Error", event)[1]
    call("Event_Destroy", event)
    call("Buffer_Destroy", given)


def only_a_successful_run_deletes_donated_buffers():
    of = client()
    program = compile_text(of, DONATING)
    wrong, given = buffer(of, np.ones(3, np.float32)), buffer(of, np.ones(4, np.float32))
    with pytest.raises(Refused, match="argument 0: expected tensor<4xf32>, got tensor<3xf32>"):
        execute(program, [wrong])
    assert call("Buffer_IsDeleted", wrong, 0)[1] & 0xFF == 0
    execute(program, [given])
    assert call("Buffer_IsDeleted", given, 0)[1] & 0xFF == 1


def programs_that_do_not_fit_are_refused():
    of = client()
    given, program = buffer(of, np.ones(4, np.float32)), compile_text(of, DOUBLE)
    refused = [
        ("expected 1 arguments, got 0", lambda: execute(program, [])),
        ("expected 1 arguments, got 2", lambda: execute(program, [given, given])),
        ("expected a buffer, got null", lambda: execute(program, [None])),
        ("expected one device, got 2", lambda: execute(program, [given], devices=2)),
        ("not a StableHLO program", lambda: compile_text(of, b"nonsense")),
        ("not a StableHLO program", lambda: compile_text(of, b"ML\xefR and nonsense")),
        ("expected the format mlir, got hlo", lambda: compile_text(of, DOUBLE, b"hlo")),
        ("element type f6E2M3FN", lambda: compile_text(of, DOUBLE.replace(b"f32", b"f6E2M3FN"))),
    ]
    for expected, attempt in refused:
        with pytest.raises(Refused, match=expected):
            attempt()
    np.testing.assert_array_equal(elements(execute(program, [given])[0], 4), np.full(4, 2))


def buffers_of_another_client_are_refused():
    of, another = client(), client()
    program = compile_text(of, DOUBLE)
    given = buffer(another, np.ones(4, np.float32))
    # The run of the result may be deferred, and only its own client submits it.
    result = execute(compile_text(another, DOUBLE), [given])[0]
    for each in (given, result):
        with pytest.raises(Refused, match="argument 0: expected a buffer of the executable's cl"):
            execute(program, [each])
    np.testing.assert_array_equal(elements(result, 4), np.full(4, 2))


def memory_that_is_too_small_is_not_written():
    of = client()
    given, found = buffer(of, np.ones(4, np.float32)), np.zeros(4, np.float32)
    assert call("Buffer_ToHostBuffer", given, 0, 0, 0, 0)[3] == 16
    code, message = refusal("Buffer_ToHostBuffer", given, 0, found.ctypes.data, 15, 0)
    assert (code, "expected at least 16, got 15" in message) == (INVALID_ARGUMENT, True)
    for offset, size in ((-4, 4), (4, 16), (0, -1), (2**62, 2**62)):
        refusal("Buffer_CopyRawToHost", given, found.ctypes.data, offset, size, 0)
    assert not found.any()
    call("Buffer_CopyRawToHost", given, found.ctypes.data, 8, 8, 0)
    np.testing.assert_array_equal(found, [1, 1, 0, 0])


def programs_are_loaded_from_their_own_bytes_alone():
    of = client()
    executable = call("LoadedExecutable_GetExecutable", compile_text(of, DOUBLE), 0)[1]
    kept = call("Executable_Serialize", executable, 0, 0, 0, 0)
    bytes_ = ctypes.string_at(kept[1], kept[2])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(kept[4])(kept[3])
    for wrong in (b"", b"nonsense", bytes_[:25], bytes_[:-40]):
        text = ctypes.create_string_buffer(wrong)
        words = (of, ctypes.addressof(text), len(wrong), 0, 0, 0)
        assert refusal("Executable_DeserializeAndLoad", *words)[0] == INVALID_ARGUMENT
    text = ctypes.create_string_buffer(bytes_)
    loaded = call(
        "Executable_DeserializeAndLoad", of, ctypes.addressof(text), len(bytes_), 0, 0, 0
    )[3]
    given = buffer(of, np.ones(4, np.float32))
    np.testing.assert_array_equal(elements(execute(loaded, [given])[0], 4), np.full(4, 2))


def outcome(name):
    try:
        globals()[name]()
    except BaseException:
        return traceback.format_exc()
    return None


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(json.dumps([each, outcome(each)]), flush=True)
