from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from metalbench.errors import DeclarationError, TaskError
from metalbench.kernel.library import Library, find
from metalbench.store.result import DeviceFacts

HEADER = "// {0}.\n// dispatch: f threadgroups=(1) threads=(1)\n"
TASK = '''
"""Twice x."""
from metalbench.task import normal, output, task

@task(sizes=dict(seed=dict(n=8)), inputs=dict(x=normal("n")), outputs=dict(y=output("n")),
      oracle=lambda x: 2 * x, flops="n")
def twice(x):
    return 2 * x
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "twice.py").write_text(TASK)
    (tmp_path / "twice.metal").write_text(HEADER.format("Plain"))
    return tmp_path


def test_the_library_has_its_sets():
    library = Library()
    assert len(library) >= 20
    assert {"relu", "sqr_mm"} <= set(library.names("common"))
    assert "add_norm" in library.names("standard")
    assert "transformer_block" in library.names("full")


def test_an_edited_task_is_read_again(folder):
    """The text has the same length and time stamp, which Python's bytecode cache compares."""
    first = Library([folder]).entry("twice").task
    stamp = (folder / "twice.py").stat()
    (folder / "twice.py").write_text(TASK.replace("2 * x, flops", "3 * x, flops"))
    os.utime(folder / "twice.py", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    second = Library([folder]).entry("twice").task
    assert (first.oracle(1), second.oracle(1)) == (2, 3)


@pytest.mark.whole
@pytest.mark.parametrize("entry", list(Library()), ids=lambda each: each.name)
def test_every_task_has_a_kernel_and_a_description(entry):
    assert entry.kernel().dispatches
    assert entry.description.endswith(".")


def test_listing_imports_neither_mlx_nor_scipy():
    code = """
import sys
import metalbench
assert not {'numpy', 'scipy', 'mlx', 'mlx.core'} & set(sys.modules), 'import metalbench'
from metalbench.kernel.library import Library
assert all(each.description for each in Library())
import metalbench.verify, metalbench.kernel.prepare
assert not {'scipy', 'mlx', 'mlx.core', 'ml_dtypes'} & set(sys.modules), 'listing'
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_folder_adds_a_task(folder):
    entry = Library([folder]).entry("twice")
    assert (entry.set, entry.description) == ("user", "Twice x.")
    assert entry.task.name == "twice"
    assert entry.kernel().description == "Plain."


def test_a_folder_overrides_a_kernel(tmp_path):
    (tmp_path / "relu.metal").write_text(HEADER.format("Mine"))
    entry = Library([tmp_path]).entry("relu")
    assert entry.kernel().description == "Mine."
    assert entry.set == "common"
    assert Library().entry("relu").kernel().description != "Mine."


def test_a_folder_that_changes_a_task_keeps_its_kernel(folder, tmp_path):
    changed = tmp_path / "changed"
    changed.mkdir()
    (changed / "twice.py").write_text(TASK.replace("n=8", "n=16"))
    entry = Library([folder, changed]).entry("twice")
    assert entry.task.sizes["seed"] == {"n": 16}
    assert entry.kernel().description == "Plain."


def on_chip(chip: str | None) -> DeviceFacts:
    return DeviceFacts("metal", "A GPU", chip, 10)


def test_a_kernel_of_a_folder_wins_over_a_more_special_one_of_the_library(folder, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (folder / "twice.m4.metal").write_text(HEADER.format("For M4"))
    (mine / "twice.metal").write_text(HEADER.format("Mine"))
    assert Library([folder, mine]).entry("twice").kernel(on_chip("m4")).description == "Mine."


@pytest.mark.parametrize(
    ("chip", "description"),
    [
        (None, "Plain."),
        ("m3", "Plain."),
        ("m4", "For M4."),
        ("m4_max", "Max."),
        ("m4_pro", "For M4."),
    ],
)
def test_the_most_special_kernel_for_a_chip_wins(folder, chip, description):
    (folder / "twice.m4.metal").write_text(HEADER.format("For M4"))
    (folder / "twice.m4_max.metal").write_text(HEADER.format("Max"))
    assert Library([folder]).entry("twice").kernel(on_chip(chip)).description == description


VARIANT = HEADER.format("With tensors") + "// std: metal4.0\n// dtypes: float16, float32\n"
LINES = "// preferred: m5\n// preferred: h100 float16\n"


@pytest.fixture
def with_variant(folder):
    (folder / "twice.metal4.metal").write_text(VARIANT + LINES)
    return Library([folder]).entry("twice")


@pytest.mark.parametrize(
    ("standard", "description", "version"),
    [
        ("", "Plain.", ""),
        ("metal3.2", "Plain.", "metal3.2"),
        ("metal4.0", "With tensors.", "metal4.0"),
        ("metal4.1", "With tensors.", "metal4.1"),
    ],
)
def test_the_version_of_the_language_chooses_a_variant(
    with_variant, standard, description, version
):
    kernel = with_variant.kernel(standard=standard)
    assert (kernel.description, kernel.standard) == (description, version)


@pytest.mark.parametrize(
    ("device", "dtype", "is_variant"),
    [
        (DeviceFacts("metal", "A GPU", "m5_max", 40, {"tensors": True}), "float32", True),
        (DeviceFacts("metal", "A GPU", "m5_max", 40, {"tensors": True}), None, True),
        # An M5 with a macOS that has no Metal 4.
        (DeviceFacts("metal", "A GPU", "m5_max", 40, {"tensors": False}), "float32", False),
        (DeviceFacts("metal", "A GPU", "m4", 10, {"tensors": True}), "float32", False),
        # The variant is not written for bfloat16.
        (DeviceFacts("metal", "A GPU", "m5", 10, {"tensors": True}), "bfloat16", False),
        (DeviceFacts("cuda", "A GPU", "h100", 132), "float16", True),
        (DeviceFacts("cuda", "A GPU", "h100", 132), "float32", False),
        (DeviceFacts("cuda", "A GPU", "h100", 132), None, False),
        (DeviceFacts("cpu", "A processor", None, 2), "float16", False),
    ],
)
def test_a_variant_is_chosen_on_the_devices_that_prefer_it(with_variant, device, dtype, is_variant):
    assert with_variant.kernel(device, dtype=dtype).variant == ("metal4" if is_variant else "")
    assert with_variant.kernel(device, dtype=dtype, standard="metal3.1").variant == ""


def test_a_kernel_for_one_chip_wins_over_a_variant(folder, with_variant):
    (folder / "twice.m5.metal").write_text(HEADER.format("For M5"))
    device = DeviceFacts("metal", "A GPU", "m5", 10, {"tensors": True})
    assert Library([folder]).entry("twice").kernel(device).description == "For M5."


def test_a_kernel_of_a_folder_hides_the_variant_of_the_library(folder, with_variant, tmp_path):
    mine, other = tmp_path / "mine", tmp_path / "other"
    for each in (mine, other):
        each.mkdir()
    (mine / "twice.metal").write_text(HEADER.format("Mine"))
    (other / "twice.metal4.metal").write_text(VARIANT.replace("With", "Own"))
    found = Library([folder, mine]).entry("twice").kernel(standard="metal4.0")
    assert found.description == "Mine."
    found = Library([folder, other]).entry("twice").kernel(standard="metal4.0")
    assert found.description == "Own tensors."


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("twice.metal4.metal", HEADER.format("No version"), "expected the line `// std: metal4.0`"),
        ("twice.metal", VARIANT + LINES, ":5: `// preferred:` is for a variant"),
        ("twice.metal4.metal", VARIANT + "// preferred: m5 half\n", "float16"),
        ("twice.metal4.metal", VARIANT + "// preferred: apple\n", "cpu, cuda, metal or a chip"),
        ("twice.metal4.metal", VARIANT + "// prefered: m5\n", "did you mean 'preferred'?"),
    ],
)
def test_a_wrong_header_of_a_variant_is_refused(folder, file, text, words):
    (folder / file).write_text(text)
    with pytest.raises(DeclarationError, match=re.escape(words)):
        Library([folder]).entry("twice").kernel(standard="metal4.0")


def test_a_file_may_name_the_kernel_of_another_task(folder):
    (folder / "again.py").write_text(TASK.replace("def twice", "def again"))
    (folder / "again.metal").write_text(f"// kernel: ../{folder.name}/twice.metal\n")
    entry = Library([folder]).entry("again")
    kernel, other = entry.kernel(), Library([folder]).entry("twice").kernel()
    assert (kernel.name, kernel.path, kernel.source) == ("again", other.path, other.source)
    (folder / "again.metal").write_text("// kernel: nowhere.metal\n")
    with pytest.raises(DeclarationError, match=r"\[again\] .*nowhere.metal cannot be read"):
        entry.kernel()


def test_problems_of_suites_are_marked_as_unsolved(tmp_path):
    (tmp_path / "kb1_100_hinge_loss.metal").write_text(HEADER.format("Mine"))
    library = Library([tmp_path])
    entry, other = library.entry("kb1_100_hinge_loss"), library.entry("relu")
    assert entry.kernel().description == "Mine."
    assert not entry.unsolved
    assert not other.unsolved
    # Only those of suites: the library has kernels of all others.
    assert replace(entry, kernel_paths=[]).unsolved
    assert not replace(other, kernel_paths=[]).unsolved


def test_an_unknown_name_is_reported_with_a_suggestion(tmp_path):
    with pytest.raises(DeclarationError, match="unknown kernel 'sofmax'; did you mean 'softmax'"):
        find(["sofmax"])
    with pytest.raises(DeclarationError, match="unknown kernel 'xyzzy'; `metalbench list`"):
        find(["xyzzy"])
    with pytest.raises(DeclarationError, match=r"unknown kernel '.*'; it is a folder: --kernels "):
        find([str(tmp_path)])
    with pytest.raises(DeclarationError, match="unknown set 'comon'; did you mean 'common'"):
        find([], "comon")


def test_a_kernel_without_a_task_is_an_error_when_it_is_used(tmp_path):
    (tmp_path / "sofmax.metal").write_text(HEADER.format("Mine"))
    entry = Library([tmp_path]).entry("sofmax")
    assert entry.kernel().name == "sofmax"
    for use in (lambda: entry.task, lambda: entry.description):
        with pytest.raises(TaskError, match=r"\[sofmax\] .* did you mean 'softmax'.*sofmax.py"):
            use()


def test_a_task_without_a_kernel_is_an_error_when_it_is_used(folder):
    (folder / "twice.metal").unlink()
    with pytest.raises(DeclarationError, match=r"\[twice\] no kernel; write twice.metal next to"):
        Library([folder]).entry("twice").kernel()


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(DeclarationError, match="expected a folder, found none"):
        Library([tmp_path / "none"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nimport nonesuch", r"twice.py:2 cannot be imported: ModuleNotFoundError: .*nonesuch"),
        ("\n\n1 +", r"twice.py:3: SyntaxError"),
        ("raise SystemExit(1)", r"twice.py:1 cannot be imported: SystemExit: 1"),
        ("x = 1", "expected a function 'twice' under @task"),
        (TASK.replace("seed=", "small="), r"\[twice\] headline: no size 'seed'.*twice\.py:\d+\)"),
        (TASK.replace('output("n")', 'output("m")'), "unknown name 'm'"),
        (TASK.replace("lambda x", "lambda z"), r"oracle: expected the arguments \(x\), got \(z\)"),
        (TASK.replace("dict(n=8)", "dict(n=8, x=1)"), "'x' names two things"),
        (TASK.replace('flops="n"', 'flops="n +"'), "column 4: expected a number"),
    ],
)
def test_a_wrong_task_file_is_reported(folder, text, message):
    (folder / "twice.py").write_text(text)
    entry = Library([folder]).entry("twice")
    with pytest.raises(DeclarationError, match=message):
        entry.task  # noqa: B018 - imports the file


def test_names_lists_families_only_on_request(tmp_path):
    for folder, name in (("common", "softmax"), ("families/attention", "decode")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{name}.py").write_text('"""A task."""\n')
    (tmp_path / "families/attention/also.txt").write_text("softmax\n")
    library = Library(root=tmp_path)
    assert library.names() == ["softmax"]
    assert library.names("all") == ["softmax", "decode"]
    for name in ("attention", "families/attention"):
        assert library.names(name) == ["softmax", "decode"]
    assert library.names("families") == ["decode"]
    assert {"attention", "families", "families/attention", "all"} <= set(library.sets())
    assert library.entry("decode").name == "decode"
