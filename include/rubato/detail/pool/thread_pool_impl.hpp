// The bodies of the pool's templates.
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/value_in_std.hpp"
#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/future/continuation.hpp"
#include "rubato/detail/pool/broadcast.hpp"
#include "rubato/detail/pool/timed_job.hpp"
#include "rubato/detail/sched/wait/blocking_region.hpp"
#include "rubato/thread_pool.hpp"

#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace rubato {

namespace detail {

template<class F>
class bulk_task;

/// The indices of an enqueue_bulk() that have not begun, shared by its bulk tasks.
template<class F>
struct bulk {
  bulk_task<F> first; ///< so that enqueue_bulk() allocates once
  F f;
  std::size_t n;
  relaxed<std::size_t> next;
  references tasks{1};        ///< of the tasks to this
  relaxed<bool> queued{true}; ///< one of them is in a queue, as long as an index is left
  pool_core* core;

  template<class G>
  bulk(G&& g, std::size_t number, pool_core& c)
      : first(*this)
      , f(std::forward<G>(g))
      , n(number)
      , core(&c) {}

  void release() noexcept {
    if (tasks.release()) free_in_slab(this);
  }
};

/// One of the calls, if the task or future that it returns goes on after the call.
template<class F>
class bulk_item {
  bulk<F>* shared_; // counted among its tasks; null: moved from
  std::size_t i_;

public:
  bulk_item(bulk<F>& b, std::size_t i) noexcept
      : shared_(&b)
      , i_(i) {
    b.tasks.hold();
  }
  bulk_item(bulk_item&& other) noexcept
      : shared_(std::exchange(other.shared_, nullptr))
      , i_(other.i_) {}
  bulk_item& operator=(bulk_item&&) = delete;
  ~bulk_item() {
    if (shared_ != nullptr) shared_->release();
  }
  call_result_t<F&, std::size_t> operator()() {
    if constexpr (wants_token<F&, std::size_t>)
      return std::invoke(shared_->f, current_token(*current), i_);
    else
      return std::invoke(shared_->f, i_);
  }
};

/// One of the queued tasks that work on a bulk. It runs for a while, then queues itself behind other tasks.
template<class F>
class bulk_task final : public task {
  static constexpr std::int64_t slice_us = 200, chunk_us = 50; // guarantees F and H
  static constexpr std::size_t most = 4096;
  static constexpr bool goes_on_with_index = goes_on<bulk_item<F>>;
  bulk<F>* shared_;

  static void run(task& base, thread_context* runner) noexcept {
    auto& self = static_cast<bulk_task&>(base);
    bulk<F>& b = *self.shared_;
    b.queued.set(false);
    if (runner == nullptr || !self.run_slice(b, *runner) || b.queued.exchange(true)) {
      self.release(b);
      return;
    }
    self.holds_capacity = false;
    queue(*b.core, &self);
  }

  void release(bulk<F>& b) noexcept {
    if (this != &b.first) free_in_slab(this);
    b.release();
  }

  /// Queues another task, so that other workers find the remaining indices while the caller runs its chunk.
  /// Failing is no error.
  void leave_word(bulk<F>& b) noexcept {
    if (b.next.get() >= b.n || b.queued.get() || b.queued.exchange(true)) return;
    b.tasks.hold();
    try {
      queue(*b.core, make_in_slab<bulk_task>(b));
    } catch (std::bad_alloc const&) {
      b.queued.set(false);
      static_cast<void>(b.tasks.release()); // not the last: the caller's reference is left
    }
  }

  /// False: all indices are taken.
  [[nodiscard]] bool run_slice(bulk<F>& b, thread_context& me) noexcept {
    std::int64_t const begin = tick_count();
    std::int64_t before = begin;
    for (std::size_t chunk = 1;;) {
      std::size_t const done = b.next.get();
      if (done >= b.n) return false;
      // Chunks shrink towards the end: a slow item must not hide more than its share.
      std::size_t const share = (b.n - done) / (2 * static_cast<std::size_t>(size_of(*b.core)) + 1);
      std::size_t const want = std::max(std::size_t{1}, std::min(chunk, share));
      std::size_t const first = b.next.add(want);
      if (first >= b.n) return false;
      std::size_t const last = std::min(b.n, first + want);
      leave_word(b);
      for (std::size_t i = first; i != last; ++i) {
        try {
          if constexpr (goes_on_with_index)
            queue_detached(*b.core, nullptr, bulk_item<F>(b, i));
          else
            static_cast<void>(call(me, b.f, i));
        } catch (...) {
          unhandled(me);
        }
      }
      std::int64_t const now = tick_count();
      if (now - before < chunk_us * ticks_per_us())
        chunk = std::min(chunk * 2, most);
      else
        chunk = std::max(std::size_t{1}, chunk / 2);
      if (now - begin > slice_us * ticks_per_us()) return b.next.get() < b.n;
      before = now;
    }
  }

public:
  explicit bulk_task(bulk<F>& b) noexcept
      : task(&run)
      , shared_(&b) {}
};

template<class F>
auto blocking_fn::operator()(F&& f) const -> brought_if_fits_t<F> {
  static_assert(fits<F>, "rubato: blocking(f): f must be callable as f()");
  if constexpr (!fits<F>) {
    return {};
  } else {
    thread_context& me = *current;
    if (me.core == nullptr) return static_cast<brought_t<F>>(call_and_wait(me, std::forward<F>(f)));
    blocking_region const guard(me, history_of<std::remove_cvref_t<F>>);
    return static_cast<brought_t<F>>(call_and_wait(me, std::forward<F>(f)));
  }
}

} // namespace detail

template<class F>
void pool::enqueue_bulk(std::size_t n, F&& f) {
  constexpr bool called = detail::fits<std::decay_t<F>&, std::size_t>;
  static_assert(detail::can_be_kept<F>, "rubato: enqueue_bulk(n, f): f is copied unless it is passed as an "
                                        "rvalue: std::move what cannot be copied");
  static_assert(called, "rubato: enqueue_bulk(n, f): f must be callable as f(index), any number of times");
  if constexpr (!detail::can_be_kept<F> || !called) {
    return;
  } else if constexpr (detail::can_be_returned<detail::call_result_t<std::decay_t<F>&, std::size_t>>()) {
    using type = std::decay_t<F>;
    using shared_type = detail::bulk<type>;
    if (n == 0) return;
    detail::arrival in(core());
    auto& first = detail::make_in_slab<shared_type>(std::forward<F>(f), n, in.core())->first;
    first.holds_capacity = in.give_capacity();
    detail::queue(in.core(), &first);
  }
}

template<class F, class... Args>
auto pool::spawn(F&& f, Args&&... args) {
  if constexpr (detail::can_be_spawned<F, Args...>()) // here, so that a compiler's message is shorter
    return spawn(priority::normal, std::forward<F>(f), std::forward<Args>(args)...);
  else
    return detail::refused();
}

template<class F, class... Args>
auto pool::spawn(priority p, F&& f, Args&&... args) {
  if constexpr (detail::can_be_spawned<F, Args...>()) {
    detail::arrival in(core());
    return detail::spawn_arrived(in, detail::future_state::any_seat, p, std::forward<F>(f),
                                 std::forward<Args>(args)...);
  } else {
    return detail::refused();
  }
}

template<class F>
auto pool::spawn_on(unsigned seat, F&& f) {
  if constexpr (detail::can_be_spawned<F>()) {
    std::uint16_t const where = detail::checked_seat(core(), seat);
    detail::arrival in(core());
    return detail::spawn_arrived(in, where, priority::normal, std::forward<F>(f));
  } else {
    return detail::refused();
  }
}

namespace detail {

/// Passes a result on to a std::future.
template<class Kept, class Result>
struct std_delivery {
  std::promise<Kept> kept;

  void operator()(future<Result> made) {
    try {
      if constexpr (std::is_void_v<Result>) {
        made.get();
        kept.set_value();
      } else {
        auto&& value = made.get();
        kept.set_value(static_cast<Kept&&>(value));
      }
    } catch (...) {
      kept.set_exception(std::current_exception());
    }
  }
};

} // namespace detail

template<class F, class... Args>
auto pool::submit(F&& f, Args&&... args) {
  if constexpr (!detail::can_be_spawned<F, Args...>()) {
    return detail::refused();
  } else {
    detail::arrival in(core()); // before f is moved
    detail::bound_call<std::decay_t<F>, std::decay_t<Args>...> call(std::forward<F>(f),
                                                                    std::forward<Args>(args)...);
    using call_type = decltype(call);
    using result = typename detail::flattened<detail::call_result_t<call_type>>::type;
    using kept_type =
        std::conditional_t<std::is_rvalue_reference_v<result>, std::add_lvalue_reference_t<result>,
                           result>; // std has no future of a T&&
    detail::std_delivery<kept_type, result> to;
    // Destroyed before `to` if there is no memory: then no std::promise has to break a promise.
    std::future<kept_type> out = to.kept.get_future();
    auto delivered =
        detail::spawn_arrived(in, detail::future_state::any_seat, priority::normal, std::move(call))
            .then(std::move(to));
    // It goes on without its future. It never fails, and detach() would allocate for its failure.
    static_cast<void>(detail::state_ref(std::move(detail::future_access::state(delivered))));
    return out;
  }
}

template<class F>
timer_handle pool::enqueue_at(std::chrono::steady_clock::time_point t, F&& f) {
  if constexpr (!detail::can_be_queued<F>()) {
    return {};
  } else {
    detail::arrival const in(core(), detail::arriving::timed);
    timer_handle handle(
        detail::make_in_slab<detail::timed_job<std::decay_t<F>>>(in.core(), std::forward<F>(f)));
    handle.task_->begin(t);
    return handle;
  }
}

template<class A>
decltype(auto) pool::block_on(A&& awaitable) {
  using type = std::remove_cvref_t<A>;
  constexpr bool fits = detail::awaitable<A>;
  static_assert(fits,
                "rubato: block_on(x): x must be a task, a future or something else that co_await takes");
  if constexpr (!fits)
    return detail::refused();
  else if constexpr (detail::is_task<type>::value)
    return run_task_on(core(), static_cast<type&&>(awaitable)); // one with a name, too, as co_await does
  else if constexpr (detail::is_future<type>::value)
    return awaitable.get();
  else if constexpr (detail::is_shared_future<type>::value)
    return static_cast<typename type::value_type>(awaitable.get());
  else
    return run_task_on(core(), detail::await_borrowed(std::forward<A>(awaitable)));
}

namespace detail {

/// f on each seat or thread of a pool, by a function that does the rest.
template<auto Broadcast, class F>
auto broadcast_by(pool_core& core, F& f) {
  using result = brought_t<F&>;
  struct state {
    F& f;
    std::unique_ptr<result_slot<result>[]> slots;
    std::size_t n = 0;
  } s{f, nullptr, 0};
  Broadcast(
      core,
      [](void* arg, std::size_t n) {
        static_cast<state*>(arg)->slots = std::make_unique<result_slot<result>[]>(n);
        static_cast<state*>(arg)->n = n;
      },
      [](void* arg, std::size_t i, thread_context& me) {
        auto& st = *static_cast<state*>(arg);
        st.slots[i].fill([&]() -> decltype(auto) { return call_and_wait(me, st.f); });
      },
      &s);
  if constexpr (std::is_void_v<result>) {
    for (std::size_t i = 0; i != s.n; ++i) static_cast<void>(s.slots[i].take());
  } else {
    std::vector<value_in_std<result>> all;
    all.reserve(s.n);
    for (std::size_t i = 0; i != s.n; ++i) all.push_back(in_std<result>(s.slots[i].take()));
    return all;
  }
}

} // namespace detail

template<class F>
auto pool::broadcast(F&& f) {
  static_assert(detail::fits<F&>, "rubato: broadcast(f): f must be callable as f(), any number of times");
  if constexpr (detail::fits<F&>)
    return detail::broadcast_by<&detail::broadcast_erased>(core(), f);
  else
    return std::vector<detail::refused>();
}

template<class F>
auto pool::broadcast(per_thread_t /*where*/, F&& f) {
  static_assert(detail::fits<F&>,
                "rubato: broadcast(per_thread, f): f must be callable as f(), any number of times");
  if constexpr (detail::fits<F&>)
    return detail::broadcast_by<&detail::broadcast_to_threads>(core(), f);
  else
    return std::vector<detail::refused>();
}

template<class F>
auto pool::run(F&& f) -> detail::brought_if_fits_t<F> {
  static_assert(detail::fits<F>, "rubato: run(f): f must be callable as f()");
  if constexpr (!detail::fits<F>) {
    return {};
  } else {
    using result = detail::brought_t<F>;
    return static_cast<result>(
        detail::on_pool(this, [&](detail::thread_context& me) -> detail::value_of<result> {
          return detail::call_and_wait(me, std::forward<F>(f));
        }));
  }
}

} // namespace rubato
