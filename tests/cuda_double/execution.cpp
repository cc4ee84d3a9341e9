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
  // Shared with launches that have not run when the graph is updated.
  std::shared_ptr<std::vector<std::function<void()>>> work =
      std::make_shared<std::vector<std::function<void()>>>();
  std::string kinds;  // of the work, a letter each
};

struct EventOf {
  bool recorded = false, done = false;
  double at_ns = 0;
};

std::unique_ptr<GraphOf> capturing;
const void* captured_stream = nullptr;
int capture_mode = 0;
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

void cuda_double::enqueue(const void* on, char kind, std::function<void()> work) {
  if (capturing == nullptr || on != captured_stream) {
    stream.push_back(std::move(work));
    return;
  }
  capturing->work->push_back(std::move(work));
  capturing->kinds += kind;
}

bool cuda_double::is_captured(const void* on) { return capturing != nullptr && on == captured_stream; }

bool cuda_double::may_allocate() { return capturing == nullptr || capture_mode == relaxed; }

void cuda_double::flush() {
  while (!stream.empty()) {
    stream.front()();
    stream.pop_front();
  }
}

extern "C" {

// All streams have one order.
int cuStreamCreate(void** made, unsigned) {
  BEGIN;
  *made = new char;
  born("stream", *made);
  return ok;
}
int cuStreamDestroy_v2(void* made) {
  BEGIN;
  flush();
  if (gone("stream", made) != ok) return invalid;
  delete static_cast<char*>(made);
  return ok;
}
int cuStreamSynchronize(void* on) {
  BEGIN;
  if (is_captured(on)) return not_capturable;
  flush();
  return sticky;
}
int cuStreamBeginCapture_v2(void* on, int mode) {
  BEGIN;
  capturing = std::make_unique<GraphOf>();
  captured_stream = on;
  capture_mode = mode;
  return ok;
}
// Also ends the capture if it fails.
int cuStreamEndCapture(void* on, GraphOf** graph) {
  const std::lock_guard<std::recursive_mutex> held(mutex);
  if (!is_captured(on)) return invalid;
  std::unique_ptr<GraphOf> captured = std::move(capturing);
  if (const int failed = begin(__func__); failed != ok) return failed;
  *graph = captured.release();
  born("graph", *graph);
  return ok;
}
int cuGraphInstantiateWithFlags(GraphOf** made, GraphOf* graph, unsigned long long) {
  BEGIN;
  *made = new GraphOf(*graph);
  born("instance", *made);
  return ok;
}
// Only the parameters may differ.
int cuGraphExecUpdate_v2(GraphOf* made, GraphOf* graph, void*) {
  BEGIN;
  if (made->kinds != graph->kinds) return not_updatable;
  made->work = graph->work;
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
int cuGraphLaunch(GraphOf* graph, void* on) {
  BEGIN;
  if (is_captured(on)) return not_capturable;
  stream.emplace_back([work = graph->work] {
    for (const auto& each : *work) each();
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
int cuEventRecord(EventOf* event, void* on) {
  BEGIN;
  if (is_captured(on)) return not_capturable;
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
                   unsigned bz, unsigned shared_bytes, void* on, void** parameters, void**) {
  BEGIN;
  const bool fits = gx > 0 && gy > 0 && gz > 0 && gy < 65536 && gz < 65536 && bz <= 64 &&
                    bx * by * bz <= 1024 && bx * by * bz <= function->threads && shared_bytes <= 49152;
  if (!fits) return invalid;
  Launched launched{function->entry, *static_cast<const mb::gpu::Launch*>(parameters[0]), {gx, gy, gz}, {bx, by, bz}};
  enqueue(on, 'k', [launched] { run(launched); });
  return ok;
}
}
