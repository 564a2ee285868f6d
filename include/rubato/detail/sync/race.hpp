// A race: of several operations at most one takes effect, or at most so many. docs/design/races.md
//
// States: open (winner_ is none), then decided for one operation, or `stopped`. Invariant: winner_ changes
// once, under mutex_. In a race with several winners it is the last of them. A claim holds the mutexes of the
// races of one or two operations that meet; it takes them in order of address, and after the lock of the
// object where they meet, so no two claims deadlock. An operation that takes effect in a call, such as a
// system call, holds its claim around that call.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/policy.hpp"

#include <cstdint>
#include <functional>

namespace rubato::detail {

template<class Policy>
class basic_claim;

/// The winners of a race that has several, in order. The race's lock guards it.
template<class Policy>
class basic_winners {
public:
  /// The turn in which an operation has won, from 1 on; 0: it has not won.
  using turn_type = typename Policy::template plain<std::uint32_t>;

private:
  turn_type* const turns_;
  std::uint32_t const wanted_;
  typename Policy::template plain<std::uint32_t> number_{0};

public:
  /// `turns`: one of 0 for each operation. `wanted` is at least 1.
  basic_winners(turn_type* turns, std::uint32_t wanted) noexcept
      : turns_(turns)
      , wanted_(wanted) {}

  /// True: it is the last.
  [[nodiscard]] bool add(std::uint32_t index) noexcept {
    RUBATO_ASSERT_STEP(turns_[index].get() == 0 && number_.get() != wanted_, "an operation wins again", index,
                       number_.get(), wanted_);
    number_.set(number_.get() + 1);
    turns_[index].set(number_.get());
    return number_.get() == wanted_;
  }
  [[nodiscard]] bool contains(std::uint32_t index) const noexcept { return turns_[index].get() != 0; }
};

/// Decides once which of several operations takes effect, or which of them do.
template<class Policy>
class basic_race {
  friend class basic_claim<Policy>;
  using several_type = basic_winners<Policy>;
  basic_mutex<Policy> mutex_; // may be taken under an object's lock; under it, only another race's is taken
  typename Policy::template plain<std::uint32_t> winner_{none};
  several_type* const several_ = nullptr; ///< null: one operation takes effect

  /// Under the lock, while the race is open.
  void add_winner(std::uint32_t index) noexcept {
    if (several_ == nullptr || several_->add(index)) winner_.set(index);
  }
  [[nodiscard]] bool has_won(std::uint32_t index) const noexcept {
    return several_ == nullptr ? winner_.get() == index : several_->contains(index);
  }

public:
  static constexpr std::uint32_t none = ~std::uint32_t{0}, stopped = none - 1;

  constexpr basic_race() noexcept = default;
  /// null: it has one winner.
  constexpr explicit basic_race(several_type* several) noexcept
      : several_(several) {}

  /// True: the race was open. If it has one winner, that is one caller, which ends the wait if that has
  /// begun.
  [[nodiscard]] bool claim(std::uint32_t index) noexcept {
    RUBATO_ASSERT_STEP(index != none, "a race is claimed for no operation", index);
    lock_guard const guard(mutex_);
    if (winner_.get() != none) return false;
    if (index == stopped)
      winner_.set(stopped);
    else
      add_winner(index);
    return true;
  }
  [[nodiscard]] bool is_claimed_by(std::uint32_t index) noexcept {
    lock_guard const guard(mutex_);
    return has_won(index);
  }
  /// True: it has won before, or has claimed the open race now.
  [[nodiscard]] bool is_claimed_at_last_by(std::uint32_t index) noexcept {
    lock_guard const guard(mutex_);
    if (has_won(index)) return true;
    if (winner_.get() != none) return false;
    add_winner(index);
    return true;
  }
  /// For the race's owner, after the decision: the end of the wait, or a failed claim, comes before.
  [[nodiscard]] std::uint32_t winner() const noexcept { return winner_.get(); }
};

/// Which end of an argument decides a when_any(): a success; a when_first(): any.
enum class decided_by : unsigned char { success, any_end };

/// The race that an operation is in, and its index there.
template<class Policy>
struct basic_race_entry {
  basic_race<Policy>* race = nullptr; ///< null: none
  std::uint32_t index = 0;
};

/// The state that a claim finds when it has locked the races.
enum class claim_found : unsigned char { open, own_decided, other_decided, same_race };

/// The right to complete an operation, or two that meet. While the claim lives, the races of both keep the
/// state that it found. Made under the lock of the object where they meet.
template<class Policy>
class basic_claim {
  using race = basic_race<Policy>;
  using entry = basic_race_entry<Policy>;
  entry const own_, other_;

public:
  using found = claim_found;

private:
  found const found_;

  // Out of line, and by value: most operations are in no race, and their claims stay in registers.
  [[gnu::noinline, gnu::cold]] static found
  lock(entry own, entry other) noexcept RUBATO_NOT_ANALYSED { // which locks depends on the entries
    if (own.race == other.race) return found::same_race;
    // In order of address: two claims of the same two races, on two objects, do not deadlock.
    bool const own_first = std::less<>()(own.race, other.race);
    if (race* const r = own_first ? own.race : other.race) r->mutex_.lock();
    if (race* const r = own_first ? other.race : own.race) r->mutex_.lock();
    if (own.race != nullptr && own.race->winner_.get() != race::none) return found::own_decided;
    if (other.race != nullptr && other.race->winner_.get() != race::none) return found::other_decided;
    return found::open;
  }
  [[gnu::noinline, gnu::cold]] static void unlock(race* own,
                                                  race* other) noexcept RUBATO_NOT_ANALYSED { // as in lock()
    if (own == other) return;
    if (own != nullptr) own->mutex_.unlock();
    if (other != nullptr) other->mutex_.unlock();
  }
  [[nodiscard]] bool is_raced() const noexcept { return own_.race != nullptr || other_.race != nullptr; }

public:
  /// `own`: the race of the calling operation.
  explicit basic_claim(entry own, entry other = {}) noexcept
      : own_(own)
      , other_(other)
      , found_(is_raced() ? lock(own, other) : found::open) {}
  basic_claim(basic_claim const&) = delete;
  basic_claim& operator=(basic_claim const&) = delete;
  ~basic_claim() {
    if (is_raced()) [[unlikely]]
      unlock(own_.race, other_.race);
  }

  [[nodiscard]] found state() const noexcept { return found_; }
  [[nodiscard]] bool is_open() const noexcept { return found_ == found::open; }
  /// The claim is open, and the values have been handed over: decides both races.
  void decide() noexcept {
    RUBATO_ASSERT_STEP(is_open(), "an operation takes effect whose race is decided", found_, own_.index,
                       other_.index);
    if (own_.race != nullptr) own_.race->add_winner(own_.index);
    if (other_.race != nullptr) other_.race->add_winner(other_.index);
  }
};

/// For an operation that takes effect in one call which does not wait, such as a system call. Unless another
/// operation has won the race, calls attempt(), which returns true if it has taken effect, and then decides
/// the race. False: another operation has won, and nothing was called. Meanwhile all other claims of the race
/// wait.
template<class Policy, class Attempt>
[[nodiscard]] bool try_in_race(basic_race_entry<Policy> own, Attempt attempt) {
  basic_claim<Policy> c(own);
  if (!c.is_open()) return false;
  if (attempt()) c.decide();
  return true;
}

/// A race whose operations are waiters.
class race : public basic_race<std_policy> {
public:
  using wake_type = void (*)(race&, bool by_event) noexcept;
  /// The thread that has claimed the race for a waiter in a list calls it, once. Null: that waiter ends its
  /// own wait. by_event: a timer's firer calls it.
  wake_type const wake;

  explicit race(wake_type w = nullptr) noexcept
      : wake(w) {}
  /// With several winners; null: with one. Each of its waiters ends its own wait.
  explicit race(basic_winners<std_policy>* several) noexcept
      : basic_race(several)
      , wake(nullptr) {}
};

using winners = basic_winners<std_policy>;
using claim = basic_claim<std_policy>;
using race_entry = basic_race_entry<std_policy>;

} // namespace rubato::detail
