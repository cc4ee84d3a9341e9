#include "cpu/program.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "cpu/fault_findings.h"
#include "cpu/findings.h"
#include "cpu/launch.h"
#include "cpu/library.h"

namespace metalbench::cpu {
namespace {

// A buffer's memory is always readable, so a fault there is a write to a protected page.
bool is_write_to_constant(const Fault& fault, const ProgramContext& context) {
  if (fault.kind != Fault::Kind::bad_address) return false;
  const auto found = context.storages->find(static_cast<const std::byte*>(fault.address));
  return found && !found->is_freed;
}

std::optional<SourceLine> line_of(const Launch& launch, const Fault& fault,
                                  const ProgramContext& context) {
  const Module& module = launch.module_of(fault.pc);
  const auto offset = find_offset(fault, module);
  if (!offset) return std::nullopt;
  return context.front_end->symbolize(module.path(), *offset);
}

// Without line information, the last request to the front end must be the place of the fault.
std::string declared(const Launch& launch, const Fault& fault, const ProgramContext& context) {
  const Module& module = launch.module_of(fault.pc);
  const auto offset = find_declaration_offset(fault, module);
  if (!offset || !line_of(launch, fault, context)) return "";
  return describe_declaration(rule_name(rule_of(fault)),
                              context.front_end->symbolize(module.path(), *offset));
}

class CpuProgram final : public Program {
 public:
  CpuProgram(std::vector<std::unique_ptr<Launch>> launches, ProgramContext context)
      : launches_(std::move(launches)),
        shadow_(Launch::watch(launches_)),
        context_(std::move(context)) {}

  [[nodiscard]] std::unique_ptr<RunningWindow> start(const RunOptions& options) override {
    const Outcome outcome = ran(options);
    if (outcome.fault && outcome.fault.kind != Fault::Kind::stopped) {
      throw KernelFault(describe_outcome(outcome));
    }
    if (outcome.timed_out) throw TimeLimitExceeded(describe_limit(outcome, options));
    for (const auto& launch : launches_) {
      if (launch->counter) launch->counter->publish();
    }
    return std::make_unique<FinishedWindow>(
        Timing{.device_ns = outcome.elapsed_ns, .wall_ns = outcome.elapsed_ns});
  }

  [[nodiscard]] std::vector<Finding> check(const RunOptions& options) override {
    Findings findings;
    collect(&findings, options.inputs);
    Outcome outcome;
    try {
      outcome = ran(options);
    } catch (...) {
      collect(nullptr);
      throw;
    }
    collect(nullptr);
    std::vector<Finding> found;
    for (const Findings::Entry& entry : findings.entries()) {
      found.push_back(make_finding(entry, *launches_[entry.launch]));
    }
    for (const Findings::Rest& rest : findings.rests()) {
      found.push_back(make_finding(rest, *launches_[rest.launch]));
    }
    if (outcome.timed_out) {
      const Findings::Entry last{outcome.fault, outcome.launch, 1};
      found.push_back(make_finding(last, *launches_[outcome.launch]));
      found.back().rule = rule_name(Rule::time_limit);
      found.back().message = describe_limit(outcome, options);
    }
    for (Finding& each : found) place(each, *context_.front_end);
    return found;
  }

 private:
  [[nodiscard]] Outcome ran(const RunOptions& options) {
    for (const auto& launch : launches_) launch->assume_written();
    if (shadow_ != nullptr) shadow_->begin_run();
    for (const auto& launch : launches_) {
      if (launch->counter) launch->counter->begin(*launch);
    }
    Outcome outcome = context_.pool->run(launches_, options);
    if (outcome.interrupted) throw Interrupted();
    return outcome;
  }

  void collect(Findings* findings, const std::vector<std::string>& inputs = {}) {
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      Launch& launch = *launches_[i];
      launch.findings = findings;
      launch.number = i;
      for (Range& range : launch.ranges) {
        // An array of textures has one range per texture: `t[2]`.
        const std::string argument = range.name.substr(0, range.name.find('['));
        range.is_input = std::ranges::find(inputs, argument) != inputs.end();
      }
    }
  }

  [[nodiscard]] std::string describe_outcome(const Outcome& outcome) const {
    return cpu::describe(*launches_[outcome.launch], outcome.fault, context_);
  }

  [[nodiscard]] std::string describe_limit(const Outcome& outcome,
                                           const RunOptions& options) const {
    return cpu::describe_time_limit(*launches_[outcome.launch], outcome.fault, context_,
                                    options.time_limit);
  }

  std::vector<std::unique_ptr<Launch>> launches_;
  std::shared_ptr<Shadow> shadow_;
  ProgramContext context_;
};

std::vector<std::unique_ptr<Launch>> launches_of(std::span<const Dispatch> dispatches,
                                                 const ProgramContext& context) {
  std::vector<std::unique_ptr<Launch>> launches;
  for (const Dispatch& dispatch : dispatches) launches.push_back(make_launch(dispatch, context));
  return launches;
}

}  // namespace

std::string describe(const Launch& launch, const Fault& fault, const ProgramContext& context) {
  std::string text = "[" + launch.kernel + "] ";
  std::string call;
  if (const auto line = line_of(launch, fault, context)) {
    text += line->file + ":" + std::to_string(line->line) + ": ";
    if (!line->call.empty()) call = "; called at " + line->call;
  }
  if (is_write_to_constant(fault, context)) {
    return text +
           "write to a buffer that the kernel takes as `const` or `constant`; it must not "
           "change, even if the old value is restored" +
           call;
  }
  return text + describe_fault(fault) + declared(launch, fault, context) + call;
}

std::string describe_time_limit(const Launch& launch, const Fault& fault,
                                const ProgramContext& context, std::chrono::nanoseconds limit) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::chrono::duration<double>(limit).count());
  return "time limit of " + std::string(text) + " s reached: " +
         (fault ? describe(launch, fault, context) : "the kernels are too slow for it");
}

std::unique_ptr<Launch> make_launch(const Dispatch& dispatch, const ProgramContext& context) {
  const auto* pipeline = dynamic_cast<const CpuPipeline*>(dispatch.pipeline.get());
  if (pipeline == nullptr) {
    throw DispatchError("[" + dispatch.pipeline->info().name +
                        "] the pipeline belongs to another device; compile it on this one");
  }
  auto launch = std::make_unique<Launch>(dispatch, *pipeline);
  launch->storages = context.storages;
  return launch;
}

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
