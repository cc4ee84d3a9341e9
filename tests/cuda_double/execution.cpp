// The double's stream: kernels, graphs of them, and events.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

#include "double.h"

using namespace cuda_double;

namespace {

constexpr double launch_ns = 4000;
constexpr int without_end_s = 5;

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

std::unique_ptr<GraphOf> capturing;
double now_ns = 0;
const bool by_host_clock = std::getenv("CUDA_DOUBLE_CLOCK") != nullptr;
sigjmp_buf out_of_kernel;

void leave_kernel(int signal) { siglongjmp(out_of_kernel, signal); }

void run_groups(const Launched& launched) {
  for (unsigned z = 0; z < launched.grid[2]; ++z)
    for (unsigned y = 0; y < launched.grid[1]; ++y)
      for (unsigned x = 0; x < launched.grid[0]; ++x) {
        const unsigned group[] = {x, y, z};
        launched.entry(&launched.parameter, group, launched.block);
      }
}

// Zero ends it.
void limit_processor_time(int seconds) {
  const itimerval timer = {{0, 0}, {seconds, 0}};
  setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

void run(const Launched& launched) {
  now_ns += launch_ns;
  if (launched.entry == nullptr || sticky != ok || hanging) return;
  struct sigaction of_fault, of_time, mine {};
  mine.sa_handler = leave_kernel;
  mine.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &mine, &of_fault);
  sigaction(SIGVTALRM, &mine, &of_time);
  make_reachable(true);
  limit_processor_time(without_end_s);
  const auto start = std::chrono::steady_clock::now();
  const int signal = sigsetjmp(out_of_kernel, 1);
  if (signal == 0) run_groups(launched);
  if (signal == SIGSEGV) sticky = illegal_address;
  if (signal == SIGVTALRM) hanging = true;
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  if (by_host_clock) now_ns += taken.count();
  limit_processor_time(0);
  make_reachable(false);
  sigaction(SIGVTALRM, &of_time, nullptr);
  sigaction(SIGSEGV, &of_fault, nullptr);
}

}  // namespace

void cuda_double::make_reachable(bool yes) {
  for (const auto& [address, bytes] : memory) {
    mprotect(reinterpret_cast<void*>(address), (bytes + page - 1) / page * page,
             yes ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
}

void cuda_double::flush() {
  while (!stream.empty()) {
    stream.front()();
    stream.pop_front();
  }
}

extern "C" {

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
  if (patience > 0 && !event->done) {
    --patience;
    return not_ready;
  }
  if (!hanging) flush();
  if (hanging) return not_ready;
  if (sticky != ok) return sticky;
  return event->done ? ok : not_ready;
}
int cuEventElapsedTime(float* ms, EventOf* from, EventOf* to) {
  BEGIN;
  if (!from->done || !to->done) return not_ready;
  *ms = static_cast<float>((to->at_ns - from->at_ns) * 1e-6);
  return ok;
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
