#include "cpu/library.h"

#include <utility>

#include "cpu/textures.h"

namespace metalbench::cpu {
namespace {

class CpuLibrary final : public metalbench::Library {
 public:
  CpuLibrary(std::shared_ptr<const ParsedSource> source, CompileOptions options)
      : source_(std::move(source)), options_(std::move(options)) {}

  [[nodiscard]] std::vector<std::string> functions() const override { return source_->functions(); }

  [[nodiscard]] std::shared_ptr<const Pipeline> pipeline(
      const std::string& function, const FunctionConstants& constants) override {
    Built built = source_->build(function, constants);
    auto module = std::make_shared<const Module>(built.path);
    const mb::Info& found = module->info();
    PipelineInfo info;
    info.name = function;
    info.filename = options_.filename;
    for (std::size_t i = 0; i < built.arguments.size(); ++i) {
      Argument& argument = built.arguments[i];
      argument.element_bytes = found.argument[built.parameters[i]].bytes;
      describe(found.argument[built.parameters[i]], argument);
      info.arguments.push_back(std::move(argument));
    }
    info.attributes = std::move(built.attributes);
    info.threadgroup_bytes = found.threadgroup_bytes;
    info.max_threads = found.max_threads;
    info.needs_fibers = found.needs_fibers != 0;
    return std::make_shared<CpuPipeline>(std::move(info), std::move(module), options_.checked);
  }

 private:
  std::shared_ptr<const ParsedSource> source_;
  CompileOptions options_;
};

}  // namespace

CpuPipeline::CpuPipeline(PipelineInfo info, std::shared_ptr<const Module> module, bool checked)
    : info_(std::move(info)), module_(std::move(module)), checked_(checked) {}

std::shared_ptr<metalbench::Library> make_library(std::shared_ptr<const ParsedSource> source,
                                                  const CompileOptions& options) {
  return std::make_shared<CpuLibrary>(std::move(source), options);
}

}  // namespace metalbench::cpu
