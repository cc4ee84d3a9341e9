// PTX of a kernel: its description, and its compilation by the driver.
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

// Read mb_info from the PTX, with the size of the threadgroup memory that the text declares. Throws
// Error if the text is not a kernel's PTX.
[[nodiscard]] mb::Info info_of(const std::string& ptx);

// Return the PTX limited to blocks of `threads` threads. The driver then gives each thread as many
// registers as fit, or as many as fit if a multiprocessor is to hold `blocks` blocks.
[[nodiscard]] std::string for_threads(const std::string& ptx, std::uint32_t threads,
                                      std::uint32_t blocks = 0);

// Resources per thread of a compiled kernel.
struct ModuleResources {
  std::uint32_t registers, local_bytes;
};

// Return the number of blocks per multiprocessor with a few registers less per thread, if that is
// one more block; else 0.
[[nodiscard]] std::uint32_t blocks_with_less(const ModuleResources& resources,
                                             std::uint32_t threads,
                                             std::uint32_t threadgroup_bytes);

// Return the PTX of an empty kernel for all grids.
[[nodiscard]] const std::string& empty_kernel();

// A kernel that the driver has compiled and loaded.
class Module {
 public:
  Module(std::shared_ptr<const Gpu> gpu, const std::string& image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] FunctionHandle function() const { return function_; }
  [[nodiscard]] ModuleResources resources() const;
  // Allow launches with at most this much dynamic threadgroup memory, which may be more than 48 KB,
  // in addition to those that are allowed already. Throws Error if the GPU has less.
  void allow_dynamic_bytes(std::uint32_t bytes) const;

 private:
  std::shared_ptr<const Gpu> gpu_;
  ModuleHandle handle_ = nullptr;
  FunctionHandle function_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::uint32_t allowed_bytes_ = 0;
};

// Modules of one PTX, one for each block size; compiled once per GPU and driver, and cached.
class Modules {
 public:
  Modules(std::shared_ptr<const Gpu> gpu, std::shared_ptr<ArtifactCache> cache, std::string ptx,
          std::string kernel);
  // Throws CompileError with the driver's own message.
  [[nodiscard]] std::shared_ptr<const Module> of_threads(std::uint32_t threads) const;
  // Dynamic threadgroup memory that the kernel's matrix products need after that of its arguments.
  [[nodiscard]] std::uint32_t product_bytes() const { return product_bytes_; }

 private:
  [[nodiscard]] std::shared_ptr<const Module> load(std::uint32_t threads) const;
  // Return the better of the driver's binaries; `image` receives it.
  [[nodiscard]] std::shared_ptr<const Module> made(std::uint32_t threads, std::string& image) const;
  [[nodiscard]] std::string compile(const std::string& ptx) const;

  std::shared_ptr<const Gpu> gpu_;
  std::shared_ptr<ArtifactCache> cache_;
  std::string ptx_;
  std::string kernel_;
  std::uint32_t product_bytes_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint32_t, std::shared_ptr<const Module>> modules_;
};

}  // namespace metalbench::cuda
