// What a routine calls, in place, and what else its post and its run use.
#pragma once

#include "rubato/detail/routine/routine_state.hpp"
#include "rubato/detail/work/task.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace rubato {

class routine; // NOLINT(cppcoreguidelines-virtual-class-destructor): nothing derives from it

namespace detail {

class pool_core;

/// Empty or a callable of void(routine&). It moves without throwing and allocates nothing.
class routine_callback {
  struct operations {
    void (*call)(void* f, routine& r);
    void (*move)(void* from, void* to) noexcept; ///< and destroys what it has moved from
    void (*destroy)(void* f) noexcept;
  };
  operations const* operations_ = nullptr;
  alignas(void*) std::array<std::byte, 2 * sizeof(void*)> room_;

  template<class F>
  static constexpr operations operations_of{
      [](void* f, routine& r) { static_cast<void>(std::invoke(*static_cast<F*>(f), r)); },
      [](void* from, void* to) noexcept {
        ::new (to) F(std::move(*static_cast<F*>(from)));
        std::destroy_at(static_cast<F*>(from));
      },
      [](void* f) noexcept { std::destroy_at(static_cast<F*>(f)); }};

public:
  template<class F>
  static constexpr bool fits = sizeof(F) <= 2 * sizeof(void*) && alignof(F) <= alignof(void*) &&
                               std::is_nothrow_move_constructible_v<F>;

  routine_callback() noexcept = default;
  template<class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, routine_callback>)
  explicit routine_callback(F&& f)
      : operations_(&operations_of<std::decay_t<F>>) {
    ::new (room_.data()) std::decay_t<F>(std::forward<F>(f));
  }
  routine_callback(routine_callback&& other) noexcept
      : operations_(std::exchange(other.operations_, nullptr)) {
    if (operations_ != nullptr) operations_->move(other.room_.data(), room_.data());
  }
  routine_callback& operator=(routine_callback&& other) noexcept {
    if (this == &other) return *this;
    reset();
    operations_ = std::exchange(other.operations_, nullptr);
    if (operations_ != nullptr) operations_->move(other.room_.data(), room_.data());
    return *this;
  }
  ~routine_callback() { reset(); }

  void reset() noexcept {
    if (operations const* const o = std::exchange(operations_, nullptr)) o->destroy(room_.data());
  }
  [[nodiscard]] explicit operator bool() const noexcept { return operations_ != nullptr; }
  void operator()(routine& r) { operations_->call(room_.data(), r); }
};

/// What a post and a run of a routine use, side by side: a run without a deadline reads nothing else of it.
struct routine_task : task {
  bool has_deadline_ = false; ///< of the next post
  routine_state state_;
  pool_core* core_ = nullptr; ///< where it is posted
  routine_callback callback_;

protected:
  routine_task(exec_type e, routine_callback&& f) noexcept
      : task(e)
      , callback_(std::move(f)) {}
  ~routine_task() = default;
};

static_assert(sizeof(routine_task) <= 64, "one cache line, if it is aligned to one");

} // namespace detail
} // namespace rubato
