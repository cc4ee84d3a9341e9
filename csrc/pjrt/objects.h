// Objects behind the handles of the C API.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/execution_api.h"
#include "pjrt/abi.h"
#include "pjrt/deferred.h"
#include "pjrt/errors.h"
#include "pjrt/live.h"
#include "pjrt/python_reference.h"

namespace metalbench::pjrt {

inline constexpr const char* kPlatform = "metalbench";
inline constexpr const char* kMemoryKind = "device";

// The end of a run; without a completion it had ended at the event's creation. The caller of an
// event that `is_awaited` needs the run's result, so the run is not deferred any longer.
struct Event : Live<Event> {
  Event() = default;
  explicit Event(std::shared_ptr<Completion> completion, bool is_awaited = false)
      : completion(std::move(completion)), is_awaited(is_awaited) {}
  std::optional<Error> error;
  std::shared_ptr<Completion> completion;
  bool is_awaited = false;
};

struct DeviceDescription : Live<DeviceDescription> {
  explicit DeviceDescription(Client* client) : client(client) {}
  Client* client;
  int id = 0;
  std::string kind{};
  std::string text{};
};

struct Device : Live<Device> {
  explicit Device(Client* client) : client(client) {}
  Client* client;
};

struct Memory : Live<Memory> {
  explicit Memory(Client* client) : client(client) {}
  Client* client;
  std::string text{};
};

struct Topology : Live<Topology> {
  explicit Topology(Client* client) : client(client) {}
  Client* client;
};

// How an element type is stored.
struct ElementLayout {
  std::size_t bytes = 0;
  unsigned bits = 0;  // less than 8: the host's upper bits are ignored
  bool is_signed = false;
};

// One device with one memory.
struct Client : Live<Client> {
  PythonReference runtime;
  std::shared_ptr<Queue> queue;
  std::shared_ptr<DeferredRuns> deferred;
  // By the number of an element type of PJRT; without bytes: no buffer can have it.
  std::vector<ElementLayout> elements;
  // Whether programs end before their calls return, and their results are in the host's memory.
  bool has_host_memory = false;
  std::string version;
  DeviceDescription description{this};
  Device device{this};
  Memory memory{this};
  Topology topology{this};
  std::array<Device*, 1> devices{&device};
  std::array<Memory*, 1> memories{&memory};
  std::array<DeviceDescription*, 1> descriptions{&description};

  ~Client() {
    if (deferred != nullptr) deferred->cancel();
  }
};

// A compiled program; executables share it.
struct Compiled {
  Client* client;
  PythonReference program;
  // Whether runs may be deferred: the program is small and has no effects.
  bool can_be_deferred = false;
  std::vector<int> input_types;
  std::vector<std::vector<std::int64_t>> input_shapes;
  std::string name;
  std::string fingerprint;
  std::string code;
  std::string options;
  std::vector<int> types;
  std::vector<std::int64_t> dimensions;  // of all outputs, concatenated
  std::vector<std::size_t> ranks;
  std::vector<std::size_t> result_bytes;
  std::vector<const char*> memory_kinds;
  std::vector<std::size_t> memory_kind_sizes;
  std::vector<std::int64_t> donated;
  std::int64_t argument_bytes = 0;
  std::int64_t output_bytes = 0;
  std::int64_t code_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t alias_bytes = 0;
  std::vector<NamedValue> costs;

  [[nodiscard]] std::vector<std::int64_t> shape(std::size_t output) const;
  // Whether the kernels are compiled.
  [[nodiscard]] bool has_plan() const { return has_plan_; }
  // Compile the kernels if they are not compiled yet. Throws Python's exception for their error.
  [[nodiscard]] ExecutionPlan& plan() const;

 private:
  // Set with the GIL held.
  mutable std::shared_ptr<ExecutionPlan> plan_;
  mutable std::atomic<bool> has_plan_ = false;
};

struct Executable : Live<Executable> {
  explicit Executable(std::shared_ptr<const Compiled> compiled) : compiled(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled;
};

struct LoadedExecutable : Live<LoadedExecutable> {
  std::shared_ptr<const Compiled> compiled;
  std::atomic<bool> deleted = false;
};

// Elements on the device. They are immutable, so buffers may share memory; a program may overwrite
// memory that it alone refers to, after a donation.
struct Buffer : Live<Buffer> {
  Client* client;
  int type;
  std::vector<std::int64_t> dimensions;
  std::size_t bytes;
  std::vector<std::int64_t> minor_to_major;
  std::atomic<bool> deleted = false;

  // Return the elements. Throws Failure if they were deleted or donated.
  [[nodiscard]] std::shared_ptr<Value> value() const;
  // Return the memory; submit the run that computes it if that is deferred. Throws Failure as
  // value() does, and for the error of the run.
  [[nodiscard]] metalbench::Buffer memory() const;
  // Refer to the memory no longer, unless it is shared.
  void remove();
  // Keep the memory and its elements for a reader outside, also after remove(). Throws Failure as
  // memory() does.
  void share();
  void unshare();
  [[nodiscard]] const std::shared_ptr<Completion>& completion() const { return completion_; }

  Buffer(Client& client, std::shared_ptr<Value> value, std::size_t bytes, int type,
         std::vector<std::int64_t> dimensions);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Value> value_;
  std::optional<metalbench::Buffer> shared_;  // its memory, for readers outside
  std::int64_t references_ = 0;               // of these readers
  std::shared_ptr<Completion> completion_;    // of the run that computes the elements
};

// The functions of metalbench._core.
[[nodiscard]] const ExecutionApi& execution();
// Throws Failure for the error of a function.
void check(const ExecutionApi::Outcome& outcome);
// Return the number of bytes of elements of a type. Throws Failure for sizes out of range.
[[nodiscard]] std::size_t count_bytes(const Client& client, int type,
                                      const std::vector<std::int64_t>& dimensions);
// Requires the GIL.
[[nodiscard]] std::unique_ptr<LoadedExecutable> compiled_by(Client& client,
                                                            nanobind::object program);
// Throws Failure unless the device and memory belong to `client`; null means they do.
void check_own(const Client& client, const Device* device, const Memory* memory);

}  // namespace metalbench::pjrt
