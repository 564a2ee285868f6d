// The reactor: tells coroutines of the kernel's events. One for the process. docs/design/reactor.md
#pragma once

#include "sync/descriptor_slot.hpp"

#include <cstdint>
#include <system_error>

namespace rubato::detail {

class io_wait; // NOLINT(cppcoreguidelines-virtual-class-destructor): final

using descriptor_slot = basic_descriptor_slot<std_policy, io_wait>;

/// The slot of a descriptor number; it is never freed. Starts the reactor. Throws std::system_error: the
/// number is negative, or the reactor cannot be started. Throws std::bad_alloc.
[[nodiscard]] descriptor_slot& slot_of(int fd);

/// The slot, if a thread has asked for it before.
[[nodiscard]] descriptor_slot* find_slot(int fd) noexcept;

/// Lists a wait for a descriptor of the library, after a try that found nothing. errc{}: it is listed;
/// resource_unavailable_try_again: try the operation again; else the error that ends the wait.
[[nodiscard]] std::errc await_edge(descriptor_slot& slot, int fd, slot_seen before, direction d,
                                   io_wait& w) noexcept;
/// The same for a descriptor of others.
[[nodiscard]] std::errc await_level(descriptor_slot& slot, int fd, std::uint32_t& generation, direction d,
                                    io_wait& w) noexcept;

/// Ends the waits for the descriptor, which is about to be closed, as operation_canceled.
void end_waits(descriptor_slot& slot, int fd) noexcept;

/// The owner of the descriptor has ended these directions: their waits end, as after an event.
void raise_events(descriptor_slot& slot, std::uint32_t generation, directions ended) noexcept;

/// Another one in the child of a fork().
[[nodiscard]] unsigned process_number() noexcept;

/// For stats(): by the coroutine whose wait an event has ended.
void count_io_event() noexcept;

/// From now on `arrived`, one function in the process, is called on any thread that takes the kernel's
/// events, after raise_event_fd() of the eventfd that this returns. Throws std::system_error.
[[nodiscard]] int watch_signals(void (*arrived)() noexcept);

/// For accept(): takes the connections that wait from the listener and closes them, with a descriptor that is
/// kept for that.
void refuse_connections(int listener) noexcept;

} // namespace rubato::detail
