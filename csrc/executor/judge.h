// The judge's interface to one executor: the loaded kernels and the requests.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device.h"
#include "cpu/front_end.h"
#include "cpu/library.h"
#include "executor/arena.h"
#include "executor/channel.h"
#include "executor/host.h"
#include "executor/pipelines.h"
#include "executor/time_audit.h"

namespace metalbench::executor {

// Dispatches to prepare in the executor.
struct Work {
  std::uint64_t number = 0;
  std::vector<Dispatch> dispatches;
  bool null = false;  // with empty kernels
};

// A window: the reported time and the observed time.
struct WindowTimes {
  double reported_ns = 0;
  double observed_ns = 0;
};

class Judge {
 public:
  Judge(std::shared_ptr<Host> host, std::shared_ptr<cpu::FrontEnd> front_end)
      : host_(std::move(host)), front_end_(std::move(front_end)) {}

  // Call all of these functions without the GIL.

  // Load a kernel, whose mb_info is then known. Return the kernel of an earlier call if it is
  // already loaded.
  [[nodiscard]] std::shared_ptr<PrebuiltPipeline> load(
      const std::shared_ptr<PrebuiltPipeline>& pipeline);
  // Run the work once for options.passes passes; return the accepted time, in ns.
  [[nodiscard]] double run(const std::shared_ptr<Work>& work, const RunOptions& options);
  // Run a window of checked builds and return all findings.
  [[nodiscard]] std::vector<Finding> check(const std::shared_ptr<Work>& work,
                                           const RunOptions& options);
  // Return the overhead of a window, in ns.
  [[nodiscard]] double handshake_ns(const std::shared_ptr<Work>& work);

 private:
  using Clock = std::chrono::steady_clock;
  using StorageKey = std::pair<std::uint64_t, std::uint64_t>;

  void start_anew();
  void end();
  void load_into_process(PrebuiltPipeline& pipeline);
  void load_shapes(const PrebuiltPipeline& pipeline);
  [[nodiscard]] bool lacks(const Work& work) const;
  void make_ready(const std::shared_ptr<Work>& work);
  void prepare(const std::shared_ptr<Work>& work);
  void map(const Buffer& buffer);
  void map(const std::shared_ptr<Arena>& arena);
  void drop_released();

  [[nodiscard]] static Writer make_request(Request kind, const Work& work,
                                           const RunOptions& options);
  [[noreturn]] void raise_timeout(const RunOptions& options);
  [[nodiscard]] bool is_known(const std::string& path) const;
  [[nodiscard]] static Writer make_busy_request(std::chrono::nanoseconds time);
  void ping();
  [[nodiscard]] WindowTimes time_window(const Writer& request, const RunOptions& options);
  [[nodiscard]] std::vector<Finding> request_findings(const Writer& request,
                                                      const RunOptions& options);
  void check_idle();
  void note_idle();

  static constexpr std::size_t most_answer_bytes = std::size_t{1} << 20;
  [[nodiscard]] Message ask(const Writer& request, const WaitLimits& limits,
                            std::optional<int> descriptor = {});
  [[nodiscard]] Message exchange(const Writer& request, const WaitLimits& limits,
                                 std::optional<int> descriptor,
                                 std::size_t most_bytes = most_answer_bytes);
  // Return the content of a successful answer; throw the error of any other.
  [[nodiscard]] Message done(const Message& answer);
  [[noreturn]] void raise(Reader& message, Answer kind);
  [[noreturn]] void raise_malformed(const MalformedMessage& error);
  [[nodiscard]] std::string placed(const std::string& text, const std::string& path,
                                   std::uint64_t offset) const;

  std::shared_ptr<Host> host_;
  std::shared_ptr<cpu::FrontEnd> front_end_;
  std::mutex mutex_;  // requests run one after the other
  std::unique_ptr<Process> process_;
  std::unique_ptr<Channel> channel_;
  bool ready_ = false;  // has answered once
  bool sealed_ = false;
  TimeAudit time_audit_;
  std::uint32_t idle_checks_ = 0;
  std::optional<double> worked_ns_;  // at the end of the last window
  Clock::time_point idle_since_;
  std::vector<std::shared_ptr<PrebuiltPipeline>> pipelines_;
  // Kernels and shapes that the executor has loaded.
  std::map<std::uint64_t, std::vector<cpu::Shape>> loaded_;
  std::map<std::uint64_t, std::weak_ptr<Arena>> arenas_;
  std::map<StorageKey, std::weak_ptr<Storage>> stored_;
  std::map<std::uint64_t, std::weak_ptr<Work>> prepared_;
};

}  // namespace metalbench::executor
