#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string_view>

#include "pjrt/objects.h"

namespace metalbench::pjrt {

namespace nb = nanobind;

namespace {

void initialize(PluginInitialize&) {}

// Payloads use the older of this version and the caller's version. The same jaxlib that writes them
// reads them.
constexpr std::int64_t kStablehlo[] = {1, 999, 0};
constexpr std::int64_t kOldest[] = {0, 9, 0};

NamedValue stablehlo_version(const char* name, const std::int64_t (&version)[3]) {
  NamedValue made{};
  made.head.size = sizeof(NamedValue);
  made.name = name;
  made.name_size = std::string_view(name).size();
  made.kind = NamedValueKind::kInt64List;
  made.integers = version;
  made.size = std::size(version);
  return made;
}

void plugin_attributes(PluginAttributes& arguments) {
  static const NamedValue values[] = {stablehlo_version("stablehlo_current_version", kStablehlo),
                                      stablehlo_version("stablehlo_minimum_version", kOldest)};
  arguments.items = values;
  arguments.count = std::size(values);
}

nb::str text_of(const NamedValue& value) {
  const std::string_view text = given_bytes(value.text, value.size, "an option's text");
  return nb::str(text.data(), text.size());
}

nb::dict options_of(const ClientCreate& arguments) {
  nb::dict options;
  if (arguments.option_count > 0) given(arguments.options, "options");
  for (std::size_t number = 0; number < arguments.option_count; ++number) {
    const NamedValue& value = arguments.options[number];
    const std::string_view key = given_bytes(value.name, value.name_size, "an option's name");
    const nb::str name(key.data(), key.size());
    switch (value.kind) {
      case NamedValueKind::kString:
        options[name] = text_of(value);
        break;
      case NamedValueKind::kInt64:
        options[name] = nb::int_(value.integer);
        break;
      case NamedValueKind::kFloat:
        options[name] = nb::float_(value.number);
        break;
      case NamedValueKind::kBool:
        options[name] = nb::bool_(value.flag);
        break;
      default:
        throw Failure(Code::kInvalidArgument, "options: expected one value for each name");
    }
  }
  return options;
}

void create(ClientCreate& arguments) {
  const WithGil held;
  const nb::object runtime = nb::module_::import_(kRuntime).attr("Client")(**options_of(arguments));
  auto client = std::make_unique<Client>();
  client->has_host_memory = nb::cast<bool>(runtime.attr("has_host_memory"));
  client->version = nb::cast<std::string>(runtime.attr("version"));
  check(execution().queue_of(nb::object(runtime.attr("queue")).ptr(), client->queue));
  for (const nb::handle each : nb::list(runtime.attr("element_layouts"))) {
    client->elements.push_back(
        {nb::cast<std::size_t>(each[0]), nb::cast<unsigned>(each[1]), nb::cast<bool>(each[2])});
  }
  client->description.kind = nb::cast<std::string>(runtime.attr("device_kind"));
  client->description.text = nb::cast<std::string>(runtime.attr("device_text"));
  client->memory.text = client->description.text + ", its memory";
  client->runtime = PythonReference(runtime);
  client->deferred = std::make_shared<DeferredRuns>(PythonReference(runtime));
  arguments.client = client.release();
}

void destroy_client(Only<Client>& arguments) { destroy_given(arguments.of, "a client"); }

void platform_name(Text<Client>& arguments) {
  given(arguments.of, "a client");
  arguments.text = kPlatform;
  arguments.size = std::string_view(kPlatform).size();
}

void platform_version(Text<Client>& arguments) {
  const Client& client = given(arguments.of, "a client");
  arguments.text = client.version.c_str();
  arguments.size = client.version.size();
}

void client_process_index(Ask<Client, int>& arguments) {
  given(arguments.of, "a client");
  arguments.out = 0;
}

void client_devices(List<Client, Device*>& arguments) {
  const Client& client = given(arguments.of, "a client");
  arguments.items = client.devices.data();
  arguments.count = client.devices.size();
}

void client_memories(List<Client, Memory*>& arguments) {
  const Client& client = given(arguments.of, "a client");
  arguments.items = client.memories.data();
  arguments.count = client.memories.size();
}

void lookup(LookupDevice& arguments) {
  Client& client = given(arguments.client, "a client");
  if (arguments.id != 0) {
    throw Failure(Code::kNotFound, "expected device 0, got " + std::to_string(arguments.id));
  }
  arguments.device = &client.device;
}

void default_assignment(DefaultDeviceAssignment& arguments) {
  given(arguments.client, "a client");
  if (arguments.replicas != 1 || arguments.partitions != 1 || arguments.size < 1) {
    throw Failure(Code::kUnimplemented,
                  "expected one replica of one partition: there is one device");
  }
  given(arguments.devices, "an array of devices") = 0;
}

void topology(Ask<Client, Topology*>& arguments) {
  arguments.out = &given(arguments.of, "a client").topology;
}

void topology_name(Text<const Topology>& arguments) {
  given(arguments.of, "a topology");
  arguments.text = kPlatform;
  arguments.size = std::string_view(kPlatform).size();
}

void topology_version(Text<Topology>& arguments) {
  const Client& client = given(given(arguments.of, "a topology").client, "a client");
  arguments.text = client.version.c_str();
  arguments.size = client.version.size();
}

void topology_devices(List<const Topology, DeviceDescription*>& arguments) {
  const Client& client = given(given(arguments.of, "a topology").client, "a client");
  arguments.items = client.descriptions.data();
  arguments.count = client.descriptions.size();
}

void topology_attributes(List<Topology, NamedValue>& arguments) {
  given(arguments.of, "a topology");
  arguments.items = nullptr;
  arguments.count = 0;
}

}  // namespace

void define_clients(Api& api) {
  define<Function::Plugin_Initialize, &initialize>(api);
  define<Function::Plugin_Attributes, &plugin_attributes>(api);
  define<Function::Client_Create, &create>(api);
  define<Function::Client_Destroy, &destroy_client>(api);
  define<Function::Client_PlatformName, &platform_name>(api);
  define<Function::Client_PlatformVersion, &platform_version>(api);
  define<Function::Client_ProcessIndex, &client_process_index>(api);
  define<Function::Client_Devices, &client_devices>(api);
  define<Function::Client_AddressableDevices, &client_devices>(api);
  define<Function::Client_AddressableMemories, &client_memories>(api);
  define<Function::Client_LookupDevice, &lookup>(api);
  define<Function::Client_LookupAddressableDevice, &lookup>(api);
  define<Function::Client_DefaultDeviceAssignment, &default_assignment>(api);
  define<Function::Client_TopologyDescription, &topology>(api);
  define<Function::TopologyDescription_PlatformName, &topology_name>(api);
  define<Function::TopologyDescription_PlatformVersion, &topology_version>(api);
  define<Function::TopologyDescription_GetDeviceDescriptions, &topology_devices>(api);
  define<Function::TopologyDescription_Attributes, &topology_attributes>(api);
}

}  // namespace metalbench::pjrt
