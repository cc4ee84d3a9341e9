// Access history of memory that threads share.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cpu/memory_check_access.h"
#include "cpu/memory_check_mark.h"
#include "cpu/memory_check_reserved.h"

namespace metalbench::cpu {

// A race: two accesses to the same bytes, at least one of them a write, not both atomic, and not
// ordered.
struct AccessConflict {
  enum class With { read, write, atomic };
  With with;
  Mark mark;
  const std::byte* at;
  const std::byte* end;
  // Whether both accesses are writes, which is harmless if they write the same value.
  bool is_write_after_write = false;
  // Lower halves of the program counters of the mark's access, and of the other access that the
  // mark knows.
  std::uint32_t pc[2] = {0, 0};
};

// Access history of a range of bytes, allocated on first touch. Marks are per word until an access
// is smaller than a word; afterwards word marks are only read.
//
// A Clock defines the order: is_over (the marked access happened before), is_own (same
// threadgroup), is_concurrent (same threadgroup without a barrier in between), is_shared (several
// workers access the region at once).
class Region {
 public:
  // Words are powers of two, at most 4 bytes.
  static constexpr std::size_t largest_word = 4;
  Region(const std::byte* begin, const std::byte* end, std::size_t word_bytes, bool is_watched);
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  [[nodiscard]] const std::byte* begin() const { return begin_; }
  [[nodiscard]] const std::byte* end() const { return end_; }

  // Read-only memory is not watched, until a write through a cast that removes `const`.
  [[nodiscard]] bool watches(const MemoryAccess& access) {
    if (is_watched_.load(std::memory_order_relaxed)) return true;
    if (access.writes()) is_watched_ = true;
    return access.writes();
  }

  // Record an access to watched memory; return the conflict with an earlier access, if any.
  template <typename Clock>
  [[nodiscard]] std::optional<AccessConflict> touch(const MemoryAccess& access, const Mark& own,
                                                    const Clock& clock) {
    if (access.atomic()) has_atomics_.store(true, std::memory_order_relaxed);
    const Words& words = words_for(access);
    std::optional<AccessConflict> conflict = find(words, access, own, clock);
    for (const Words* coarser = words.coarser; coarser != nullptr; coarser = coarser->coarser) {
      const auto other = find(*coarser, access, own, clock);
      if (conflict && conflict->is_write_after_write && other && other->is_write_after_write) {
        conflict->at = std::min(conflict->at, other->at);
        conflict->end = std::max(conflict->end, other->end);
      } else if (!conflict || (other && conflict->is_write_after_write)) {
        conflict = other;
      }
    }
    if (conflict && !conflict->is_write_after_write) return conflict;
    const auto met = note(words, access, own, clock);
    if (!conflict) conflict = met;
    if constexpr (Clock::is_shared) {
      // Two workers that access a word at the same time both record first and then check again, so
      // at least one of them sees the other.
      if (const auto other = find(words, access, own, clock, Looks::again)) return other;
    }
    return conflict;
  }

 private:
  // Program counters, stored next to each mark. For simultaneous accesses it may be that of the
  // other.
  using Place = std::atomic<std::uint32_t>;
  struct Cells {
    Cell write;
    Cell read;
    // Of the mark's own access, and of the other access that it knows.
    Place writer[2];
    Place reader[2];
  };
  static_assert(sizeof(Cells) == 32);
  struct Words {
    Words(std::size_t bytes, unsigned shift, const Words* coarser, bool is_watched);
    [[nodiscard]] std::uint64_t first(const Region& region, const MemoryAccess& access) const {
      return static_cast<std::uint64_t>(access.begin - region.origin_) >> shift;
    }
    [[nodiscard]] std::uint64_t last(const Region& region, const MemoryAccess& access) const {
      return static_cast<std::uint64_t>(access.begin + access.bytes - 1 - region.origin_) >> shift;
    }

    unsigned shift;
    const Words* coarser;
    Reserved plain;
    Reserved atomic;  // reserved address space until the first atomic access
  };

  [[nodiscard]] const Words& words_for(const MemoryAccess& access) {
    const Words& words = *words_.load(std::memory_order_acquire);
    const std::uint64_t edges = static_cast<std::uint64_t>(access.begin - origin_) | access.bytes;
    if ((edges & ((std::uint64_t{1} << words.shift) - 1)) == 0) return words;
    return refine(static_cast<unsigned>(std::countr_zero(edges)));
  }
  [[nodiscard]] const Words& refine(unsigned shift);

  template <typename Clock>
  static bool conflicts(const Mark& mark, const Mark& own, const Clock& clock) {
    if (mark == own || mark.segment() == 0 || clock.is_over(mark, own.thread())) return false;
    if (mark.by() == Mark::By::threadgroups || !clock.is_concurrent(mark.segment())) return true;
    if (mark.by() == Mark::By::simdgroups) return true;
    if (mark.by() == Mark::By::thread && mark.thread() == own.thread()) return false;
    // Lanes of one SIMD-group are in step between two synchronisations.
    return mark.simdgroup() != own.simdgroup() || mark.round() == own.round();
  }

  // Combine `own` with the concurrent accesses of the mark.
  template <typename Clock>
  static Mark joined(const Mark& mark, const Mark& own, const Clock& clock) {
    if (mark == own || mark.segment() == 0 || clock.is_over(mark, own.thread())) return own;
    if (mark.by() == Mark::By::threadgroups || !clock.is_concurrent(mark.segment())) {
      const bool is_own = mark.by() == Mark::By::threadgroups && clock.is_own(mark.segment());
      return own.with_threadgroup_of(is_own ? mark.other_segment() : mark.segment(),
                                     is_own ? mark.other_thread() : mark.thread());
    }
    if (mark.by() == Mark::By::simdgroups || mark.simdgroup() != own.simdgroup()) {
      const bool is_own = mark.simdgroup() == own.simdgroup();
      return own.with_simdgroup_of(is_own ? mark.other_thread() : mark.thread());
    }
    if (mark.round() != own.round()) return own;
    if (mark.thread() != own.thread()) return own.with_lane(mark.thread());
    return mark.by() == Mark::By::lanes ? own.with_lane(mark.other_thread()) : own;
  }

  [[nodiscard]] AccessConflict make_conflict(const Words& words, std::uint64_t i,
                                             const MemoryAccess& access, AccessConflict::With with,
                                             const Mark& mark, const Place* place) const {
    return {with,
            mark,
            std::max(access.begin, origin_ + (i << words.shift)),
            std::min(access.begin + access.bytes, origin_ + ((i + 1) << words.shift)),
            false,
            {place[0].load(std::memory_order_relaxed), place[1].load(std::memory_order_relaxed)}};
  }

  // `again`: skip the mark of the access itself.
  enum class Looks { first, again };

  template <typename Clock>
  [[nodiscard]] std::optional<AccessConflict> find(const Words& words, const MemoryAccess& access,
                                                   const Mark& own, const Clock& clock,
                                                   Looks looks = Looks::first) const {
    // Sequentially consistent with the records of other workers.
    constexpr auto order = std::memory_order_seq_cst;
    const bool sees_writes = looks == Looks::first || access.atomic() || !access.writes();
    const bool has_atomics = !access.atomic() && has_atomics_.load(std::memory_order_relaxed);
    const bool writes = access.writes();
    const std::uint64_t last = words.last(*this, access);
    std::optional<AccessConflict> found;
    for (std::uint64_t i = words.first(*this, access); i <= last; ++i) {
      const auto conflict = [&](AccessConflict::With with, const Mark& mark, const Place* place) {
        return make_conflict(words, i, access, with, mark, place);
      };
      const Cells& plain = words.plain.as<Cells>()[i];
      const Mark read = plain.read.load(order);
      if (writes && conflicts(read, own, clock))
        return conflict(AccessConflict::With::read, read, plain.reader);
      const Mark write = plain.write.load(order);
      if (sees_writes && conflicts(write, own, clock)) {
        AccessConflict now = conflict(AccessConflict::With::write, write, plain.writer);
        if (access.kind != mb::AccessKind::write) return now;
        now.is_write_after_write = true;
        if (found) now.at = found->at;
        found = now;
      }
      if (!has_atomics) continue;
      const Cells& atomic = words.atomic.as<Cells>()[i];
      const Mark update = atomic.write.load(order);
      if (conflicts(update, own, clock))
        return conflict(AccessConflict::With::atomic, update, atomic.writer);
      const Mark look = atomic.read.load(order);
      if (writes && conflicts(look, own, clock))
        return conflict(AccessConflict::With::atomic, look, atomic.reader);
    }
    return found;
  }

  // Return the write-write conflict for an access that was recorded after `find` looked.
  template <typename Clock>
  [[nodiscard]] std::optional<AccessConflict> note(const Words& words, const MemoryAccess& access,
                                                   const Mark& own, const Clock& clock) const {
    Cells* cells = (access.atomic() ? words.atomic : words.plain).as<Cells>();
    const std::uint64_t last = words.last(*this, access);
    const auto pc = reinterpret_cast<std::uintptr_t>(access.pc);
    std::optional<AccessConflict> found;
    for (std::uint64_t i = words.first(*this, access); i <= last; ++i) {
      Cell& cell = access.writes() ? cells[i].write : cells[i].read;
      Place* place = access.writes() ? cells[i].writer : cells[i].reader;
      const Mark before = exchange(cell, own, clock);
      const Mark now = joined(before, own, clock);
      if (access.writes() && !access.atomic() && conflicts(before, own, clock)) {
        AccessConflict met =
            make_conflict(words, i, access, AccessConflict::With::write, before, place);
        met.is_write_after_write = access.kind == mb::AccessKind::write;
        if (found) met.at = found->at;
        found = met;
      }
      if (now.by() != Mark::By::thread && before.thread() == now.other_thread())
        place[1].store(place[0].load(std::memory_order_relaxed), std::memory_order_relaxed);
      place[0].store(static_cast<std::uint32_t>(pc), std::memory_order_relaxed);
    }
    return found;
  }

  // Exchange a mark for that of `own` and return the old one.
  template <typename Clock>
  static Mark exchange(Cell& cell, const Mark& own, const Clock& clock) {
    Mark before = cell.load(std::memory_order_acquire);
    if constexpr (Clock::is_shared) {
      Mark now = joined(before, own, clock);
      while (now != before && !cell.compare_exchange_weak(before, now)) {
        now = joined(before, own, clock);
      }
    } else {
      cell.store(joined(before, own, clock), std::memory_order_relaxed);
    }
    return before;
  }

  const std::byte* begin_;
  const std::byte* end_;
  const std::byte* origin_;  // begin of its first word
  std::atomic<bool> is_watched_;
  std::atomic<bool> has_atomics_{false};
  std::atomic<const Words*> words_{nullptr};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Words>> all_;  // other workers may still use coarser ones
};

}  // namespace metalbench::cpu
