// Asynchronous generators: coroutines that produce one value per request.
//
//   #include <rubato/generator.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//
//   rubato::async_generator<int> squares() {
//     for (int i = 1;; ++i) co_yield i * i;
//   }
//   rubato::task<int> third() {
//     rubato::async_generator<int> g = squares();
//     for (int i = 0; i != 2; ++i) co_await g.next();
//     co_return *co_await g.next();
//   }
//
//   int main() {
//     std::printf("%d\n", rubato::block_on(third())); // -> 9
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/base/value_in_std.hpp"
#include "rubato/detail/coro/coroutine.hpp"

#include <coroutine>

namespace rubato {

/// A coroutine that co_yields any number of values. It runs only while another coroutine awaits next(), as a
/// part of that coroutine: on its pool, and with its stop token. It may co_await whatever a task may.
///
/// If T is an object type, each value is copied or moved from the yielded one. If T is a reference, each
/// value refers to the yielded object. Movable. One thread at a time may use it, and one next() may be
/// awaited at a time. A value costs no allocation and no stack. The destructor destroys the suspended
/// coroutine, and recursively the generators in its frame; the end of a pool destroys nested generators from
/// the innermost outwards.
template<class T>
class [[nodiscard("an async_generator begins only with next()")]] async_generator {
public:
  class promise_type;
  /// T.
  using value_type = T;
  /// T; std::monostate for void, std::reference_wrapper for a reference.
  using stored_type = detail::value_in_std<T>;

private:
  class awaiter;
  detail::frame_owner<promise_type> frame_;
  explicit async_generator(std::coroutine_handle<promise_type> h) noexcept
      : frame_(h) {}

public:
  /// Empty, as after a move: it can only be assigned to and destroyed.
  async_generator() noexcept = default;
  /// True if it holds a coroutine. False if the end of a pool has destroyed the coroutine during a next().
  [[nodiscard]] bool valid() const noexcept {
    return frame_.get() != nullptr && !detail::tombstone::stands_for(frame_.get());
  }

  /// co_await next(): runs the coroutine until its next co_yield, and yields that value, or nullopt when the
  /// coroutine has ended with co_return. If the coroutine throws, next() throws that exception once; later
  /// calls yield nullopt. If the exception is `cancelled`, this and every later next() throws it.
  ///
  /// So with_deadline(g.next(), d) ends the generator for good if d ends a wait of its body, and the body
  /// lets `cancelled` out. If the body catches it, the generator goes on, and so it does if the stop meets no
  /// wait. Throws std::future_error(no_state) if the generator is empty, and std::logic_error if another
  /// next() is awaited.
  auto next() {
    if (!valid()) detail::throw_no_state("rubato: next() of an empty async_generator");
    return awaiter(frame_.get());
  }
  /// Does not compile: next() is awaited, which a range-based for does not do.
  template<class U = T>
  detail::refused* begin() const {
    static_assert(detail::always_false<U>, "rubato: an async_generator is no range: "
                                           "while (true) { auto x = co_await g.next(); if (!x) break; ... }");
    return nullptr;
  }
  /// Does not compile, as begin().
  detail::refused* end() const;
};

} // namespace rubato

#include "rubato/detail/coro/generator_impl.hpp"
