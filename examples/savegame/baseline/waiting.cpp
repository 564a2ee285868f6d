#include "waiting.hpp"

#include <algorithm>

namespace savegame::baseline {

thread_local updater* updater::mine = nullptr;

bool wait::is_over(std::chrono::milliseconds at_most) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline_ - std::chrono::steady_clock::now());
  const auto time = std::clamp(left, milliseconds(0), at_most);
  what_.revents = 0;
  if (::poll(&what_, 1, static_cast<int>(time.count())) > 0) return true;
  if (std::chrono::steady_clock::now() < deadline_) return false;
  result_ = std::errc::timed_out;
  return true;
}

bool wait::await_ready() {
  if (updater::mine != nullptr) return is_over(std::chrono::milliseconds(0));
  while (!is_over(std::chrono::hours(1))) {
  }
  return true;
}

void wait::await_suspend(std::coroutine_handle<> h) {
  task = h;
  updater::mine->add(*this);
}

void updater::update() {
  std::vector<wait*> then;
  then.swap(tasks_); // those that wait again are looked at in the next period
  for (wait* w : then) {
    if (w->is_over(std::chrono::milliseconds(0)))
      w->task.resume();
    else
      tasks_.push_back(w);
  }
}

} // namespace savegame::baseline
