// The functions of metalbench/hlo.h about properties: types, statistics, timing and serialised
// programs.
#include <algorithm>
#include <chrono>
#include <numeric>
#include <string_view>
#include <vector>

#include "c_api/handles.h"

namespace pjrt = metalbench::pjrt;
using pjrt::Function;
using namespace metalbench::c_api;

namespace {

constexpr int api_version = 2;

// Throws Failed unless the program has a result with this number.
void check_number(const mb_hlo_executable& executable, std::size_t number) {
  if (number < executable.results) return;
  throw Failed{MB_HLO_INVALID_ARGUMENT, "number: expected less than " +
                                            std::to_string(executable.results) + ", got " +
                                            std::to_string(number)};
}

std::int64_t cost_of(pjrt::Executable* program, std::string_view name) {
  auto costs = made<pjrt::CostAnalysis>();
  costs.executable = program;
  call(Function::Executable_GetCostAnalysis, costs);
  for (std::size_t i = 0; i < costs.count; ++i) {
    const pjrt::NamedValue& each = costs.items[i];
    if (std::string_view(each.name, each.name_size) == name) {
      return static_cast<std::int64_t>(each.number);
    }
  }
  throw Failed{MB_HLO_NOT_FOUND, "the program has no count of " + std::string(name)};
}

}  // namespace

int mb_hlo_api_version(void) { return api_version; }

mb_hlo_error* mb_hlo_client_platform(mb_hlo_client* client, const char** name) {
  return guarded([&] {
    auto text = made<pjrt::Text<pjrt::Client>>();
    text.of = given(client, "a client").session->client;
    given(name, "room for a name");
    call(Function::Client_PlatformVersion, text);
    *name = text.text;
  });
}

mb_hlo_error* mb_hlo_client_memory(mb_hlo_client* client, mb_hlo_memory* memory) {
  return guarded([&] {
    auto found = made<pjrt::DeviceMemoryStatistics>();
    found.device = given(client, "a client").session->device;
    given(memory, "room for numbers");
    call(Function::Device_MemoryStats, found);
    *memory = {found.used_bytes, found.peak_used_bytes.value,
               found.pool_bytes.value - found.used_bytes};
  });
}

mb_hlo_error* mb_hlo_executable_name(mb_hlo_executable* executable, const char** name) {
  return guarded([&] {
    auto text = made<pjrt::Text<pjrt::Executable>>();
    text.of = given(executable, "an executable").program;
    given(name, "room for a name");
    call(Function::Executable_Name, text);
    *name = text.text;
  });
}

mb_hlo_error* mb_hlo_executable_result_type(mb_hlo_executable* executable, size_t number,
                                            mb_hlo_type* type) {
  return guarded([&] {
    check_number(given(executable, "an executable"), number);
    given(type, "room for a type");
    auto types = made<pjrt::List<pjrt::Executable, int>>();
    types.of = executable->program;
    call(Function::Executable_OutputElementTypes, types);
    *type = static_cast<mb_hlo_type>(types.items[number]);
  });
}

mb_hlo_error* mb_hlo_executable_result_shape(mb_hlo_executable* executable, size_t number,
                                             const std::int64_t** sizes, size_t* rank) {
  return guarded([&] {
    check_number(given(executable, "an executable"), number);
    given(sizes, "room for sizes");
    given(rank, "room for a rank");
    auto found = made<pjrt::OutputDimensions>();
    found.executable = executable->program;
    call(Function::Executable_OutputDimensions, found);
    *sizes = std::accumulate(found.ranks, found.ranks + number, found.dimensions);
    *rank = found.ranks[number];
  });
}

mb_hlo_error* mb_hlo_executable_statistics(mb_hlo_executable* executable,
                                           mb_hlo_statistics* statistics) {
  return guarded([&] {
    auto found = made<pjrt::MemoryStatistics>();
    found.executable = given(executable, "an executable").program;
    given(statistics, "room for numbers");
    call(Function::Executable_GetCompiledMemoryStats, found);
    *statistics = {found.code_bytes,
                   found.argument_bytes,
                   found.output_bytes,
                   found.temporary_bytes,
                   found.peak_bytes,
                   cost_of(executable->program, "flops"),
                   cost_of(executable->program, "transcendentals"),
                   cost_of(executable->program, "bytes accessed")};
  });
}

mb_hlo_error* mb_hlo_executable_serialize(mb_hlo_executable* executable, char** bytes,
                                          size_t* size) {
  return guarded([&] {
    auto found = made<pjrt::Bytes<const pjrt::Executable>>();
    found.of = given(executable, "an executable").program;
    given(bytes, "room for bytes");
    given(size, "room for a size");
    call(Function::Executable_Serialize, found);
    *bytes = new char[found.size];
    *size = found.size;
    std::copy_n(found.bytes, found.size, *bytes);
    found.release(found.owner);
  });
}

void mb_hlo_bytes_destroy(char* bytes) { delete[] bytes; }

mb_hlo_error* mb_hlo_time(mb_hlo_executable* executable, mb_hlo_buffer* const* arguments,
                          size_t argument_count, size_t runs, mb_hlo_timing* timing) {
  return guarded([&] {
    given(executable, "an executable");
    given(timing, "room for times");
    if (argument_count > 0) given(arguments, "arguments");
    if (runs == 0) throw Failed{MB_HLO_INVALID_ARGUMENT, "runs: expected at least 1, got 0"};
    std::vector<pjrt::Buffer*> buffers(argument_count), results(executable->results);
    for (std::size_t i = 0; i < argument_count; ++i) {
      buffers[i] = given(arguments[i], "a buffer").buffer;
    }
    const auto run_once = [&] {
      const auto begin = std::chrono::steady_clock::now();
      run(*executable, buffers.data(), argument_count, results.data(), true);
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      for (pjrt::Buffer* each : results) destroy(Function::Buffer_Destroy, each);
      return time.count();
    };
    // The first run compiles kernels, and allocates memory that the others use again.
    run_once();
    std::vector<double> times(runs);
    std::generate(times.begin(), times.end(), run_once);
    std::sort(times.begin(), times.end());
    const double sum = std::accumulate(times.begin(), times.end(), 0.0);
    const double median = (times[(runs - 1) / 2] + times[runs / 2]) / 2;
    *timing = {runs, times.front(), median, sum / static_cast<double>(runs)};
  });
}
