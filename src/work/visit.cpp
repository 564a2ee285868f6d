#include "work/visit.hpp"

#include "os/die.hpp"
#include "rubato/detail/mutex.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

namespace rubato::detail {

namespace {

struct visitor {
  static constexpr unsigned deepest = 6;
  std::array<std::atomic<pool_core const*>, deepest> visits{};
  unsigned depth = 0;
  bool listed = false;
  bool ending =
      false; ///< past the end of its thread's thread-local objects: it is listed for each visit alone
  visitor* next = nullptr;
  visitor* previous = nullptr;
};

constinit mutex list_mutex;
constinit visitor* first = nullptr; // guarded by list_mutex, as are the links

// Part of its thread, without a destructor: it can be used until the very end.
[[gnu::tls_model("initial-exec")]] thread_local constinit visitor mine;

void unlist(visitor& v) noexcept {
  std::lock_guard const guard(list_mutex);
  (v.previous != nullptr ? v.previous->next : first) = v.next;
  if (v.next != nullptr) v.next->previous = v.previous;
  v.listed = false;
}

struct at_end_of_thread {
  at_end_of_thread() noexcept = default;
  at_end_of_thread(at_end_of_thread const&) = delete;
  at_end_of_thread& operator=(at_end_of_thread const&) = delete;
  ~at_end_of_thread() {
    mine.ending = true;
    if (mine.listed) unlist(mine);
  }
  void arm() const noexcept {} ///< the first use registers the destructor
};
thread_local at_end_of_thread const here;

void list(visitor& v) noexcept {
  if (!v.ending) here.arm();
  std::lock_guard const guard(list_mutex);
  v.previous = nullptr;
  v.next = first;
  if (first != nullptr) first->previous = &v;
  first = &v;
  v.listed = true;
}

} // namespace

visit::visit(pool_core const& core) noexcept {
  if (!mine.listed) list(mine);
  if (mine.depth == visitor::deepest) os::die("too many pools end within each other");
  // relaxed: whoever waits for the visit knows of it by something that we do during it, and so sees this.
  mine.visits[mine.depth++].store(&core, std::memory_order_relaxed);
}

visit::~visit() {
  // release: pairs with await_visitors(); whoever frees the pool does so after our last touch.
  mine.visits[--mine.depth].store(nullptr, std::memory_order_release);
  if (mine.ending && mine.depth == 0) unlist(mine);
}

void await_visitors(pool_core const& core) noexcept {
  auto const visited = [&core] {
    std::lock_guard const guard(list_mutex);
    for (visitor const* v = first; v != nullptr; v = v->next)
      for (auto const& where : v->visits)
        if (where.load(std::memory_order_acquire) == &core) return true; // pairs with ~visit()
    return false;
  };
  while (visited()) std::this_thread::yield(); // for an instant: nothing in a visit waits
}

void lock_visitors() noexcept { list_mutex.lock(); }
void unlock_visitors() noexcept { list_mutex.unlock(); }
void forget_other_visitors() noexcept {
  first = mine.listed ? &mine : nullptr;
  mine.next = mine.previous = nullptr;
}

} // namespace rubato::detail
