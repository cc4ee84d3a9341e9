// The functions of metalbench/hlo.h: each fills a structure and calls a function of PJRT's table.
#include "metalbench/hlo.h"

#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "c_api/handles.h"

namespace pjrt = metalbench::pjrt;
using pjrt::Function;
using namespace metalbench::c_api;

namespace {

pjrt::NamedValue option(const std::string& name, const std::string& value) {
  auto made_of = made<pjrt::NamedValue>();
  made_of.name = name.data();
  made_of.name_size = name.size();
  made_of.kind = pjrt::NamedValueKind::kString;
  made_of.text = value.data();
  made_of.size = value.size();
  return made_of;
}

pjrt::Device* device_of(pjrt::Client* client) {
  auto devices = made<pjrt::List<pjrt::Client, pjrt::Device*>>();
  devices.of = client;
  call(Function::Client_Devices, devices);
  return devices.items[0];
}

std::string describe(pjrt::Device* device) {
  auto description = made<pjrt::Ask<pjrt::Device, pjrt::DeviceDescription*>>();
  description.of = device;
  call(Function::Device_GetDescription, description);
  auto text = made<pjrt::Text<pjrt::DeviceDescription>>();
  text.of = description.out;
  call(Function::DeviceDescription_ToString, text);
  return {text.text, text.size};
}

mb_hlo_executable* wrap(std::shared_ptr<Session> session, pjrt::LoadedExecutable* loaded) {
  auto executable = made<pjrt::Ask<pjrt::LoadedExecutable, pjrt::Executable*>>();
  executable.of = loaded;
  call(Function::LoadedExecutable_GetExecutable, executable);
  auto count = made<pjrt::Ask<pjrt::Executable, std::size_t>>();
  count.of = executable.out;
  call(Function::Executable_NumOutputs, count);
  return new mb_hlo_executable{std::move(session), loaded, executable.out, count.out};
}

// Return serialised compile options (xla/pjrt/proto/compile_options.proto) with a level: the map
// `env_option_overrides`, field 7, from names to values whose field 1 is a text.
std::string options_of(int level) {
  const auto field = [](int number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
  };
  const std::string value = field(1, std::to_string(level));
  return field(7, field(1, "metalbench_level") + field(2, value));
}

mb_hlo_executable* compile(const mb_hlo_client& client, const char* code, std::size_t size,
                           const std::string& options) {
  constexpr std::string_view format = "mlir";
  auto program = made<pjrt::Program>();
  // The plugin does not write to it.
  program.code = const_cast<char*>(&given(code, "a program"));
  program.code_size = size;
  program.format = format.data();
  program.format_size = format.size();
  auto arguments = made<pjrt::Compile>();
  arguments.client = client.session->client;
  arguments.program = &program;
  arguments.options = options.data();
  arguments.options_size = options.size();
  call(Function::Client_Compile, arguments);
  return wrap(client.session, arguments.executable);
}

void check_results(const mb_hlo_executable& executable, mb_hlo_buffer** results,
                   std::size_t count) {
  if (count > 0) given(results, "room for results");
  if (count == executable.results) return;
  throw Failed{MB_HLO_INVALID_ARGUMENT, "result_count: expected " +
                                            std::to_string(executable.results) + ", got " +
                                            std::to_string(count)};
}

}  // namespace

namespace metalbench::c_api {

void run(const mb_hlo_executable& executable, pjrt::Buffer* const* arguments,
         std::size_t argument_count, pjrt::Buffer** results, bool keeps_arguments) {
  std::vector<std::int64_t> numbers(argument_count);
  std::iota(numbers.begin(), numbers.end(), 0);
  auto options = made<pjrt::ExecuteOptions>();
  options.kept = numbers.data();
  options.kept_count = keeps_arguments ? argument_count : 0;
  auto request = made<pjrt::Execute>();
  request.executable = executable.loaded;
  request.options = &options;
  request.arguments = &arguments;
  request.devices = 1;
  request.argument_count = argument_count;
  request.results = &results;
  pjrt::Event* end = nullptr;
  request.done = &end;
  call(Function::LoadedExecutable_Execute, request);
  try {
    await(end);
  } catch (...) {
    for (std::size_t i = 0; i < executable.results; ++i) {
      destroy(Function::Buffer_Destroy, results[i]);
    }
    throw;
  }
}

Session::~Session() {
  if (client != nullptr) destroy(Function::Client_Destroy, client);
}

}  // namespace metalbench::c_api

mb_hlo_code mb_hlo_error_code(const mb_hlo_error* error) {
  return error == nullptr ? MB_HLO_INVALID_ARGUMENT : error->code;
}

const char* mb_hlo_error_message(const mb_hlo_error* error) {
  return error == nullptr ? "expected an error, got null" : error->message.c_str();
}

void mb_hlo_error_destroy(mb_hlo_error* error) { delete error; }

mb_hlo_error* mb_hlo_client_create(const char* device, mb_hlo_client** client) {
  return guarded([&] {
    const std::string name = "device", value = &given(device, "a device's name");
    given(client, "room for a client");
    const pjrt::NamedValue options = option(name, value);
    auto arguments = made<pjrt::ClientCreate>();
    arguments.options = &options;
    arguments.option_count = 1;
    call(Function::Client_Create, arguments);
    auto session = std::make_shared<Session>();
    session->client = arguments.client;
    session->device = device_of(session->client);
    std::string text = describe(session->device);
    *client = new mb_hlo_client{std::move(session), std::move(text)};
  });
}

void mb_hlo_client_destroy(mb_hlo_client* client) { delete client; }

mb_hlo_error* mb_hlo_client_device(mb_hlo_client* client, const char** name) {
  return guarded([&] { given(name, "room") = given(client, "a client").device.c_str(); });
}

mb_hlo_error* mb_hlo_compile(mb_hlo_client* client, const char* code, std::size_t size,
                             mb_hlo_executable** executable) {
  return guarded([&] {
    given(client, "a client");
    given(executable, "room for an executable");
    *executable = compile(*client, code, size, {});
  });
}

mb_hlo_error* mb_hlo_compile_at_level(mb_hlo_client* client, const char* code, std::size_t size,
                                      int level, mb_hlo_executable** executable) {
  return guarded([&] {
    given(client, "a client");
    given(executable, "room for an executable");
    *executable = compile(*client, code, size, options_of(level));
  });
}

mb_hlo_error* mb_hlo_executable_load(mb_hlo_client* client, const char* bytes, std::size_t size,
                                     mb_hlo_executable** executable) {
  return guarded([&] {
    const auto& session = given(client, "a client").session;
    given(executable, "room for an executable");
    auto arguments = made<pjrt::DeserializeAndLoad>();
    arguments.client = session->client;
    arguments.bytes = &given(bytes, "a serialised program");
    arguments.size = size;
    call(Function::Executable_DeserializeAndLoad, arguments);
    *executable = wrap(session, arguments.executable);
  });
}

void mb_hlo_executable_destroy(mb_hlo_executable* executable) {
  if (executable != nullptr) {
    destroy(Function::Executable_Destroy, executable->program);
    destroy(Function::LoadedExecutable_Destroy, executable->loaded);
  }
  delete executable;
}

mb_hlo_error* mb_hlo_executable_results(mb_hlo_executable* executable, std::size_t* count) {
  return guarded([&] { given(count, "room") = given(executable, "an executable").results; });
}

mb_hlo_error* mb_hlo_execute(mb_hlo_executable* executable, mb_hlo_buffer* const* arguments,
                             std::size_t argument_count, mb_hlo_buffer** results,
                             std::size_t result_count) {
  return guarded([&] {
    check_results(given(executable, "an executable"), results, result_count);
    if (argument_count > 0) given(arguments, "arguments");
    std::vector<pjrt::Buffer*> buffers(argument_count), found(result_count);
    for (std::size_t number = 0; number < argument_count; ++number) {
      buffers[number] = given(arguments[number], "a buffer").buffer;
    }
    run(*executable, buffers.data(), argument_count, found.data(), false);
    for (std::size_t number = 0; number < result_count; ++number) {
      results[number] = new mb_hlo_buffer{executable->session, found[number]};
    }
  });
}

mb_hlo_error* mb_hlo_buffer_create(mb_hlo_client* client, mb_hlo_type type,
                                   const std::int64_t* sizes, std::size_t rank,
                                   const void* elements, mb_hlo_buffer** buffer) {
  return guarded([&] {
    const auto& session = given(client, "a client").session;
    given(buffer, "room for a buffer");
    auto arguments = made<pjrt::FromHost>();
    arguments.client = session->client;
    arguments.data = elements;
    arguments.type = type;
    arguments.dimensions = sizes;
    arguments.rank = rank;
    call(Function::Client_BufferFromHostBuffer, arguments);
    forget(arguments.done);
    *buffer = new mb_hlo_buffer{session, arguments.buffer};
  });
}

mb_hlo_error* mb_hlo_buffer_copy(mb_hlo_buffer* buffer, mb_hlo_buffer** copy) {
  return guarded([&] {
    const auto& session = given(buffer, "a buffer").session;
    given(copy, "room for a buffer");
    auto arguments = made<pjrt::CopyToDevice>();
    arguments.buffer = buffer->buffer;
    arguments.device = session->device;
    call(Function::Buffer_CopyToDevice, arguments);
    *copy = new mb_hlo_buffer{session, arguments.made};
  });
}

void mb_hlo_buffer_destroy(mb_hlo_buffer* buffer) {
  if (buffer != nullptr) destroy(Function::Buffer_Destroy, buffer->buffer);
  delete buffer;
}

mb_hlo_error* mb_hlo_buffer_type(mb_hlo_buffer* buffer, mb_hlo_type* type) {
  return guarded([&] {
    auto arguments = made<pjrt::Ask<pjrt::Buffer, mb_hlo_type>>();
    arguments.of = given(buffer, "a buffer").buffer;
    given(type, "room for a type");
    call(Function::Buffer_ElementType, arguments);
    *type = arguments.out;
  });
}

mb_hlo_error* mb_hlo_buffer_shape(mb_hlo_buffer* buffer, const std::int64_t** sizes,
                                  std::size_t* rank) {
  return guarded([&] {
    auto arguments = made<pjrt::List<pjrt::Buffer, std::int64_t>>();
    arguments.of = given(buffer, "a buffer").buffer;
    given(sizes, "room for sizes");
    given(rank, "room for a rank");
    call(Function::Buffer_Dimensions, arguments);
    *sizes = arguments.items;
    *rank = arguments.count;
  });
}

mb_hlo_error* mb_hlo_buffer_bytes(mb_hlo_buffer* buffer, std::size_t* bytes) {
  return guarded([&] {
    auto arguments = made<pjrt::Ask<pjrt::Buffer, std::size_t>>();
    arguments.of = given(buffer, "a buffer").buffer;
    given(bytes, "room for a size");
    call(Function::Buffer_OnDeviceSizeInBytes, arguments);
    *bytes = arguments.out;
  });
}

mb_hlo_error* mb_hlo_buffer_read(mb_hlo_buffer* buffer, void* elements, std::size_t bytes) {
  return guarded([&] {
    auto arguments = made<pjrt::ToHost>();
    arguments.buffer = given(buffer, "a buffer").buffer;
    arguments.data = elements;
    arguments.size = bytes;
    // PJRT returns the size if the pointer is null.
    if (elements == nullptr) given(static_cast<char*>(nullptr), "room for elements");
    call(Function::Buffer_ToHostBuffer, arguments);
    forget(arguments.done);
  });
}
