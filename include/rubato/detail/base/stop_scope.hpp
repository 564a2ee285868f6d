// Stop requests that reach every scope below: one flag per scope, and a std::stop_token only if a caller asks
// for one.
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

namespace rubato::detail {

class pool_core;
class stop_scope;
class stop_link; // NOLINT(cppcoreguidelines-virtual-class-destructor): final

/// The kind of request, and so which waits end early: `draining`, at the pool's end, only waits for time or
/// for the outside world; `stopped` all.
enum class stop_level : unsigned char { none, draining, stopped };

class stop_listener;

/// A listener's place in the list of its scope, used only by that scope.
class stop_list_node {
  friend class stop_scope;
  friend class stop_link;
  stop_listener* next_ = nullptr;
  stop_listener* previous_ = nullptr;
  enum class phase : unsigned char { out, listed, called };
  published<phase> phase_; // changes under the scope's lock, except at the end of a call

  stop_level told_ = stop_level::none; // guarded by the scope's lock
  bool is_link_ = false;               ///< a stop_link, which is called for every level
};

/// A wait that a stop request ends. Intrusive: it costs no allocation. docs/design/futures.md
class stop_listener : public stop_list_node {
public:
  /// A drain already ends it.
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

/// Links a scope to its parent, which outlives it.
class stop_link final : stop_listener {
  friend class stop_scope;
  stop_scope* parent_;
  stop_scope* child_ = nullptr; // set once
  /// The count of requests at which no stop was requested from the child upwards.
  relaxed<std::uint64_t> clear_at_;
  /// Is the child told each request? `soon`: the link is about to listen. `parent`: the child has been told
  /// what the parent had been told. `all`: and so have all scopes above.
  enum class hearing : unsigned char { none, soon, parent, all };
  published<hearing> hearing_; // the first change is made under the child's lock

  [[nodiscard]] bool is_listening() const noexcept { return hearing_.get() != hearing::none; }
  void stop_requested() noexcept override {} // the request goes on to the child

public:
  /// Null: there is none.
  explicit stop_link(stop_scope* parent) noexcept
      : parent_(parent) {
    is_link_ = timed = true;
  }
  /// The same, but skips the first check of the ancestors if the parent is known to be clear.
  explicit stop_link(stop_scope& parent) noexcept;
};

/// The number of stop requests in the process so far. While it does not change, no scope has to check its
/// ancestors twice.
[[gnu::visibility("default")]] inline constinit published<std::uint64_t> stop_requests{1};

/// Thread-safe.
class stop_scope {
  friend class stop_link;
  struct relay {
    std::stop_source* source;
    void operator()() const noexcept {
      std::stop_source kept = *source; // a callback may end the work that has the source
      kept.request_stop();
    }
  };
  /// Listens only for its place in the list; it is told before the listeners.
  struct token_state final : stop_listener {
    std::stop_source source;
    std::optional<std::stop_callback<relay>>
        from_parent; // after the source: its destructor waits for the relay
    void stop_requested() noexcept override {}
  };

  // A part of every future's state: as small as possible. mutable: the first caller that asks for a token
  // makes them.
  stop_link* up_ = nullptr;
  mutable stop_listener* first_ RUBATO_GUARDED_BY(mutex_) = nullptr;
  mutable mutex mutex_;
  published<stop_level> requested_; // changes under mutex_
  mutable bool
      has_tokens_ RUBATO_GUARDED_BY(mutex_) = false; // the first listener is a token_state, from now on
  bool const shielded_;
  bool const owned_ = true;

  [[nodiscard]] token_state* tokens() const noexcept RUBATO_REQUIRES(mutex_) {
    return has_tokens_ ? static_cast<token_state*>(first_) : nullptr;
  }
  void insert(stop_listener& l) const noexcept RUBATO_REQUIRES(mutex_);
  RUBATO_API void request(stop_level level) noexcept;
  void mark(stop_level level) noexcept;
  [[nodiscard]] stop_listener* next_to_call(stop_link* last) noexcept;
  [[nodiscard]] RUBATO_API stop_level look_upwards(std::uint64_t now) const noexcept;
  /// For its owner, once no other thread uses it: true if a request or a listener has reached it.
  [[nodiscard]] bool
  is_used() const noexcept RUBATO_NOT_ANALYSED { // without the lock: there is no other thread
    return requested_here() != stop_level::none || has_tokens_ || (up_ != nullptr && up_->is_listening());
  }
  RUBATO_API void end() noexcept;
  [[nodiscard]] stop_scope const* parent() const noexcept { return up_ != nullptr ? up_->parent_ : nullptr; }
  void listen_to_parents() noexcept;
  [[nodiscard]] stop_level level_for_listener() const noexcept;
  /// What it was told with that; empty: it was refused.
  [[nodiscard]] std::optional<stop_level> insert_unless_stopped(stop_listener& l) noexcept;
  void unlink(stop_listener& l) noexcept RUBATO_REQUIRES(mutex_);

public:
  struct shield {};
  /// A drain reaches neither this scope nor scopes below it.
  explicit stop_scope(shield /*from the pool*/) noexcept
      : shielded_(true) {}
  /// Stops with the link's parent. The link lives next to the scope; null: there is none.
  explicit stop_scope(stop_link* up = nullptr) noexcept
      : up_(up)
      , shielded_(up != nullptr && up->parent_ != nullptr && up->parent_->shielded_) {
    if (up != nullptr) up->child_ = this;
  }
  /// The same for a part of a running task, which does not become a task by it.
  struct fork {};
  stop_scope(stop_link& up, fork /*of it*/) noexcept
      : up_(&up)
      , shielded_(up.parent_ != nullptr && up.parent_->shielded_)
      , owned_(up.parent_ != nullptr && up.parent_->owned_) {
    up.child_ = this;
  }
  ~stop_scope() {
    if (is_used()) end();
  }

  void request_stop() noexcept { request(stop_level::stopped); }
  /// The pool ends: waits for time or for the outside world end early.
  void request_drain() noexcept { request(stop_level::draining); }
  /// This scope's level or an outer one's. O(1) if the scopes around have listeners and no thread passes a
  /// request on, or there was no request since the last check; else it looks at the scopes around.
  [[nodiscard]] stop_level level() const noexcept {
    if (up_ == nullptr) return requested_here();
    // The levels that were set before the count rose are read next.
    std::uint64_t const now = stop_requests.get();
    return up_->clear_at_.get() == now ? stop_level::none : look_upwards(now);
  }
  /// This scope's own level, a hint.
  [[nodiscard]] stop_level requested_here() const noexcept { return requested_.get(); }
  /// See shielded(): a drain of the pool does not reach it.
  [[nodiscard]] bool is_shielded() const noexcept { return shielded_; }
  /// For its owner, once no other thread uses it, and without a scope around: no request has reached it, it
  /// has no listener and no token, and so it can serve other work.
  [[nodiscard]] bool is_blank() const noexcept RUBATO_NOT_ANALYSED { // without the lock, as in is_used()
    return up_ == nullptr && first_ == nullptr && requested_here() == stop_level::none;
  }
  /// True if it belongs to a task or a scope, or is within one. A discard of the pool stops nothing else.
  [[nodiscard]] bool is_owned() const noexcept { return owned_; }
  /// True if all work in this scope must end, whatever it waits for.
  [[nodiscard]] bool stop_requested() const noexcept { return level() == stop_level::stopped; }
  /// A token that shows stops of this scope, of outer scopes and of the pool, whose token is `outermost`.
  [[nodiscard]] RUBATO_API std::stop_token token(std::stop_token const& outermost) const;

  /// Is it the other one, or within it?
  [[nodiscard]] bool is_within(stop_scope const& other) const noexcept {
    stop_scope const* s = this;
    while (s != nullptr && s != &other) s = s->parent();
    return s != nullptr;
  }

  /// Its work has ended: no request from the parent reaches it any more, and the parent may go.
  void leave_parent() noexcept;

  /// False: a stop has been requested already, and the listener will not be called.
  [[nodiscard]] RUBATO_API bool add(stop_listener& l) noexcept;
  /// When it returns, the listener is not called any more, and no other thread is calling it.
  RUBATO_API void remove(stop_listener& l) noexcept;
};

// A parent that was clear at that count of requests is clear with a new scope below it.
inline stop_link::stop_link(stop_scope& parent) noexcept
    : stop_link(&parent) {
  if (parent.up_ != nullptr) clear_at_.set(parent.up_->clear_at_.get());
}

/// A scope within another one, in a frame.
class nested_scope {
  stop_link up_;

public:
  stop_scope own{&up_};
  stop_scope& around;

  explicit nested_scope(stop_scope& parent) noexcept
      : up_(parent)
      , around(parent) {}
};

/// The scope of work with parallel parts that stops when one part fails: a loop.
class fork_scope {
  stop_link up_;

public:
  stop_scope own{up_, stop_scope::fork{}};

  /// Null: no outer scope can be stopped.
  explicit fork_scope(stop_scope* around) noexcept
      : up_(around) {}
};

} // namespace rubato::detail
