// The latent jobs of one thread: forked jobs that no other thread has got, newest last. docs/design/take.md
//
// The owner pushes and pops at the end (top_) without any read-modify-write, fence or system call. A thief
// gets the *oldest* job (at head_), which in a balanced tree is the biggest, in one of two ways: it leaves a
// request, which the owner serves at its next fork; or, if the owner does not, the thief takes the job with
// an asymmetric barrier.
//
// Invariant: jobs leave in order of age: when a job has left, every older job of the chain has left too. So
// head_ alone tells which jobs have left. head_ and the token frames change only under mutex_.
//
// The race: pop() and take() want the same job, the last one. The owner clears the cell and then loads head_;
// the thief advances head_ and then loads the cell. heavy_barrier() in take() stands in for the fence that
// pop() saves (without it both sides use seq_cst accesses), so at least one of them sees the other's store.
// An owner that sees head_ past its cell settles the matter under mutex_, in pop_slow(); a thief that sees
// the cell empty moves head_ back. Hence exactly one of them gets the job.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/policy.hpp"
#include "rubato/detail/sync/latent_job.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace rubato::detail {

/// A stop token and the position of the chain from which on it is in force. In its owner's frame.
struct token_frame {
  void* token;
  std::size_t mark = 0;
  token_frame* outer = nullptr;
};

template<class Policy>
class basic_latent_chain;

/// A request for work and the place for its answer. The thief (the asker) owns it and has one request under
/// way at a time.
template<class Policy>
class basic_steal_request {
  friend class basic_latent_chain<Policy>;
  static constexpr std::uint32_t none = 0, answered = 1;
  typename Policy::template atomic<std::uint32_t> state_{none};
  basic_steal_result<Policy> result_{};
  basic_steal_filter<Policy> filter_{};
  thread_context* asker_ = nullptr;
  std::size_t mark_ = 0;
};

template<class Policy>
class basic_latent_chain {
  friend struct chain_layout; // that of the C interface

public:
  using job = basic_latent_job<Policy>;
  using forked_job = basic_forked_job<Policy>;
  using loop = basic_latent_loop<Policy>;
  using batched_job = basic_batched_job<Policy>;
  using steal_result = basic_steal_result<Policy>;
  using steal_filter = basic_steal_filter<Policy>;
  using steal_request = basic_steal_request<Policy>;
  using stolen_job = basic_stolen_job<Policy>;
  /// A job's address; the two lowest bits say whether it is a loop or a batched job.
  using cell = typename Policy::template atomic<std::uintptr_t>;

private:
  static constexpr std::uintptr_t loop_tag = 1, batch_tag = 2;
  /// How many cells a thief looks at for a share: a deep recursion has thousands.
  static constexpr std::ptrdiff_t most_seen = 256;
  template<class T>
  using atomic = typename Policy::template atomic<T>;

  cell* top_ = nullptr; // only the owner accesses it: one past the newest job
  cell* base_ = nullptr;
  cell* end_ = nullptr;
  bool asymmetric_ = true; // heavy_barrier() works; else both sides use seq_cst accesses

  // Written by thieves, on another cache line than the fields that the owner writes at every fork.
  alignas(64) atomic<cell*> limit_{nullptr}; // top_ >= limit_: the owner must poll. Null: a request
  atomic<cell*> head_{nullptr};              // the oldest job that has not left
  atomic<steal_request*> asker_{nullptr};
  basic_mutex<Policy> mutex_;     // guards steals: head_ moves only under it
  token_frame* tokens_ = nullptr; // newest first; only the owner changes it, under mutex_
  typename Policy::template atomic<void*> base_token_{nullptr}; // in force below the first frame

public:
  constexpr basic_latent_chain() noexcept = default;

  /// `cells` holds `count + 2` null words: two more than jobs, so that head_ may stand past the newest.
  void attach(cell* cells, std::size_t number, bool asymmetric) noexcept {
    RUBATO_ASSERT_STEP(top_ == base_ && tokens_ == nullptr, "a chain in use was given other cells", mark());
    base_ = top_ = cells;
    end_ = cells + number;
    asymmetric_ = asymmetric;
    head_.store(cells, std::memory_order_relaxed);
    limit_.store(asymmetric ? end_ : nullptr, std::memory_order_relaxed);
  }

  // The owner

  /// The only check of a fork. False: a cell is free and no thief requests a job. See serve_request().
  [[gnu::always_inline]] bool must_poll() const noexcept {
    // relaxed: a missed request is seen at the next fork, or the thief takes the job itself.
    return top_ >= limit_.load(std::memory_order_relaxed);
  }

  /// The same before n jobs are pushed.
  [[gnu::always_inline]] bool must_poll(std::size_t n) const noexcept {
    // As numbers: limit_ may be null.
    return reinterpret_cast<std::uintptr_t>(top_ + n) >
           reinterpret_cast<std::uintptr_t>(limit_.load(std::memory_order_relaxed));
  }
  /// Is the newest job in that cell?
  [[nodiscard, gnu::always_inline]] bool is_at(cell const* s) const noexcept { return top_ == s + 1; }

  /// Returns the job's cell. An owner that keeps it passes it to pop(), which need not load where the chain
  /// ends.
  [[gnu::always_inline]] cell* push(forked_job* j) noexcept {
    return push_word(reinterpret_cast<std::uintptr_t>(static_cast<job*>(j)));
  }
  [[gnu::always_inline]] cell* push(batched_job* j) noexcept {
    return push_word(reinterpret_cast<std::uintptr_t>(static_cast<job*>(j)) | batch_tag);
  }
  void push(loop* l) noexcept {
    push_word(reinterpret_cast<std::uintptr_t>(static_cast<job*>(l)) | loop_tag);
  }

  /// Unlinks the newest job. True: it had not left, and the owner has it. False: the caller calls pop_slow().
  [[gnu::always_inline]] bool pop() noexcept { return pop(top_ - 1); }
  /// The same for an owner that has the job's cell.
  [[gnu::always_inline]] bool pop(cell* s) noexcept {
    RUBATO_ASSERT_STEP(s >= base_ && s + 1 == top_, "a job was popped that is not the newest", s - base_,
                       mark());
    // The order is fixed: first clear the cell, then load head_. The light barrier pairs with heavy_barrier()
    // in take(): if the thief still sees the job after its barrier, this store comes after the barrier, and
    // so does the load of head_, which then sees that the thief has advanced it.
    s->store(0, std::memory_order_relaxed);
    top_ = s;
    Policy::light_barrier();
    // acquire: pairs with the release of head_ in take(), because a thief that gave up may have read this
    // frame.
    return head_.load(std::memory_order_acquire) <= s;
  }

  /// After pop() was false: decides under the lock whether the job has left. True: the owner has it after
  /// all.
  bool pop_slow() noexcept {
    lock_guard const guard(mutex_);
    cell* const head = head_.load(std::memory_order_relaxed);
    RUBATO_ASSERT_STEP(head <= top_ + 1, "a job has left that was never pushed", head - base_, mark());
    bool const mine = head <= top_;
    // relaxed: every thief that acts on it holds the lock.
    if (!mine) head_.store(top_, std::memory_order_relaxed);
    return mine;
  }

  /// pop() for a chain without an asymmetric barrier.
  bool pop_fenced() noexcept {
    RUBATO_ASSERT_STEP(top_ > base_, "a job was popped from an empty chain", mark());
    cell* const s = top_ - 1;
    // seq_cst, both: pair with the store to head_ and the load of the cell in take(), as in Dekker's
    // algorithm.
    s->store(0, std::memory_order_seq_cst);
    top_ = s;
    return head_.load(std::memory_order_seq_cst) <= s;
  }

  /// Unlinks the newest job, by the slow path if necessary. True: the owner has it.
  [[nodiscard]] bool pop_settled() noexcept { return (asymmetric_ ? pop() : pop_fenced()) || pop_slow(); }
  /// The newest job, which is not a loop. It may have left: the caller finds out by pop().
  [[nodiscard]] job* newest() const noexcept { return as_job((top_ - 1)->load(std::memory_order_relaxed)); }

  [[nodiscard]] bool full() const noexcept { return top_ >= end_; }
  [[nodiscard]] bool asymmetric() const noexcept { return asymmetric_; }
  /// The chain's present length: jobs that are pushed from now on lie at or above it.
  [[nodiscard]] std::size_t mark() const noexcept { return static_cast<std::size_t>(top_ - base_); }

  /// Puts the frame's token in force until leave().
  void enter(token_frame& frame) noexcept {
    frame.mark = mark();
    lock_guard const guard(mutex_);
    RUBATO_ASSERT_STEP(tokens_ == nullptr || tokens_->mark <= frame.mark,
                       "tokens are not nested in each other", frame.mark);
    frame.outer = tokens_;
    tokens_ = &frame;
  }
  void leave() noexcept {
    lock_guard const guard(mutex_);
    RUBATO_ASSERT_STEP(tokens_ != nullptr && tokens_->mark == mark(),
                       "jobs are left that were forked under the token that ends", mark());
    tokens_ = tokens_->outer;
  }
  /// The same without a lock, for a task that runs on an empty stack. False: a token is in force or the chain
  /// is not empty.
  [[nodiscard]] bool enter_base(void* token) noexcept {
    if (top_ != base_ || tokens_ != nullptr || base_token_.load(std::memory_order_relaxed) != nullptr)
      return false;
    // relaxed: the jobs for which a thief reads the token are pushed later, with release, and leave before
    // the next task begins.
    base_token_.store(token, std::memory_order_relaxed);
    return true;
  }
  void leave_base() noexcept {
    RUBATO_ASSERT_STEP(top_ == base_ && tokens_ == nullptr, "a task has ended and left jobs in the chain",
                       mark());
    base_token_.store(nullptr, std::memory_order_relaxed);
  }
  /// For the owner: no job is in the chain, and no token is in force.
  [[nodiscard]] bool is_at_base() const noexcept { // relaxed: only the owner stores the base token
    return top_ == base_ && tokens_ == nullptr && base_token_.load(std::memory_order_relaxed) == nullptr;
  }
  /// Replaces the token in force, which must exist. Jobs pushed under the old token that are still latent get
  /// the new one when they leave.
  void change_token(void* token) noexcept {
    if (tokens_ == nullptr) {
      base_token_.store(token, std::memory_order_relaxed); // relaxed: as in enter_base()
      return;
    }
    lock_guard const guard(mutex_);
    tokens_->token = token;
  }
  /// For the owner: how many jobs were in the chain when the token in force was entered.
  [[nodiscard]] std::size_t token_mark() const noexcept { return tokens_ != nullptr ? tokens_->mark : 0; }
  /// For the owner: the token in force; null: the pool's.
  [[nodiscard]] void* token() const noexcept {
    return tokens_ != nullptr ? tokens_->token : base_token_.load(std::memory_order_relaxed);
  }

  /// By the monitor: makes the owner's must_poll() true until it calls serve_request(). relaxed: see
  /// basic_monitor_sleep::announce().
  void arm_poll() noexcept { limit_.store(nullptr, std::memory_order_relaxed); }

  /// Serves the pending request, if there is one, with the oldest job that its filter accepts, or half of a
  /// batch. The owner calls it at a fork, after the push. Cold. Returns true if it handed something over.
  bool serve_request(thread_context* self) noexcept {
    // First lower the flag, then read the request: a thief that asks in between raises the flag again.
    if (asymmetric_) limit_.store(end_, std::memory_order_relaxed);
    // acq_rel: acquire pairs with ask(), because the thief wrote the request before. release pairs with a
    // later ask(), because the line above must come before that thief's raising of the flag.
    steal_request* const box = asker_.exchange(nullptr, std::memory_order_acq_rel);
    if (box == nullptr) return false;
    // relaxed: only the owner answers it.
    RUBATO_ASSERT_STEP(box->state_.load(std::memory_order_relaxed) == steal_request::none,
                       "a request is served that was answered", box);
    {
      lock_guard const guard(mutex_);
      box->result_ = {};
      thief const by{box->asker_, box->mark_, box->filter_};
      for (cell* h = head_.load(std::memory_order_relaxed);; ++h) {
        std::uintptr_t const word = h->load(std::memory_order_relaxed); // own store
        if (word == 0 || !accepts(h, word, box->filter_)) break;
        if (move_out(h, h + share_of(h), word, self, by, box->result_)) break;
      }
    }
    bool const handed = static_cast<bool>(box->result_);
    // release: pairs with collect(), because the thief reads the result. This is the owner's last access to
    // the request.
    box->state_.store(steal_request::answered, std::memory_order_release);
    return handed;
  }

  // Thieves

  /// A hint whether there is a job; it orders nothing.
  [[nodiscard]] bool has_latent() const noexcept {
    cell* const h = head_.load(std::memory_order_acquire);
    return h != nullptr && h->load(std::memory_order_relaxed) != 0;
  }

  /// Leaves a request with the owner. False: another thief's request is pending.
  [[nodiscard]] bool ask(steal_request& box, thread_context* asker, std::size_t mark,
                         steal_filter const& w) noexcept {
    box.state_.store(steal_request::none, std::memory_order_relaxed);
    box.filter_ = w;
    box.asker_ = asker;
    box.mark_ = mark;
    steal_request* expected = nullptr;
    // acq_rel: pairs with the exchange in serve_request(), see there.
    if (!asker_.compare_exchange_strong(expected, &box, std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
      RUBATO_ASSERT_STEP(expected != &box, "a request was left with the owner twice", expected);
      return false;
    }
    limit_.store(nullptr, std::memory_order_relaxed);
    return true;
  }

  /// True if the owner has answered the request. The answer may be empty.
  [[nodiscard]] static bool collect(steal_request& box, steal_result& out) noexcept {
    // acquire: pairs with the release in serve_request(), because the result is read next.
    if (box.state_.load(std::memory_order_acquire) != steal_request::answered) return false;
    out = box.result_;
    return true;
  }

  /// Withdraws the request. False: the owner is answering it, and collect() will soon be true.
  [[nodiscard]] bool withdraw(steal_request& box) noexcept {
    steal_request* expected = &box;
    // relaxed: on success the owner has not read the box; on failure collect() synchronises.
    return asker_.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed,
                                          std::memory_order_relaxed);
  }

  /// Takes the oldest job without the owner's help. `self`: this chain's owner. `mark`: the present length of
  /// the thief's own chain. Interrupts every CPU that runs the process: for requests that the owner has left
  /// unanswered.
  [[nodiscard]] steal_result take(thread_context* self, thread_context* runner, std::size_t mark,
                                  steal_filter const& w) noexcept {
    steal_result result;
    if (!has_latent() || !mutex_.try_lock()) return result;
    lock_guard const guard(mutex_, std::adopt_lock);
    thief const by{runner, mark, w};
    cell* h = head_.load(std::memory_order_relaxed);
    // More than one round only to skip loops without a part left.
    for (unsigned round = 0; round != 4; ++round, ++h) {
      if (h->load(std::memory_order_relaxed) == 0) return result;
      // Claim the cells, barrier, then load them again: see pop(). seq_cst: pairs with pop_fenced().
      cell* const end = h + share_of(h);
      head_.store(end, std::memory_order_seq_cst);
      if (asymmetric_) Policy::heavy_barrier();
      // acquire half: pairs with the release in push_word(), because the thief reads the job next.
      std::uintptr_t const word = h->load(std::memory_order_seq_cst);
      if (word == 0 || !accepts(h, word, w)) {
        // release: pairs with the acquire in pop(), because accepts() may have read the frame.
        head_.store(h, std::memory_order_release);
        return result;
      }
      // From here to the unlock the frame lives: its owner's pop() sees head_ and waits for the lock.
      if (move_out(h, end, word, self, by, result)) return result;
    }
    return result;
  }

private:
  struct thief {
    thread_context* thread;
    std::size_t mark;
    steal_filter const& filter;
  };

  [[gnu::always_inline]] cell* push_word(std::uintptr_t word) noexcept {
    cell* const s = top_;
    RUBATO_ASSERT_STEP(s < end_, "a job was pushed to a full chain", mark());
    // release: pairs with the load of the cell in take(), because the thief reads the job.
    s->store(word, std::memory_order_release);
    top_ = s + 1;
    return s;
  }

  [[nodiscard]] bool accepts(cell* h, std::uintptr_t word, steal_filter const& w) const noexcept {
    if (w.descends_from != nullptr)
      // Checked after the job was seen in the chain: if the runner's job is not done, jobs above its mark are
      // forked by it.
      return static_cast<std::size_t>(h - base_) >= w.descends_from->mark && !w.descends_from->done();
    if (w.piece_of != nullptr) return (word & loop_tag) != 0 && as_loop(word)->root == w.piece_of;
    if (w.picks != nullptr) return (word & loop_tag) == 0 && w.picks(*as_job(word), w.of);
    return true;
  }

  /// How many cells leave at once, from h on: one, or half of the batched jobs that lie there. A hint: their
  /// owner may pop them, or they are of several batches.
  [[nodiscard]] std::ptrdiff_t share_of(cell const* h) const noexcept {
    cell const* const last = end_ - h < most_seen ? end_ : h + most_seen;
    cell const* end = h;
    while (end != last && (end->load(std::memory_order_relaxed) & batch_tag) != 0) ++end;
    return end == h ? 1 : (end - h + 1) / 2;
  }

  /// Under the lock, with the cells from h to end claimed. False: a loop without a part left, and head_ is
  /// now past it.
  [[nodiscard]] bool move_out(cell* h, cell* end, std::uintptr_t word, thread_context* owner, thief const& by,
                              steal_result& out) noexcept {
    RUBATO_ASSERT_STEP(h >= base_ && h < end_ && !out, "a job leaves that is not in the chain", h - base_,
                       end_ - base_, word);
    out.jobs = 1;
    if ((word & loop_tag) != 0) {
      loop* const l = as_loop(word);
      out.piece.token = token_at(h);
      bool const split = l->split(*l, out.piece);
      // release: pairs with the acquire in pop(), because split() wrote to the frame.
      head_.store(split ? h : h + 1, std::memory_order_release);
      return split;
    }
    out.job = as_job(word);
    if ((word & batch_tag) != 0) {
      // release: pairs with the acquire in pop(), because accepts() may have read a job that does not leave.
      head_.store(move_out_batch(h, end, as_batched(word), by.filter, out), std::memory_order_release);
      return true;
    }
    std::construct_at(&static_cast<forked_job*>(out.job)->stolen_job.value, owner, by.thread, by.mark,
                      token_at(h));
    head_.store(h + 1, std::memory_order_release);
    return true;
  }

  /// Links what lies between h and end, is of the same batch as the job at h, and is accepted. Returns where
  /// that ends.
  cell* move_out_batch(cell* h, cell* end, batched_job* last, steal_filter const& w,
                       steal_result& out) noexcept {
    while (++h < end) {
      // seq_cst, and acquire: as for the first cell in take(). Their owner pops the newest first, so what it
      // has popped since comes last.
      std::uintptr_t const word = h->load(std::memory_order_seq_cst);
      if ((word & batch_tag) == 0 || as_batched(word)->batch.get() != last->batch.get() ||
          !accepts(h, word, w))
        break;
      last = last->newer = as_batched(word);
      ++out.jobs;
    }
    last->newer = nullptr;
    return h;
  }

  /// Under the lock. The token that was in force when the job at `h` was pushed. An owner that waits for a
  /// stolen job runs other jobs above it: their frames have a higher mark than any job still latent below
  /// them.
  [[nodiscard]] void* token_at(cell* h) const noexcept {
    token_frame const* t = tokens_;
    while (t != nullptr && t->mark > static_cast<std::size_t>(h - base_)) t = t->outer;
    return t != nullptr ? t->token : base_token_.load(std::memory_order_relaxed);
  }

  static job* as_job(std::uintptr_t word) noexcept {
    return reinterpret_cast<job*>(word & ~(loop_tag | batch_tag));
  }
  static loop* as_loop(std::uintptr_t word) noexcept { return static_cast<loop*>(as_job(word)); }
  static batched_job* as_batched(std::uintptr_t word) noexcept {
    return static_cast<batched_job*>(as_job(word));
  }
};

using latent_chain = basic_latent_chain<std_policy>;
using steal_request = basic_steal_request<std_policy>;

} // namespace rubato::detail
