// One dispatch with its launch parameters, and memory that belongs to dispatches.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/dispatch.h"
#include "cuda/mirror.h"
#include "cuda/ptx.h"

namespace metalbench::cuda {

// Device memory for constants and texture descriptors, written once.
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

  // Add the launch to the end of a stream; no effect for an empty grid.
  void submit(const Gpu& gpu, Stream stream) const;
};

// Throws DispatchError for arguments of another device or beyond the GPU's limits. `storages`
// receives the memory that the dispatch reads and writes. With `is_null`, an empty kernel is
// launched.
[[nodiscard]] Launch make_launch(const std::shared_ptr<const Gpu>& gpu, const Dispatch& dispatch,
                                 Table& table, std::set<std::shared_ptr<Mirror>>& storages,
                                 const Modules* instead);

}  // namespace metalbench::cuda
