// Where the library tells the trace what happens. While the trace is off, that costs a load and a branch.
// docs/design/trace.md. What records is in trace/recorder.cpp.
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/trace/event.hpp"

#include <cstdint>
#include <type_traits>

namespace rubato::detail {

/// The levels that the trace records; zero: it is off. Visible, as `current`: one per copy of the library.
[[gnu::visibility("default")]] extern constinit relaxed<unsigned char> trace_levels;

/// Records an event of the calling thread. Drops it if the thread has no ring.
[[gnu::cold]] RUBATO_API void record_event(event_kind kind, std::uint64_t id, std::uint64_t name,
                                           unsigned char aux) noexcept;
/// Where the calling thread is a worker, as a `joined` event says it; a zero `what`: nowhere. A ring begins
/// by it, since that event may have come before the start of the trace. In sched/core/thread_registry.cpp.
[[nodiscard]] trace_event place_of_this_thread() noexcept;
/// The text's place in the table of names, to which it is copied once; zero: there is no room.
[[nodiscard, gnu::cold]] std::uint64_t name_of_text(char const* text) noexcept;

/// Is the trace to record events of this kind?
template<event_kind Kind>
[[nodiscard, gnu::always_inline]] inline bool is_traced() noexcept {
  return (trace_levels.get() & level_of(Kind)) != 0;
}

/// An id or a name: an address, or a number.
[[nodiscard]] inline std::uint64_t trace_word(void const* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address);
}
template<class F>
  requires std::is_function_v<F>
[[nodiscard]] std::uint64_t trace_word(F* function) noexcept {
  return reinterpret_cast<std::uintptr_t>(function);
}
/// The table of virtual functions of a polymorphic object, which says its dynamic type. It is the object's
/// first word in the ABI of all supported compilers.
template<class T>
[[nodiscard]] std::uint64_t type_word(T const& object) noexcept {
  return *reinterpret_cast<std::uintptr_t const*>(&object);
}

template<event_kind Kind>
[[gnu::always_inline]] inline void note(std::uint64_t id, std::uint64_t name = 0,
                                        unsigned char aux = 0) noexcept {
  if (is_traced<Kind>()) [[unlikely]]
    record_event(Kind, id, name, aux);
}
template<event_kind Kind>
[[gnu::always_inline]] inline void note(void const* id, std::uint64_t name = 0,
                                        unsigned char aux = 0) noexcept {
  note<Kind>(trace_word(id), name, aux);
}

/// Before a task calls f. The type of a pointer to a function does not say which function it is.
template<class F>
[[gnu::always_inline]] inline void note_call(F const& f) noexcept {
  if constexpr (std::is_pointer_v<F>) note<event_kind::calls>(std::uint64_t{0}, trace_word(f));
}

/// While it lives, the thread runs that.
class noted_activity {
  std::uint64_t const id_;
  activity const what_;

public:
  noted_activity(activity a, void const* id, std::uint64_t name) noexcept
      : id_(trace_word(id))
      , what_(a) {
    note<event_kind::begin>(id_, name, static_cast<unsigned char>(a));
  }
  noted_activity(noted_activity const&) = delete;
  noted_activity& operator=(noted_activity const&) = delete;
  ~noted_activity() { note<event_kind::end>(id_, 0, static_cast<unsigned char>(what_)); }
};

} // namespace rubato::detail
