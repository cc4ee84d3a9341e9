#pragma once

#include <memory>

#include "core/library.h"
#include "cpu/front_end.h"
#include "cpu/module.h"

namespace metalbench::cpu {

class CpuPipeline final : public Pipeline {
 public:
  CpuPipeline(PipelineInfo info, std::shared_ptr<const Module> module, bool checked);
  [[nodiscard]] const PipelineInfo& info() const override { return info_; }
  [[nodiscard]] const std::shared_ptr<const Module>& module() const { return module_; }
  [[nodiscard]] bool checked() const { return checked_; }

 private:
  PipelineInfo info_;
  std::shared_ptr<const Module> module_;
  bool checked_;
};

[[nodiscard]] std::shared_ptr<metalbench::Library> make_library(
    std::shared_ptr<const ParsedSource> source, const CompileOptions& options);

}  // namespace metalbench::cpu
