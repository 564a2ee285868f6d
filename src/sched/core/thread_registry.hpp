// The threads of a pool: workers, spares and guests; how they are made, numbered and joined.
// docs/design/lifecycle.md
//
// A record is free, in use by a worker or a guest, or exited: its thread has ended and is to be joined.
#pragma once

#include "os/cpus/affinity.hpp"
#include "os/cpus/topology.hpp"
#include "os/scheduling.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "sync/idle_set.hpp"
#include "work/pool_thread.hpp"
#include "work/record_table.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rubato::detail {

class thread_registry {
  pool_core& core_;
  os::cpu_mask const cpus_{os::affinity_cpus()}; // of the pool's maker, and so of its threads
  unsigned const cpu_count_ = static_cast<unsigned>(cpus_.cpus().size());
  std::once_flag places_made_;
  std::vector<os::cpu> places_[2]; // written once

  mutex mutex_; // also guards all changes of made_ and surplus_
  os::scheduling scheduling_ RUBATO_GUARDED_BY(mutex_) = os::scheduling::of_this_thread(); // of new threads
  std::vector<std::unique_ptr<pool_thread>> storage_ RUBATO_GUARDED_BY(mutex_);
  std::vector<pool_thread*> free_ RUBATO_GUARDED_BY(mutex_);
  std::vector<pool_thread*> exited_ RUBATO_GUARDED_BY(mutex_); // to be joined
  relaxed<unsigned> made_;                             // the pool's own threads, without those that end
  published<unsigned> surplus_;                        // how many of them resize() has told to end
  unsigned unjoined_ RUBATO_GUARDED_BY(mutex_) = 0;    // the pool's own threads, with those that end
  unsigned guests_ RUBATO_GUARDED_BY(mutex_) = 0;      // guests that are in
  bool winding_up_ RUBATO_GUARDED_BY(mutex_) = false;  // no thread is made any more
  relaxed<int> refused_;                               // why the last one was not made; 0: it was
  unsigned own_numbers_ RUBATO_GUARDED_BY(mutex_) = 0; // numbers below are for the pool's own threads
  unsigned joined_ RUBATO_GUARDED_BY(mutex_) = 0;      // guests that count as workers
  countdown<unsigned> inside_;                         // guests that still touch this object
  countdown<unsigned> hosted_;                         // threads of a host that still touch it

  [[nodiscard]] bool may_make(bool for_seat) noexcept RUBATO_REQUIRES(mutex_);
  [[nodiscard]] pool_thread* take_record(bool guest, bool for_seat, bool as_worker = false);
  [[nodiscard]] pool_thread* take_free(bool own) RUBATO_REQUIRES(mutex_);
  [[nodiscard]] pool_thread* add_record() RUBATO_REQUIRES(mutex_);
  [[nodiscard]] bool has_all_workers() const noexcept RUBATO_REQUIRES(mutex_);
  void give_back(pool_thread& t) noexcept RUBATO_REQUIRES(mutex_);
  void free_number(pool_thread& t) noexcept;
  [[nodiscard]] bool launch(idle_set::call const& c, relief_order const& order, task* aside) noexcept;
  [[nodiscard]] bool create(pool_thread& t) noexcept;
  void create_by_host(pool_thread& t);
  void pass_on_calls(pool_thread& t) noexcept;
  void undo_launch(idle_set::call const& c, pool_thread& t) noexcept;
  void not_launched(idle_set::call const& c) noexcept;
  static void thread_main(void* arg);
  void thread_ended(pool_thread& t) noexcept;
  void join_ended() noexcept;
  [[nodiscard]] pool_thread* take_exited() noexcept;
  void reclaim(pool_thread& t) noexcept;

public:
  static constexpr unsigned max_guests = 65'535;
  static constexpr int no_memory = -1; ///< of reasons, beside the system's errors
  record_table records;

  thread_registry(pool_core& core, unsigned slots);
  /// No thread is in the pool any more, unless they were left in the parent by fork().
  ~thread_registry();

  /// How many CPUs the pool's threads may use; 0: unknown.
  [[nodiscard]] unsigned cpus() const noexcept { return cpu_count_; }
  /// Those CPUs in the order in which copies of a call are placed, node by node or with the nodes in turn.
  [[nodiscard]] std::vector<os::cpu> const& places(os::placement_policy p);
  [[nodiscard]] unsigned made() const noexcept { return made_.get(); }

  /// The calling thread joins for a while. `as_worker`: it counts as one of the pool's workers, and has the
  /// number of one. Throws std::system_error if too many are in already.
  [[nodiscard]] pool_thread* enter(bool as_worker = false);
  void leave(pool_thread& t) noexcept;
  /// Makes a record that is free: so a thread can drive the pool when memory is short.
  void keep_a_record();
  /// Waits until no guest touches the pool any more.
  void await_guests() const noexcept;

  /// Makes threads until there are as many as workers. False: one cannot be made.
  [[nodiscard]] bool start_missing() noexcept;
  /// Those that are to live on.
  [[nodiscard]] std::vector<pool_thread*> that_take_calls();
  /// A call for that thread alone. False: it takes none any more.
  [[nodiscard]] bool call(pool_thread& t, task& c) noexcept;
  /// By a guest that counts as a worker and is about to leave: no call comes any more.
  void end_calls(pool_thread& t) noexcept;
  /// The life of a thread that a host has made.
  static void run_here(pool_thread& t) noexcept;
  /// What the thread of that number is called: at most 15 characters.
  [[nodiscard]] static std::string name_of(pool_core const& core, unsigned number);
  /// Makes a thread for a call. If none can be made, that is no error: the busy ones go on.
  void start(idle_set::call const& c) noexcept;
  /// Before the thread runs, or while it is idle and no other thread can call it.
  void order_relief(pool_thread& t, relief_order const& order) noexcept;
  /// Makes a thread that relieves.
  void start_relief(relief_order const& order) noexcept;
  /// Makes a thread that runs the task without a seat. False: none can be made.
  [[nodiscard]] bool start_aside(task& k) noexcept { return launch({}, {}, &k); }
  /// Throws why the last one was not made: std::bad_alloc or std::system_error.
  [[noreturn]] void throw_refusal() const;
  /// No thread is left that could sit down on a vacant seat, and none can be made.
  [[nodiscard]] bool no_thread_to_call() noexcept;

  /// Threads may be made, and none ends: the pool grows. `starts`: it had no workers, and new threads are
  /// scheduled as the caller is, with its signal mask.
  void open(bool starts) noexcept;
  /// Threads end until `workers` are left: sleeping threads now, busy ones when they go idle.
  void end_surplus(unsigned workers) noexcept;
  /// All end, and none is made.
  void wind_up() noexcept;
  /// By a thread that was told to end and is in no list. False: it goes on.
  [[nodiscard]] bool ends_now(pool_thread& t) noexcept;
  [[nodiscard]] bool any_surplus() const noexcept { return surplus_.get() != 0; }
  /// Those that sleep look again; a running thread looks anew before it waits.
  void unpark_all() noexcept {
    records.for_each([](pool_thread& t) { t.parker.unpark(); });
  }
  /// Waits until all threads have ended. False: resize() has started the pool again.
  bool join_all() noexcept;
};

/// Pins the calling thread to its seat's CPU, if the thread is a worker.
void pin(pool_thread& t, seat& s) noexcept;
/// Pins the calling worker to that CPU; negative: takes its pin back. False: the system refuses.
bool pin_to(pool_thread& t, int cpu) noexcept;

} // namespace rubato::detail
