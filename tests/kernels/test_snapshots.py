"""The library's kernels compute the bits that kernels/snapshots.json has hashes of.

Without -m slow a sample of them; `metalbench snap` compares all.
"""

from __future__ import annotations

import hashlib
import platform
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from short_form import is_in_sample

from metalbench.kernel.library import Entry, Library
from metalbench.kernel.source_files import library_folder
from metalbench.store.snapshot import Change, Snapshots, take_snapshots

LIBRARY = Library()
FILE = library_folder() / "snapshots.json"
CASES = [
    (LIBRARY.entry(name), dtype)
    for name in LIBRARY.names("all")
    for dtype in LIBRARY.entry(name).kernel().dtypes
]
# Bits are promised on x86-64. Another architecture's compiler may order differently what
# `// math: fast` lets it order.
IS_X86_64 = platform.machine() == "x86_64"
QUICK = 4  # the sample of the short form has one case in this number
# `digest_numpy()` where kernels/snapshots.json was written.
DIGEST_OF_NUMPY = "4a3d9c38169e7001"


def digest_numpy() -> str:
    """Return a hash of numbers that NumPy draws and computes as the tasks' inputs are."""
    random = np.random.Generator(np.random.Philox(0))
    drawn = [
        random.standard_normal(4096),
        random.random(4096),
        random.uniform(-1, 1, 4096),
        random.gumbel(size=4096),
        random.integers(0, 1000, 4096),
        random.permutation(4096),
        random.choice(4096, 100, replace=False),
    ]
    positive = drawn[1] + 0.5
    functions = (np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh)
    computed = [f(positive.astype(t)) for f in functions for t in (np.float32, np.float64)]
    digest = hashlib.sha256()
    for array in drawn + computed:
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]


def by_speed() -> Iterator[object]:
    for entry, dtype in CASES:
        name = f"{entry.name}-{dtype}"
        marks = () if is_in_sample(name, QUICK) else pytest.mark.slow
        yield pytest.param(entry, dtype, id=name, marks=marks)


def test_the_file_has_every_kernel_in_every_type_and_no_other() -> None:
    known = Snapshots.read(FILE)
    assert Counter(known.cases()) == Counter((entry.name, dtype) for entry, dtype in CASES)


@pytest.mark.parametrize(("entry", "dtype"), list(by_speed()))
def test_a_kernel_computes_the_bits_it_did(entry: Entry, dtype: str) -> None:
    (found,) = take_snapshots([(entry, dtype)])
    assert found.fault == ""
    change = Snapshots.read(FILE).change(found)
    if IS_X86_64 and change is Change.OTHER_INPUTS and digest_numpy() == DIGEST_OF_NUMPY:
        pytest.fail(
            f"{entry.name} {dtype}: expected the inputs of {FILE.name}, got others from the same "
            "NumPy. If the task's inputs are meant to change: "
            f"metalbench snap {entry.name} --write"
        )
    if IS_X86_64 and change is not Change.OTHER_INPUTS:
        assert change is Change.SAME
    else:
        # The file has no outputs to compare with: another run has.
        (again,) = take_snapshots([(entry, dtype)])
        assert again == found


@pytest.mark.skipif(not IS_X86_64, reason="bits are promised on x86-64")
def test_other_inputs_of_the_same_numpy_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Snapshots, "change", lambda *_: Change.OTHER_INPUTS)
    entry = LIBRARY.entry("relu")
    monkeypatch.setitem(globals(), "DIGEST_OF_NUMPY", digest_numpy())
    with pytest.raises(pytest.fail.Exception, match="metalbench snap relu --write"):
        test_a_kernel_computes_the_bits_it_did(entry, "float32")
    monkeypatch.setitem(globals(), "DIGEST_OF_NUMPY", "another")
    test_a_kernel_computes_the_bits_it_did(entry, "float32")
