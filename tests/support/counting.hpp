// Counts live objects, and the outcome of each piece of work.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <utility>

#include "support/tally.hpp"

namespace rubato_test {

/// Counts the instances that are alive.
class census {
  std::atomic<long> alive_ = 0;

public:
  /// A callable that captures one is counted, copies and moved-from leftovers included.
  class member {
    census* home_;

  public:
    explicit member(census& home)
        : home_(&home) {
      home_->alive_.fetch_add(1, std::memory_order_relaxed);
    }
    member(member const& other)
        : member(*other.home_) {}
    member(member&& other) noexcept
        : member(*other.home_) {}
    member& operator=(member const&) = default;
    member& operator=(member&&) = default;
    // Release, pairs with the acquire in alive(): a thread that sees 0 sees everything that the members'
    // owners did.
    ~member() { home_->alive_.fetch_sub(1, std::memory_order_release); }
  };

  member enrol() { return member(*this); }
  long alive() const { return alive_.load(std::memory_order_acquire); }
};

/// A piece of work that ends in exactly one of two ways: it is called once, or dropped without having been
/// called.
class accounts {
  std::atomic<long> submitted_ = 0;
  std::atomic<long> ran_ = 0;
  std::atomic<long> dropped_ = 0;
  std::atomic<long> ran_again_ = 0;

public:
  class job {
    accounts* book_;
    bool ran_ = false;

  public:
    explicit job(accounts& book)
        : book_(&book) {
      book_->submitted_.fetch_add(1);
    }
    job(job&& other) noexcept
        : book_(std::exchange(other.book_, nullptr))
        , ran_(other.ran_) {}
    job& operator=(job&&) = delete;
    ~job() {
      if (book_ != nullptr && !ran_) book_->dropped_.fetch_add(1);
    }
    void operator()() { (std::exchange(ran_, true) ? book_->ran_again_ : book_->ran_).fetch_add(1); }
  };

  job make() { return job(*this); }
  long submitted() const { return submitted_; }
  long ran() const { return ran_; }
  long dropped() const { return dropped_; }
  testing::AssertionResult balance() const {
    if (submitted_ == ran_ + dropped_ && ran_again_ == 0) return testing::AssertionSuccess();
    return testing::AssertionFailure() << submitted_ << " submitted, " << ran_ << " ran, " << dropped_
                                       << " dropped, " << ran_again_ << " ran again";
  }
};

} // namespace rubato_test
