// Work that waits in a pool for something that may never come. docs/design/coroutines.md
#pragma once

namespace rubato::detail {

class future_state;

/// In its pool's list, so that the pool, when it ends, can break it off.
class resident {
  friend class residents;
  resident* next_ = nullptr;
  resident* previous_ = nullptr;
  bool listed_ = false;

public:
  resident(resident const&) = delete;
  resident& operator=(resident const&) = delete;

  /// Takes it away from what it waits for. True: nobody will bring it back, and the caller drops the work.
  /// When nobody runs in the pool.
  [[nodiscard]] virtual bool withdraw() noexcept = 0;
  [[nodiscard]] virtual future_state& work() noexcept = 0;
  /// It cannot be withdrawn as long as its children have not ended.
  [[nodiscard]] virtual bool waits_for_children() noexcept { return false; }
  /// The pool has asked the work to stop, because it ends.
  virtual void on_drain() noexcept {}
  [[nodiscard]] bool is_listed() const noexcept { return listed_; }

protected:
  resident() noexcept = default;
  ~resident() = default;
};

} // namespace rubato::detail
