// What runs on which stack: a piece of work that begins on top of another must descend from it.
#pragma once

#include <atomic>

namespace rubato_test {

/// Marks a piece of work from its beginning to its end. Its parent, if it has one, must outlive it: in
/// fork-join the parent waits for it. It is a stranger if it begins on a thread whose innermost unfinished
/// piece is not one of its ancestors.
class lineage {
public:
  explicit lineage(lineage const* parent)
      : parent_(parent)
      , below_(innermost_) {
    if (below_ && !descends_from(below_)) strangers_.fetch_add(1);
    innermost_ = this;
  }
  lineage(lineage const&) = delete;
  lineage& operator=(lineage const&) = delete;
  ~lineage() { innermost_ = below_; }

  /// How often a stranger began since the last call.
  static unsigned take_strangers() { return strangers_.exchange(0); }

private:
  bool descends_from(lineage const* ancestor) const {
    for (lineage const* one = parent_; one; one = one->parent_) {
      if (one == ancestor) return true;
    }
    return false;
  }

  lineage const* const parent_;
  lineage const* const below_;
  inline static thread_local lineage const* innermost_ = nullptr;
  inline static std::atomic<unsigned> strangers_{0};
};

} // namespace rubato_test
