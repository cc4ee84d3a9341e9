// Checked runs: every access of a kernel is asked about here before it happens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cpu/launch.h"
#include "msl/mb/abi.h"

namespace metalbench::cpu {

struct Access {
  const std::byte* begin;
  std::uint64_t bytes;
  mb::AccessKind kind;
  const mb::Fiber* thread;

  [[nodiscard]] bool atomic() const { return kind >= mb::AccessKind::atomic_read; }
  [[nodiscard]] bool reads() const {
    return kind != mb::AccessKind::write && kind != mb::AccessKind::atomic_write;
  }
  [[nodiscard]] bool writes() const {
    return kind != mb::AccessKind::read && kind != mb::AccessKind::atomic_read;
  }
};

// Bounds of buffers and of threadgroup memory; threadgroup memory that is read before anybody
// wrote to it; threads that read what another one writes with no barrier in between. Atomic
// accesses do not race with each other, but with all others.
class MemoryCheck {
 public:
  explicit MemoryCheck(std::uint32_t arena_capacity);

  void begin(const Launch& launch, const mb::u8* arena);
  void start_group();
  void barrier() { ++epoch_; }

  // False when the kernel must not do it; `report` then says why.
  [[nodiscard]] bool allows(const Access& access, std::span<char> report);

 private:
  // The last accesses to a byte of threadgroup memory.
  struct Cell {
    std::uint32_t epoch = 0;        // between which two barriers
    std::uint32_t write_round = 0;  // of the writer's simdgroup
    std::uint32_t read_round = 0;
    std::uint32_t atomic_round = 0;
    std::uint16_t writer = nobody;
    std::uint16_t reader = nobody;  // nobody, a thread, or many
    std::uint16_t atomic_writer = nobody;
    std::uint16_t atomic_reader = nobody;
    std::uint64_t written_by_group = 0;
  };
  static constexpr std::uint16_t nobody = 0xffff;
  static constexpr std::uint16_t many = 0xfffe;

  [[nodiscard]] bool allows_arena(const Access& access, std::span<char> report);
  [[nodiscard]] bool allows_byte(const Access& access, std::uint64_t offset,
                                 std::span<char> report) const;
  void record(const Access& access, std::uint64_t offset);
  [[nodiscard]] bool conflicts(std::uint16_t other, std::uint32_t round,
                               const mb::Fiber* thread) const;
  void report_stray(const Access& access, std::span<char> report) const;

  const Launch* launch_ = nullptr;
  const std::byte* arena_ = nullptr;
  std::size_t last_range_ = 0;
  const std::byte* module_page_ = nullptr;
  std::vector<Cell> cells_;
  std::uint32_t epoch_ = 0;
  std::uint64_t group_ = 0;
};

}  // namespace metalbench::cpu
