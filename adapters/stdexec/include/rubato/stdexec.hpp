// Senders on a pool: a scheduler for stdexec, the reference implementation of C++26's std::execution.
//
//   #include <rubato/stdexec.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::pool pool(2);
//     auto work = stdexec::schedule(rubato::stdexec_scheduler(pool)) | stdexec::then([] { return 6 * 7; });
//     auto [answer] = stdexec::sync_wait(std::move(work)).value();
//     std::printf("%d\n", answer); // -> 42
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/stdexec/bulk_domain.hpp"
#include "rubato/detail/stdexec/schedule_operation.hpp"
#include "rubato/thread_pool.hpp"

#include <stdexec/execution.hpp>

namespace rubato {

/// A scheduler of a pool, for stdexec::schedule, starts_on, continues_on, on and others. It is a pointer to
/// the pool, which must outlive every operation that was made from it. Thread-safe. Its forward progress
/// guarantee is `parallel`.
///
/// schedule() completes on a worker of the pool. The state of the operation is the entry in the pool's queue,
/// so nothing is allocated. It completes with set_stopped if the receiver's token shows a stop before the
/// worker begins, if a pool that discards drops it, or, in the thread that starts it, if the pool refuses it
/// (pool::shutdown()). It does not count towards pool_options::max_queued(), and has priority `normal`.
///
/// bulk, bulk_chunked and bulk_unchunked with `par` or `par_unseq`, behind a sender that completes on the
/// pool, run as for_range() does: by the worker on which that sender has completed, and by workers that are
/// idle. They allocate nothing. The first exception ends the loop, which completes with set_error; so does a
/// pool that discards, with cancelled.
class stdexec_scheduler {
  friend struct detail::bulk_domain;
  pool* pool_;

  class sender {
    friend class stdexec_scheduler;
    pool* pool_;
    explicit sender(pool& p) noexcept
        : pool_(&p) {}

    struct attributes {
      pool* of;
      template<class... Env>
      [[nodiscard]] stdexec_scheduler query(stdexec::get_completion_scheduler_t<stdexec::set_value_t>,
                                            Env const&...) const noexcept;
      template<class... Env>
      [[nodiscard]] detail::bulk_domain query(stdexec::get_completion_domain_t<stdexec::set_value_t>,
                                              Env const&...) const noexcept {
        return {};
      }
    };

  public:
    using sender_concept = stdexec::sender_t;
    using completion_signatures =
        stdexec::completion_signatures<stdexec::set_value_t(), stdexec::set_stopped_t()>;

    [[nodiscard]] attributes get_env() const noexcept { return {pool_}; }
    template<stdexec::receiver_of<completion_signatures> Receiver>
    [[nodiscard]] auto connect(Receiver r) const noexcept {
      return detail::schedule_operation<Receiver>(*pool_, std::move(r));
    }
  };

  [[nodiscard]] pool& on() const noexcept { return *pool_; }

public:
  using scheduler_concept = stdexec::scheduler_t;

  /// Starts the pool, and throws as its first use does.
  explicit stdexec_scheduler(pool& p)
      : pool_(&p) {
    static_cast<void>(detail::core_of(p));
  }

  [[nodiscard]] sender schedule() const noexcept { return sender(*pool_); }
  /// True for schedulers of one pool.
  [[nodiscard]] friend bool operator==(stdexec_scheduler, stdexec_scheduler) noexcept = default;

  [[nodiscard]] stdexec::forward_progress_guarantee
  query(stdexec::get_forward_progress_guarantee_t) const noexcept {
    return stdexec::forward_progress_guarantee::parallel;
  }
  template<class... Env>
  [[nodiscard]] stdexec_scheduler query(stdexec::get_completion_scheduler_t<stdexec::set_value_t>,
                                        Env const&...) const noexcept {
    return *this;
  }
  template<class... Env>
  [[nodiscard]] detail::bulk_domain query(stdexec::get_completion_domain_t<stdexec::set_value_t>,
                                          Env const&...) const noexcept {
    return {};
  }
};

template<class... Env>
stdexec_scheduler
stdexec_scheduler::sender::attributes::query(stdexec::get_completion_scheduler_t<stdexec::set_value_t>,
                                             Env const&...) const noexcept {
  return stdexec_scheduler(*of);
}

} // namespace rubato
