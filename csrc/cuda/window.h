// Windows: passes of a program between two events on the GPU's clock. A launch costs the host more
// time than the GPU, so passes are submitted as graphs, which run without the host.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "cuda/launch.h"

namespace metalbench::cuda {

// Start and end event of a window.
struct Events {
  Event begin = nullptr, end = nullptr;
};

// The launches of a pass in order.
class Script {
 public:
  Script(std::shared_ptr<const Gpu> gpu, std::vector<Launch> launches, std::string names);
  ~Script();
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  // Add this number of passes to the end of the stream.
  void submit(std::uint32_t passes);
  // Create the graphs for this number of passes before the timing begins.
  void make_ready(std::uint32_t passes);
  // Take two events for a window, and return them when it has ended. Successive windows reuse them,
  // since creating and destroying them takes four driver calls.
  [[nodiscard]] Events take_events();
  void give_back(const Events& events);
  // Return the kernels' names, for errors.
  [[nodiscard]] const std::string& names() const { return names_; }
  [[nodiscard]] const Gpu& gpu() const { return *gpu_; }

 private:
  [[nodiscard]] std::uint32_t passes_per_graph() const;
  [[nodiscard]] GraphExec graph_of(std::uint32_t passes);

  std::shared_ptr<const Gpu> gpu_;
  std::vector<Launch> launches_;
  std::string names_;
  std::map<std::uint32_t, GraphExec> graphs_;
  std::vector<Events> idle_;
};

// Submit a window.
[[nodiscard]] std::unique_ptr<RunningWindow> start_window(std::shared_ptr<Script> script,
                                                          const RunOptions& options);

}  // namespace metalbench::cuda
