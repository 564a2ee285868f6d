// Writes what the threads and the suspended coroutines of all pools wait for.
//
//   #include <rubato/dump.hpp>
//   #include <rubato/future.hpp>
//   #include <rubato/pool.hpp>
//
//   #include <cstdio>
//   #include <sstream>
//
//   rubato::task<int> wait_for_reply(rubato::future<int> reply) { co_return co_await std::move(reply); }
//
//   int main() {
//     rubato::promise<int> reply;
//     auto answer = rubato::spawn(wait_for_reply(reply.get_future()));
//     std::ostringstream text;
//     rubato::dump(text); // for each coroutine its functions, the innermost first, and what it awaits
//     reply.set_value(42);
//     std::printf("%d\n", answer.get()); // -> 42
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include <iosfwd>

namespace rubato {

namespace detail {

struct dump_fn {
  /// dump(os): for each pool of the process its threads (what each waits in, for which thread and how long),
  /// and its suspended coroutines: their functions, innermost first, what they await, and if that is the
  /// result of another coroutine, that one, too. The text is for people, that of `rubato bt` in gdb
  /// (docs/debugging.md); names come from the program's symbol table.
  ///
  /// From any thread, at any time, from a task of a stuck pool too: it needs no worker, and stops no thread.
  /// Each thread and each coroutine is shown as it was at one moment, not all at the same. What is not known
  /// is not shown: which task a thread runs, and since when a coroutine waits (a trace has both). Not from a
  /// signal handler (await a signal_set, in a pool of its own), and not from code that the library calls
  /// while it has a lock: a copy or a move of a channel's value. Throws std::bad_alloc.
  RUBATO_API void operator()(std::ostream& to) const;
};

} // namespace detail

inline constexpr detail::dump_fn dump{};

} // namespace rubato
