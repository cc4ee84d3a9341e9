#include <nanobind/nanobind.h>

#include <algorithm>
#include <span>

#include "pjrt/objects.h"

namespace metalbench::pjrt {

namespace nb = nanobind;

namespace {

void check(const Execute& arguments, const Compiled& compiled) {
  if (arguments.executable->deleted) {
    throw Failure(Code::kInvalidArgument, "expected a live executable, got one that was deleted");
  }
  if (arguments.devices != 1) {
    throw Failure(Code::kUnimplemented,
                  "expected one device, got " + std::to_string(arguments.devices));
  }
  check_own(*compiled.client, arguments.device, nullptr);
  const auto& results = given(arguments.results, "lists of results");
  if (!compiled.types.empty()) given(results, "a list of results");
  if (arguments.argument_count > 0) given(given(arguments.arguments, "lists of arguments"), "one");
}

nb::list tensors_of(std::span<Buffer* const> buffers) {
  nb::list tensors;
  for (const Buffer* buffer : buffers) tensors.append(tensor_of(given(buffer, "a buffer")));
  return tensors;
}

// Deletes donated arguments after a run, except those that the caller excludes from donation.
void donate(const Compiled& compiled, const ExecuteOptions* options,
            std::span<Buffer* const> buffers) {
  std::span<const std::int64_t> kept;
  if (options != nullptr && options->kept_count > 0) {
    kept = {&given(options->kept, "non_donatable_input_indices"), options->kept_count};
  }
  for (const std::int64_t number : compiled.donated) {
    if (std::ranges::find(kept, number) != kept.end()) continue;
    buffers[number]->deleted = true;
    buffers[number]->tensor.release();
  }
}

void execute(Execute& arguments) {
  const Compiled& compiled = *given(arguments.executable, "an executable").compiled;
  Client& client = given(compiled.client, "a client");
  check(arguments, compiled);
  const std::size_t count = arguments.argument_count;
  const std::span<Buffer* const> buffers(count > 0 ? arguments.arguments[0] : nullptr, count);
  nb::gil_scoped_acquire held;
  const nb::object found =
      client.runtime.get().attr("execute")(compiled.program.get(), tensors_of(buffers));
  std::vector<std::unique_ptr<Buffer>> results;
  for (const nb::handle tensor : found) {
    const std::size_t number = results.size();
    results.push_back(
        buffer_of(client, nb::borrow(tensor), compiled.types[number], compiled.shape(number)));
  }
  auto done = std::make_unique<Event>();
  donate(compiled, arguments.options, buffers);
  if (arguments.done != nullptr) arguments.done[0] = done.release();
  for (std::size_t number = 0; number < results.size(); ++number) {
    arguments.results[0][number] = results[number].release();
  }
}

}  // namespace

void define_execution(Api& api) { define<Function::LoadedExecutable_Execute, &execute>(api); }

}  // namespace metalbench::pjrt
