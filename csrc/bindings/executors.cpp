// Separate processes in which kernels run.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <utility>

#include "bindings/bindings.h"
#include "core/errors.h"
#include "executor/device.h"
#include "executor/host.h"
#include "executor/serve.h"
#include "executor/time_audit.h"

namespace metalbench::bindings {
namespace {

class PythonProcess final : public executor::Process {
 public:
  explicit PythonProcess(nb::object process)
      : socket_(nb::cast<int>(process.attr("socket"))),
        number_(nb::cast<int>(process.attr("number"))),
        handle_(process),
        process_(keep_alive(std::move(process))) {}

  ~PythonProcess() override {
    const nb::gil_scoped_acquire gil;
    const nb::error_scope kept;  // of a KeyboardInterrupt
    try {
      handle_.attr("end")();
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("the end of an executor");
    }
  }

  [[nodiscard]] int socket() const override { return dup(socket_); }
  [[nodiscard]] int number() const override { return number_; }

  [[noreturn]] void raise_end(bool ready) override {
    const nb::gil_scoped_acquire gil;
    handle_.attr("raise_end")(ready);
    throw Error("expected an error that says how an executor ended");
  }

  [[noreturn]] void raise_malformed(const char* what) override {
    const nb::gil_scoped_acquire gil;
    handle_.attr("raise_garbled")(what);
    throw Error("expected an error that says what an executor sent");
  }

 private:
  int socket_;
  int number_;
  nb::handle handle_;
  std::shared_ptr<void> process_;
};

class PythonHost final : public executor::Host {
 public:
  explicit PythonHost(nb::object start) : handle_(start), start_(keep_alive(std::move(start))) {}

  [[nodiscard]] std::unique_ptr<executor::Process> start() override {
    const nb::gil_scoped_acquire gil;
    return std::make_unique<PythonProcess>(handle_());
  }

 private:
  nb::handle handle_;
  std::shared_ptr<void> start_;
};

std::shared_ptr<executor::Host>& host_of_process() {
  static std::shared_ptr<executor::Host> host;
  return host;
}

}  // namespace

std::shared_ptr<executor::Host> executor_host() { return host_of_process(); }

void define_executors(nb::module_& module) {
  module.def(
      "run_apart",
      [](const nb::object& start) {
        host_of_process() = start.is_none() ? nullptr : std::make_shared<PythonHost>(start);
      },
      nb::arg("start").none(),
      nb::sig("def run_apart(start: collections.abc.Callable[[], object] | None) -> None"),
      "Run kernels of `cpu` devices opened from now on in other processes: `start` returns one,\n"
      "see metalbench.sandbox.executors. None runs them in this process again.");
  module.def(
      "open_apart",
      [](nb::object start) {
        return executor::make_device(python_front_end(false),
                                     std::make_shared<PythonHost>(std::move(start)),
                                     executor::Sharing::device);
      },
      nb::arg("start"),
      nb::sig("def open_apart(start: collections.abc.Callable[[], object]) -> Device"),
      "Open a `cpu` device that runs all kernels in one other process. `start` returns the\n"
      "process, and a new one if it has ended or if a kernel follows that it has not loaded.");
  module.def(
      "execute",
      [](int socket, const nb::callable& seal) {
        const nb::gil_scoped_release released;
        executor::serve(socket, [&seal] {
          const nb::gil_scoped_acquire gil;
          seal();
        });
      },
      nb::arg("socket"), nb::arg("seal"),
      nb::sig("def execute(socket: int, seal: collections.abc.Callable[[], object]) -> None"),
      "Run kernels for the process at the other end of `socket`, until that process ends. `seal`\n"
      "is called after all loads, before the first kernel runs.");
  nb::class_<executor::TimeAudit>(module, "TimeAudit",
                                  "Time audit: compares an executor's times with those that its\n"
                                  "judge observes, all in ns.")
      .def(nb::init<>())
      .def("note_handshake", &executor::TimeAudit::note_handshake, nb::arg("latency_ns"),
           "Record the latency of a window of known length.")
      .def_prop_ro("handshake_ns", &executor::TimeAudit::handshake_ns)
      .def("audit_window", &executor::TimeAudit::audit_window, nb::arg("reported_ns"),
           nb::arg("observed_ns"), "Return the accepted time of a window. Raise ForgedTimes.")
      .def("check_idle", &executor::TimeAudit::check_idle, nb::arg("worked_ns"),
           nb::arg("passed_ns"),
           "Raise ForgedTimes if an executor used processor time while it was idle.");
}

}  // namespace metalbench::bindings
