// The pool as lower layers see it: a few calls upward, which are declared here and implemented above. Where a
// lower object needs one of them, docs/design/README.md lists it. No other header is implemented in a file of
// another name.
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/priority.hpp"

#include <cstdint>
#include <exception>
#include <stop_token>

namespace rubato {
class pool;
class pool_options;
} // namespace rubato

namespace rubato::detail {

class capacity;
class future_state;
template<class Policy>
class basic_idle_set;
struct std_policy;
using idle_set = basic_idle_set<std_policy>;
class life_state;
class owned_task;
class owned_pool;
class owned_tasks;
class pool_core;
class quiescence;
class record_table;
class task_queues;
class thread_context;
class thread_registry;
class waiting_routine;
class waiting_routines;
class waits;
enum class leaving : unsigned char;
struct pool_thread;
struct seat;
struct task;

// Queuing (sched/core/pool_core.cpp, sched/run/queuing.cpp)

/// Queues a task and wakes a worker if needed. Takes ownership. New work makes an `arrival` first.
RUBATO_API void queue(pool_core& c, task* t, priority p = priority::normal) noexcept;
/// What has made work ready. task: the one that the caller runs. event: one of the kernel's, or a deadline;
/// the work goes to the event lane. call: the work goes behind what was queued before.
enum class made_ready_by : unsigned char { task, event, call };
/// Queues an entry in that pool: on the seat, if one is given; else by its priority and `cause`. A normal
/// entry that a task has made ready runs next on the caller's seat.
RUBATO_API void queue_task(pool_core& core, std::uint16_t seat, priority c, task& entry,
                           made_ready_by cause = made_ready_by::task) noexcept;
/// The work is ready: queues it in its pool, unless an entry is already queued.
RUBATO_API void offer(future_state& s, made_ready_by cause = made_ready_by::task) noexcept;
/// Call after every event that leaves work queued: wakes a worker if one sleeps and none searches.
void notify(pool_core& core) noexcept;
/// Wakes a thread for every seat with a task in its inbox.
void unpark_for_inboxes(pool_core& core) noexcept;
/// Moves the tasks of a closed seat to the injector, and wakes a thread for them.
void retire_seat(pool_core& core, seat& s) noexcept;
/// The thread leaves its seat, if it has one, as `how` says. What is queued does not depend on the thread any
/// more: others are woken. If no thread runs any more, those that wait for quiescence are woken.
void give_up_seat(pool_core& core, pool_thread& t, leaving how, bool searching = false) noexcept;
/// Wakes a thread for a vacant seat, or makes one, unless a worker searches already.
void unpark_worker(pool_core& core) noexcept;
/// Is a seat vacant, or does a worker search? True in a pool without workers.
[[nodiscard]] bool has_free_worker(pool_core const& c) noexcept;
/// Of a task that was taken out of a queue.
void release_capacity(pool_core& c) noexcept;

/// Unique in the process, as an address is not: a new pool may get the address of an old one.
[[nodiscard]] std::uint64_t serial_of(pool_core const& core) noexcept;

// Failures (sched/core/pool_core.cpp)

/// Reports the exception of a task without a future; called in its handler.
RUBATO_API void unhandled(thread_context& runner) noexcept;
/// The same for the exception of work whose future was detached or dropped.
void unhandled(pool_core& c, std::exception_ptr e) noexcept;
/// False: unhandled() ends the program.
[[nodiscard]] bool handles_failures(pool_core const& c) noexcept;

// The pool's end (sched/core/pool_core.cpp, sched/life)

/// What has not begun is dropped.
[[nodiscard]] bool is_discarding(pool_core const& c) noexcept;
/// Its shutdown is over, and it has not been resized since.
[[nodiscard]] RUBATO_API bool is_closed(pool_core const& c) noexcept;
/// A shutdown was requested and nothing is left to do: the threads end.
void end_if_quiet(pool_core& c) noexcept;
/// Drops what a thread under a hazard guard has queued since the pool was closed.
void drop_last(pool_core& c) noexcept;
/// The task waits there no longer, and so the pool may be quiescent. By any thread.
void leave_owned_tasks(pool_core& c, owned_task& r) noexcept;
/// The same for a routine that was removed from the list and moved on. It may be gone: `r` is its address.
void left_waiting_routines(pool_core& c, waiting_routine const* r) noexcept;
/// The stop token in force on this thread: its scope's, else its pool's.
[[nodiscard]] RUBATO_API std::stop_token current_token(thread_context& me);

// Threads (sched/run)

/// The loop of a worker: ends when the thread is to end.
void worker_loop(pool_core& core, pool_thread& t) noexcept;

// Timers (sched/core/quiescence.cpp)

/// A timer is running whose end makes work ready; until count_disarmed() the pool is not idle.
RUBATO_API void count_armed(pool_core& c) noexcept;
RUBATO_API void count_disarmed(pool_core& c) noexcept;
/// A timer is due. By the thread that fires it.
RUBATO_API void count_fired(pool_core& c) noexcept;

// The public pool (pool/thread_pool.cpp)

/// The current pool, else the global one, for work that may run on any pool.
[[nodiscard]] RUBATO_API pool_core* some_core();
/// `p`; null: the pool that free functions use, which is the caller's own, else the global one.
[[nodiscard]] RUBATO_API pool& pool_or_current(pool* p);
/// In the child after fork(): the pool has lost its threads, and starts again with `workers` at its next use.
void lose_core(pool& p, unsigned workers) noexcept;
/// The started pool.
[[nodiscard]] RUBATO_API pool_core* core_of(pool& p);
[[nodiscard]] pool& handle_of(pool_core& c) noexcept;
/// A thread of pool_or_current(p) would have to be woken, or started, to help the caller. A hint.
[[nodiscard]] RUBATO_API bool sleeps(pool* p) noexcept;
/// Runs `body(arg, thread context)` on the calling thread as a thread of pool_or_current(p).
RUBATO_API void run_as_member(pool* p, void (*body)(void*, thread_context&), void* arg);

// The parts of a pool, for code that needs one of them (sched/core/pool_core.cpp)

[[nodiscard]] RUBATO_API unsigned size_of(pool_core const& c) noexcept;
[[nodiscard]] pool_options const& options_of(pool_core const& c) noexcept;
[[nodiscard]] life_state& life_of(pool_core& c) noexcept;
[[nodiscard]] life_state const& life_of(pool_core const& c) noexcept;
[[nodiscard]] task_queues& queues_of(pool_core& c) noexcept;
[[nodiscard]] task_queues const& queues_of(pool_core const& c) noexcept;
[[nodiscard]] capacity& capacity_of(pool_core& c) noexcept;
[[nodiscard]] thread_registry& threads_of(pool_core& c) noexcept;
[[nodiscard]] record_table const& records_of(pool_core const& c) noexcept;
/// No thread: the home of scopes that were opened outside the pool.
[[nodiscard]] pool_thread const& external_scopes_of(pool_core const& c) noexcept;
[[nodiscard]] idle_set& idle_threads_of(pool_core& c) noexcept;
[[nodiscard]] quiescence& quiescence_of(pool_core& c) noexcept;
[[nodiscard]] waits& waits_of(pool_core& c) noexcept;
[[nodiscard]] owned_tasks& owned_tasks_of(pool_core& c) noexcept;
[[nodiscard]] waiting_routines& waiting_routines_of(pool_core& c) noexcept;

} // namespace rubato::detail
