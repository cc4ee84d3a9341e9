// Queues and execution plans for Python, and their functions for the PJRT plugin.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/deferred_exception.h"
#include "core/errors.h"
#include "core/execution_api.h"
#include "core/execution_plan.h"

namespace metalbench::bindings {
namespace {

template <class Item>
Item member(const nb::handle& record, const char* name) {
  return nb::cast<Item>(record[name]);
}

bool has(const nb::handle& record, const char* name) { return !nb::object(record[name]).is_none(); }

LoopCounter::Number number_from(const nb::handle& record) {
  if (nb::isinstance<nb::int_>(record)) return nb::cast<std::int64_t>(record);
  return member<Slot>(record, "slot");
}

LoopCounter counter_from(const nb::handle& record) {
  LoopCounter counter;
  counter.start = number_from(record["start"]);
  counter.bound = number_from(record["bound"]);
  counter.step = member<std::int64_t>(record, "step");
  counter.is_inclusive = member<bool>(record, "is_inclusive");
  counter.bytes = member<std::uint32_t>(record, "bytes");
  counter.is_signed = member<bool>(record, "is_signed");
  return counter;
}

// Return a function that calls Python, on any thread.
HostFunction function_from(nb::object function) {
  const std::shared_ptr<void> held = keep_alive(std::move(function));
  return [held](const std::vector<Bytes>& arguments) {
    const nb::gil_scoped_acquire gil;
    nb::list given;
    for (const Bytes& each : arguments) given.append(nb::bytes(each.data(), each.size()));
    const nb::object found = (*static_cast<nb::object*>(held.get()))(given);
    std::vector<Bytes> results;
    for (const nb::handle each : found) {
      const auto bytes = nb::cast<nb::bytes>(each);
      const auto* first = static_cast<const std::byte*>(bytes.data());
      results.push_back(Bytes(first, first + bytes.size()));
    }
    return results;
  };
}

// A queue, and the device whose pipelines it runs.
struct BoundQueue {
  std::shared_ptr<Device> device;
  std::shared_ptr<Queue> queue;
};

struct BoundPlan {
  std::shared_ptr<Device> device;
  std::shared_ptr<ExecutionPlan> plan;
};

using PipelinesByName = std::map<std::string, BoundPipeline*>;
using PlansByNumber = std::map<std::uint32_t, BoundPlan*>;

// Reads a record of metalbench.hlo.runtime.plan_records, with the objects that it refers to.
class RecordReader {
 public:
  RecordReader(const PipelinesByName& pipelines, const nb::list& functions,
               const PlansByNumber& host_plans)
      : pipelines_(pipelines), functions_(functions), host_plans_(host_plans) {}

  [[nodiscard]] PlanBlock read_block(const nb::handle& record) const {
    PlanBlock block;
    block.arguments = member<std::vector<Slot>>(record, "arguments");
    block.own = block.arguments;
    for (const nb::handle each : record["steps"]) {
      block.steps.push_back(read_step(each));
      for (const auto& [slot, bytes] : block.steps.back().results) block.own.push_back(slot);
    }
    block.returned = member<std::vector<Slot>>(record, "returned");
    return block;
  }

 private:
  [[nodiscard]] static PlanStep::Kind kind_of(const std::string& operation) {
    if (operation == "while") return PlanStep::Kind::loop;
    if (operation == "if" || operation == "case") return PlanStep::Kind::choice;
    if (operation == "host_call") return PlanStep::Kind::host_call;
    if (operation == "host_begin") return PlanStep::Kind::host_begin;
    if (operation == "host_end") return PlanStep::Kind::host_end;
    return PlanStep::Kind::kernels;
  }

  [[nodiscard]] PlanStep read_step(const nb::handle& record) const {
    PlanStep step;
    const auto name = member<std::string>(record, "name");
    step.kind = kind_of(name);
    step.where = "[stablehlo." + name + "] " + member<std::string>(record, "location");
    step.is_two_way = name == "if";
    for (const nb::handle each : record["kernels"]) step.kernels.push_back(read_call(each));
    step.operands = member<std::vector<Slot>>(record, "operands");
    step.is_moved = member<std::vector<bool>>(record, "is_moved");
    for (const nb::handle each : record["results"]) {
      step.results.push_back({nb::cast<Slot>(each[0]), nb::cast<std::size_t>(each[1])});
    }
    if (has(record, "updated")) step.updated = member<Slot>(record, "updated");
    if (has(record, "counter")) step.counter = counter_from(record["counter"]);
    if (has(record, "function")) {
      step.function = function_from(functions_[member<std::size_t>(record, "function")]);
    }
    if (has(record, "host_run")) step.host_run = member<std::uint32_t>(record, "host_run");
    if (has(record, "host_plan")) step.host_plan = host_plans_.at(step.host_run)->plan;
    for (const nb::handle each : record["blocks"]) step.blocks.push_back(read_block(each));
    step.ended = member<std::vector<Slot>>(record, "last_uses");
    return step;
  }

  [[nodiscard]] KernelCall read_call(const nb::handle& record) const {
    KernelCall call;
    call.pipeline = pipelines_.at(member<std::string>(record, "name"))->pipeline;
    for (const char* side : {"inputs", "outputs"}) {
      for (const auto& [name, slot] : nb::cast<nb::dict>(record[side])) {
        call.arguments.emplace(nb::cast<std::string>(name), nb::cast<Slot>(slot));
      }
    }
    call.threads = member<std::uint32_t>(record, "group");
    const auto threads = member<std::uint64_t>(record, "threads");
    call.threadgroups = static_cast<std::uint32_t>((threads + call.threads - 1) / call.threads);
    return call;
  }

  const PipelinesByName& pipelines_;
  const nb::list& functions_;
  const PlansByNumber& host_plans_;
};

void construct_plan(BoundPlan* self, const BoundQueue& queue, const nb::object& program,
                    std::size_t slots, const PipelinesByName& pipelines,
                    const std::vector<std::pair<Slot, Buffer>>& constants,
                    const nb::list& functions, const PlansByNumber& host_plans, bool checked,
                    bool groups_iterations) {
  std::vector<ExecutionPlan::Constant> given;
  for (const auto& [slot, buffer] : constants) given.push_back({slot, buffer});
  PlanBlock block = RecordReader(pipelines, functions, host_plans).read_block(program);
  new (self) BoundPlan{queue.device, std::make_shared<ExecutionPlan>(
                                         queue.queue, std::move(block), std::move(given), slots,
                                         PlanOptions{checked, groups_iterations})};
}

// Python still refers to the arguments, so the program never overwrites them.
std::vector<Buffer> run_execution_plan(const BoundPlan& self, const std::vector<Buffer>& arguments,
                                       double run_limit) {
  InterruptPoll interrupted = poll_signals();
  const nb::gil_scoped_release released;
  std::vector<Buffer> results = self.plan->run(arguments, run_limit, interrupted);
  Queue& queue = *self.plan->queue();
  const std::lock_guard lock(queue.mutex());
  queue.wait();
  return results;
}

std::vector<Buffer> submit_execution_plan(const BoundPlan& self,
                                          const std::vector<Buffer>& arguments) {
  InterruptPoll interrupted = poll_signals();
  const nb::gil_scoped_release released;
  return self.plan->run(arguments, 0, interrupted);
}

Buffer allocate_buffer(const BoundQueue& self, std::size_t nbytes) {
  // The queue may wait for a thread that needs the GIL to poll signals.
  const nb::gil_scoped_release released;
  return self.queue->allocate(nbytes);
}

std::vector<BoundDispatch> list_dispatches(const BoundPlan& self,
                                           const std::vector<Buffer>& arguments) {
  std::vector<Dispatch> listed;
  {
    // A thread that runs a program may need the GIL to poll signals.
    const nb::gil_scoped_release released;
    listed = self.plan->list_dispatches(arguments);
  }
  std::vector<BoundDispatch> found;
  for (Dispatch& each : listed) {
    found.push_back({self.device, std::move(each)});
  }
  return found;
}

void write_buffer(const BoundQueue& self, const Buffer& buffer, const nb::bytes& bytes) {
  if (bytes.size() != buffer.size()) {
    throw DispatchError("write: expected " + std::to_string(buffer.size()) + " bytes, got " +
                        std::to_string(bytes.size()));
  }
  const auto* from = static_cast<const std::byte*>(bytes.data());
  const nb::gil_scoped_release released;
  const std::lock_guard lock(self.queue->mutex());
  self.queue->write(buffer, from);
  if (buffer.unwritten() != nullptr) buffer.mark_written();
}

nb::bytes read_buffer(const BoundQueue& self, const Buffer& buffer) {
  Bytes bytes(buffer.size());
  {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(self.queue->mutex());
    self.queue->set_limits({{}, poll_signals()});
    self.queue->read(bytes.data(), buffer);
  }
  return nb::bytes(bytes.data(), bytes.size());
}

using Outcome = ExecutionApi::Outcome;

// Numbers of absl::StatusCode.
constexpr int cancelled = 1, invalid_argument = 3, deadline_exceeded = 4, resource_exhausted = 8,
              unimplemented = 12, internal = 13;

// Return the error of a function of the host. Requires the GIL.
ExecutionError error_of(const nb::python_error& error) {
  if (must_be_deferred(error)) {
    raise_later(error);
    return {cancelled, nb::cast<std::string>(error.type().attr("__name__"))};
  }
  const nb::object lines =
      nb::module_::import_("traceback").attr("format_exception")(nb::borrow(error.value()));
  return {internal, "a Python function raised an exception:\n" +
                        nb::cast<std::string>(nb::str("").attr("join")(lines))};
}

// Return the current exception. That of Ctrl-C is raised later, too.
ExecutionError current_error() {
  try {
    throw;
  } catch (const Interrupted&) {
    const nb::gil_scoped_acquire gil;
    if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_KeyboardInterrupt);
    return error_of(nb::python_error());
  } catch (const nb::python_error& error) {
    const nb::gil_scoped_acquire gil;
    return error_of(error);
  } catch (const TimeLimitExceeded& error) {
    return {deadline_exceeded, error.what()};
  } catch (const OutOfMemoryError& error) {
    return {resource_exhausted, error.what()};
  } catch (const Unsupported& error) {
    return {unimplemented, error.what()};
  } catch (const DispatchError& error) {
    return {invalid_argument, error.what()};
  } catch (const std::exception& error) {
    return {internal, error.what()};
  }
}

template <class Function>
Outcome outcome_of(Function function) noexcept {
  try {
    function();
    return {};
  } catch (...) {
    return current_error();
  }
}

Outcome queue_of(PyObject* object, std::shared_ptr<Queue>& queue) noexcept {
  return outcome_of([&] { queue = nb::cast<BoundQueue&>(nb::handle(object)).queue; });
}

Outcome plan_of(PyObject* object, std::shared_ptr<ExecutionPlan>& plan) noexcept {
  return outcome_of([&] { plan = nb::cast<BoundPlan&>(nb::handle(object)).plan; });
}

Outcome upload(Queue& queue, const std::byte* from, std::size_t size,
               std::optional<Buffer>& buffer) noexcept {
  return outcome_of([&] {
    const std::lock_guard lock(queue.mutex());
    buffer = queue.allocate(size);
    if (size > 0) queue.write(*buffer, from);
  });
}

Outcome download(Queue& queue, const Buffer& buffer, std::size_t offset, std::size_t size,
                 std::byte* to) noexcept {
  return outcome_of([&] {
    const std::lock_guard lock(queue.mutex());
    // The elements must not be lost, so Ctrl-C waits for them.
    queue.set_limits({});
    if (size > 0) queue.read(to, buffer.slice(offset, size));
  });
}

Outcome submit_plan(ExecutionPlan& plan, std::vector<Buffer> arguments,
                    std::vector<Buffer>& results, std::shared_ptr<QueueMarker>& end) noexcept {
  return outcome_of([&] { results = plan.run(std::move(arguments), 0, poll_signals(), &end); });
}

Outcome is_reached(QueueMarker& marker, bool& reached) noexcept {
  return outcome_of([&] { reached = marker.is_reached(); });
}

Outcome memory_use_of(Queue& queue, MemoryUse& use) noexcept {
  return outcome_of([&] {
    const StorageCache& cache = queue.cache();
    use = {cache.used_bytes(), cache.peak_bytes(), cache.free_bytes()};
  });
}

const ExecutionApi& execution_api() {
  static const ExecutionApi api = {&queue_of,    &plan_of,    &upload,       &download,
                                   &submit_plan, &is_reached, &memory_use_of};
  return api;
}

}  // namespace

void define_execution_plans(nb::module_& module) {
  nb::class_<BoundQueue>(module, "Queue",
                         "A queue of launches of one device, for many small kernels that are not\n"
                         "timed.")
      .def(
          "__init__",
          [](BoundQueue* self, std::shared_ptr<Device> device, bool checked) {
            std::shared_ptr<Queue> queue = device->make_queue(checked);
            new (self) BoundQueue{std::move(device), std::move(queue)};
          },
          nb::arg("device"), nb::kw_only(), nb::arg("checked") = false,
          "Make a queue; `checked` for pipelines of checked builds.")
      .def("allocate", &allocate_buffer, nb::arg("nbytes"),
           "Return a buffer with undefined contents. Its memory returns to the queue when nothing\n"
           "refers to it. Raise OutOfMemoryError.")
      .def("write", &write_buffer, nb::arg("buffer"), nb::arg("bytes"),
           "Copy bytes to a buffer, after all launches so far.")
      .def("read", &read_buffer, nb::arg("buffer"),
           "Wait for a buffer, and return its bytes. Raise KernelFault.")
      .def_prop_ro(
          "free_buffers", [](const BoundQueue& self) { return self.queue->cache().free_buffers(); },
          "Memory that later allocations will use again.")
      .def_prop_ro(
          "used_bytes", [](const BoundQueue& self) { return self.queue->cache().used_bytes(); },
          "Bytes of the buffers in use.")
      .def_prop_ro(
          "peak_bytes", [](const BoundQueue& self) { return self.queue->cache().peak_bytes(); },
          "The largest number of bytes in use so far.");
  nb::class_<BoundPlan>(module, "ExecutionPlan",
                        "A program of kernels and control flow, which runs without Python.")
      .def("__init__", &construct_plan, nb::arg("queue"), nb::arg("program"), nb::arg("slots"),
           nb::kw_only(), nb::arg("pipelines"), nb::arg("constants"), nb::arg("functions"),
           nb::arg("host_plans"), nb::arg("checked") = false, nb::arg("groups_iterations") = false,
           nb::sig("def __init__(self, queue: Queue, program: dict[str, object], slots: int, *, "
                   "pipelines: collections.abc.Mapping[str, Pipeline], constants: "
                   "collections.abc.Sequence[tuple[int, Buffer]], functions: "
                   "list[collections.abc.Callable[[collections.abc.Sequence[bytes]], list[bytes]]],"
                   " host_plans: collections.abc.Mapping[int, ExecutionPlan], checked: bool = "
                   "False, groups_iterations: bool = False) -> None"),
           "`program` is the block of a record of `metalbench.hlo.runtime.plan_records`, `slots`\n"
           "the number of its values. The other arguments are what it refers to: pipelines by\n"
           "name, buffers of constants by slot, functions of the host by number, and plans of\n"
           "host regions by number. With `groups_iterations`, GPUs get several iterations of a\n"
           "loop at once: as graphs, or before the condition is read.")
      .def("run", &run_execution_plan, nb::arg("arguments"), nb::kw_only(),
           nb::arg("run_limit") = 0.0,
           "Run the program on buffers, wait for its end, and return one buffer for each result.\n"
           "A result may be an argument, a constant or another result, so only read it. A run of\n"
           "more than `run_limit` seconds, unless that is 0, raises TimeLimitExceeded. Raise\n"
           "OutOfMemoryError, KernelFault.")
      .def("submit", &submit_execution_plan, nb::arg("arguments"),
           "Begin the program and return its results, which the device may still compute: only\n"
           "Queue.read and later programs wait for them. Devices without work in the background\n"
           "complete the program. Queue.read, or a later run, raises KernelFault.")
      .def("list_dispatches", &list_dispatches, nb::arg("arguments"),
           "Return the dispatches of a run in order; the program must have no control flow.");
  module.attr("_execution_api") = nb::capsule(&execution_api(), kExecutionApi);
}

}  // namespace metalbench::bindings
