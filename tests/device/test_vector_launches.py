"""Launches whose fibers run several threads each: which entry runs which group, and how it ends.

The entries are written by hand, in place of those that are made of a kernel: they find what every
entry finds.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from metalbench import _core
from metalbench.msl import engine
from metalbench.msl.toolchain.clang import find_toolchain, list_flags

# What this does is not what runs.
SOURCE = """
kernel void by_hand(device uint* out, device uint* more) {
  metal::simdgroup_barrier(metal::mem_flags::mem_none);
}
"""
ENTRY = """
extern "C" const bool mb_vector_rows = ROWS;
using namespace mb;
extern "C" void mb_vector_body(const Launch* launch, const Group* group, u8* arena, u32 index, u32 x,
                               u32 y, u32 z, u32 simdgroup, const u32* positions, u32 live) noexcept {
  const Dim3 size = launch->threads_per_threadgroup, grid = launch->threads_per_grid;
  u32* out = (u32*)launch->buffers[0];
  u32* more = (u32*)launch->buffers[1];
  u32* shared = (u32*)arena;
  BODY
}
"""
EACH_THREAD = """
  for (u32 lane = 0; lane < WIDTH; ++lane) {
    if (!(live >> lane & 1)) continue;
    const u32 at[3] = {ROWS ? x + lane : positions[lane], ROWS ? y : positions[32 + lane],
                       ROWS ? z : positions[64 + lane]};
    const Dim3 first{group->position.x * size.x, group->position.y * size.y, group->position.z * size.z};
    const u32 place = ((first.z + at[2]) * grid.y + first.y + at[1]) * grid.x + first.x + at[0];
    if (place >= grid.x * grid.y * grid.z) continue;
    WORK
  }
"""


@dataclass(frozen=True)
class ByHand(engine.CompiledKernel):
    """A kernel whose entries are compiled from a text with ROWS and WIDTH in it."""

    body: str = ""
    folder: Path = Path()
    asked: list[tuple[int, bool]] = field(default_factory=list)

    def entry(self, width: int, rows: bool) -> str:
        self.asked.append((width, rows))
        target = self.folder / f"{width}-{rows}.so"
        text = self.lowered + ENTRY.replace("BODY", self.body)
        text = text.replace("ROWS", str(rows).lower()).replace("WIDTH", str(width))
        tools = find_toolchain()
        options = [
            *list_flags(checked=False, fast_math=True),
            *tools.include_flags,
            "-DMB_VECTOR=1",
        ]
        made = target.with_suffix(".o")
        clang = [*tools.clang, "-x", "c++", *options, "-c", "-o", str(made), "-"]
        subprocess.run(clang, input=text, text=True, check=True)
        subprocess.run([*tools.linker, "-shared", "-o", str(target), str(made)], check=True)
        return str(target)


Compile = Callable[..., tuple[_core.Pipeline, list[tuple[int, bool]]]]


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Compile:
    """Compile the kernel to entries with this body; also gives the shapes that are asked for."""
    build = engine.build

    def compile_entries(body: str, kind: type[ByHand] = ByHand):
        asked: list[tuple[int, bool]] = []
        folder = Path(mkdtemp(dir=tmp_path))

        def instead(*arguments, **options) -> ByHand:
            plain = build(*arguments, **options)
            same = {each.name: getattr(plain, each.name) for each in fields(engine.CompiledKernel)}
            same |= {"engine": "vectors", "reason": "", "widths": (32, 16, 8)}
            return kind(**same, body=body, folder=folder, asked=asked)

        monkeypatch.setattr(engine, "build", instead)
        return _core.open("cpu").compile(SOURCE).pipeline(), asked

    return compile_entries


def _run(pipeline: _core.Pipeline, grid: tuple, threads: tuple, **options) -> tuple:
    out, more = (np.zeros(grid[::-1], np.uint32) for _ in range(2))
    dispatch = _core.Dispatch(
        pipeline, {"out": out, "more": more}, threads_in_grid=grid, threads=threads
    )
    _core.open("cpu").run([dispatch], **options)
    return out, more


def _place(grid: tuple, threads: tuple) -> np.ndarray:
    """Return the expected place of every thread, as the entries write it."""
    z, y, x = np.indices(grid[::-1])
    at = [axis % size for axis, size in zip((x, y, z), threads, strict=True)]
    group = [axis - own for axis, own in zip((x, y, z), at, strict=True)]
    wide, high = (np.minimum(threads[i], grid[i] - group[i]) for i in range(2))  # fewer at the edge
    index = (at[2] * high + at[1]) * wide + at[0]
    return (((at[0] * 200 + at[1]) * 10 + at[2]) * 1024 + index).astype(np.uint32)


@pytest.mark.parametrize(
    ("grid", "threads", "whole", "edge"),
    [
        ((256, 1, 1), (64, 1, 1), (32, True), None),
        ((100, 1, 1), (64, 1, 1), (32, True), (32, False)),
        ((120, 3, 1), (48, 2, 1), (16, True), (8, True)),
        ((40, 1, 1), (64, 1, 1), None, (8, True)),
        ((20, 20, 3), (8, 8, 2), (8, True), (32, False)),
        ((11, 16, 7), (5, 7, 3), (32, False), (32, False)),
        ((1024, 2, 1), (1024, 1, 1), (32, True), None),
        ((16, 130, 1), (8, 128, 1), (8, True), None),
        ((4, 300, 1), (3, 300, 1), (32, False), (32, False)),
    ],
)
def test_every_thread_runs_once_in_its_place(by_hand, grid, threads, whole, edge):
    work = """
      out[place] += (ROWS ? 20000 : 10000) + 100 * WIDTH + 1;
      more[place] += ((at[0] * 200 + at[1]) * 10 + at[2]) * 1024 + index + lane;
    """
    pipeline, asked = by_hand(EACH_THREAD.replace("WORK", work))
    out, more = _run(pipeline, grid, threads)
    np.testing.assert_array_equal(more, _place(grid, threads))
    last = grid[0] // threads[0] * threads[0]
    for part, shape in ((out[..., :last], whole), (out[..., last:], edge)):
        if shape is not None:
            width, rows = shape
            assert (part == (20000 if rows else 10000) + 100 * width + 1).all()
    assert asked == list(dict.fromkeys(shape for shape in (whole, edge) if shape is not None))


def test_an_entry_is_built_once(by_hand):
    pipeline, asked = by_hand(EACH_THREAD.replace("WORK", "out[place] += 1;"))
    for grid in (64, 128, 96):
        assert (_run(pipeline, (grid, 1, 1), (32, 1, 1))[0] == 1).all()
    assert asked == [(32, True)]


def test_a_shape_may_have_a_fiber_for_each_thread(by_hand):
    class OfThreads(ByHand):
        def entry(self, width: int, rows: bool) -> str:
            source = """
                kernel void one_by_one(device uint* out, device uint* more,
                                       uint t [[thread_position_in_grid]]) {
                  metal::simdgroup_barrier(metal::mem_flags::mem_none);
                  out[t] = t + 1;
                }"""
            return build(engine.parse(source), "one_by_one").path

    build = engine.build

    pipeline, _ = by_hand("", OfThreads)
    out, _ = _run(pipeline, (96, 1, 1), (32, 1, 1))
    np.testing.assert_array_equal(out.ravel(), np.arange(1, 97))


@pytest.mark.parametrize("threads", [(32, 1, 1), (256, 1, 1), (8, 128, 1), (5, 7, 3)])
def test_fibers_meet_at_barriers(by_hand, threads):
    body = """
      const u32 own = index / WIDTH;
      u32 seen = 0;
      for (u32 round = 1; round <= 3; ++round) {
        shared[own] = round * (own + 1);
        mb_vector_meet();
        u32 sum = 0;
        for (u32 i = 0; i < group->fibers; ++i) sum += shared[i];
        seen = seen * 10 + sum / round;
        mb_vector_meet();
      }
    """ + EACH_THREAD.replace("WORK", "out[place] += seen; more[place] += group->fibers;")
    out, more = _run(by_hand(body)[0], (threads[0] * 3, *threads[1:]), threads)
    fibers = more.flat[0]
    assert (more == fibers).all()
    assert fibers == -(-int(np.prod(threads)) // (8 if threads[0] == 8 else 32))
    assert (out == 111 * (fibers * (fibers + 1) // 2)).all()


@pytest.mark.parametrize("threads", [32, 256])
def test_threadgroups_can_wait_for_each_other(by_hand, threads):
    body = """
      if (index == 0) {
        __atomic_fetch_add(more, 1u, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(more, __ATOMIC_SEQ_CST) < launch->threadgroups_per_grid.x) spin();
      }
      mb_vector_meet();
    """ + EACH_THREAD.replace("WORK", "out[place] += 1;")
    out, _ = _run(by_hand(body)[0], (threads * 24, 1, 1), (threads, 1, 1))
    assert (out == 1).all()


def test_a_fault_names_the_simdgroup(by_hand):
    body = "if (group->position.x == 1 && index == 64) *(volatile u32*)16 = 0;"
    pipeline, _ = by_hand(body)
    with pytest.raises(_core.KernelFault) as caught:
        _run(pipeline, (256, 1, 1), (128, 1, 1))
    assert "invalid address 0x10" in str(caught.value)
    assert str(caught.value).endswith("by SIMD-group 2 of threadgroup (1, 0, 0)")
    pipeline, _ = by_hand(EACH_THREAD.replace("WORK", "out[place] += 1;"))
    assert (_run(pipeline, (256, 1, 1), (128, 1, 1))[0] == 1).all()


@pytest.mark.parametrize("loop", ["more[0] += 1;", "mb_vector_meet();", "spin();"])
def test_an_endless_kernel_is_ended(by_hand, loop):
    pipeline, _ = by_hand(f"for (volatile u32 i = 0; i < 1; ) {{ {loop} }}")
    with pytest.raises(_core.TimeLimitExceeded, match="time limit of 0.2 s reached"):
        _run(pipeline, (256, 1, 1), (128, 1, 1), time_limit=0.2)
