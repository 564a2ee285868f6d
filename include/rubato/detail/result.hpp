// What a callable returned or threw, kept until somebody wants it.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace rubato::detail {

/// void has no values: std::monostate stands for it wherever a value is needed.
template<class R>
using value_of = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

/// What stands for R inside a std::vector, std::variant or std::optional.
template<class T>
using storable = std::conditional_t<
    std::is_void_v<T>, std::monostate,
    std::conditional_t<std::is_reference_v<T>, std::reference_wrapper<std::remove_reference_t<T>>, T>>;
/// Calls f and returns its result, std::monostate for void.
template<class F, class... Args>
[[gnu::always_inline]] inline value_of<std::invoke_result_t<F, Args...>> invoke_value(F&& f, Args&&... args) {
  if constexpr (std::is_void_v<std::invoke_result_t<F, Args...>>) {
    std::invoke(std::forward<F>(f), std::forward<Args>(args)...);
    return {};
  } else {
    return std::invoke(std::forward<F>(f), std::forward<Args>(args)...);
  }
}

/// Room for one result or exception, empty at first. Not thread-safe. R need not be default-constructible.
template<class R>
class result_slot {
  using value_type = value_of<R>;
  static constexpr bool is_reference = std::is_reference_v<value_type>;
  using stored = std::conditional_t<is_reference, std::add_pointer_t<value_type>, value_type>;
  union {
    stored value_;
  };
  bool has_value_ = false;
  std::exception_ptr error_;

public:
  result_slot() noexcept {} // NOLINT(modernize-use-equals-default): the value is not built
  ~result_slot() {
    if (has_value_) std::destroy_at(std::addressof(value_));
  }
  result_slot(result_slot const&) = delete;
  result_slot& operator=(result_slot const&) = delete;

  /// Keeps what `make()` returns or throws.
  template<class F>
  void fill(F&& make) noexcept {
    try {
      if constexpr (is_reference) {
        std::construct_at(&value_, std::addressof(std::invoke(std::forward<F>(make))));
      } else {
        ::new (static_cast<void*>(std::addressof(value_))) stored(invoke_value(std::forward<F>(make)));
      }
      has_value_ = true;
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  /// Keeps a value or an exception.
  template<class... Args>
  void emplace(Args&&... args) {
    if constexpr (is_reference)
      std::construct_at(&value_, std::addressof(args)...);
    else if constexpr (std::is_arithmetic_v<stored> && sizeof...(Args) == 1)
      value_ = (static_cast<stored>(args), ...); // a literal loses its constancy on the way here
    else
      ::new (static_cast<void*>(std::addressof(value_))) stored(std::forward<Args>(args)...);
    has_value_ = true;
  }
  /// What the other one has, moved out of it; or, if moving throws, that.
  void take_over(result_slot& other) noexcept {
    if (other.error_ != nullptr)
      error_ = std::move(other.error_);
    else
      fill([&]() -> R {
        if constexpr (std::is_void_v<R>)
          static_cast<void>(other.take());
        else
          return other.take();
      });
  }
  void fail(std::exception_ptr e) noexcept { error_ = std::move(e); }
  [[nodiscard]] std::exception_ptr const& error() const noexcept { return error_; }
  /// For whoever passes it on and leaves the slot to be destroyed by others: they do not free the exception.
  [[nodiscard]] std::exception_ptr take_error() noexcept { return std::exchange(error_, nullptr); }
  [[nodiscard]] bool has_value() const noexcept { return has_value_; }
  /// The value where it is, or the exception, thrown. Any number of times, by any thread, after fill().
  std::add_lvalue_reference_t<std::add_const_t<value_type>> look() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
    if constexpr (is_reference)
      return static_cast<std::remove_reference_t<value_type>&>(*value_);
    else
      return value_;
  }

  /// The value, to be moved from where it is, or the exception, thrown.
  std::add_rvalue_reference_t<value_type> lend() {
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
    if constexpr (is_reference)
      return static_cast<std::add_rvalue_reference_t<value_type>>(*value_);
    else
      return std::move(value_);
  }

  /// The value, moved out, or the exception, thrown. Once, after fill(). Nothing is left behind: who has got
  /// the result may count on that, though the slot lives on.
  value_type take() {
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
    if constexpr (is_reference) {
      return static_cast<value_type>(*value_);
    } else {
      struct cleared {
        result_slot& slot;
        ~cleared() {
          slot.has_value_ = false;
          std::destroy_at(std::addressof(slot.value_));
        }
      } const after{*this};
      return std::move(value_);
    }
  }
};

} // namespace rubato::detail
