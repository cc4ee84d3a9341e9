#pragma once

#include <memory>

#include "core/artifacts.h"
#include "core/library.h"
#include "cpu/front_end.h"
#include "cuda/ptx.h"

namespace metalbench::cuda {

class CudaPipeline final : public Pipeline {
 public:
  CudaPipeline(PipelineInfo info, std::shared_ptr<const Gpu> gpu,
               std::shared_ptr<ArtifactCache> cache, const std::string& ptx)
      : info_(std::move(info)), modules_(std::move(gpu), std::move(cache), ptx, info_.name) {}
  [[nodiscard]] const PipelineInfo& info() const override { return info_; }
  [[nodiscard]] const Modules& modules() const { return modules_; }

 private:
  PipelineInfo info_;
  Modules modules_;
};

[[nodiscard]] std::shared_ptr<Library> make_library(std::shared_ptr<const Gpu> gpu,
                                                    std::shared_ptr<ArtifactCache> cache,
                                                    std::shared_ptr<const cpu::ParsedSource> source,
                                                    const CompileOptions& options);

}  // namespace metalbench::cuda
