// A handler of Asio as a task of the pool.
#pragma once

#include "rubato/detail/asio/asio_work.hpp"
#include "rubato/detail/memory/slab.hpp"
#include "rubato/detail/work/task.hpp"

#include <asio/detail/recycling_allocator.hpp>

#include <memory>
#include <utility>

namespace rubato::detail {

/// What Asio passes when the program has chosen no allocator.
template<class Allocator>
inline constexpr bool is_default_allocator = false;
template<class T>
inline constexpr bool is_default_allocator<std::allocator<T>> = true;
template<class T, class Purpose>
inline constexpr bool is_default_allocator<::asio::detail::recycling_allocator<T, Purpose>> = true;

/// Calls f() in a task of the current pool, to which an exception is reported.
template<class F>
void call_reporting(F& f) noexcept {
  try {
    f();
  } catch (...) {
    unhandled(*current);
  }
}

/// Its memory is freed before the call, as Asio promises, so that the handler can use it for the next one.
template<class F, class Allocator>
class asio_handler final : public task {
  using traits = typename std::allocator_traits<Allocator>::template rebind_traits<asio_handler>;
  using allocator = typename traits::allocator_type;
  static constexpr bool is_in_slab = is_default_allocator<Allocator> && fits_slab<F>;

  asio_work* work_;
  [[no_unique_address]] Allocator allocator_;
  F f_;

  static void destroy(task& base, thread_context* /*none*/) noexcept {
    static_cast<asio_handler&>(base).free();
  }
  static void run(task& base, thread_context* runner) noexcept {
    auto& self = static_cast<asio_handler&>(base);
    asio_work& work = *self.work_;
    if (runner == nullptr || work.is_closed()) {
      self.put_aside();
      return;
    }
    {
      F f(std::move(self.f_));
      self.free();
      call_reporting(f);
    }
    work.end_handler(); // last: the context may be gone
  }

  void free() noexcept {
    if constexpr (is_in_slab) {
      free_in_slab(this);
    } else {
      allocator a(allocator_);
      std::destroy_at(this);
      traits::deallocate(a, this, 1);
    }
  }

public:
  template<class G>
  asio_handler(asio_work& w, G&& g, Allocator const& a)
      : task(&run)
      , work_(&w)
      , allocator_(a)
      , f_(std::forward<G>(g)) {}

  template<class G>
  [[nodiscard]] static asio_handler* make(asio_work& w, G&& g, Allocator const& a) {
    if constexpr (is_in_slab) {
      return make_in_slab<asio_handler>(w, std::forward<G>(g), a);
    } else {
      allocator from(a);
      asio_handler* const memory = traits::allocate(from, 1);
      try {
        return ::new (static_cast<void*>(memory)) asio_handler(w, std::forward<G>(g), a);
      } catch (...) {
        traits::deallocate(from, memory, 1);
        throw;
      }
    }
  }

  /// It will not run.
  void put_aside() noexcept {
    exec = &destroy;
    work_->put_aside(*this);
  }
};

} // namespace rubato::detail
