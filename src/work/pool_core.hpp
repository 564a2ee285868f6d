// What a pool is made of once it has started. One member function per step of docs/design/parking.md; they
// are defined in worker.cpp (what to run next), search.cpp (how to find work), wait.cpp and await.cpp (how to
// wait), idleness.cpp and room.cpp (waiting for the pool itself), threads.cpp (who there is), lifecycle.cpp
// (how it begins, changes and ends), broadcast.cpp and relief.cpp (what the watch sees).
#pragma once

#include "rubato/detail/future_state.hpp"
#include "rubato/pool_options.hpp"
#include "rubato/thread_pool.hpp"
#include "sync/injector.hpp"
#include "sync/roster.hpp"
#include "work/residents.hpp"
#include "work/seat.hpp"
#include "work/thread.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace rubato::detail {

struct scope_child;

enum class ending : unsigned char { none, drain, discard };

/// How a thread waits for a result.
struct wait_terms {
  char const* why; ///< for reports
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  stop_scope* stop = nullptr; ///< its request ends the wait
  bool ends_early = true;     ///< by that request, or when a pool discards what the thread runs
  // Set anew for each look at what the thread must drive.
  state_ref input{};             ///< belongs to a pool without workers; empty: none does
  bool ready = false;            ///< that pool has something ready: the thread leaves it when it has not
  std::uint64_t lost_before = 0; ///< workers_lost() before that look
  [[nodiscard]] bool is_over() const noexcept;
};

/// Does a pool discard what this thread runs, in that pool or below what it runs in another?
[[nodiscard]] bool discarded(member const& runner) noexcept;

class pool_core {
public:
  static constexpr unsigned max_workers = 1024;
  static constexpr unsigned max_guests = 65'535;

  pool_core(pool& handle, pool_options options);
  pool_core(pool_core const&) = delete;
  pool_core& operator=(pool_core const&) = delete;
  ~pool_core();

  // Queuing (worker.cpp)
  void enqueue(task* t) noexcept;
  void enqueue_for(seat& s, task* t) noexcept;
  /// On the seat of that number, or the one that has taken its place.
  void enqueue_on(unsigned seat_index, task* t) noexcept;
  /// What the calling worker's task has made ready: next, if the caller sits, while it is hot.
  void enqueue_next(task* t) noexcept;
  /// Call after every event that leaves work queued: wakes one worker if one sleeps and none searches.
  void notify() noexcept;
  /// The same for latent work that came from outside the pool.
  void notify_latent() noexcept { notify(); }
  /// In any queue, the seats' inboxes included.
  [[nodiscard]] bool any_queued() const noexcept;
  /// In a queue from which any worker takes.
  [[nodiscard]] bool any_shared() const noexcept;
  [[nodiscard]] std::size_t queued() const noexcept;
  [[nodiscard]] std::size_t queued_at_entry() const noexcept;

  // Workers (worker.cpp)
  void work(pool_thread& t) noexcept;
  [[nodiscard]] task* next_task(pool_thread& t, seat& s) noexcept;
  void run(pool_thread& t, task& k) noexcept;
  /// Any queued task, for a thread that sits nowhere.
  [[nodiscard]] task* any_task() noexcept;
  /// Runs anything at all, for a thread that drives. False: there is nothing.
  bool run_one(pool_thread& t) noexcept;

  // Searching (search.cpp)
  /// Something to run: one of the three.
  struct finding {
    task* queued = nullptr;
    scope_child* child = nullptr;
    loot latent{};
    explicit operator bool() const noexcept {
      return queued != nullptr || child != nullptr || static_cast<bool>(latent);
    }
  };
  /// Looks for work for about the time of a wake and runs what it finds. `searching`: counted as such; reset
  /// when no longer. False: there was none.
  [[nodiscard]] bool search(pool_thread& t, bool& searching) noexcept;
  /// False: enough others do.
  [[nodiscard]] bool begin_search() noexcept;
  /// What is queued, or a child of a scope: it may be that nobody else runs in whose stead it is run.
  [[nodiscard]] finding find_ready(pool_thread& t, seat& s) noexcept;
  [[nodiscard]] bool any_ready(seat const& s) const noexcept;
  /// The child of any scope; null if there is none.
  [[nodiscard]] scope_child* take_child(pool_thread& t) noexcept;
  [[nodiscard]] bool any_child() const noexcept;
  /// A job or a piece of a loop, of any thread.
  [[nodiscard]] loot find_latent(pool_thread& t) noexcept;
  [[nodiscard]] bool any_chain(pool_thread const& but) const noexcept;
  void run(pool_thread& t, finding const& f) noexcept;
  /// Gets something from the victim's chain that fits the wish: asks, waits a little, takes.
  [[nodiscard]] loot obtain(pool_thread& t, pool_thread& victim, wish const& w) noexcept;
  void run(pool_thread& t, loot const& l) noexcept;
  /// A seat with a task in its slot, and what its occupant had executed by then.
  struct slot_seen {
    seat* where = nullptr;
    std::uint64_t executed = 0;
    bool operator==(slot_seen const&) const = default;
  };
  /// From that seat on, the first whose slot is not empty.
  [[nodiscard]] slot_seen any_slot(unsigned from = 0) const noexcept;
  /// `but`: not counting what this one has forked.
  [[nodiscard]] bool any_latent(pool_thread const* but = nullptr) const noexcept;

  // Waiting (wait.cpp)
  /// Leaves the seat, sleeps until `done`, comes back; drives the pool if it has no workers. Whoever makes
  /// `done` true unparks the thread afterwards. In park.hpp.
  template<class Done>
  void park_until(
      pool_thread& t, char const* why, member const* whom, Done done,
      std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max()) noexcept;
  template<class Done>
  void drive_until(pool_thread& t, char const* why, Done& done,
                   std::chrono::steady_clock::time_point deadline) noexcept;
  void wait_for(pool_thread& t, departure& d) noexcept;
  /// Leaves the seat to others for a while, and those that the thread holds in other pools. Null: it has none
  /// here.
  [[nodiscard]] seat* leave(pool_thread& t) noexcept;
  void come_back(pool_thread& t, seat* s) noexcept;
  /// Admits one task of a caller: waits for room, or throws cancelled, see admission.
  void acquire_room();
  /// Does the pool end, and is the caller outside?
  [[nodiscard]] bool is_late() const noexcept;
  /// Counts one task of such a caller. False: it is refused.
  [[nodiscard]] bool admit_late() noexcept;
  void take_back_late() noexcept { late_.fetch_sub(1, std::memory_order_relaxed); } // relaxed: a count
  enum class admission : unsigned char { granted, full, refused };
  /// full: max_queued tasks are queued. refused: the pool ends, and outside threads have queued enough since.
  [[nodiscard]] admission try_acquire_room() noexcept;
  void release_room() noexcept;
  /// `or_closed`: or until the pool is closed.
  bool wait_idle(std::chrono::steady_clock::time_point deadline, bool or_closed = false);

  void report_stall() noexcept;
  void tell_of_stall();

  // Waiting for a result (await.cpp)
  /// Waits on a thread of this pool, until the wait is over, or what the thread must drive may have changed.
  void await(pool_thread& t, future_state& s, wait_terms const& terms, bool as_guest = false) noexcept;
  /// May the thread run the work in place, and is it ready? `stranded`: nobody else can, not even on the seat
  /// where it must run.
  [[nodiscard]] bool may_claim(pool_thread const& t, future_state const& s,
                               bool stranded = false) const noexcept;
  /// Runs it in place. False: it is not ready, or may not be.
  bool claim(pool_thread& t, future_state& s, bool stranded = false) noexcept;
  /// Everybody waits and nobody can be called: whoever waits for what is ready must run it.
  [[nodiscard]] bool is_stranded() noexcept { return size() != 0 && all_wait() && nobody_to_call(); }
  /// A wait begins or ends that somebody outside the pool may end.
  void count_outside_wait(int n) noexcept {
    outside_waits_.fetch_add(static_cast<unsigned>(n), std::memory_order_relaxed);
  }

  /// A timer is running whose end makes work ready; until disarmed() the pool is not idle.
  void armed() noexcept { armed_.fetch_add(1, std::memory_order_relaxed); }
  /// By whoever runs in the pool, or has ended the timer: after it has queued what that made ready.
  void disarmed() noexcept;
  /// A timer is due. By the watch.
  void fired() noexcept { fired_.fetch_add(1, std::memory_order_relaxed); } // relaxed: a count
  /// It waits here no longer. By anybody.
  void resident_left(resident& r) noexcept {
    residing.remove(r);
    on_quiet();
  }

  // Threads (threads.cpp)
  void call_worker(seat* wanted = nullptr, bool always = false) noexcept;
  void call_for_inboxes() noexcept;
  void make_now(pool_thread& t) noexcept;
  [[nodiscard]] pool_thread* enter(bool guest);
  void leave_pool(pool_thread& t) noexcept;
  template<class F>
  void for_each_thread(F f) const {
    // acquire: pairs with the publication of a thread's record.
    unsigned const n = known_.load(std::memory_order_acquire);
    for (unsigned i = 0; i != n; ++i)
      if (pool_thread* t = threads_[i].load(std::memory_order_acquire)) f(*t);
  }
  [[nodiscard]] pool_thread* thread(unsigned i) const noexcept {
    return threads_[i].load(std::memory_order_acquire);
  }
  [[nodiscard]] unsigned known() const noexcept { return known_.load(std::memory_order_acquire); }
  [[nodiscard]] seat* seat_at(unsigned i) const noexcept { return seats_[i].load(std::memory_order_acquire); }
  [[nodiscard]] unsigned seats_known() const noexcept { return seats_known_.load(std::memory_order_acquire); }

  /// Different for each pool that there ever was, though they may get each other's addresses.
  std::uint64_t const serial = [] {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }();

  // Life (lifecycle.cpp)
  void start(unsigned workers);
  unsigned resize(unsigned workers);
  [[nodiscard]] unsigned size() const noexcept { return target_.load(std::memory_order_acquire); }
  [[nodiscard]] unsigned slots() const noexcept { return slots_; }
  /// Returns when the pool is closed. `discard_at`: a drain that has not ended by then becomes a discard.
  /// True: it drained.
  bool
  shutdown(ending how, bool destroying,
           std::chrono::steady_clock::time_point discard_at = std::chrono::steady_clock::time_point::max());
  void request_shutdown(ending how);
  /// Nothing that waits for time is begun any more. seq_cst: who joins the residents asks afterwards, and
  /// shutdown walks them after it has said so.
  [[nodiscard]] bool is_ending() const noexcept {
    return ending_.load(std::memory_order_seq_cst) != ending::none || closed_.load(std::memory_order_seq_cst);
  }
  /// What has not begun is dropped, and waits end early. seq_cst: pairs with request_shutdown(), which wakes
  /// the waiters and walks the residents after it has said so.
  [[nodiscard]] bool is_discarding() const noexcept {
    return ending_.load(std::memory_order_seq_cst) == ending::discard;
  }
  /// Is there anything that any thread may run: a task, or a child that has not begun?
  [[nodiscard]] bool has_ready() const noexcept { return any_shared() || any_child(); }
  /// A thread that only waits here has to leave: the pool ends, and has nothing for the thread to run. A
  /// closed pool may be driven, like one without workers.
  [[nodiscard]] bool turns_guests_away() const noexcept {
    return destroyed_.load(std::memory_order_seq_cst) ||
           (ending_.load(std::memory_order_seq_cst) != ending::none && !has_ready());
  }
  void discard_queued(bool everything) noexcept;
  /// A coroutine comes from another pool: while this lives the pool is not closed. Throws cancelled if it is
  /// closed, or discards.
  class arrival {
    pool_core& core_;

  public:
    explicit arrival(pool_core& c);
    arrival(arrival const&) = delete;
    arrival& operator=(arrival const&) = delete;
    ~arrival() { core_.arriving_.fetch_sub(1, std::memory_order_seq_cst); } // pairs with close_pool()
  };
  [[nodiscard]] pool_stats stats() const;
  [[nodiscard]] std::stop_token stop_token() const noexcept;
  [[nodiscard]] pool& handle() const noexcept { return *handle_; }
  void unhandled(std::exception_ptr e) noexcept;
  /// The threads do not exist any more: fork() made this process.
  void abandon() noexcept;

  /// Nobody is left who could sit down on a vacant seat.
  [[nodiscard]] bool nobody_to_call() noexcept;

  // The watch (relief.cpp)
  /// A job or a child has become latent while the watch was perhaps asleep.
  void tell_of_latent() noexcept;
  /// At its next fork every thread is to tell the watch, which is about to sleep.
  void remind_all() noexcept;
  struct attention {
    bool latent = false; ///< look again soon: somebody is busy and somebody sleeps
    bool queued = false; ///< look again in 10 ms: tasks are ready behind busy workers
  };
  [[nodiscard]] attention look(os::ticks now) noexcept;
  [[nodiscard]] bool wants_attention(bool later) const noexcept;

  // Broadcast (broadcast.cpp)
  void broadcast(void (*prepare)(void*, std::size_t), void (*body)(void*, std::size_t, member&), void* arg);

  residents residing;
  roster people;
  injector entry;
  pool_thread lobby;                  ///< nobody: the home of scopes that were opened outside the pool
  std::atomic<bool> take_gate{false}; ///< one take in flight: each interrupts every CPU of the process

  [[nodiscard]] os::ticks search_ticks() const noexcept { return search_ticks_; }
  [[nodiscard]] pool_options const& options() const noexcept { return options_; }
  [[nodiscard]] std::string const& name() const noexcept { return options_.name_; }

  // For the registry of pools, which the watch walks; guarded by its lock.
  pool_core* next_pool = nullptr;
  pool_core* previous_pool = nullptr;

private:
  [[nodiscard]] bool sleep(pool_thread& t) noexcept;
  void boundary(pool_thread& t) noexcept;
  [[nodiscard]] bool run_child_in_turn(pool_thread& t) noexcept;
  seat* vacate(pool_thread& t, leaving how, bool searching = false) noexcept {
    flush_slot(t);
    return static_cast<seat*>(people.vacate(t, how, searching));
  }
  [[nodiscard]] seat* leave_own(pool_thread& t) noexcept;
  void come_back_to_own(pool_thread& t, seat* s) noexcept;
  static void leave_outer_seats(pool_thread& t) noexcept;
  static void come_back_to_outer_seats(pool_thread& t) noexcept;
  void rest(pool_thread& t, bool searching) noexcept;
  void wait_for_room(pool_thread& t) noexcept;
  [[nodiscard]] bool room_or_nobody() noexcept;
  void drop(task& k) noexcept;
  void drop_late(task* t) noexcept;
  void push_entry(task* t) noexcept;
  void retire_seat(seat& s) noexcept;
  void end_surplus(unsigned workers) noexcept;
  [[nodiscard]] bool ends_now(pool_thread const& t) noexcept;
  void relieve(pool_thread& t) noexcept;
  void on_quiet() noexcept;
  [[nodiscard]] bool quiescent() const noexcept;
  [[nodiscard]] std::uint64_t begun() const noexcept;
  [[nodiscard]] bool all_wait() const noexcept;
  [[nodiscard]] bool is_stuck() const noexcept;
  void tell_if_stuck() noexcept;
  void after_vacating(seat* s) noexcept;
  void start_thread(roster::call const& c, bool relief, pool_thread* blocked = nullptr) noexcept;
  [[nodiscard]] bool launch(roster::call const& c, bool relief, pool_thread* blocked) noexcept;
  [[nodiscard]] bool create(pool_thread& t) noexcept;
  void undo_launch(roster::call const& c, pool_thread& t) noexcept;
  void not_launched(roster::call const& c) noexcept;
  void await_made() noexcept;
  [[nodiscard]] pool_thread* make_record(bool guest);
  void free_number(pool_thread& t) noexcept;
  static void thread_main(void* arg);
  void thread_ended(pool_thread& t) noexcept;
  void join_ended() noexcept;
  bool join_all() noexcept;
  [[nodiscard]] pool_thread* take_exited() noexcept;
  void reclaim(pool_thread& t) noexcept;
  void end_if_quiet() noexcept;
  [[nodiscard]] bool close_pool() noexcept;
  void await_residents(std::chrono::steady_clock::time_point latest) noexcept;
  void open_seats(unsigned n);
  [[nodiscard]] std::vector<int> cpu_order() const;
  void wake_waiters() noexcept;
  void wake_guests() noexcept;
  [[nodiscard]] seat* sit_temporarily(pool_thread& t) noexcept;
  void pin(pool_thread& t, seat& s) noexcept;
  enum class doing : unsigned char { something, computes, blocked };
  [[nodiscard]] doing judge(pool_thread& t, os::ticks now) noexcept;
  void look_at_backlog(os::ticks now) noexcept;
  [[nodiscard]] bool note_queues(os::ticks now) noexcept;
  void open_queues_of(seat& s) noexcept;
  void send_relief(pool_thread* blocked) noexcept;
  void call_for_relief(pool_thread& t, pool_thread* blocked) noexcept;
  [[nodiscard]] unsigned boundaries_of_all_but(pool_thread const& t) const noexcept;
  [[nodiscard]] bool is_relief_wanted(pool_thread const& t, os::ticks& tested) const noexcept;
  [[nodiscard]] bool stalled() noexcept;
  [[nodiscard]] std::uint64_t this_epoch() const noexcept;
  [[nodiscard]] task* pull(seat* s) noexcept;
  void sweep(pool_thread& t) noexcept;
  void flush_slot(pool_thread& t) noexcept;

  pool* handle_;
  pool_options options_;
  unsigned slots_;
  os::ticks search_ticks_;
  bool limited_;
  std::vector<int> cpu_order_;

  std::atomic<unsigned> target_{0};
  unsigned set_target(unsigned n) noexcept;
  std::atomic<unsigned> seats_known_{0};
  std::unique_ptr<std::atomic<seat*>[]> seats_;
  std::vector<std::unique_ptr<seat>> seat_storage_; // guarded by life_

  std::atomic<unsigned> known_{0};
  std::atomic<pool_thread*>* threads_; // reserved for all slots; the system backs what is used
  std::mutex records_;                 // guards the following four
  std::vector<std::unique_ptr<pool_thread>> thread_storage_;
  std::vector<pool_thread*> free_records_;
  std::vector<pool_thread*> exited_; // to be joined
  std::atomic<unsigned> made_{0};    // threads of ours, but for those that end; changed under records_
  std::atomic<unsigned> surplus_{0}; // of them, those that resize() has told to end; changed under records_
  unsigned unjoined_ = 0;            // threads of ours, with those that end
  unsigned guests_ = 0;              // guests that are in
  bool winding_up_ = false;          // no thread is made any more
  std::atomic<unsigned> to_make_{0}; ///< threads of ours that the watch is to make
  std::atomic<bool> no_threads_{false}; ///< the system refused the last one

  alignas(64) std::atomic<unsigned> waiting_{
      0}; ///< active threads parked in a wait that only the pool can end

  std::atomic<unsigned> outside_waits_{0}; ///< of them, those that somebody outside the pool might end

  mutex life_;                      // resize and shutdown take turns; never held while user code runs
  std::atomic<unsigned> inside_{0}; ///< guests that still touch this object
  std::atomic<ending> ending_{ending::none};
  std::atomic<bool> closed_{false}; ///< after shutdown, until resize()
  std::atomic<bool> destroyed_{false};
  std::atomic<unsigned> arriving_{0}; ///< coroutines that come from other pools at this moment
  bool was_discarded_ = false;        ///< guarded by life_: since the pool began to end
  std::atomic<unsigned> late_{0};     ///< tasks that outside threads have queued since the pool began to end
  std::atomic<bool> abandoned_{false};
  mutable std::mutex stop_mutex_;
  std::stop_source stop_; // guarded by stop_mutex_

  // Who waits for idleness or for room.
  std::mutex waiters_;
  std::condition_variable idle_, room_;
  std::atomic<unsigned> idle_waiting_{0}, room_waiting_{0};
  /// A thread waits on idle_ while this lives.
  class idle_announcement {
    std::atomic<unsigned>& n_;

  public:
    explicit idle_announcement(std::atomic<unsigned>& n) noexcept
        : n_(n) {
      n_.fetch_add(1, std::memory_order_seq_cst); // pairs with on_quiet() and notify()
    }
    idle_announcement(idle_announcement const&) = delete;
    idle_announcement& operator=(idle_announcement const&) = delete;
    ~idle_announcement() { n_.fetch_sub(1, std::memory_order_seq_cst); }
  };
  std::atomic<std::size_t> room_used_{0};
  struct room_waiter { // a thread of the pool, in its frame
    pool_thread* thread;
    room_waiter* next;
  };
  room_waiter* first_for_room_ = nullptr; // guarded by waiters_, as is the next
  room_waiter* last_for_room_ = nullptr;
  std::atomic<std::size_t> armed_{0};
  std::atomic<std::uint64_t> fired_{0}; // timers
  // Whoever is in the middle of taking tasks out of queues without running; and who has been.
  std::atomic<unsigned> moving_{0};
  std::atomic<std::uint64_t> moved_{0};
  struct in_transit {
    pool_core& core;
    explicit in_transit(pool_core& c) noexcept
        : core(c) {
      core.moving_.fetch_add(1, std::memory_order_seq_cst); // pairs with quiescent()
    }
    in_transit(in_transit const&) = delete;
    in_transit& operator=(in_transit const&) = delete;
    ~in_transit() {
      core.moved_.fetch_add(1, std::memory_order_release); // before the line below: seen with it
      core.moving_.fetch_sub(1, std::memory_order_seq_cst);
    }
  };
  std::atomic<unsigned> end_checks_{0}; ///< calls of end_if_quiet() that have not been served

  std::atomic<bool> watch_owed_{false}; ///< a searcher that finds work tells the watch, which was not told

  // The watch's notes.
  bool latent_seen_ = false;
  os::ticks queues_noted_ = 0; ///< when pushed_then_ was taken; 0: never
  unsigned stalled_looks_ = 0;
  std::uint64_t stall_epoch_ = 0;
  std::vector<std::uint64_t> pushed_then_;                 ///< by queue, the injector first
  alignas(64) std::atomic<std::uint64_t> entry_popped_{0}; // changed by whoever holds the injector's lock
  struct alignas(64) stripe {
    std::atomic<std::uint64_t> pushed{0};
  };
  std::array<stripe, 8> entry_pushed_;
  std::atomic<bool> report_stall_{false}; ///< a waiting thread is to report
  std::atomic<std::uint64_t> returns_{0}; ///< waits that have ended; a stall has none
};

/// Is the calling thread in this pool, if only below what it runs in another?
[[nodiscard]] bool is_member(pool_core const& core) noexcept;

} // namespace rubato::detail
