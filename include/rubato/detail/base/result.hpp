// Storage for a callable's result or exception.
#pragma once

#include "rubato/detail/base/assert.hpp"

#include <exception>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace rubato::detail {

/// std::monostate replaces void wherever a value is needed.
template<class R>
using value_of = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

/// As std::invoke, without <functional>.
template<class F, class... Args>
[[gnu::always_inline]] constexpr std::invoke_result_t<F, Args...> invoke_any(F&& f, Args&&... args) {
  if constexpr (std::is_member_pointer_v<std::remove_cvref_t<F>>)
    return std::apply(std::forward<F>(f), std::forward_as_tuple(std::forward<Args>(args)...));
  else
    return std::forward<F>(f)(std::forward<Args>(args)...);
}

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

/// Out of line, as an exception is rare: inline it is code in each caller, which g++ 12 then warns of,
/// because it does not see that there is an exception (-Wmaybe-uninitialized).
[[gnu::cold, gnu::noinline]] inline void destroy_exception(std::exception_ptr& e) noexcept {
  std::destroy_at(std::addressof(e));
}

enum class outcome : unsigned char { none, value, error };

/// Storage for one result or exception. Its owner knows which of them is in it, and destroys it.
template<class R>
union result_storage {
  using stored = std::conditional_t<std::is_reference_v<R>, std::add_pointer_t<value_of<R>>,
                                    std::remove_const_t<value_of<R>>>;
  stored value;
  std::exception_ptr error;
  result_storage() noexcept {} // NOLINT(modernize-use-equals-default): neither is built
  ~result_storage() {}         // NOLINT(modernize-use-equals-default)
  result_storage(result_storage const&) = delete;
  result_storage& operator=(result_storage const&) = delete;
};

/// Operations on such storage. `Self` has the storage, or a pointer to it, and a few bits for its content:
/// storage(), holds() and holds(outcome). Not thread-safe. R need not be default-constructible.
template<class Self, class R>
class result_access {
  using value_type = value_of<R>;
  using stored = typename result_storage<R>::stored;
  static constexpr bool is_reference = std::is_reference_v<value_type>;

  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }
  [[nodiscard]] Self const& self() const noexcept { return static_cast<Self const&>(*this); }
  [[nodiscard]] bool failed() const noexcept { return self().holds() == outcome::error; }
  /// The value that a reader wants. One test finds an exception and a missing result.
  [[nodiscard]] bool has_value() const noexcept { return self().holds() == outcome::value; }
  void expect_error() const noexcept {
    if (!failed())
      misuse(
          "a coroutine has ended without a result: its body flowed off its end, and a co_return is missing");
  }
  [[noreturn]] void rethrow() {
    expect_error();
    std::rethrow_exception(take_error());
  }

protected:
  result_access() noexcept = default; // NOLINT(bugprone-crtp-constructor-accessibility): protected is enough
  ~result_access() = default;

public:
  result_access(result_access const&) = delete; // NOLINT(bugprone-crtp-constructor-accessibility)
  result_access& operator=(result_access const&) = delete;

  /// Destroys the content.
  void reset() noexcept {
    switch (self().holds()) {
    case outcome::value:
      std::destroy_at(std::addressof(self().storage().value));
      break;
    case outcome::error:
      destroy_exception(self().storage().error);
      break;
    case outcome::none:
      return;
    }
    self().holds(outcome::none); // last: then compilers know that nothing is read again
  }

  /// Stores the result or exception of `make()`.
  template<class F>
  void fill(F&& make) noexcept {
    try {
      if constexpr (is_reference) {
        auto&& made = invoke_any(std::forward<F>(make));
        std::construct_at(&self().storage().value, std::addressof(made));
      } else {
        ::new (static_cast<void*>(std::addressof(self().storage().value)))
            stored(invoke_value(std::forward<F>(make)));
      }
      self().holds(outcome::value);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  /// Stores a value.
  template<class... Args>
  void emplace(Args&&... args) {
    if constexpr (is_reference)
      std::construct_at(&self().storage().value, std::addressof(args)...);
    else if constexpr (std::is_arithmetic_v<stored> && sizeof...(Args) == 1)
      self().storage().value =
          (static_cast<stored>(args), ...); // a literal loses its constancy on the way here
    else
      ::new (static_cast<void*>(std::addressof(self().storage().value))) stored(std::forward<Args>(args)...);
    self().holds(outcome::value);
  }
  /// Stores the content of `other`, moved out of it; if the move throws, that exception.
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
  /// Stores an exception, and destroys a value that may be there: a coroutine may throw after co_return.
  void fail(std::exception_ptr e) noexcept {
    reset();
    std::construct_at(std::addressof(self().storage().error), std::move(e));
    self().holds(outcome::error);
  }
  /// The exception; empty: there is none. For a caller that passes the exception on and lets other threads
  /// destroy the slot: they do not free the exception.
  [[nodiscard]] std::exception_ptr take_error() noexcept {
    if (!failed()) return nullptr;
    std::exception_ptr e = std::move(self().storage().error);
    reset();
    return e;
  }
  /// The exception of a result that is no value.
  [[nodiscard]] std::exception_ptr take_failure() noexcept {
    expect_error();
    return take_error();
  }
  /// A reference to the stored value; throws a stored exception. Any number of times, by any thread, after
  /// fill().
  std::add_lvalue_reference_t<std::add_const_t<value_type>> look() const {
    if (!has_value()) {
      expect_error();
      std::rethrow_exception(self().storage().error);
    }
    if constexpr (is_reference)
      return static_cast<std::remove_reference_t<value_type>&>(*self().storage().value);
    else
      return self().storage().value;
  }

  /// An rvalue reference to the stored value; throws a stored exception.
  std::add_rvalue_reference_t<value_type> lend() {
    if (!has_value()) rethrow();
    if constexpr (is_reference)
      return static_cast<std::add_rvalue_reference_t<value_type>>(*self().storage().value);
    else
      return std::move(self().storage().value);
  }

  /// The value, which is there, moved out. If its destructor is trivial it stays there, moved from.
  [[gnu::always_inline]] value_type take_value() {
    if constexpr (!is_reference && std::is_trivially_destructible_v<stored>)
      return std::move(self().storage().value);
    else
      return take();
  }
  /// The value, moved out; throws a stored exception. Called once, after fill(). The content is destroyed, on
  /// which a thread that has got the result may rely, though the storage lives on.
  value_type take() {
    if (!has_value()) rethrow();
    if constexpr (is_reference) {
      return static_cast<value_type>(*self().storage().value);
    } else {
      struct cleared {
        Self& self;
        ~cleared() {
          std::destroy_at(std::addressof(self.storage().value));
          self.holds(outcome::none);
        }
      } const after{self()};
      return std::move(self().storage().value);
    }
  }
};

/// Storage that records its own content; empty at first.
template<class R>
class result_slot : public result_access<result_slot<R>, R> {
  friend class result_access<result_slot<R>, R>;
  result_storage<R> storage_;
  outcome holds_ = outcome::none;

  [[nodiscard]] result_storage<R>& storage() noexcept { return storage_; }
  [[nodiscard]] result_storage<R> const& storage() const noexcept { return storage_; }
  void holds(outcome o) noexcept { holds_ = o; }

public:
  result_slot() noexcept = default;
  ~result_slot() { this->reset(); }
  [[nodiscard]] outcome holds() const noexcept { return holds_; }
};

} // namespace rubato::detail
