// A double of NVIDIA's driver, for tests without a GPU: the functions that csrc/cuda/driver.h names.
//
// Device memory is memory that nobody can touch but copies and kernels, so a copy that is forgotten shows.
// What is put on a stream is done when somebody asks for it and no sooner, as late as a GPU might. Kernels
// run one thread after the other, from shared objects that kernels.py has made of the same text; what
// these do outside of device memory is the error that a GPU has for it, and sticks. The clock advances
// by launch_ns with every launch.
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "msl/mb/gpu/abi.h"

namespace {

constexpr int ok = 0, invalid = 1, out_of_memory = 2, invalid_ptx = 218, not_ready = 600;
constexpr int illegal_address = 700, no_binary = 209;
constexpr double launch_ns = 4000;
constexpr std::size_t page = 4096;

using Entry = void (*)(const mb::gpu::Launch*, const unsigned* group, const unsigned* threads);

struct Launched {
  Entry entry;
  mb::gpu::Launch parameter;
  unsigned grid[3], block[3];
};
struct GraphOf {
  std::vector<Launched> launches;
};
struct EventOf {
  bool recorded = false, done = false;
  double at_ns = 0;
};
struct ModuleOf {
  void* library = nullptr;
  Entry entry = nullptr;  // null: it does nothing
  unsigned threads = 0;
};
struct LinkOf {
  std::string image, failure;
  char* log = nullptr;
};
struct Failure {
  int after, code;
};

std::map<std::uint64_t, std::size_t> memory;
std::map<void*, std::size_t> pinned;
std::deque<std::function<void()>> stream;
std::unique_ptr<GraphOf> capturing;
std::map<std::string, Failure> failures;
std::map<std::string, int> calls;
std::set<std::string> alive;  // what was made and not destroyed, in words
int sticky = ok;
bool hanging = false;
int patience = 0;  // queries that find the stream still working
double now_ns = 0;
sigjmp_buf out_of_kernel;

bool is_reachable(bool yes) {
  for (const auto& [address, bytes] : memory) {
    mprotect(reinterpret_cast<void*>(address), (bytes + page - 1) / page * page,
             yes ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
  return yes;
}

int find(std::uint64_t address, std::size_t bytes) {
  auto found = memory.upper_bound(address);
  if (found == memory.begin()) return invalid;
  --found;
  return address + bytes <= found->first + found->second ? ok : invalid;
}

void leave_kernel(int) { siglongjmp(out_of_kernel, 1); }

void run(const Launched& launched) {
  now_ns += launch_ns;
  if (launched.entry == nullptr || sticky != ok) return;
  struct sigaction before, mine {};
  mine.sa_handler = leave_kernel;
  mine.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &mine, &before);
  is_reachable(true);
  if (sigsetjmp(out_of_kernel, 1) == 0) {
    for (unsigned z = 0; z < launched.grid[2]; ++z)
      for (unsigned y = 0; y < launched.grid[1]; ++y)
        for (unsigned x = 0; x < launched.grid[0]; ++x) {
          const unsigned group[] = {x, y, z};
          launched.entry(&launched.parameter, group, launched.block);
        }
  } else {
    sticky = illegal_address;
  }
  is_reachable(false);
  sigaction(SIGSEGV, &before, nullptr);
}

void flush() {
  while (!stream.empty()) {
    stream.front()();
    stream.pop_front();
  }
}

// What a test has asked for, or what has gone wrong before.
int begin(const char* name) {
  ++calls[name];
  const auto failure = failures.find(name);
  if (failure != failures.end() && failure->second.after-- <= 0) {
    const int code = failure->second.code;
    failures.erase(failure);
    return code;
  }
  return sticky;
}
#define BEGIN \
  if (const int failed = begin(__func__); failed != ok) return failed

std::string without_threads(const std::string& ptx, unsigned& threads) {
  const std::size_t at = ptx.find("\n.maxntid ");
  if (at == std::string::npos) return ptx;
  threads = std::strtoul(ptx.c_str() + at + 10, nullptr, 10);
  return ptx.substr(0, at) + ptx.substr(ptx.find('\n', at + 1));
}

std::string digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  char name[32];
  std::snprintf(name, sizeof name, "%016lx", static_cast<unsigned long>(hash));
  return name;
}

void born(const char* kind, const void* what) {
  alive.insert(std::string(kind) + std::to_string(reinterpret_cast<std::uintptr_t>(what)));
}
int gone(const char* kind, const void* what) {
  const auto name = std::string(kind) + std::to_string(reinterpret_cast<std::uintptr_t>(what));
  return alive.erase(name) == 1 ? ok : invalid;
}

}  // namespace

extern "C" {

// For tests: let the call after `after` more of them fail; what sticks from here on; whether kernels
// end; how often the stream is found still working; and what is left.
void cuda_double_fail(const char* name, int after, int code) { failures[name] = {after, code}; }
void cuda_double_stick(int code) { sticky = code; }
void cuda_double_hang(int yes) { hanging = yes != 0; }
void cuda_double_patience(int queries) { patience = queries; }
int cuda_double_calls(const char* name) { return calls[name]; }
int cuda_double_alive() { return static_cast<int>(alive.size() + memory.size() + pinned.size()); }

int cuInit(unsigned) { BEGIN; return ok; }
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
int cuDeviceGetName(char* name, int size, int) { BEGIN; std::snprintf(name, size, "Double of a GPU"); return ok; }
int cuDeviceGetAttribute(int* value, int which, int) {
  BEGIN;
  static const std::map<int, int> known = {{13, 1980000}, {16, 132}, {36, 2619000}, {37, 5120},
                                           {38, 52428800}, {75, 9}, {76, 0}};
  *value = known.at(which);
  return ok;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { BEGIN; *bytes = std::size_t{1} << 34; return ok; }
int cuDeviceGetPCIBusId(char* text, int size, int) { BEGIN; std::snprintf(text, size, "0000:01:00.0"); return ok; }
int cuDevicePrimaryCtxRetain(void** context, int) { BEGIN; *context = &memory; return ok; }
int cuCtxSetCurrent(void*) { BEGIN; return ok; }

int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  BEGIN;
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
  pinned[*host] = bytes;
  return ok;
}
int cuMemFreeHost(void* host) {
  BEGIN;
  if (pinned.erase(host) == 0) return invalid;
  std::free(host);
  return ok;
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void*) {
  BEGIN;
  if (find(to, bytes) != ok) return invalid;
  stream.emplace_back([=] {
    is_reachable(true);
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    is_reachable(false);
  });
  return ok;
}
// On no stream: it waits for none.
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  BEGIN;
  if (find(from, bytes) != ok) return invalid;
  is_reachable(true);
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  is_reachable(false);
  return ok;
}

int cuStreamCreate(void** made, unsigned) { BEGIN; *made = &stream; return ok; }
int cuStreamSynchronize(void*) { BEGIN; flush(); return sticky; }
int cuStreamBeginCapture_v2(void*, int) { BEGIN; capturing = std::make_unique<GraphOf>(); return ok; }
int cuStreamEndCapture(void*, GraphOf** graph) {
  BEGIN;
  *graph = capturing.release();
  born("graph", *graph);
  return ok;
}
int cuGraphInstantiateWithFlags(GraphOf** made, GraphOf* graph, unsigned long long) {
  BEGIN;
  *made = new GraphOf(*graph);
  born("instance", *made);
  return ok;
}
int cuGraphDestroy(GraphOf* graph) {
  BEGIN;
  if (gone("graph", graph) != ok) return invalid;
  delete graph;
  return ok;
}
int cuGraphExecDestroy(GraphOf* graph) {
  BEGIN;
  flush();
  if (gone("instance", graph) != ok) return invalid;
  delete graph;
  return ok;
}
int cuGraphLaunch(GraphOf* graph, void*) {
  BEGIN;
  stream.emplace_back([launches = graph->launches] {
    for (const Launched& each : launches) run(each);
  });
  return ok;
}

int cuEventCreate(EventOf** event, unsigned) {
  BEGIN;
  *event = new EventOf;
  born("event", *event);
  return ok;
}
int cuEventDestroy_v2(EventOf* event) {
  BEGIN;
  flush();
  if (gone("event", event) != ok) return invalid;
  delete event;
  return ok;
}
int cuEventRecord(EventOf* event, void*) {
  BEGIN;
  event->recorded = true;
  event->done = false;
  stream.emplace_back([event] {
    event->done = true;
    event->at_ns = now_ns;
  });
  return ok;
}
int cuEventQuery(EventOf* event) {
  BEGIN;
  if (hanging) return not_ready;
  if (patience > 0 && !event->done) {
    --patience;
    return not_ready;
  }
  flush();
  if (sticky != ok) return sticky;
  return event->done ? ok : not_ready;
}
int cuEventElapsedTime(float* ms, EventOf* from, EventOf* to) {
  BEGIN;
  if (!from->done || !to->done) return not_ready;
  *ms = static_cast<float>((to->at_ns - from->at_ns) * 1e-6);
  return ok;
}

int cuLinkCreate_v2(unsigned count, int* options, void** values, LinkOf** link) {
  BEGIN;
  *link = new LinkOf;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == 5) (*link)->log = static_cast<char*>(values[i]);
  born("link", *link);
  return ok;
}
int cuLinkAddData_v2(LinkOf* link, int kind, void* data, std::size_t, const char*, unsigned, int*, void**) {
  if (const int failed = begin(__func__); failed != ok) {
    if (failed == invalid_ptx) std::strcpy(link->log, "ptxas of the double: line 7: no such thing");
    return failed;
  }
  if (kind != 1) return invalid;
  link->image = std::string("CUBIN ") + static_cast<const char*>(data);
  return ok;
}
int cuLinkComplete(LinkOf* link, void** image, std::size_t* size) {
  BEGIN;
  *image = link->image.data();
  *size = link->image.size();
  return ok;
}
int cuLinkDestroy(LinkOf* link) {
  BEGIN;
  if (gone("link", link) != ok) return invalid;
  delete link;
  return ok;
}

int cuModuleLoadData(ModuleOf** made, const void* image) {
  BEGIN;
  const std::string text = static_cast<const char*>(image);
  if (text.rfind("CUBIN ", 0) != 0) return no_binary;
  auto module = std::make_unique<ModuleOf>();
  const std::string ptx = without_threads(text.substr(6), module->threads);
  if (ptx.find("mb_info") != std::string::npos) {
    const std::string path = std::string(std::getenv("CUDA_DOUBLE_KERNELS")) + "/" + digest(ptx) + ".so";
    module->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module->library == nullptr) {
      std::fprintf(stderr, "double of libcuda: %s\n", dlerror());
      return no_binary;
    }
    module->entry = reinterpret_cast<Entry>(dlsym(module->library, "mb_run_group"));
  }
  *made = module.release();
  born("module", *made);
  return ok;
}
int cuModuleUnload(ModuleOf* module) {
  BEGIN;
  flush();
  if (gone("module", module) != ok) return invalid;
  delete module;
  return ok;
}
int cuModuleGetFunction(ModuleOf** function, ModuleOf* module, const char* name) {
  BEGIN;
  *function = module;
  return std::strcmp(name, "mb_entry") == 0 ? ok : invalid;
}
int cuLaunchKernel(ModuleOf* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared_bytes, void*, void** parameters, void**) {
  BEGIN;
  const bool fits = gx > 0 && gy > 0 && gz > 0 && gy < 65536 && gz < 65536 && bz <= 64 &&
                    bx * by * bz <= 1024 && bx * by * bz <= function->threads && shared_bytes <= 49152;
  if (!fits) return invalid;
  Launched launched{function->entry, *static_cast<const mb::gpu::Launch*>(parameters[0]), {gx, gy, gz}, {bx, by, bz}};
  if (capturing == nullptr) stream.emplace_back([launched] { run(launched); });
  else capturing->launches.push_back(launched);
  return ok;
}
}
