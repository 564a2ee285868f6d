// At most one operation of several takes effect. docs/design/races.md
#pragma once

#include "rubato/detail/mutex.hpp"
#include "rubato/detail/policy.hpp"

#include <cstdint>
#include <functional>
#include <mutex>

namespace rubato::detail {

template<class Policy>
class basic_claim;

/// Which of several operations takes effect. It is decided once.
template<class Policy>
class basic_race {
  friend class basic_claim<Policy>;
  basic_mutex<Policy> mutex_; // taken under the lock of an object at most; takes none but another race's
  typename Policy::template plain<std::uint32_t> winner_{none};

public:
  static constexpr std::uint32_t none = ~std::uint32_t{0}, stopped = none - 1;

  constexpr basic_race() noexcept = default;
  basic_race(basic_race const&) = delete;
  basic_race& operator=(basic_race const&) = delete;

  /// True once: it was open. The party that gets it ends the wait, if that has begun.
  [[nodiscard]] bool claim(std::uint32_t index) noexcept {
    std::lock_guard const guard(mutex_);
    if (winner_.get() != none) return false;
    winner_.set(index);
    return true;
  }
  [[nodiscard]] bool is_claimed_by(std::uint32_t index) noexcept {
    std::lock_guard const guard(mutex_);
    return winner_.get() == index;
  }
  /// For its owner, after the decision: what ended the wait, or a claim that failed, comes before.
  [[nodiscard]] std::uint32_t winner() const noexcept { return winner_.get(); }
};

/// Which race an operation is in, and as which member.
template<class Policy>
struct basic_race_entry {
  basic_race<Policy>* race = nullptr; ///< null: none
  std::uint32_t index = 0;
};

/// The right to complete an operation, or two that meet. While it lives the races of both stay as it has
/// found them. Under the lock of the object where they meet.
template<class Policy>
class basic_claim {
  using race = basic_race<Policy>;
  using entry = basic_race_entry<Policy>;
  entry const own_, other_;

public:
  enum class found : unsigned char { open, own_decided, other_decided, same_race };

private:
  found const found_;

  // Out of line, and given copies: most operations are in no race, and their claims are kept in no memory.
  [[gnu::noinline, gnu::cold]] static found lock(entry own, entry other) noexcept {
    if (own.race == other.race) return found::same_race;
    // By address: two pairs that meet on two objects take their races in one order.
    bool const own_first = std::less<>()(own.race, other.race);
    if (race* const r = own_first ? own.race : other.race) r->mutex_.lock();
    if (race* const r = own_first ? other.race : own.race) r->mutex_.lock();
    if (own.race != nullptr && own.race->winner_.get() != race::none) return found::own_decided;
    if (other.race != nullptr && other.race->winner_.get() != race::none) return found::other_decided;
    return found::open;
  }
  [[gnu::noinline, gnu::cold]] static void unlock(race* own, race* other) noexcept {
    if (own == other) return;
    if (own != nullptr) own->mutex_.unlock();
    if (other != nullptr) other->mutex_.unlock();
  }
  [[nodiscard]] bool is_raced() const noexcept { return own_.race != nullptr || other_.race != nullptr; }

public:
  /// `own`: of the calling party.
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
  /// It is open, and what was to be handed over has been: decides both.
  void decide() noexcept {
    if (own_.race != nullptr) own_.race->winner_.set(own_.index);
    if (other_.race != nullptr) other_.race->winner_.set(other_.index);
  }
};

/// A race whose members are waiters.
class race : public basic_race<std_policy> {
public:
  using wake_type = void (*)(race&) noexcept;
  /// By the one that has claimed it for a member in a list, once. Null: that member ends its own wait.
  wake_type const wake;

  explicit race(wake_type w = nullptr) noexcept
      : wake(w) {}
};

using claim = basic_claim<std_policy>;
using race_entry = basic_race_entry<std_policy>;

} // namespace rubato::detail
