// One dispatch as the GPU is handed it, and the memory that only dispatches have.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "core/dispatch.h"
#include "cuda/mirror.h"
#include "cuda/ptx.h"

namespace metalbench::cuda {

// Constants and descriptions of textures: device memory that is written once.
class Table {
 public:
  explicit Table(std::shared_ptr<const Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  [[nodiscard]] Address put(std::span<const std::byte> bytes);

 private:
  std::shared_ptr<const Gpu> gpu_;
  std::vector<Address> addresses_;
};

struct Launch {
  std::shared_ptr<const Module> module;
  mb::gpu::Launch parameter{};
  Size3 grid, block;
  std::uint32_t shared_bytes = 0;

  // Puts it at the end of the stream. Nothing, where the grid is empty.
  void hand_over(const Gpu& gpu) const;
};

// Throws DispatchError for what belongs to another device, or is more than a GPU has. `storages`
// gets what the dispatch reads and writes. With `is_null`, a kernel that does nothing takes its
// place.
[[nodiscard]] Launch make_launch(const std::shared_ptr<const Gpu>& gpu, const Dispatch& dispatch,
                                 Table& table, std::set<std::shared_ptr<Mirror>>& storages,
                                 const Modules* instead);

}  // namespace metalbench::cuda
