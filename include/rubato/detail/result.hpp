// What a callable returned or threw, kept until somebody wants it.
#pragma once

#include "rubato/detail/invoke.hpp"

#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace rubato::detail {

/// void has no values: std::monostate stands for it wherever a value is needed.
template<class R>
using value_of = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

/// Calls f and returns its result, std::monostate for void.
template<class F, class... Args>
[[gnu::always_inline]] inline value_of<std::invoke_result_t<F, Args...>> invoke_value(F&& f, Args&&... args) {
  if constexpr (std::is_void_v<std::invoke_result_t<F, Args...>>) {
    invoke_any(std::forward<F>(f), std::forward<Args>(args)...);
    return {};
  } else {
    return invoke_any(std::forward<F>(f), std::forward<Args>(args)...);
  }
}

enum class outcome : unsigned char { none, value, error };

/// Room for one result or exception; its owner knows which of them is there, and destroys it.
template<class R>
union result_room {
  using stored = std::conditional_t<std::is_reference_v<R>, std::add_pointer_t<value_of<R>>,
                                    std::remove_const_t<value_of<R>>>;
  stored value;
  std::exception_ptr error;
  result_room() noexcept {} // NOLINT(modernize-use-equals-default): neither is built
  ~result_room() {}         // NOLINT(modernize-use-equals-default)
  result_room(result_room const&) = delete;
  result_room& operator=(result_room const&) = delete;
};

/// What can be done with such a room. `Self` has or knows the room and has a few bits for what is there:
/// room(), holds() and holds(outcome). Not thread-safe. R need not be default-constructible.
template<class Self, class R>
class result_access {
  using value_type = value_of<R>;
  using stored = typename result_room<R>::stored;
  static constexpr bool is_reference = std::is_reference_v<value_type>;

  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }
  [[nodiscard]] Self const& self() const noexcept { return static_cast<Self const&>(*this); }
  [[nodiscard]] bool failed() const noexcept { return self().holds() == outcome::error; }
  [[noreturn]] void rethrow() { std::rethrow_exception(take_error()); }

protected:
  result_access() noexcept = default; // NOLINT(bugprone-crtp-constructor-accessibility): protected will do
  ~result_access() = default;

public:
  result_access(result_access const&) = delete; // NOLINT(bugprone-crtp-constructor-accessibility)
  result_access& operator=(result_access const&) = delete;

  /// Destroys what is there.
  void reset() noexcept {
    switch (self().holds()) {
    case outcome::value:
      std::destroy_at(std::addressof(self().room().value));
      break;
    case outcome::error:
      std::destroy_at(std::addressof(self().room().error));
      break;
    case outcome::none:
      return;
    }
    self().holds(outcome::none); // last: then compilers know that nothing is looked at again
  }

  /// Keeps what `make()` returns or throws.
  template<class F>
  void fill(F&& make) noexcept {
    try {
      if constexpr (is_reference) {
        std::construct_at(&self().room().value, std::addressof(invoke_any(std::forward<F>(make))));
      } else {
        ::new (static_cast<void*>(std::addressof(self().room().value)))
            stored(invoke_value(std::forward<F>(make)));
      }
      self().holds(outcome::value);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  /// Keeps a value.
  template<class... Args>
  void emplace(Args&&... args) {
    if constexpr (is_reference)
      std::construct_at(&self().room().value, std::addressof(args)...);
    else if constexpr (std::is_arithmetic_v<stored> && sizeof...(Args) == 1)
      self().room().value = (static_cast<stored>(args), ...); // a literal loses its constancy on the way here
    else
      ::new (static_cast<void*>(std::addressof(self().room().value))) stored(std::forward<Args>(args)...);
    self().holds(outcome::value);
  }
  /// What the other one has, moved out of it; or, if moving throws, that.
  template<class Other>
  void take_over(Other&& other) noexcept {
    if (other.holds() == outcome::error)
      fail(other.take_error());
    else
      fill([&]() -> R {
        if constexpr (std::is_void_v<R>)
          static_cast<void>(other.take());
        else
          return other.take();
      });
  }
  /// Keeps an exception, in the place of a value that may be there: a coroutine may throw after co_return.
  void fail(std::exception_ptr e) noexcept {
    reset();
    std::construct_at(std::addressof(self().room().error), std::move(e));
    self().holds(outcome::error);
  }
  /// Empty: there is none.
  [[nodiscard]] std::exception_ptr error() const noexcept {
    return failed() ? self().room().error : std::exception_ptr();
  }
  /// For whoever passes it on and leaves the slot to be destroyed by others: they do not free the exception.
  [[nodiscard]] std::exception_ptr take_error() noexcept {
    if (!failed()) return nullptr;
    std::exception_ptr e = std::move(self().room().error);
    reset();
    return e;
  }
  [[nodiscard]] bool has_error() const noexcept { return failed(); }
  [[nodiscard]] bool has_value() const noexcept { return self().holds() == outcome::value; }
  /// The value where it is, or the exception, thrown. Any number of times, by any thread, after fill().
  std::add_lvalue_reference_t<std::add_const_t<value_type>> look() const {
    if (failed()) std::rethrow_exception(self().room().error);
    if constexpr (is_reference)
      return static_cast<std::remove_reference_t<value_type>&>(*self().room().value);
    else
      return self().room().value;
  }

  /// The value, to be moved from where it is, or the exception, thrown.
  std::add_rvalue_reference_t<value_type> lend() {
    if (failed()) rethrow();
    if constexpr (is_reference)
      return static_cast<std::add_rvalue_reference_t<value_type>>(*self().room().value);
    else
      return std::move(self().room().value);
  }

  /// The value, moved out, or the exception, thrown. Once, after fill(). Nothing is left behind: who has got
  /// the result may count on that, though the room lives on.
  value_type take() {
    if (failed()) rethrow();
    if constexpr (is_reference) {
      return static_cast<value_type>(*self().room().value);
    } else {
      struct cleared {
        Self& self;
        ~cleared() {
          std::destroy_at(std::addressof(self.room().value));
          self.holds(outcome::none);
        }
      } const after{self()};
      return std::move(self().room().value);
    }
  }
};

/// A room that knows itself what is there; empty at first.
template<class R>
class result_slot : public result_access<result_slot<R>, R> {
  friend class result_access<result_slot<R>, R>;
  result_room<R> room_;
  outcome holds_ = outcome::none;

  [[nodiscard]] result_room<R>& room() noexcept { return room_; }
  [[nodiscard]] result_room<R> const& room() const noexcept { return room_; }
  void holds(outcome o) noexcept { holds_ = o; }

public:
  result_slot() noexcept = default;
  ~result_slot() { this->reset(); }
  [[nodiscard]] outcome holds() const noexcept { return holds_; }
};

} // namespace rubato::detail
