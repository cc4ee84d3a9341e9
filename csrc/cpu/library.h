#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/library.h"
#include "cpu/front_end.h"
#include "cpu/module.h"

namespace metalbench::cpu {

// Name of the counts buffer, an extra argument of counted launches. Not a valid identifier in MSL.
inline constexpr const char* counts_name = "(counts)";

// Entry for the threads of a group: each call of `function` runs on a separate fiber.
struct GroupEntry {
  mb::ThreadEntry function = nullptr;
  std::uint32_t threads_per_fiber = 1;
  std::shared_ptr<const Module> module;
};

class CpuPipeline final : public Pipeline {
 public:
  CpuPipeline(PipelineInfo info, std::shared_ptr<const Module> module,
              std::shared_ptr<const Shapes> shapes, bool checked, bool any_order);
  [[nodiscard]] const PipelineInfo& info() const override { return info_; }
  [[nodiscard]] const std::shared_ptr<const Module>& module() const { return module_; }
  [[nodiscard]] bool checked() const { return checked_; }
  [[nodiscard]] bool counted() const { return module_->info().counted != 0; }
  // Return whether threadgroups never wait for each other.
  [[nodiscard]] bool any_order() const { return any_order_; }
  // Return the entry for groups with `size_x` threads along x, of kernels that need fibers. May
  // compile.
  [[nodiscard]] GroupEntry entry_for(std::uint32_t size_x) const;
  // Load the module that entry_for() needs for this shape.
  void load(Shape shape) const { (void)module_for(shape); }

 private:
  PipelineInfo info_;
  [[nodiscard]] std::shared_ptr<const Module> module_for(Shape shape) const;

  std::shared_ptr<const Module> module_;
  std::shared_ptr<const Shapes> shapes_;  // null if every fiber runs one thread
  bool checked_;
  bool any_order_;
  mutable std::mutex mutex_;
  mutable std::map<Shape, std::shared_ptr<const Module>> modules_;
};

// Choose the shape for groups with `size_x` threads along x from the available widths.
[[nodiscard]] Shape shape_for(const std::vector<std::uint32_t>& widths, std::uint32_t size_x);
// Return the description of a kernel from its build and from its object's mb_info.
[[nodiscard]] PipelineInfo info_of(const std::string& function, const std::string& filename,
                                   Built& built, const mb::Info& found);
[[nodiscard]] std::shared_ptr<metalbench::Library> make_library(
    std::shared_ptr<const ParsedSource> source, const CompileOptions& options);

}  // namespace metalbench::cpu
