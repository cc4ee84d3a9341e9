#include <nanobind/nanobind.h>

#include <algorithm>
#include <span>
#include <utility>

#include "pjrt/objects.h"

namespace metalbench::pjrt {

namespace nb = nanobind;

namespace {

void check_call(const Execute& arguments, const Compiled& compiled) {
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

// Python describes the first argument that does not fit.
void check_arguments(const Compiled& compiled, std::span<Buffer* const> buffers) {
  bool fits = buffers.size() == compiled.input_types.size();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = given<const Buffer>(buffers[i], "a buffer");
    fits = fits && buffer.type == compiled.input_types[i] &&
           buffer.dimensions == compiled.input_shapes[i];
  }
  if (fits) return;
  const WithGil held;
  nb::list given_types;
  for (const Buffer* buffer : buffers) {
    nb::list shape;
    for (const std::int64_t size : buffer->dimensions) shape.append(size);
    given_types.append(nb::make_tuple(buffer->type, nb::tuple(shape)));
  }
  compiled.program.get().attr("reject_arguments")(given_types);
}

// Return whether the program may overwrite each argument: it is donated, and not excluded by the
// caller.
std::vector<bool> list_donated(const Compiled& compiled, const ExecuteOptions* options,
                               std::size_t count) {
  std::span<const std::int64_t> kept;
  if (options != nullptr && options->kept_count > 0) {
    kept = {&given(options->kept, "non_donatable_input_indices"), options->kept_count};
  }
  std::vector<bool> donated(count);
  for (const std::int64_t number : compiled.donated) {
    if (std::ranges::find(kept, number) != kept.end()) continue;
    if (number >= 0 && static_cast<std::size_t>(number) < count) {
      donated[static_cast<std::size_t>(number)] = true;
    }
  }
  return donated;
}

void execute(Execute& arguments) {
  // A function of the host may destroy the executable meanwhile.
  const std::shared_ptr<const Compiled> held =
      given(arguments.executable, "an executable").compiled;
  const Compiled& compiled = *held;
  Client& client = given(compiled.client, "a client");
  check_call(arguments, compiled);
  const std::size_t count = arguments.argument_count;
  const std::span<Buffer* const> buffers(count > 0 ? arguments.arguments[0] : nullptr, count);
  check_arguments(compiled, buffers);
  const std::vector<bool> donated = list_donated(compiled, arguments.options, count);
  // All of them must be live before the first one is donated.
  std::vector<metalbench::Buffer> memory;
  memory.reserve(count);
  for (const Buffer* buffer : buffers) memory.push_back(buffer->memory());
  for (std::size_t i = 0; i < count; ++i) {
    if (donated[i]) buffers[i]->remove();
  }
  std::vector<metalbench::Buffer> found;
  Marker end;
  ExecutionApi::Outcome outcome;
  {
    const WithoutGil released;
    outcome = execution().execute(*compiled.plan, std::move(memory), found, end);
  }
  // After Ctrl-C, Python raises its exception when this call returns, but only if it succeeds.
  std::optional<Error> interruption;
  if (outcome && outcome->code == static_cast<int>(Code::kCancelled)) {
    interruption = {Code::kCancelled, outcome->message};
  } else {
    check(outcome);
  }
  std::vector<std::unique_ptr<Buffer>> results;
  for (std::size_t i = 0; i < compiled.types.size(); ++i) {
    auto elements = interruption ? std::nullopt : std::optional(std::move(found[i]));
    results.push_back(std::make_unique<Buffer>(client, std::move(elements), end, compiled.types[i],
                                               compiled.shape(i)));
    results.back()->error = interruption;
  }
  if (arguments.done != nullptr) {
    arguments.done[0] = new Event(std::move(end));
    arguments.done[0]->error = interruption;
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    arguments.results[0][i] = results[i].release();
  }
}

}  // namespace

void define_execution(Api& api) { define<Function::LoadedExecutable_Execute, &execute>(api); }

}  // namespace metalbench::pjrt
