// What a test asks the double for, the device that it tells of, and its memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "double.h"

using namespace cuda_double;

namespace {

struct Failure {
  int after, code;
};

std::map<std::string, Failure> failures;
std::map<std::string, int> calls;

int find(std::uint64_t address, std::size_t bytes) {
  auto found = memory.upper_bound(address);
  if (found == memory.begin()) return invalid;
  --found;
  return address + bytes <= found->first + found->second ? ok : invalid;
}

}  // namespace

int cuda_double::begin(const char* name) {
  ++calls[name];
  const auto failure = failures.find(name);
  if (failure == failures.end() || failure->second.after-- > 0) return sticky;
  const int code = failure->second.code;
  failures.erase(failure);
  return code;
}

extern "C" {

// For tests: let the call after `after` more of them fail; what sticks from here on; whether kernels
// end; how often the stream is found still working; and what is left.
void cuda_double_fail(const char* name, int after, int code) { failures[name] = {after, code}; }
void cuda_double_stick(int code) { sticky = code; }
void cuda_double_hang(int yes) { hanging = yes != 0; }
void cuda_double_patience(int queries) { patience = queries; }
int cuda_double_calls(const char* name) { return calls[name]; }
int cuda_double_alive() { return static_cast<int>(alive.size() + memory.size()); }

int cuInit(unsigned) {
  BEGIN;
  // As the library does, which names its threads and makes a socket, and starts with neither.
  const std::string name = "/proc/self/task/" + std::to_string(gettid()) + "/comm";
  const int comm = open(name.c_str(), O_RDWR), local = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  close(comm);
  close(local);
  return comm < 0 || local < 0 ? operating_system : ok;
}
int cuDriverGetVersion(int* version) { BEGIN; *version = 12090; return ok; }
int cuGetErrorName(int code, const char** name) {
  *name = code == illegal_address ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : code == out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY"
                                  : "CUDA_ERROR_OF_THE_DOUBLE";
  return ok;
}
int cuGetErrorString(int code, const char** text) {
  static std::string said;
  said = "the double's error " + std::to_string(code);
  *text = said.c_str();
  return ok;
}
int cuDeviceGetCount(int* count) { BEGIN; *count = std::getenv("CUDA_DOUBLE_NO_GPU") ? 0 : 1; return ok; }
int cuDeviceGet(int* device, int) { BEGIN; *device = 0; return ok; }
int cuDeviceGetName(char* name, int size, int) {
  BEGIN;
  const char* given = std::getenv("CUDA_DOUBLE_NAME");
  std::snprintf(name, size, "%s", given == nullptr ? "Double of a GPU" : given);
  return ok;
}
int cuDeviceGetAttribute(int* value, int which, int) {
  BEGIN;
  static const std::map<int, int> known = {{13, 1980000}, {16, 2}, {36, 2619000}, {37, 5120},
                                           {38, 1 << 20}, {75, 9}, {76, 0}};
  *value = known.at(which);
  return ok;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { BEGIN; *bytes = std::size_t{1} << 34; return ok; }
int cuDeviceGetPCIBusId(char* text, int size, int) { BEGIN; std::snprintf(text, size, "0000:01:00.0"); return ok; }
int cuDevicePrimaryCtxRetain(void** context, int) { BEGIN; *context = &memory; return ok; }
int cuCtxSetCurrent(void*) { BEGIN; return ok; }

int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  BEGIN;
  if (!may_allocate()) return not_capturable;
  // A page that is never reachable lies behind each.
  const std::size_t all = (bytes + page - 1) / page * page + page;
  void* mapped = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return out_of_memory;
  *address = reinterpret_cast<std::uint64_t>(mapped);
  memory[*address] = bytes;
  return ok;
}
int cuMemFree_v2(std::uint64_t address) {
  BEGIN;
  flush();
  const auto found = memory.find(address);
  if (found == memory.end()) return invalid;
  munmap(reinterpret_cast<void*>(address), (found->second + page - 1) / page * page + page);
  memory.erase(found);
  return ok;
}
int cuMemHostAlloc(void** host, std::size_t bytes, unsigned) {
  BEGIN;
  *host = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  std::memset(*host, 0xa5, bytes);
  born("pinned", *host);
  return ok;
}
int cuMemFreeHost(void* host) {
  BEGIN;
  if (gone("pinned", host) != ok) return invalid;
  std::free(host);
  return ok;
}
// Pageable memory of the host is read at once, page-locked memory when the stream comes to it.
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* on) {
  BEGIN;
  if (is_captured(on)) return not_capturable;
  if (find(to, bytes) != ok) return invalid;
  auto put = [to, bytes](const void* source) {
    make_reachable(true);
    std::memcpy(reinterpret_cast<void*>(to), source, bytes);
    make_reachable(false);
  };
  if (alive.contains(word_of("pinned", static_cast<const char*>(from)))) {
    stream.emplace_back([=] { put(from); });
  } else {
    const auto* begin = static_cast<const char*>(from);
    stream.emplace_back([put, copy = std::string(begin, begin + bytes)] { put(copy.data()); });
  }
  return ok;
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* on) {
  BEGIN;
  if (is_captured(on)) return not_capturable;
  if (find(from, bytes) != ok) return invalid;
  stream.emplace_back([=] {
    make_reachable(true);
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    make_reachable(false);
  });
  return ok;
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* on) {
  BEGIN;
  if (find(to, bytes) != ok || find(from, bytes) != ok) return invalid;
  enqueue(on, 'c', [=] {
    make_reachable(true);
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    make_reachable(false);
  });
  return ok;
}
int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void* on) {
  BEGIN;
  if (find(to, bytes) != ok) return invalid;
  enqueue(on, 's', [=] {
    make_reachable(true);
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    make_reachable(false);
  });
  return ok;
}
// Page-locked memory of the host has attributes, other memory has none.
int cuPointerGetAttribute(void* value, int, std::uint64_t address) {
  const auto at = reinterpret_cast<const void*>(address);
  if (!alive.contains(word_of("pinned", static_cast<const char*>(at)))) return invalid;
  *static_cast<unsigned*>(value) = 1;
  return ok;
}
}
