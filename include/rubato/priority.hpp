// Which of its queued tasks a pool begins first.
//
//   #include <rubato/pool.hpp>
//   #include <rubato/priority.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::pool pool(rubato::no_workers); // queued tasks wait
//     pool.enqueue(rubato::priority::low, [] { std::puts("tidy up"); });
//     pool.enqueue([] { std::puts("as usual"); });
//     pool.enqueue(rubato::priority::high, [] { std::puts("at once"); });
//     pool.resize(1);
//     pool.wait_idle(); // -> at once
//                       // -> as usual
//                       // -> tidy up
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

namespace rubato {

/// The priority of a task. A worker that ends a task next begins the oldest ready *high* task. Apart from the
/// turns below, it begins a *low* task only if nothing else is ready: no task of another priority, no half of
/// a join, no child of a scope. Within a priority the order is that of a pool without priorities. Nothing is
/// interrupted: a high task waits until a worker ends its task.
///
/// No priority starves. Every 61st task of a worker is chosen without regard to high priority: in turn a
/// normal and a low one. A low task that has been ready for 100 ms counts as normal, in one of 20 tasks.
///
/// A task keeps its priority whenever it is resumed. Callables that then() appends have that priority too,
/// and so have the tasks that a coroutine awaits together in when_all() or when_any(). Tasks that a task
/// spawns or enqueues are normal unless that call names a priority. A program that names no priority pays one
/// load per task.
enum class priority : unsigned char {
  high,   ///< begins before all others: short, urgent work
  normal, ///< the default
  low     ///< begins when nothing else is ready: work that may wait for seconds
};

} // namespace rubato
