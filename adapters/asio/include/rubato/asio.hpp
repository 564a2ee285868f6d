// Asio on a pool: completion handlers of standalone Asio run on its workers, beside the program's own tasks.
//
//   #include <rubato/asio.hpp>
//
//   #include <asio/post.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::pool pool(2);
//     rubato::asio_context context(pool);
//     asio::post(context, [&] { std::printf("%d\n", rubato::current_pool() == &pool); }); // -> 1
//     context.join();
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/asio/asio_events.hpp"
#include "rubato/detail/asio/asio_handler.hpp"
#include "rubato/detail/asio/asio_work.hpp"
#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "rubato/thread_pool.hpp"

#include <asio/execution.hpp>
#include <asio/execution_context.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace rubato {

template<bool Tracked, class Allocator>
class basic_asio_executor;

/// An executor of Asio: what is submitted to it runs on a worker of the pool. It has the properties blocking
/// (possibly, never), relationship (fork, continuation), outstanding_work (tracked, untracked) and allocator.
/// With `blocking.possibly`, the default, a function that is submitted from a task of the pool runs at once,
/// in the caller. `continuation`, which asio::defer prefers, lets the function run next on the caller's
/// worker.
using asio_executor = basic_asio_executor<false, std::allocator<void>>;

/// A context of Asio whose handlers run on a pool. Timers, sockets and strands are made from it, or from its
/// executor, as from an asio::io_context, and are destroyed before it. Several contexts may share a pool.
///
/// It has one thread of its own, which waits for timers and sockets in Asio's epoll and runs no code of the
/// program: it queues each handler in the pool.
///
/// An exception that leaves a handler goes to pool_options::on_unhandled(). Handlers do not count towards
/// pool_options::max_queued(). They have priority `normal`.
///
/// A handler that the pool refuses or drops, because it has been shut down, never runs. It is destroyed by
/// join() or by the destructor of the context. A drain ends no wait of Asio: a program stops its timers and
/// sockets, then calls join(), then shuts the pool down.
///
/// Thread-safe, except for join() and the destructor. Not for use in the child after fork().
class asio_context {
  template<bool, class>
  friend class basic_asio_executor;
  pool& pool_;
  detail::asio_work work_;
  detail::asio_events events_; ///< last: its services hold executors

  template<class F, class Allocator>
  void submit(F&& f, Allocator const& a, bool is_next);

public:
  using executor_type = asio_executor;

  /// Handlers run on that pool, which must outlive the context. Starts the pool, and throws as its first use
  /// does; throws std::system_error if the context's thread cannot be made.
  explicit asio_context(pool& p)
      : pool_(p) {
    static_cast<void>(detail::core_of(p));
  }
  asio_context(asio_context const&) = delete;
  asio_context& operator=(asio_context const&) = delete;
  /// Waits for handlers that run. Those that have not begun, and those of timers and sockets that are
  /// pending, are destroyed and never run. Not from a handler of this context.
  ~asio_context() {
    work_.close(*detail::core_of(pool_));
    events_.end_thread();
    work_.destroy_aside();
    events_.shutdown(); // destroys what is pending, which may put more aside
    work_.destroy_aside();
  }

  [[nodiscard]] executor_type get_executor() noexcept;
  /// For Asio: the context whose services timers and sockets use.
  [[nodiscard]] operator ::asio::execution_context&() noexcept { return events_; }

  /// Waits until no handler is queued or running, nothing is pending at a timer or socket, and no executor
  /// tracks work. A stop of the caller's task does not end the wait. In a pool without workers the caller
  /// runs the pool's tasks. By one thread at a time, and not from a handler of this context.
  void join() { work_.join(*detail::core_of(pool_)); }
};

/// See asio_executor, from which asio::require() and asio::prefer() make the others. Tracked: join() of the
/// context waits for it. Thread-safe as an int is.
template<bool Tracked, class Allocator>
class basic_asio_executor {
  template<bool, class>
  friend class basic_asio_executor;
  friend class asio_context;
  asio_context* context_; ///< null: moved from, which only a tracked one does
  bool is_never_blocking_;
  bool is_continuation_;
  [[no_unique_address]] Allocator allocator_;

  basic_asio_executor(asio_context* c, bool is_never_blocking, bool is_continuation,
                      Allocator const& a) noexcept
      : context_(c)
      , is_never_blocking_(is_never_blocking)
      , is_continuation_(is_continuation)
      , allocator_(a) {
    hold();
  }
  template<bool OtherTracked>
  explicit basic_asio_executor(basic_asio_executor<OtherTracked, Allocator> const& other) noexcept
      : basic_asio_executor(other.context_, other.is_never_blocking_, other.is_continuation_,
                            other.allocator_) {}

  void hold() noexcept {
    if constexpr (Tracked)
      if (context_ != nullptr) context_->work_.hold();
  }
  void release() noexcept {
    if constexpr (Tracked)
      if (context_ != nullptr) context_->work_.release();
  }

public:
  basic_asio_executor(basic_asio_executor const& other) noexcept
      : basic_asio_executor(other.context_, other.is_never_blocking_, other.is_continuation_,
                            other.allocator_) {}
  basic_asio_executor(basic_asio_executor&& other) noexcept
      : context_(Tracked ? std::exchange(other.context_, nullptr) : other.context_)
      , is_never_blocking_(other.is_never_blocking_)
      , is_continuation_(other.is_continuation_)
      , allocator_(std::move(other.allocator_)) {}
  basic_asio_executor& operator=(basic_asio_executor other) noexcept {
    std::swap(context_, other.context_);
    is_never_blocking_ = other.is_never_blocking_;
    is_continuation_ = other.is_continuation_;
    allocator_ = std::move(other.allocator_);
    return *this;
  }
  ~basic_asio_executor() { release(); }

  /// Calls f(), now or later; see asio_executor. f is decay-copied. Its memory is of the pool, unless an
  /// allocator was chosen. Throws std::bad_alloc, and what the move of f throws.
  template<class F>
  void execute(F&& f) const {
    if (is_never_blocking_ || current_pool() != &context_->pool_) {
      context_->submit(std::forward<F>(f), allocator_, is_continuation_);
      return;
    }
    std::decay_t<F> here(std::forward<F>(f));
    detail::call_reporting(here);
  }

  [[nodiscard]] friend bool operator==(basic_asio_executor const& a, basic_asio_executor const& b) noexcept {
    return a.context_ == b.context_ && a.is_never_blocking_ == b.is_never_blocking_ &&
           a.is_continuation_ == b.is_continuation_ && a.allocator_ == b.allocator_;
  }

  // The properties, for asio::require(), asio::prefer() and asio::query().
  [[nodiscard]] basic_asio_executor require(::asio::execution::blocking_t::possibly_t) const noexcept {
    return {context_, false, is_continuation_, allocator_};
  }
  [[nodiscard]] basic_asio_executor require(::asio::execution::blocking_t::never_t) const noexcept {
    return {context_, true, is_continuation_, allocator_};
  }
  [[nodiscard]] basic_asio_executor require(::asio::execution::relationship_t::fork_t) const noexcept {
    return {context_, is_never_blocking_, false, allocator_};
  }
  [[nodiscard]] basic_asio_executor
  require(::asio::execution::relationship_t::continuation_t) const noexcept {
    return {context_, is_never_blocking_, true, allocator_};
  }
  [[nodiscard]] basic_asio_executor<true, Allocator>
  require(::asio::execution::outstanding_work_t::tracked_t) const noexcept {
    return basic_asio_executor<true, Allocator>(*this);
  }
  [[nodiscard]] basic_asio_executor<false, Allocator>
  require(::asio::execution::outstanding_work_t::untracked_t) const noexcept {
    return basic_asio_executor<false, Allocator>(*this);
  }
  template<class Other>
  [[nodiscard]] basic_asio_executor<Tracked, Other>
  require(::asio::execution::allocator_t<Other> a) const noexcept {
    return {context_, is_never_blocking_, is_continuation_, a.value()};
  }
  [[nodiscard]] basic_asio_executor<Tracked, std::allocator<void>>
  require(::asio::execution::allocator_t<void>) const noexcept {
    return {context_, is_never_blocking_, is_continuation_, std::allocator<void>()};
  }

  [[nodiscard]] ::asio::execution_context& query(::asio::execution::context_t) const noexcept {
    return *context_;
  }
  [[nodiscard]] static constexpr ::asio::execution::mapping_t query(::asio::execution::mapping_t) noexcept {
    return ::asio::execution::mapping.thread;
  }
  [[nodiscard]] ::asio::execution::blocking_t query(::asio::execution::blocking_t) const noexcept {
    using is = ::asio::execution::blocking_t;
    return is_never_blocking_ ? is(is::never) : is(is::possibly);
  }
  [[nodiscard]] ::asio::execution::relationship_t query(::asio::execution::relationship_t) const noexcept {
    using is = ::asio::execution::relationship_t;
    return is_continuation_ ? is(is::continuation) : is(is::fork);
  }
  [[nodiscard]] static constexpr ::asio::execution::outstanding_work_t
  query(::asio::execution::outstanding_work_t) noexcept {
    using is = ::asio::execution::outstanding_work_t;
    if constexpr (Tracked)
      return is(is::tracked);
    else
      return is(is::untracked);
  }
  template<class Other>
  [[nodiscard]] Allocator query(::asio::execution::allocator_t<Other>) const noexcept {
    return allocator_;
  }
};

inline asio_context::executor_type asio_context::get_executor() noexcept {
  return {this, false, false, std::allocator<void>()};
}

template<class F, class Allocator>
void asio_context::submit(F&& f, Allocator const& a, bool is_next) {
  using handler = detail::asio_handler<std::decay_t<F>, Allocator>;
  detail::pool_core& core = *detail::core_of(pool_);
  auto* const made = handler::make(work_, std::forward<F>(f), a);
  if (!work_.begin_handler()) {
    made->put_aside();
    return;
  }
  // No arrival: an open pool does not close meanwhile. The caller may also be a member of a closed one.
  if (detail::current->core == &core && !detail::is_closed(core)) {
    if (is_next)
      detail::queue_task(core, detail::future_state::any_seat, priority::normal, *made);
    else
      detail::queue(core, made);
    return;
  }
  detail::arrival const in(core, detail::arrival::at_once(), detail::arriving::unlimited);
  if (in.is_refused())
    made->put_aside();
  else
    detail::queue(core, made);
}

} // namespace rubato
