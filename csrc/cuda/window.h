// Windows: passes of a program between two events on the GPU's clock. A launch costs the host more
// than it costs the GPU, so passes are handed over as graphs, which the GPU goes through by itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "cuda/launch.h"

namespace metalbench::cuda {

// What a window's time is between.
struct Events {
  Event begin = nullptr, end = nullptr;
};

// Launches in order, as often as is asked for.
class Script {
 public:
  Script(std::shared_ptr<const Gpu> gpu, std::vector<Launch> launches, std::string names);
  ~Script();
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  // Puts so many passes at the end of the stream.
  void hand_over(std::uint32_t passes);
  // Makes the graphs for so many, before any time counts.
  void make_ready(std::uint32_t passes);
  // Two events for a window, to be given back when it has ended: windows that follow one another
  // have the same ones, for to make and to destroy them are four calls of the driver.
  [[nodiscard]] Events take_events();
  void give_back(const Events& events);
  // The kernels' names, for errors.
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

// Hands a window over.
[[nodiscard]] std::unique_ptr<Running> start_window(std::shared_ptr<Script> script,
                                                    const RunOptions& options);

}  // namespace metalbench::cuda
