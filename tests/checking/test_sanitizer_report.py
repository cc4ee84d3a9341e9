"""Reports of compute-sanitizer, in the forms of its manual."""

from __future__ import annotations

from metalbench.checking.sanitizer import SanitizerReport, parse_reports

OUT_OF_BOUNDS = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at out_of_bounds_function()+0xb0 in memcheck_demo.cu:39
=========     by thread (0,1,0) in block (2,0,0)
=========     Address 0x87654320 is out of bounds
=========     and is 137,179,965,340,896 bytes \
before the nearest allocation at 0x7cc4 of size 1,024 bytes
=========         Device Frame: out_of_bounds_kernel()+0x30 in memcheck_demo.cu:44
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: run_out_of_bounds() [0xadb6] in memcheck_demo
=========         Host Frame: main [0xae66] in memcheck_demo
=========
========= ERROR SUMMARY: 1 error
"""
WITHOUT_LINES = """\
========= Invalid __global__ write of size 16 bytes
=========     at unaligned_kernel()+0x50
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x710fdca00001 is misaligned
"""
RACE = """\
========= Error: Race reported between Write access at \
sumKernel(int *, int *)+0x90 in a/block_error.cu:41
=========     and Read access at sumKernel(int *, int *)+0x100 \
in a/block_error.cu:51 [1,508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
UNINITIALISED = """\
========= Uninitialized __global__ memory read of size 4 bytes
=========     at vectorAdd(int *)+0x70 in /home/a b/memset_error.cu:41
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000fc
"""
BARRIER = """\
========= Barrier error detected. Divergent thread(s) in warp
=========     at ThreadDivergence(int *, int)+0xf0 in divergence.cu:79
=========     by thread (37,0,0) in block (0,0,0)
"""
NONE = """\
========= COMPUTE-SANITIZER
========= Warning: Detected overflow of tracked cuda::barrier structures.
========= ERROR SUMMARY: 0 errors
"""


def only(text: str) -> SanitizerReport:
    (report,) = parse_reports(text)
    return report


def test_an_access_has_its_place_its_address_and_its_thread() -> None:
    told = only(OUT_OF_BOUNDS)
    assert (told.kind, told.what, told.memory) == ("out-of-bounds", "write of 4 bytes", "global")
    assert [(each.function, each.file, each.line) for each in told.frames] == [
        ("out_of_bounds_function", "memcheck_demo.cu", 39),
        ("out_of_bounds_kernel", "memcheck_demo.cu", 44),
    ]
    assert (told.address, told.thread, told.block) == (0x87654320, (0, 1, 0), (2, 0, 0))


def test_parse_reports_reads_addresses_of_both_wordings() -> None:
    text = OUT_OF_BOUNDS.replace("Address 0x87654320", "Access to 0x87654320")
    assert only(text).address == 0x87654320


def test_code_without_lines_has_no_frames() -> None:
    told = only(WITHOUT_LINES)
    assert (told.kind, told.what, told.frames) == ("misaligned", "write of 16 bytes", ())


def test_a_race_has_both_places_and_how_often() -> None:
    told = only(RACE)
    assert (told.kind, told.what, told.other, told.count) == ("race", "write", "read", 1508)
    assert [each.line for each in told.frames] == [41]
    assert told.other_frame is not None
    assert (told.other_frame.file, told.other_frame.line) == ("a/block_error.cu", 51)


def test_parse_reports_reads_an_uninitialised_read() -> None:
    told = only(UNINITIALISED)
    assert told.kind == "uninitialised"
    assert told.what == "read of 4 bytes that nothing has written"
    assert (told.frames[0].file, told.frames[0].line) == ("/home/a b/memset_error.cu", 41)


def test_parse_reports_reads_the_reason_of_a_barrier_error() -> None:
    told = only(BARRIER)
    assert (told.kind, told.what) == ("barrier", "divergent thread(s) in warp")
    assert (told.frames[0].line, told.thread) == (79, (37, 0, 0))


def test_parse_reports_keeps_order_and_skips_remarks() -> None:
    text = NONE + OUT_OF_BOUNDS + BARRIER + RACE
    assert [each.kind for each in parse_reports(text)] == ["out-of-bounds", "barrier", "race"]
    assert parse_reports(NONE) == []
