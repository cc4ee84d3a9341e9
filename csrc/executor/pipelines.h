// Kernels as a judge knows them: compiled here, loaded there.
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
#include "executor/handed.h"

namespace metalbench::executor {

// A kernel that an executor has loaded, or will have when it is next needed.
class HandedPipeline {
 public:
  std::uint64_t number = 0;
  Handed handed;
  std::shared_ptr<const cpu::Shapes> shapes;  // null where it has none
  mb::Info info{};                            // once it was loaded

  // Compiles what a dispatch will need.
  void build(const Dispatch& dispatch);
  [[nodiscard]] std::map<cpu::Shape, std::string> built_shapes() const {
    const std::lock_guard lock(mutex_);
    return built_;
  }

 private:
  // Held for a moment only, and never beside another one.
  mutable std::mutex mutex_;
  std::map<cpu::Shape, std::string> built_;
};

// The shapes that a dispatch of a vectorised kernel needs.
[[nodiscard]] std::vector<cpu::Shape> shapes_of(const Dispatch& dispatch,
                                                const cpu::Shapes& shapes);
// What a device's own pipelines have behind them; null of others.
[[nodiscard]] HandedPipeline* handed_of(const Pipeline& pipeline);

}  // namespace metalbench::executor
