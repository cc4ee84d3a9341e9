#include "cpu/program.h"

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "cpu/launch.h"
#include "cpu/library.h"

namespace metalbench::cpu {
namespace {

std::string to_text(const mb::Dim3& position) {
  return "(" + std::to_string(position.x) + ", " + std::to_string(position.y) + ", " +
         std::to_string(position.z) + ")";
}

std::string what_happened(const Fault& fault) {
  char address[32];
  std::snprintf(address, sizeof address, "%p", fault.address);
  switch (fault.kind) {
    case Fault::Kind::reported:
      return fault.text.data();
    case Fault::Kind::bad_address:
      return std::string("access to invalid address ") + address +
             "; an index or pointer is wrong (a checked run names the buffer)";
    case Fault::Kind::no_address:
      return "access to an invalid address; an index or pointer is wrong (a checked run names the "
             "buffer)";
    case Fault::Kind::stack_overflow:
      return "stack overflow: the functions that one thread is in take more than " +
             std::to_string(mb::private_bytes >> 10) +
             " KiB of private memory together, or it recurses";
    case Fault::Kind::arithmetic:
      return "integer division by zero";
    case Fault::Kind::illegal:
      return "illegal instruction: the kernel ran into undefined behaviour";
    case Fault::Kind::stopped:
      return "still running";
    case Fault::Kind::none:
      break;
  }
  return "unknown fault";
}

class CpuProgram final : public Program {
 public:
  CpuProgram(std::vector<std::unique_ptr<Launch>> launches, ProgramContext context)
      : launches_(std::move(launches)),
        shadow_(Launch::watch(launches_)),
        context_(std::move(context)) {}

  [[nodiscard]] std::unique_ptr<Running> start(const RunOptions& options) override {
    for (const auto& launch : launches_) launch->assume_written();
    if (shadow_ != nullptr) shadow_->begin_run();
    for (const auto& launch : launches_) {
      if (launch->counter) launch->counter->begin(*launch);
    }
    const Outcome outcome = context_.pool->run(launches_, options);
    if (outcome.interrupted) throw Interrupted();
    if (outcome.fault && outcome.fault.kind != Fault::Kind::stopped) {
      throw KernelFault(describe(outcome));
    }
    if (outcome.timed_out) {
      const double seconds = std::chrono::duration<double>(options.time_limit).count();
      char limit[32];
      std::snprintf(limit, sizeof limit, "%g", seconds);
      throw TimeLimitExceeded(
          "time limit of " + std::string(limit) +
          " s reached: " + (outcome.fault ? describe(outcome) : "the kernels are too slow for it"));
    }
    for (const auto& launch : launches_) {
      if (launch->counter) launch->counter->publish();
    }
    return std::make_unique<Finished>(
        Timing{.device_ns = outcome.elapsed_ns, .wall_ns = outcome.elapsed_ns});
  }

 private:
  [[nodiscard]] std::string describe(const Outcome& outcome) const {
    const Launch& launch = *launches_[outcome.launch];
    const Fault& fault = outcome.fault;
    std::string text = "[" + launch.kernel + "] ";
    // A check knows only where the call to it returns, which may be the next line already.
    const bool is_return_address = fault.kind == Fault::Kind::reported;
    if (const auto line = line_of(launch, fault.pc, is_return_address)) {
      text += line->file + ":" + std::to_string(line->line) + ": ";
    }
    text += what_happened(fault);
    if (fault.has_thread && !fault.names_thread)
      text +=
          ", by thread " + to_text(fault.thread) + " of threadgroup " + to_text(fault.threadgroup);
    if (fault.has_simdgroup)
      text += ", by SIMD-group " + std::to_string(fault.simdgroup) + " of threadgroup " +
              to_text(fault.threadgroup);
    return text;
  }

  [[nodiscard]] std::optional<SourceLine> line_of(const Launch& launch, const void* pc,
                                                  bool is_return_address) const {
    const Module& module = launch.module_of(pc);
    const auto offset = module.offset_of(pc);
    if (!offset) return std::nullopt;
    return context_.front_end->symbolize(module.path(), *offset - (is_return_address ? 1 : 0));
  }

  std::vector<std::unique_ptr<Launch>> launches_;
  std::shared_ptr<Shadow> shadow_;
  ProgramContext context_;
};

std::vector<std::unique_ptr<Launch>> launches_of(std::span<const Dispatch> dispatches,
                                                 const ProgramContext& context) {
  std::vector<std::unique_ptr<Launch>> launches;
  for (const Dispatch& dispatch : dispatches) {
    const auto* pipeline = dynamic_cast<const CpuPipeline*>(dispatch.pipeline.get());
    if (pipeline == nullptr) {
      throw DispatchError("[" + dispatch.pipeline->info().name +
                          "] the pipeline belongs to another device; compile it on this one");
    }
    auto launch = std::make_unique<Launch>(dispatch, *pipeline);
    launch->storages = context.storages;
    launches.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace

std::unique_ptr<Program> make_program(std::span<const Dispatch> dispatches,
                                      ProgramContext context) {
  auto launches = launches_of(dispatches, context);
  return std::make_unique<CpuProgram>(std::move(launches), std::move(context));
}

std::unique_ptr<Program> make_null_program(std::span<const Dispatch> dispatches,
                                           ProgramContext context) {
  auto launches = launches_of(dispatches, context);
  for (const auto& launch : launches) launch->make_null();
  return std::make_unique<CpuProgram>(std::move(launches), std::move(context));
}

}  // namespace metalbench::cpu
