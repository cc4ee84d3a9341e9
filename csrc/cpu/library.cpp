#include "cpu/library.h"

#include <algorithm>
#include <utility>

#include "core/dispatch.h"
#include "core/errors.h"
#include "cpu/textures.h"

namespace metalbench::cpu {
namespace {

class CpuLibrary final : public metalbench::Library {
 public:
  CpuLibrary(std::shared_ptr<const ParsedSource> source, CompileOptions options)
      : source_(std::move(source)), options_(std::move(options)) {}

  [[nodiscard]] std::vector<std::string> functions() const override { return source_->functions(); }
  void prepare(const std::vector<std::string>& functions) override {
    source_->build_many(functions);
  }

  [[nodiscard]] std::shared_ptr<const Pipeline> pipeline(
      const std::string& function, const FunctionConstants& constants) override {
    Built built = source_->build(function, constants);
    auto module = std::make_shared<const Module>(built.path, built.entry);
    PipelineInfo info = info_of(function, options_.filename, built, module->info());
    check_pipeline(info, Limits());
    return std::make_shared<CpuPipeline>(std::move(info), std::move(module),
                                         std::move(built.shapes), options_.checked,
                                         built.any_order);
  }

 private:
  std::shared_ptr<const ParsedSource> source_;
  CompileOptions options_;
};

}  // namespace

PipelineInfo info_of(const std::string& function, const std::string& filename, Built& built,
                     const mb::Info& found) {
  PipelineInfo info;
  info.name = function;
  info.filename = filename;
  for (std::size_t i = 0; i < built.arguments.size(); ++i) {
    Argument& argument = built.arguments[i];
    argument.element_bytes = found.argument[built.parameters[i]].bytes;
    describe(found.argument[built.parameters[i]], argument);
    info.arguments.push_back(std::move(argument));
  }
  if (found.counted != 0) {
    Argument counts;
    counts.name = counts_name;
    counts.index = mb::max_buffers;
    counts.type = "ulong";
    counts.address_space = "device";
    counts.access = Access::read_write;
    info.arguments.push_back(std::move(counts));
  }
  info.attributes = std::move(built.attributes);
  info.threadgroup_bytes = found.threadgroup_bytes;
  info.max_threads = found.max_threads;
  info.needs_fibers = found.needs_fibers != 0;
  info.engine = std::move(built.engine);
  info.engine_reason = std::move(built.reason);
  if (built.shapes) info.engine_widths = built.shapes->widths();
  return info;
}

Shape shape_for(const std::vector<std::uint32_t>& widths, std::uint32_t size_x) {
  const auto width = std::ranges::find_if(widths, [&](auto each) { return size_x % each == 0; });
  const bool rows = width != widths.end();
  return {rows ? *width : mb::simd_width, rows};
}

CpuPipeline::CpuPipeline(PipelineInfo info, std::shared_ptr<const Module> module,
                         std::shared_ptr<const Shapes> shapes, bool checked, bool any_order)
    : info_(std::move(info)),
      module_(std::move(module)),
      shapes_(std::move(shapes)),
      checked_(checked),
      any_order_(any_order) {}

GroupEntry CpuPipeline::entry_for(std::uint32_t size_x) const {
  if (shapes_ == nullptr) return {module_->thread_entry(), 1, module_};
  const Shape shape = shape_for(shapes_->widths(), size_x);
  std::shared_ptr<const Module> module = module_for(shape);
  const mb::ThreadEntry entry = module->lanes_entry();
  if (entry != nullptr) return {entry, shape.width, std::move(module)};
  // A shape whose vectors do not fit on a stack uses one fiber per thread.
  const mb::ThreadEntry thread = module->thread_entry();
  if (thread != nullptr) return {thread, 1, std::move(module)};
  throw Error("cpu device: " + module->path() +
              " is not a compiled kernel; remove it from the cache");
}

std::shared_ptr<const Module> CpuPipeline::module_for(Shape shape) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = modules_.find(shape);
    if (found != modules_.end()) return found->second;
  }
  auto module = std::make_shared<const Module>(shapes_->build(shape));
  const std::lock_guard lock(mutex_);
  return modules_.emplace(shape, std::move(module)).first->second;
}

std::shared_ptr<metalbench::Library> make_library(std::shared_ptr<const ParsedSource> source,
                                                  const CompileOptions& options) {
  return std::make_shared<CpuLibrary>(std::move(source), options);
}

}  // namespace metalbench::cpu
