#include "coro/coroutine_view.hpp"

#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/trace/note.hpp"

#include <algorithm>
#include <coroutine>
#include <cstring>
#include <string_view>

namespace rubato::detail {

namespace {

std::uintptr_t number_of(future_state const& s) noexcept { return reinterpret_cast<std::uintptr_t>(&s); }

} // namespace

void coroutine_chain::look_at(coroutine_task& first) noexcept {
  size_ = 0;
  add(first);
  entries_[0].has_begun = true; // it is an owned task
}

/// Looks at the task, and while that stays as it is, at what it waits for.
void coroutine_chain::add(coroutine_task& t) noexcept {
  entry& v = entries_[size_++];
  static_cast<coroutine_view&>(v) = {};
  v.node[0] = '\0';
  v.address = number_of(t);
  v.has_begun = t.begun_by.get() != 0;
  bool const waits = t.while_it_waits([&](void* innermost, wait_operation& w) { copy(v, t, innermost, w); });
  if (!waits && t.queued.is_ready()) v.is = coroutine_view::condition::ready;
}

/// Takes no lock and allocates nothing.
void coroutine_chain::copy(entry& v, coroutine_task& t, void* innermost, wait_operation& w) noexcept {
  v.is = w.is_over() ? coroutine_view::condition::ready : coroutine_view::condition::waits;
  v.wait = type_word(w);
  auto frame = std::coroutine_handle<>::from_address(innermost);
  while (frame != nullptr && v.frames != most_frames) {
    std::memcpy(&v.code[v.frames++], frame.address(), sizeof(std::uint64_t));
    own_promise const& p = own_promise::in(frame);
    frame = p.is_outermost() ? nullptr : std::coroutine_handle<>::from_address(p.awaiting());
  }
  v.has_more = frame != nullptr;
  work_origin const from = t.origin();
  if (from.group_of != nullptr) v.group = number_of(*from.group_of);
  if (from.node != nullptr) {
    std::string_view const name = std::string_view(from.node).substr(0, v.node.size() - 1);
    *std::ranges::copy(name, v.node.begin()).out = '\0';
  }
  awaited_object const what = w.awaited();
  v.until = what.until;
  v.descriptor = what.descriptor;
  if (what.result != nullptr) follow(v, *what.result);
}

void coroutine_chain::follow(entry& v, future_state& result) noexcept {
  v.result = number_of(result);
  v.result_is_ready = result.done();
  v.result_begun_by = result.begun_by.get();
  coroutine_task* const next = v.result_is_ready ? nullptr : result.as_coroutine();
  if (next == nullptr) return;
  auto const end = entries_.begin() + static_cast<std::ptrdiff_t>(size_);
  using link = coroutine_view::link;
  if (std::any_of(entries_.begin(), end, [&](entry const& seen) { return seen.address == v.result; })) {
    v.goes_on = link::above;
  } else if (size_ == longest) {
    v.goes_on = link::cut;
  } else {
    v.goes_on = link::next;
    add(*next);
  }
}

} // namespace rubato::detail
