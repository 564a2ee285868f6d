// The latent jobs of one thread: forks that nobody has asked for yet, newest last. docs/design/take.md
//
// The owner pushes and pops at the end without any read-modify-write, fence or system call. Another thread
// gets the *oldest* job, which in a balanced tree is the biggest, in one of two ways: it asks, and the owner
// hands the job over at its next fork; or, unanswered, it takes the job with an asymmetric barrier.
// Invariant: jobs leave in order of age, so that when a job is gone everything older in the chain is gone
// too.
#pragma once

#include "rubato/detail/mutex.hpp"
#include "rubato/detail/policy.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace rubato::detail {

class member;

template<class Policy>
class basic_latent_chain;

/// Memory for a T whose construction would cost the fast path a store that nobody reads.
template<class T>
union uninitialized {
  T value;
  [[gnu::always_inline]] uninitialized() noexcept {} // NOLINT(modernize-use-equals-default): T is not built
  [[gnu::always_inline]] ~uninitialized() {}         // NOLINT(modernize-use-equals-default)
  uninitialized(uninitialized const&) = delete;
  uninitialized& operator=(uninitialized const&) = delete;
};

/// What is known about a job that has left its chain. Built by whoever moves it out, under the chain's lock.
template<class Policy>
class basic_departure {
  static constexpr std::uint32_t running = 0, awaited = 1, finished = 2;
  typename Policy::template atomic<std::uint32_t> state_{running};

public:
  member* owner;    ///< whose chain it was; waits for it
  member* runner;   ///< who runs it
  std::size_t mark; ///< where the runner's chain stood when it began: what lies above descends from this job
  void* token;      ///< the stop token that was in force at the fork

  basic_departure(member* o, member* r, std::size_t m, void* t) noexcept
      : owner(o)
      , runner(r)
      , mark(m)
      , token(t) {}

  // acquire: pairs with finish(), because the result of the job was written before.
  [[nodiscard]] bool done() const noexcept { return state_.load(std::memory_order_acquire) == finished; }

  /// The owner is about to park. False: the job is done and nobody will wake it.
  [[nodiscard]] bool await() noexcept {
    std::uint32_t expected = running;
    // acquire on failure: pairs with finish(). On success it is not needed, but g++ wants it no weaker.
    return state_.compare_exchange_strong(expected, awaited, std::memory_order_acquire,
                                          std::memory_order_acquire) ||
           expected == awaited;
  }

  /// The runner's last touch: the frame may be gone right afterwards. True: the owner parks and must be
  /// woken, through its own record.
  [[nodiscard]] bool finish() noexcept {
    // release: pairs with done() and await(). An exchange, because the owner may announce itself at any time.
    return state_.exchange(finished, std::memory_order_release) == awaited;
  }
};

/// A job in its owner's frame. `Policy::plain` fields are written before the job is pushed.
template<class Policy>
struct basic_latent_job {
  using exec_type = void (*)(basic_latent_job&, member& runner);
  typename Policy::template plain<exec_type> exec;
  uninitialized<basic_departure<Policy>> departure; ///< meaningful only once the job has left the chain

  [[gnu::always_inline]] explicit basic_latent_job(exec_type e) noexcept
      : exec(e) {}
};

/// Part of a loop, on its way to the thread that will run it. It allocates nothing.
struct loop_piece {
  void (*exec)(loop_piece const&, member& runner) = nullptr;
  void* root = nullptr;
  void* cell = nullptr;  ///< for a reduction: where the result goes
  void* token = nullptr; ///< as in a departure
  std::uint64_t base = 0;
  std::uint32_t lo = 0, hi = 0;
};

/// A loop that is under way, as the chain sees it: a job from which pieces can be split off any number of
/// times.
template<class Policy>
struct basic_latent_loop : basic_latent_job<Policy> {
  using split_type = bool (*)(basic_latent_loop&, loop_piece& out) noexcept;
  split_type split; ///< false: nothing left that has not begun
  void* root;       ///< the loop as a whole, which a waiter names

  basic_latent_loop(split_type s, void* r) noexcept
      : basic_latent_job<Policy>(nullptr)
      , split(s)
      , root(r) {}
};

/// From which position of the chain on which stop token is in force. In its owner's frame.
struct token_frame {
  void* token;
  std::size_t mark = 0;
  token_frame* outer = nullptr;
};

/// What somebody who wants work will accept from a given chain.
template<class Policy>
struct basic_wish {
  basic_departure<Policy> const* descends_from = nullptr; ///< a job that the chain's owner runs
  void* piece_of = nullptr;                               ///< a loop
};

/// What was got: a job, a piece, or nothing.
template<class Policy>
struct basic_loot {
  basic_latent_job<Policy>* job = nullptr;
  loop_piece piece{};
  explicit operator bool() const noexcept { return job != nullptr || piece.exec != nullptr; }
};

/// A request for work and the place for its answer; owned by the asker, one request at a time.
template<class Policy>
class basic_mailbox {
  friend class basic_latent_chain<Policy>;
  static constexpr std::uint32_t none = 0, answered = 1;
  typename Policy::template atomic<std::uint32_t> state_{none};
  basic_loot<Policy> loot_{};
  basic_wish<Policy> wish_{};
  member* asker_ = nullptr;
  std::size_t mark_ = 0;
};

template<class Policy>
class basic_latent_chain {
public:
  using job = basic_latent_job<Policy>;
  using loop = basic_latent_loop<Policy>;
  using loot = basic_loot<Policy>;
  using wish = basic_wish<Policy>;
  using mailbox = basic_mailbox<Policy>;
  using departure = basic_departure<Policy>;
  /// A job's address; the lowest bit says that it is a loop.
  using slot = typename Policy::template atomic<std::uintptr_t>;

private:
  static constexpr std::uintptr_t loop_tag = 1;
  template<class T>
  using atomic = typename Policy::template atomic<T>;

  slot* top_ = nullptr; // the owner's alone: one past the newest job
  slot* base_ = nullptr;
  slot* end_ = nullptr;
  bool asymmetric_ = true; // heavy_barrier() works; else both sides use sequentially consistent accesses

  // What others write, apart from what the owner writes at every fork.
  alignas(64) atomic<slot*> limit_{nullptr}; // top_ >= limit_: the owner must look. Null: somebody asks
  atomic<slot*> head_{nullptr};              // the oldest job that has not left
  atomic<mailbox*> asker_{nullptr};
  basic_mutex<Policy> mutex_;     // guards departures: head_ moves only under it
  token_frame* tokens_ = nullptr; // newest first; changed under the mutex, by the owner alone
  typename Policy::template atomic<void*> base_token_{nullptr}; // in force below the first frame

public:
  constexpr basic_latent_chain() noexcept = default;

  /// `slots` holds `count + 2` null words: two more than jobs, so that head_ may stand past the newest.
  void attach(slot* slots, std::size_t count, bool asymmetric) noexcept {
    base_ = top_ = slots;
    end_ = slots + count;
    asymmetric_ = asymmetric;
    head_.store(slots, std::memory_order_relaxed);
    limit_.store(asymmetric ? end_ : nullptr, std::memory_order_relaxed);
  }

  // The owner

  /// The one check of a fork: is there anything but a free slot and nobody asking? See look().
  [[gnu::always_inline]] bool must_look() const noexcept {
    // relaxed: a request that is missed here is seen at the next fork, or the thief takes.
    return top_ >= limit_.load(std::memory_order_relaxed);
  }

  [[gnu::always_inline]] void push(job* j) noexcept { push_word(reinterpret_cast<std::uintptr_t>(j)); }
  void push(loop* l) noexcept {
    push_word(reinterpret_cast<std::uintptr_t>(static_cast<job*>(l)) | loop_tag);
  }

  /// Unlinks the newest job; true: it was still there and is the owner's. False: see pop_slow().
  [[gnu::always_inline]] bool pop() noexcept {
    slot* const s = top_ - 1;
    // First out of the chain, then look whether somebody was faster; never the other way round. The light
    // barrier pairs with heavy_barrier() in take(): if the thief still sees the job after it, this store
    // comes later than the barrier, and so does the load of head_, which then sees the thief's advance.
    s->store(0, std::memory_order_relaxed);
    top_ = s;
    Policy::light_barrier();
    // acquire: pairs with the release of head_ in take(), because a thief that gave up may have looked into
    // this frame before.
    return head_.load(std::memory_order_acquire) <= s;
  }

  /// After pop() was false: settles under the lock whether the job has left. True: it is the owner's after
  /// all.
  bool pop_slow() noexcept {
    std::lock_guard const guard(mutex_);
    bool const mine = head_.load(std::memory_order_relaxed) <= top_;
    // relaxed: every reader that acts on it holds the lock.
    if (!mine) head_.store(top_, std::memory_order_relaxed);
    return mine;
  }

  /// pop() for a chain without an asymmetric barrier.
  bool pop_fenced() noexcept {
    slot* const s = top_ - 1;
    // seq_cst, both: pair with the store to head_ and the load of the slot in take(), as in Dekker's
    // algorithm.
    s->store(0, std::memory_order_seq_cst);
    top_ = s;
    return head_.load(std::memory_order_seq_cst) <= s;
  }

  /// Unlinks the newest job, whatever it takes; true: it is the owner's.
  [[nodiscard]] bool pop_settled() noexcept { return (asymmetric_ ? pop() : pop_fenced()) || pop_slow(); }
  /// The newest job: not a loop. It may have left.
  [[nodiscard]] job* newest() const noexcept {
    return reinterpret_cast<job*>((top_ - 1)->load(std::memory_order_relaxed));
  }

  [[nodiscard]] bool full() const noexcept { return top_ >= end_; }
  [[nodiscard]] bool asymmetric() const noexcept { return asymmetric_; }
  /// Position of the newest job: what is pushed from now on lies at or above it.
  [[nodiscard]] std::size_t mark() const noexcept { return static_cast<std::size_t>(top_ - base_); }

  /// From here on this token is in force, until leave().
  void enter(token_frame& frame) noexcept {
    frame.mark = mark();
    std::lock_guard const guard(mutex_);
    frame.outer = tokens_;
    tokens_ = &frame;
  }
  void leave() noexcept {
    std::lock_guard const guard(mutex_);
    tokens_ = tokens_->outer;
  }
  /// The same without a lock, for a task that runs on an empty stack. False: there is a token or a job
  /// already.
  [[nodiscard]] bool enter_base(void* token) noexcept {
    if (top_ != base_ || tokens_ != nullptr || base_token_.load(std::memory_order_relaxed) != nullptr)
      return false;
    // relaxed: what a thief reads it for was pushed afterwards, with release, and is gone before the next
    // task begins.
    base_token_.store(token, std::memory_order_relaxed);
    return true;
  }
  void leave_base() noexcept { base_token_.store(nullptr, std::memory_order_relaxed); }
  /// In place of the token in force, which there is. What was pushed under it and still waits is taken with
  /// the new one.
  void change_token(void* token) noexcept {
    if (tokens_ == nullptr) {
      base_token_.store(token, std::memory_order_relaxed); // relaxed: as in enter_base()
      return;
    }
    std::lock_guard const guard(mutex_);
    tokens_->token = token;
  }
  /// For the owner: the token in force; null: the pool's.
  [[nodiscard]] void* token() const noexcept {
    return tokens_ != nullptr ? tokens_->token : base_token_.load(std::memory_order_relaxed);
  }

  /// For the owner: makes must_look() true until look() is called.
  void remind() noexcept { limit_.store(nullptr, std::memory_order_relaxed); }

  /// Answers who asks, if anybody does, with the oldest job. Called at a fork, after the push. Cold.
  /// Returns true if a job or piece was handed over.
  bool look(member* self) noexcept {
    // First down with the flag, then read who asks: an asker that comes in between raises it again.
    if (asymmetric_) limit_.store(end_, std::memory_order_relaxed);
    // acq_rel: acquire pairs with ask(), because the request was written before; release orders the line
    // above before a later asker's raising of the flag.
    mailbox* const box = asker_.exchange(nullptr, std::memory_order_acq_rel);
    if (box == nullptr) return false;
    {
      std::lock_guard const guard(mutex_);
      box->loot_ = {};
      for (slot* h = head_.load(std::memory_order_relaxed);; ++h) {
        std::uintptr_t const word = h->load(std::memory_order_relaxed); // own store
        if (word == 0 || !accepts(h, word, box->wish_)) break;
        if (move_out(h, word, self, box->asker_, box->mark_, box->loot_)) break;
      }
    }
    bool const handed = static_cast<bool>(box->loot_);
    // release: pairs with collect(), because the loot was written before. The owner's last touch of the box.
    box->state_.store(mailbox::answered, std::memory_order_release);
    return handed;
  }

  // Others

  /// Is there a job? A hint: nothing is ordered by it.
  [[nodiscard]] bool has_latent() const noexcept {
    slot* const h = head_.load(std::memory_order_acquire);
    return h != nullptr && h->load(std::memory_order_relaxed) != 0;
  }

  /// Leaves a request with the owner; false: somebody else's lies there.
  [[nodiscard]] bool ask(mailbox& box, member* asker, std::size_t mark, wish const& w) noexcept {
    box.state_.store(mailbox::none, std::memory_order_relaxed);
    box.wish_ = w;
    box.asker_ = asker;
    box.mark_ = mark;
    mailbox* expected = nullptr;
    // acq_rel: see look().
    if (!asker_.compare_exchange_strong(expected, &box, std::memory_order_acq_rel, std::memory_order_relaxed))
      return false;
    limit_.store(nullptr, std::memory_order_relaxed);
    return true;
  }

  /// Has the request been answered? The answer may be empty.
  [[nodiscard]] static bool collect(mailbox& box, loot& out) noexcept {
    // acquire: pairs with the release in look().
    if (box.state_.load(std::memory_order_acquire) != mailbox::answered) return false;
    out = box.loot_;
    return true;
  }

  /// Takes the request back; false: it is being answered, and collect() will be true soon.
  [[nodiscard]] bool withdraw(mailbox& box) noexcept {
    mailbox* expected = &box;
    // relaxed: on success nobody has read the box; on failure collect() synchronises.
    return asker_.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed,
                                          std::memory_order_relaxed);
  }

  /// Takes the oldest job without the owner's help. `self` is this chain's owner, `mark` where the thief's
  /// own chain stands. Interrupts every CPU that runs the process: for requests that stayed unanswered.
  [[nodiscard]] loot take(member* self, member* thief, std::size_t mark, wish const& w) noexcept {
    loot result;
    if (!has_latent() || !mutex_.try_lock()) return result;
    std::lock_guard const guard(mutex_, std::adopt_lock);
    slot* h = head_.load(std::memory_order_relaxed);
    // More than one round only to step over loops that are used up.
    for (unsigned round = 0; round != 4; ++round, ++h) {
      if (h->load(std::memory_order_relaxed) == 0) return result;
      // Claim, barrier, look again: see pop(). seq_cst: pairs with pop_fenced().
      head_.store(h + 1, std::memory_order_seq_cst);
      if (asymmetric_) Policy::heavy_barrier();
      // acquire half: pairs with the release in push_word(), because the job was written before.
      std::uintptr_t const word = h->load(std::memory_order_seq_cst);
      if (word == 0 || !accepts(h, word, w)) {
        // release: pairs with the acquire in pop(), because accepts() may have looked into the frame.
        head_.store(h, std::memory_order_release);
        return result;
      }
      // From here to the unlock the frame cannot die: its owner's pop sees head_ and waits for the lock.
      if (move_out(h, word, self, thief, mark, result)) return result;
    }
    return result;
  }

private:
  [[gnu::always_inline]] void push_word(std::uintptr_t word) noexcept {
    slot* const s = top_;
    // release: pairs with the load of the slot in take(), because the job was written before.
    s->store(word, std::memory_order_release);
    top_ = s + 1;
  }

  [[nodiscard]] bool accepts(slot* h, std::uintptr_t word, wish const& w) const noexcept {
    if (w.descends_from != nullptr)
      // Not done after the job was seen in the chain: what lies above the mark was forked by it.
      return static_cast<std::size_t>(h - base_) >= w.descends_from->mark && !w.descends_from->done();
    if (w.piece_of != nullptr) return (word & loop_tag) != 0 && as_loop(word)->root == w.piece_of;
    return true;
  }

  /// Under the lock. False: it was a loop without anything left, which head_ has been moved past.
  [[nodiscard]] bool move_out(slot* h, std::uintptr_t word, member* owner, member* runner, std::size_t mark,
                              loot& out) noexcept {
    if ((word & loop_tag) != 0) {
      loop* const l = as_loop(word);
      out.piece.token = token_at(h);
      bool const split = l->split(*l, out.piece);
      // release: pairs with the acquire in pop(), because split() wrote to the frame.
      head_.store(split ? h : h + 1, std::memory_order_release);
      return split;
    }
    out.job = reinterpret_cast<job*>(word);
    std::construct_at(&out.job->departure.value, owner, runner, mark, token_at(h));
    head_.store(h + 1, std::memory_order_release);
    return true;
  }

  /// Under the lock. A job that waits for a departed one runs others above it: their frames have a higher
  /// mark than any job that is still here below them.
  [[nodiscard]] void* token_at(slot* h) const noexcept {
    token_frame const* t = tokens_;
    while (t != nullptr && t->mark > static_cast<std::size_t>(h - base_)) t = t->outer;
    return t != nullptr ? t->token : base_token_.load(std::memory_order_relaxed);
  }

  static loop* as_loop(std::uintptr_t word) noexcept {
    return static_cast<loop*>(reinterpret_cast<job*>(word & ~loop_tag));
  }
};

using latent_chain = basic_latent_chain<std_policy>;
using latent_job = basic_latent_job<std_policy>;
using latent_loop = basic_latent_loop<std_policy>;
using departure = basic_departure<std_policy>;
using loot = basic_loot<std_policy>;
using wish = basic_wish<std_policy>;
using mailbox = basic_mailbox<std_policy>;

} // namespace rubato::detail
