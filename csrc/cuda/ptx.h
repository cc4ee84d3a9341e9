// A kernel's PTX: what it tells of itself, and what the driver makes of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/artifacts.h"
#include "cuda/gpu.h"
#include "msl/mb/gpu/abi.h"

namespace metalbench::cuda {

// What the front end has left in mb_info, with the threadgroup memory that the text declares.
// Throws Error for what is no kernel's PTX.
[[nodiscard]] mb::Info info_of(const std::string& ptx);

// The same for blocks of so many threads: the driver gives each as many registers as then fit, or
// as fit where a multiprocessor is to hold so many `blocks`.
[[nodiscard]] std::string for_threads(const std::string& ptx, std::uint32_t threads,
                                      std::uint32_t blocks = 0);

// What a thread of a compiled kernel takes.
struct Needs {
  std::uint32_t registers, local_bytes;
};

// How many blocks a multiprocessor would hold if the threads of a kernel took a few registers less,
// where that is one more; else 0.
[[nodiscard]] std::uint32_t blocks_with_less(const Needs& needs, std::uint32_t threads,
                                             std::uint32_t threadgroup_bytes);

// A kernel that does nothing, for grids of every kind.
[[nodiscard]] const std::string& empty_kernel();

// A kernel that the driver has compiled and loaded.
class Module {
 public:
  Module(std::shared_ptr<const Gpu> gpu, const std::string& image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] FunctionHandle function() const { return function_; }
  [[nodiscard]] Needs needs() const;

 private:
  std::shared_ptr<const Gpu> gpu_;
  ModuleHandle handle_ = nullptr;
  FunctionHandle function_ = nullptr;
};

// The modules of one PTX, for each size of block; compiled once for each GPU and driver, and kept
// in the cache.
class Modules {
 public:
  Modules(std::shared_ptr<const Gpu> gpu, std::shared_ptr<ArtifactCache> cache, std::string ptx,
          std::string kernel);
  // Throws CompileError with the driver's own words.
  [[nodiscard]] std::shared_ptr<const Module> of_threads(std::uint32_t threads) const;

 private:
  [[nodiscard]] std::shared_ptr<const Module> load(std::uint32_t threads) const;
  // The better one of what the driver makes of it, which `image` is.
  [[nodiscard]] std::shared_ptr<const Module> made(std::uint32_t threads, std::string& image) const;
  [[nodiscard]] std::string compile(const std::string& ptx) const;

  std::shared_ptr<const Gpu> gpu_;
  std::shared_ptr<ArtifactCache> cache_;
  std::string ptx_;
  std::string kernel_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint32_t, std::shared_ptr<const Module>> modules_;
};

}  // namespace metalbench::cuda
