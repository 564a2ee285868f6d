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

/// The class of a task. A worker that ends a task begins the oldest ready *high* task first, and a *low* one
/// only if nothing else is ready: no task of another class, no half of a join, no child of a scope. Within a
/// class the order is that of a pool without classes. A class interrupts nothing: a high task waits until a
/// worker ends what it runs.
///
/// Nothing starves. Every 61st task of a worker is chosen without regard to high, by normal and low in turn;
/// and from 100 ms after it became ready a low task takes its turn among the normal ones: every 20th task.
///
/// A task keeps its class wherever it continues: each time it is resumed, in what then() appends to it, in
/// the tasks that it awaits together. What it spawns or enqueues is normal unless that call names a class.
/// Costs a program that names no class one load per task.
enum class priority : unsigned char {
  high,   ///< begins before all others: short work that something waits for
  normal, ///< the default
  low     ///< begins when nothing else is ready: work that may wait for seconds
};

} // namespace rubato
