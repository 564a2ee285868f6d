// Stop requests that reach everything below: one flag per scope, a std::stop_token only for who asks for one.
#pragma once

#include "rubato/detail/mutex.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

namespace rubato::detail {

class pool_core;
class stop_scope;
class stop_link; // NOLINT(cppcoreguidelines-virtual-class-destructor): final

/// Who asked, and so which waits end early: `draining`, when the pool ends, only those that wait for time or
/// for the world outside; `stopped` all.
enum class stop_level : unsigned char { none, draining, stopped };

class stop_listener;

/// A listener's place in the list of its scope: for that alone.
class stop_list_node {
  friend class stop_scope;
  friend class stop_link;
  stop_listener* next_ = nullptr;
  stop_listener* previous_ = nullptr;
  enum class phase : unsigned char { out, listed, called };
  std::atomic<phase> phase_{phase::out}; // changed under the scope's lock, but for the end of a call

  stop_level told_ = stop_level::none; // guarded by the scope's lock
  bool stays_ = false;                 ///< is told of every level
};

/// A wait that a stop request ends. Intrusive: it costs no allocation. docs/design/futures.md
class stop_listener : public stop_list_node {
public:
  /// Ends at a drain already.
  bool timed = false;
  /// Called on the thread that requests the stop, without locks.
  virtual void stop_requested() noexcept = 0;

protected:
  stop_listener() noexcept = default;
  ~stop_listener() = default;

public:
  stop_listener(stop_listener const&) = delete;
  stop_listener& operator=(stop_listener const&) = delete;
};

/// Ties a scope to the one around it, which outlives it.
class stop_link final : stop_listener {
  friend class stop_scope;
  stop_scope* parent_;
  stop_scope* child_ = nullptr; // set once
  /// So many requests ago nothing was requested from the child up.
  std::atomic<std::uint64_t> clear_at_{0};
  bool listens_ = false; // guarded by the child's lock

  void stop_requested() noexcept override;

public:
  /// Null: there is none.
  explicit stop_link(stop_scope* parent) noexcept
      : parent_(parent) {
    stays_ = timed = true;
  }
  /// The same without a first look upwards, if the parent has been found to be clear.
  explicit stop_link(stop_scope& parent) noexcept;
};

/// How many stop requests there have been in the process. While it stands still, nobody has to look upwards
/// twice.
[[gnu::visibility("default")]] inline constinit std::atomic<std::uint64_t> stop_requests{1};

/// Thread-safe.
class stop_scope {
  friend class stop_link;
  struct relay {
    std::stop_source* source;
    void operator()() const noexcept {
      std::stop_source kept = *source; // a callback may end the work whose source it is
      kept.request_stop();
    }
  };
  /// In the list of listeners, for its place there; it is told before them.
  struct token_state final : stop_listener {
    std::stop_source source;
    std::optional<std::stop_callback<relay>>
        from_parent; // after the source: its destructor waits for the relay
    void stop_requested() noexcept override {}
  };

  // A part of every future's state: as small as it can be. mutable: the tokens are made for who asks first.
  stop_link* up_ = nullptr;
  mutable stop_listener* first_ = nullptr; // guarded by mutex_
  mutable mutex mutex_;
  std::atomic<stop_level> requested_{stop_level::none};
  mutable bool has_tokens_ = false; // guarded by mutex_: the first listener is a token_state, from now on
  bool const shielded_;

  [[nodiscard]] token_state* tokens() const noexcept {
    return has_tokens_ ? static_cast<token_state*>(first_) : nullptr;
  }
  void insert(stop_listener& l) const noexcept;
  void request(stop_level level) noexcept;
  [[nodiscard]] stop_level look_upwards(std::uint64_t now) const noexcept;
  /// For its owner, once no other thread uses it: a request or a listener has reached it.
  [[nodiscard]] bool is_used() const noexcept {
    return requested_here() != stop_level::none || has_tokens_ || (up_ != nullptr && up_->listens_);
  }
  void end() noexcept;
  [[nodiscard]] stop_scope const* parent() const noexcept { return up_ != nullptr ? up_->parent_ : nullptr; }
  void listen_to_parents() noexcept;
  [[nodiscard]] bool insert_unless_stopped(stop_listener& l) noexcept;
  void unlink(stop_listener& l) noexcept;

public:
  struct shield {};
  stop_scope() noexcept
      : shielded_(false) {}
  /// A drain does not reach it, nor what is below it.
  explicit stop_scope(shield /*from the pool*/) noexcept
      : shielded_(true) {}
  /// Stops with the link's parent. The link lives next to the scope.
  explicit stop_scope(stop_link& up) noexcept
      : up_(&up)
      , shielded_(up.parent_ != nullptr && up.parent_->shielded_) {
    up.child_ = this;
  }
  stop_scope(stop_scope const&) = delete;
  stop_scope& operator=(stop_scope const&) = delete;
  ~stop_scope() {
    if (is_used()) end();
  }

  void request_stop() noexcept { request(stop_level::stopped); }
  /// The pool ends: what waits for time or for the world outside ends early.
  void request_drain() noexcept { request(stop_level::draining); }
  /// This scope's or an outer one's. O(1) unless there was a request since the scope around was asked.
  [[nodiscard]] stop_level level() const noexcept {
    if (up_ == nullptr) return requested_here();
    // acquire: pairs with request(), because what was requested before the count rose is read next.
    std::uint64_t const now = stop_requests.load(std::memory_order_acquire);
    return up_->clear_at_.load(std::memory_order_relaxed) == now ? stop_level::none : look_upwards(now);
  }
  /// This scope's own. relaxed: whoever asks for it looks again, and orders nothing by it.
  [[nodiscard]] stop_level requested_here() const noexcept {
    return requested_.load(std::memory_order_relaxed);
  }
  /// See shielded(): a drain of the pool does not reach it.
  [[nodiscard]] bool is_shielded() const noexcept { return shielded_; }
  /// Is everything here to end, whatever it waits for?
  [[nodiscard]] bool stop_requested() const noexcept { return level() == stop_level::stopped; }
  /// Stops with this scope, with the outer ones and with the pool, whose token is `outermost`.
  [[nodiscard]] std::stop_token token(std::stop_token const& outermost) const;

  /// Its work has ended: no request from above reaches it any more, and the parent may go.
  void leave_parent() noexcept;

  /// False: it has been requested already, and the listener is not called.
  [[nodiscard]] bool add(stop_listener& l) noexcept;
  /// Afterwards the listener is not called any more, nor is it being called, unless by this very thread.
  void remove(stop_listener& l) noexcept;
};

// relaxed: what was clear when the count of requests stood there is clear with a new scope below it.
inline stop_link::stop_link(stop_scope& parent) noexcept
    : stop_link(&parent) {
  if (parent.up_ != nullptr)
    clear_at_.store(parent.up_->clear_at_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

/// A scope within another one, in a frame.
class nested_scope {
  stop_link up_;

public:
  stop_scope own{up_};
  stop_scope& around;

  explicit nested_scope(stop_scope& parent) noexcept
      : up_(parent)
      , around(parent) {}
};

} // namespace rubato::detail
