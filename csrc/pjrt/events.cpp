#include "pjrt/objects.h"

namespace metalbench::pjrt {

namespace {

Error* error_of(const Event& event) { return event.error ? new Error(*event.error) : nullptr; }

void destroy(Only<Event>& arguments) { destroy_given(arguments.of, "an event"); }

void is_ready(Ask<Event, bool>& arguments) {
  given(arguments.of, "an event");
  arguments.out = true;
}

// Returns the error of the event, or the error of this call.
template <Function function>
Error* outcome(void* raw) noexcept {
  try {
    check_size(static_cast<const Head*>(raw), sizeof(Only<Event>), alignof(Only<Event>));
    return error_of(given(static_cast<Only<Event>*>(raw)->of, "an event"));
  } catch (...) {
    return caught(function);
  }
}

void on_ready(EventOnReady& arguments) {
  const Event& event = given(arguments.event, "an event");
  if (arguments.callback == nullptr) given<Event>(nullptr, "a callback");
  arguments.callback(error_of(event), arguments.user);
}

}  // namespace

void define_events(Api& api) {
  define<Function::Event_Destroy, &destroy>(api);
  define<Function::Event_IsReady, &is_ready>(api);
  define<Function::Event_OnReady, &on_ready>(api);
  api.functions[static_cast<int>(Function::Event_Error)] = &outcome<Function::Event_Error>;
  api.functions[static_cast<int>(Function::Event_Await)] = &outcome<Function::Event_Await>;
}

}  // namespace metalbench::pjrt
