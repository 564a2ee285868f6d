// What scopes and task groups are made of: a list of children that nobody has begun, and a count of those
// that run.
//
// A child is latent work of the thread that opened the scope: a spawn from within the pool is no event,
// searchers and the watch find it there. From outside it wakes a worker. docs/design/scopes.md
#pragma once

#include "rubato/detail/callable.hpp"
#include "rubato/detail/mutex.hpp"
#include "rubato/detail/stop_scope.hpp"
#include "rubato/detail/task.hpp"

#include <atomic>
#include <cstddef>
#include <exception>
#include <stop_token>

namespace rubato::detail {

class scope_core;
struct with_scope_fn;
struct pool_thread;

struct scope_child {
  /// Runs the closure on `runner`, or only destroys it if that is null; frees the child. May throw what it
  /// threw.
  using exec_type = void (*)(scope_child&, member* runner);
  exec_type exec;
  scope_core* scope = nullptr;
  scope_child* next = nullptr;

  explicit scope_child(exec_type e) noexcept
      : exec(e) {}
};

class scope_core {
  struct waiter { // in the frame of its thread
    pool_thread* thread;
    waiter* next;
  };

  mutable mutex mutex_; // guards all up to the next comment
  scope_child* first_ = nullptr;
  scope_child* last_ = nullptr;
  std::size_t running_ = 0;
  std::exception_ptr error_;
  waiter* waiters_ = nullptr; // parked, or about to be

  std::atomic<bool> stopped_{false}; // begin nothing new
  stop_link around_;
  stop_scope stop_{around_};
  pool_core* core_;
  pool_thread* home_; // whose latent work the children are

  // Guarded by the home's scopes_mutex, but for the hint.
  std::atomic<bool> listed_{false};
  scope_core* next_ = nullptr;
  scope_core* previous_ = nullptr;

public:
  /// Does it end before the code around it does, so that it stops when that is stopped?
  enum class lifetime : unsigned char { enclosed, free };
  /// Opened by a member of the pool, or from outside it.
  scope_core(pool_core& core, member& opener, lifetime l);
  scope_core(scope_core const&) = delete;
  scope_core& operator=(scope_core const&) = delete;
  /// Everything has ended: wait() or wait_dropping_errors() has returned and nobody spawns.
  ~scope_core();

  /// Takes ownership. A stopped scope only destroys it.
  void spawn(scope_child* c) noexcept;
  /// Runs children that nobody has begun, waits for the others. `m` is the calling thread's record.
  void wait(member& m) noexcept;
  /// Nobody runs a child, and there is none that nobody has begun.
  [[nodiscard]] bool idle() const noexcept;
  [[nodiscard]] std::exception_ptr take_error() noexcept;
  void fail(std::exception_ptr e) noexcept;
  void request_stop() noexcept;
  [[nodiscard]] std::stop_token token() const;
  [[nodiscard]] pool_core& core() const noexcept { return *core_; }

  // For searchers: the oldest child of any scope whose home is `t`, and running it.
  [[nodiscard]] static bool any_child(pool_thread const& t) noexcept;
  [[nodiscard]] static scope_child* take_child_of(pool_thread& t) noexcept;
  static void run_taken(scope_child& c, pool_thread& runner) noexcept;

private:
  [[nodiscard]] scope_child* take_child() noexcept;
  void drop_children() noexcept;
  void enlist() noexcept;
  void delist() noexcept;
};

template<class F>
class closure_child final : public scope_child {
  F f_;

  static void run(scope_child& base, member* runner) {
    auto& self = static_cast<closure_child&>(base);
    struct cleanup {
      closure_child& c;
      ~cleanup() {
        std::destroy_at(&c);
        deallocate(&c, sizeof(closure_child));
      }
    } const guard{self};
    if (runner != nullptr) static_cast<void>(call(*runner, std::move(self.f_)));
  }

public:
  template<class G>
  explicit closure_child(G&& g)
      : scope_child(&run)
      , f_(std::forward<G>(g)) {}
};

template<class F>
[[nodiscard]] scope_child* make_child(F&& f) {
  using type = closure_child<std::decay_t<F>>;
  static_assert(alignof(type) <= 64, "rubato: a task's callable may be aligned to at most 64 bytes");
  void* const memory = allocate(sizeof(type));
  try {
    return ::new (memory) type(std::forward<F>(f));
  } catch (...) {
    deallocate(memory, sizeof(type));
    throw;
  }
}

} // namespace rubato::detail
