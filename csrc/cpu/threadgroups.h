// A worker's part of a launch: takes threadgroups, and keeps waiting threadgroups resident.
#pragma once

#include <memory>
#include <vector>

#include "cpu/group_runner.h"
#include "cpu/pool.h"

namespace metalbench::cpu {

// Threadgroups that a worker can hold. All but the first are allocated when a threadgroup waits.
using Residents = std::vector<std::unique_ptr<GroupRunner>>;

class Threadgroups {
 public:
  Threadgroups(Residents& residents, Pool::Job& job, std::size_t launch);

  // Take and run threadgroups until none are left. Return false after a fault.
  [[nodiscard]] bool run();
  [[nodiscard]] const Fault& fault() const { return fault_; }

 private:
  [[nodiscard]] bool run_scattered();
  [[nodiscard]] bool run_chunk(std::uint64_t first, std::uint64_t count);
  [[nodiscard]] bool settle(GroupRunner* runner, GroupRunner::Progress progress);
  // Resume waiting threadgroups until at most `most` of them are left.
  [[nodiscard]] bool resume_until(std::size_t most);
  [[nodiscard]] GroupRunner* idle_runner();

  Residents& residents_;
  Pool::Job& job_;
  const Launch& launch_;
  std::uint64_t run_;
  std::vector<GroupRunner*> waiting_;
  Fault fault_;
};

}  // namespace metalbench::cpu
