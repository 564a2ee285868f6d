// Tasks that a coroutine awaits together, and the lines of execution of those that do not run as a part of
// it. docs/design/coroutines.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/result.hpp"
#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/future/job.hpp"
#include "rubato/detail/sync/race.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "rubato/task.hpp"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace rubato::detail {

class group_base;
class group_member;

/// The place of a member's result, without its type.
class any_slot {
  struct functions {
    outcome (*holds)(void const*) noexcept;
    void (*fail)(void*, std::exception_ptr) noexcept;
    std::exception_ptr (*take_failure)(void*) noexcept;
  };
  template<class T>
  static constexpr functions of_type{
      [](void const* s) noexcept { return static_cast<result_slot<T> const*>(s)->holds(); },
      [](void* s, std::exception_ptr e) noexcept { static_cast<result_slot<T>*>(s)->fail(std::move(e)); },
      [](void* s) noexcept { return static_cast<result_slot<T>*>(s)->take_failure(); }};
  void* slot_;
  functions const* f_;

public:
  template<class T>
  explicit any_slot(result_slot<T>& s) noexcept
      : slot_(&s)
      , f_(&of_type<T>) {}
  /// The member has ended, and has no value.
  [[nodiscard]] bool has_failed() const noexcept { return f_->holds(slot_) != outcome::value; }
  void fail(std::exception_ptr e) const noexcept { f_->fail(slot_, std::move(e)); }
  /// The exception of a member that has failed, moved out.
  [[nodiscard]] std::exception_ptr take_failure() const noexcept { return f_->take_failure(slot_); }
};

/// One task of a group. Those of a group that lie latent in a chain are a batch.
class group_member final : public batched_job {
  friend class group_member_task;
  friend class forked_group;
  std::coroutine_handle<> frame_; ///< null once it has begun elsewhere, or was destroyed

  RUBATO_API static void run_elsewhere(latent_job& base, thread_context& runner);
  [[nodiscard]] coroutine_task* make_task(pool_core& where) noexcept;
  void run_on(thread_context& runner) noexcept;
  static void run_several(group_member& oldest, thread_context& runner) noexcept;
  static void run_next(group_member& m, thread_context& runner) noexcept;
  [[nodiscard]] group_base& group() const noexcept;

public:
  /// The result goes to a place that goes_to() tells later, before it begins.
  template<class T>
  [[gnu::always_inline]] group_member(group_base& g, rubato::task<T>& t) noexcept
      : batched_job(&run_elsewhere, &g)
      , frame_(task_access::release(t)) {}
  /// The same with the task of a member of another group, which has not begun.
  group_member(group_base& g, group_member& other) noexcept
      : batched_job(&run_elsewhere, &g)
      , frame_(std::exchange(other.frame_, nullptr)) {}

  template<class T>
  [[gnu::always_inline]] void goes_to(result_slot<T>& s) noexcept {
    using promise_type = typename rubato::task<T>::promise_type;
    std::coroutine_handle<promise_type>::from_address(frame_.address()).promise().goes_to(s);
  }
  [[nodiscard]] own_promise& promise() const noexcept { return own_promise::in(frame_); }
  /// If it has not begun.
  void destroy_frame() noexcept {
    if (frame_ != nullptr) destroy_unbegun(std::exchange(frame_, nullptr));
  }
  // As a line of execution of its own. Without memory it fails.
  void queue() noexcept;
  /// On the calling thread, until it is suspended for the first time.
  void begin_here() noexcept;
};

/// What a member knows of its group. A table of functions instead of virtual ones: it costs one store.
class group_base {
public:
  struct functions {
    group_member* (*members)(group_base&) noexcept;
    std::uint32_t (*number)(group_base&) noexcept;
    any_slot (*slot)(group_base&, std::uint32_t index) noexcept;
    stop_scope& (*scope)(group_base&) noexcept;
    coroutine_task& (*coroutine)(group_base&) noexcept;
    /// A member that ran elsewhere has ended, and its result is there.
    void (*member_ended)(group_base&, std::uint32_t index) noexcept;
    race_entry (*entry)(group_base&, std::uint32_t index) noexcept;
  };

private:
  functions const* const f_;

protected:
  [[gnu::always_inline]] explicit group_base(functions const& f) noexcept
      : f_(&f) {}
  ~group_base() = default;

public:
  group_base(group_base const&) = delete;
  group_base& operator=(group_base const&) = delete;

  [[nodiscard]] group_member* members() noexcept { return f_->members(*this); }
  [[nodiscard]] std::uint32_t number() noexcept { return f_->number(*this); }
  [[nodiscard]] any_slot slot(std::uint32_t index) noexcept { return f_->slot(*this, index); }
  [[nodiscard]] any_slot slot_of(group_member const& m) noexcept { return slot(index_of(m)); }
  [[nodiscard]] std::uint32_t index_of(group_member const& m) noexcept {
    return static_cast<std::uint32_t>(&m - members());
  }
  /// The scope that the members stop with. By any thread that keeps the group from ending.
  [[nodiscard]] stop_scope& scope() noexcept { return f_->scope(*this); }
  /// The one that awaits the group.
  [[nodiscard]] coroutine_task& coroutine() noexcept { return f_->coroutine(*this); }
  /// The group may be gone after the last member, so the coroutine task is held meanwhile.
  void ended(group_member const& m) noexcept;
  [[nodiscard]] race_entry entry_of(group_member const& m) noexcept { return f_->entry(*this, index_of(m)); }
};

inline group_base& group_member::group() const noexcept {
  return const_cast<group_base&>(*static_cast<group_base const*>(batch.get()));
}

/// The coroutine task of a group member that does not run as a part of the awaiting coroutine.
class group_member_task final : link_holder, public coroutine_task {
  group_member& of_;

  [[nodiscard]] std::coroutine_handle<> begin(thread_context& runner) noexcept override;
  void end(bool finished) noexcept override;

public:
  RUBATO_API group_member_task(group_member& m, stop_scope& around) noexcept;
  /// No future refers to it.
  [[nodiscard]] void* result() noexcept override { return nullptr; }
  [[nodiscard]] RUBATO_API race_entry entry() const noexcept override;
  [[nodiscard]] work_origin origin() const noexcept override;
  void fail(std::exception_ptr e) noexcept override;
  /// The last reference is gone: tells the group.
  void dispose() noexcept override;
};

/// Throws it if it is std::bad_alloc: there was no memory to begin a member. Not if its pool has dropped it.
RUBATO_API void throw_if_memory_lacked(std::exception_ptr const& e);

/// The members of a group of a range, and the places of their results, in one block.
template<class T>
class member_block {
  using slot_type = result_slot<T>;
  static constexpr std::size_t alignment = alignof(slot_type) > alignof(group_member) ? alignof(slot_type)
                                                                                      : alignof(group_member);
  std::size_t const number_;
  void* const memory_;

  [[nodiscard]] static constexpr std::size_t slots_at(std::size_t n) noexcept {
    return (n * sizeof(group_member) + alignment - 1) / alignment * alignment;
  }
  [[nodiscard]] static constexpr std::size_t bytes(std::size_t n) noexcept {
    return slots_at(n) + n * sizeof(slot_type);
  }
  [[nodiscard]] static void* get(std::size_t n) {
    if constexpr (alignment <= 64)
      return allocate(bytes(n));
    else
      return ::operator new(bytes(n), std::align_val_t{alignment});
  }

public:
  /// Takes the tasks from the iterator on, which were checked. Throws std::bad_alloc; then they are
  /// untouched.
  template<class Iterator>
  member_block(group_base& g, Iterator tasks, std::size_t n)
      : number_(n)
      , memory_(get(n)) {
    for (std::size_t i = 0; i != n; ++i, ++tasks)
      std::construct_at(members() + i, g, *tasks)->goes_to(*std::construct_at(&slot(i)));
  }
  member_block(member_block const&) = delete;
  member_block& operator=(member_block const&) = delete;
  ~member_block() {
    for (std::size_t i = 0; i != number_; ++i) std::destroy_at(&slot(i));
    if constexpr (alignment <= 64)
      deallocate(memory_, bytes(number_));
    else
      ::operator delete(memory_, std::align_val_t{alignment});
  }

  [[nodiscard]] group_member* members() const noexcept { return static_cast<group_member*>(memory_); }
  [[nodiscard]] slot_type& slot(std::size_t i) const noexcept {
    return reinterpret_cast<slot_type*>(static_cast<std::byte*>(memory_) + slots_at(number_))[i];
  }
  [[nodiscard]] std::uint32_t number() const noexcept { return static_cast<std::uint32_t>(number_); }
};

/// Throws unless each has a coroutine. Before a group takes the first of them.
template<class Range>
void check_unbegun(Range& tasks) {
  for (auto const& t : tasks) static_cast<void>(task_access::unbegun(t));
}

} // namespace rubato::detail
