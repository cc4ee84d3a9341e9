// Kernels of a judge: compiled in its process, loaded in the executor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/dispatch.h"
#include "core/library.h"
#include "cpu/front_end.h"
#include "cpu/library.h"
#include "executor/prebuilt_kernel.h"

namespace metalbench::executor {

// A kernel that an executor has loaded or will load on next use.
class PrebuiltPipeline {
 public:
  std::uint64_t number = 0;
  PrebuiltKernel kernel;
  std::shared_ptr<const cpu::Shapes> shapes;  // null without shapes
  mb::Info info{};                            // valid after the load

  // Compile the shapes that a dispatch needs.
  void build(const Dispatch& dispatch);
  [[nodiscard]] std::map<cpu::Shape, std::string> built_shapes() const {
    const std::lock_guard lock(mutex_);
    return built_;
  }

 private:
  // Held only briefly, and never together with another lock.
  mutable std::mutex mutex_;
  std::map<cpu::Shape, std::string> built_;
};

// Return the shapes that a dispatch of a vectorised kernel needs.
[[nodiscard]] std::vector<cpu::Shape> shapes_of(const Dispatch& dispatch,
                                                const cpu::Shapes& shapes);
// Return the kernel of a pipeline of this device; null for other pipelines.
[[nodiscard]] PrebuiltPipeline* find_prebuilt(const Pipeline& pipeline);

}  // namespace metalbench::executor
