// Objects behind the handles of the C API.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pjrt/abi.h"
#include "pjrt/errors.h"
#include "pjrt/live.h"
#include "pjrt/python_reference.h"

namespace metalbench::pjrt {

inline constexpr const char* kPlatform = "metalbench";
inline constexpr const char* kMemoryKind = "device";

// Functions complete their work before they return, so every event is ready at its creation.
struct Event : Live<Event> {
  std::optional<Error> error;
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

// One device with one memory.
struct Client : Live<Client> {
  PythonReference runtime;
  std::string version;
  DeviceDescription description{this};
  Device device{this};
  Memory memory{this};
  Topology topology{this};
  std::array<Device*, 1> devices{&device};
  std::array<Memory*, 1> memories{&memory};
  std::array<DeviceDescription*, 1> descriptions{&description};
};

// A compiled program; executables share it.
struct Compiled {
  Client* client;
  PythonReference program;
  std::string name;
  std::string fingerprint;
  std::string code;
  std::string options;
  std::vector<int> types;
  std::vector<std::int64_t> dimensions;  // of all outputs, concatenated
  std::vector<std::size_t> ranks;
  std::vector<const char*> memory_kinds;
  std::vector<std::size_t> memory_kind_sizes;
  std::vector<std::int64_t> donated;
  std::int64_t argument_bytes = 0;
  std::int64_t output_bytes = 0;
  std::int64_t code_bytes = 0;

  [[nodiscard]] std::vector<std::int64_t> shape(std::size_t output) const;
};

struct Executable : Live<Executable> {
  explicit Executable(std::shared_ptr<const Compiled> compiled) : compiled(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled;
};

struct LoadedExecutable : Live<LoadedExecutable> {
  std::shared_ptr<const Compiled> compiled;
  std::atomic<bool> deleted = false;
};

struct Buffer : Live<Buffer> {
  Client* client;
  int type;
  std::vector<std::int64_t> dimensions;
  std::size_t bytes;
  std::vector<std::int64_t> minor_to_major;
  // Requires the GIL.
  PythonReference tensor;
  std::atomic<bool> deleted = false;
  std::atomic<std::int64_t> references = 0;
};

// Requires the GIL. Returns a buffer for a tensor of Python; the caller owns it.
[[nodiscard]] std::unique_ptr<Buffer> buffer_of(Client& client, nanobind::object tensor, int type,
                                                std::vector<std::int64_t> dimensions);
// Requires the GIL. Returns the tensor of a buffer. Throws Failure if it was deleted or donated.
[[nodiscard]] nanobind::object tensor_of(const Buffer& buffer);
// Requires the GIL.
[[nodiscard]] std::unique_ptr<LoadedExecutable> compiled_by(Client& client,
                                                            nanobind::object program);
// Throws Failure unless the device and memory belong to `client`; null means they do.
void check_own(const Client& client, const Device* device, const Memory* memory);

}  // namespace metalbench::pjrt
