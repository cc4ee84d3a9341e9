#include "executor/device.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "core/errors.h"
#include "cpu/device.h"
#include "cpu/host.h"
#include "cpu/library.h"
#include "executor/judge.h"

namespace metalbench::executor {
namespace {

// Maximum ratio of the latency to a window's time.
constexpr double way_part = 0.01;
constexpr double longest_window_ns = 10e6;
// Number of unused executors that are kept: the plain and the checked build of two kernels.
constexpr std::size_t kept_judges = 4;

class JudgedPipeline final : public Pipeline {
 public:
  JudgedPipeline(PipelineInfo info, std::shared_ptr<PrebuiltPipeline> kernel,
                 std::shared_ptr<Judge> judge)
      : info_(std::move(info)), kernel_(std::move(kernel)), judge_(std::move(judge)) {}
  [[nodiscard]] const PipelineInfo& info() const override { return info_; }
  [[nodiscard]] PrebuiltPipeline* kernel() const { return kernel_.get(); }
  [[nodiscard]] const std::shared_ptr<Judge>& judge() const { return judge_; }

 private:
  PipelineInfo info_;
  std::shared_ptr<PrebuiltPipeline> kernel_;
  std::shared_ptr<Judge> judge_;
};

class JudgedLibrary final : public metalbench::Library {
 public:
  JudgedLibrary(std::shared_ptr<const cpu::ParsedSource> source, CompileOptions options,
                std::shared_ptr<Judge> judge)
      : source_(std::move(source)), options_(std::move(options)), judge_(std::move(judge)) {}

  [[nodiscard]] std::vector<std::string> functions() const override { return source_->functions(); }
  void prepare(const std::vector<std::string>& functions) override {
    source_->build_many(functions);
  }

  [[nodiscard]] std::shared_ptr<const Pipeline> pipeline(
      const std::string& function, const FunctionConstants& constants) override {
    cpu::Built built = source_->build(function, constants);
    auto pipeline = std::make_shared<PrebuiltPipeline>();
    pipeline->shapes = built.shapes;
    PrebuiltKernel& kernel = pipeline->kernel;
    kernel.function = function;
    kernel.filename = options_.filename;
    kernel.checked = options_.checked;
    kernel.built = built;
    kernel.built.shapes = nullptr;
    if (built.shapes) kernel.widths = built.shapes->widths();
    std::shared_ptr<PrebuiltPipeline> loaded = judge_->load(pipeline);
    PipelineInfo info = cpu::info_of(function, options_.filename, built, loaded->info);
    return std::make_shared<JudgedPipeline>(std::move(info), std::move(loaded), judge_);
  }

 private:
  std::shared_ptr<const cpu::ParsedSource> source_;
  CompileOptions options_;
  std::shared_ptr<Judge> judge_;
};

class JudgedProgram final : public Program {
 public:
  JudgedProgram(std::shared_ptr<Work> work, std::shared_ptr<Judge> judge)
      : work_(std::move(work)), judge_(std::move(judge)) {}

  [[nodiscard]] std::unique_ptr<RunningWindow> start(const RunOptions& options) override {
    const double taken_ns = judge_->run(work_, options);
    return std::make_unique<FinishedWindow>(Timing{.device_ns = taken_ns, .wall_ns = taken_ns});
  }
  [[nodiscard]] std::vector<Finding> check(const RunOptions& options) override {
    return judge_->check(work_, options);
  }
  [[nodiscard]] double least_window_ns() override {
    return std::min(judge_->handshake_ns(work_) / way_part, longest_window_ns);
  }

 private:
  std::shared_ptr<Work> work_;
  std::shared_ptr<Judge> judge_;
};

const JudgedPipeline& judged(const Dispatch& dispatch) {
  const auto* pipeline = dynamic_cast<const JudgedPipeline*>(dispatch.pipeline.get());
  if (pipeline == nullptr) {
    throw DispatchError("[" + dispatch.pipeline->info().name +
                        "] the pipeline belongs to another device; compile it on this one");
  }
  return *pipeline;
}

void check(const Dispatch& dispatch) {
  if (dispatch.resources.empty()) return;
  throw Unsupported("[" + dispatch.pipeline->info().name +
                    "] buffer addresses are not valid in another process; use "
                    "`metalbench._core` or --in-process");
}

class JudgedDevice final : public Device {
 public:
  JudgedDevice(std::shared_ptr<cpu::FrontEnd> front_end, std::shared_ptr<Host> host,
               Sharing sharing)
      : front_end_(std::move(front_end)),
        host_(std::move(host)),
        sharing_(sharing),
        info_(cpu::device_info()) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  [[nodiscard]] std::shared_ptr<metalbench::Library> compile(
      const std::string& source, const CompileOptions& options) override {
    return std::make_shared<JudgedLibrary>(front_end_->parse(source, options), options,
                                           judge_of(source, options));
  }

  [[nodiscard]] std::shared_ptr<Storage> allocate(std::size_t size) override {
    return arenas_->allocate(size);
  }

  [[nodiscard]] std::shared_ptr<Storage> wrap(std::span<std::byte> /*memory*/,
                                              std::shared_ptr<void> /*owner*/) override {
    return nullptr;
  }

  [[nodiscard]] std::unique_ptr<Program> prepare(std::span<const Dispatch> dispatches) override {
    return program_of(dispatches, false);
  }

  [[nodiscard]] std::unique_ptr<Program> prepare_null(
      std::span<const Dispatch> dispatches) override {
    return program_of(dispatches, true);
  }

  [[nodiscard]] double tick_ns() const override { return cpu::clock_tick_ns(); }

 private:
  [[nodiscard]] static std::unique_ptr<Program> program_of(std::span<const Dispatch> dispatches,
                                                           bool null) {
    static std::atomic<std::uint64_t> last_number = 0;
    const std::shared_ptr<Judge>& judge = judged(dispatches.front()).judge();
    for (const Dispatch& dispatch : dispatches) {
      check(dispatch);
      judged(dispatch).kernel()->build(dispatch);
      if (judged(dispatch).judge() == judge) continue;
      throw DispatchError("[" + dispatch.pipeline->info().name +
                          "] expected all dispatches of a run from one source; each source runs in "
                          "a separate process");
    }
    auto work = std::make_shared<Work>();
    work->number = ++last_number;
    work->dispatches.assign(dispatches.begin(), dispatches.end());
    work->null = null;
    return std::make_unique<JudgedProgram>(std::move(work), judge);
  }

  // Key of all builds of one source with the same options; constant if all share an executor.
  [[nodiscard]] std::string key_of(const std::string& source, const CompileOptions& options) const {
    if (sharing_ == Sharing::device) return {};
    std::string key = source + '\0' + options.filename + '\0';
    for (const auto& [name, value] : options.macros) key += name + '=' + value + '\0';
    for (const std::string& folder : options.include_dirs) key += folder + '\0';
    key += options.checked ? 'c' : '-';
    key += options.fast_math ? 'f' : '-';
    for (const std::string& tool : options.tools) key += tool + '\0';
    key += options.counted ? 'n' : '-';
    return key;
  }

  [[nodiscard]] std::shared_ptr<Judge> judge_of(const std::string& source,
                                                const CompileOptions& options) {
    const std::string key = key_of(source, options);
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find(judges_, key, &Kept::first);
    Kept kept =
        known != judges_.end() ? *known : Kept(key, std::make_shared<Judge>(host_, front_end_));
    if (known != judges_.end()) judges_.erase(known);
    judges_.push_back(kept);
    if (judges_.size() > kept_judges) judges_.pop_front();
    return kept.second;
  }

  using Kept = std::pair<std::string, std::shared_ptr<Judge>>;

  std::shared_ptr<cpu::FrontEnd> front_end_;
  std::shared_ptr<Host> host_;
  Sharing sharing_;
  std::shared_ptr<Arenas> arenas_ = std::make_shared<Arenas>();
  DeviceInfo info_;
  std::mutex mutex_;
  std::deque<Kept> judges_;  // sorted by last use
};

}  // namespace

PrebuiltPipeline* find_prebuilt(const Pipeline& pipeline) {
  const auto* judged = dynamic_cast<const JudgedPipeline*>(&pipeline);
  return judged == nullptr ? nullptr : judged->kernel();
}

std::shared_ptr<Device> make_device(std::shared_ptr<cpu::FrontEnd> front_end,
                                    std::shared_ptr<Host> host, Sharing sharing) {
  return std::make_shared<JudgedDevice>(std::move(front_end), std::move(host), sharing);
}

}  // namespace metalbench::executor
