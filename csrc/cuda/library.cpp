#include "cuda/library.h"

#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "core/dispatch.h"
#include "core/errors.h"
#include "cpu/textures.h"

namespace metalbench::cuda {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw MachineError("cuda: cannot read a compiled kernel: " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CudaLibrary final : public Library {
 public:
  CudaLibrary(std::shared_ptr<const Gpu> gpu, std::shared_ptr<ArtifactCache> cache,
              std::shared_ptr<const cpu::ParsedSource> source, CompileOptions options)
      : gpu_(std::move(gpu)),
        cache_(std::move(cache)),
        source_(std::move(source)),
        options_(std::move(options)) {}

  [[nodiscard]] std::vector<std::string> functions() const override { return source_->functions(); }

  [[nodiscard]] std::shared_ptr<const Pipeline> pipeline(
      const std::string& function, const FunctionConstants& constants) override {
    cpu::Built built = source_->build(function, constants);
    const std::string ptx = text_of(built.path);
    const mb::Info found = info_of(ptx);
    PipelineInfo info;
    info.name = function;
    info.filename = options_.filename;
    for (std::size_t i = 0; i < built.arguments.size(); ++i) {
      Argument& argument = built.arguments[i];
      argument.element_bytes = found.argument[built.parameters[i]].bytes;
      // A GPU faults on misaligned accesses.
      argument.alignment = found.argument[built.parameters[i]].align;
      cpu::describe(found.argument[built.parameters[i]], argument);
      info.arguments.push_back(std::move(argument));
    }
    info.attributes = std::move(built.attributes);
    info.threadgroup_bytes = found.threadgroup_bytes;
    info.max_threads = found.max_threads;
    info.engine = std::move(built.engine);
    check_pipeline(info, Limits());
    auto ptx_for_unaligned = [source = source_, function, constants] {
      return text_of(source->build_for_unaligned(function, constants));
    };
    return std::make_shared<CudaPipeline>(std::move(info), gpu_, cache_, ptx,
                                          std::move(ptx_for_unaligned));
  }

 private:
  std::shared_ptr<const Gpu> gpu_;
  std::shared_ptr<ArtifactCache> cache_;
  std::shared_ptr<const cpu::ParsedSource> source_;
  CompileOptions options_;
};

}  // namespace

const Modules& CudaPipeline::modules_for_unaligned() const {
  {
    const std::lock_guard lock(mutex_);
    if (for_unaligned_ != nullptr) return *for_unaligned_;
  }
  // Without the lock: the compiler needs the GIL, whose holder may wait for the lock.
  auto made = std::make_unique<const Modules>(gpu_, cache_, ptx_for_unaligned_(), info_.name);
  const std::lock_guard lock(mutex_);
  if (for_unaligned_ == nullptr) for_unaligned_ = std::move(made);
  return *for_unaligned_;
}

std::shared_ptr<Library> make_library(std::shared_ptr<const Gpu> gpu,
                                      std::shared_ptr<ArtifactCache> cache,
                                      std::shared_ptr<const cpu::ParsedSource> source,
                                      const CompileOptions& options) {
  return std::make_shared<CudaLibrary>(std::move(gpu), std::move(cache), std::move(source),
                                       options);
}

}  // namespace metalbench::cuda
