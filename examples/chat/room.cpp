#include "room.hpp"

#include <algorithm>

namespace chat {

bool room::enter(const std::shared_ptr<member>& m) {
  const std::lock_guard guard(mutex_);
  if (std::ranges::any_of(members_, [&](const auto& other) { return other->name == m->name; })) return false;
  members_.push_back(m);
  return true;
}

void room::leave(const member& m) {
  const std::lock_guard guard(mutex_);
  std::erase_if(members_, [&](const auto& other) { return other.get() == &m; });
}

rubato::task<void> room::say(const member& speaker, std::string text) {
  const auto said = std::make_shared<const std::string>(std::move(text));
  std::vector<std::shared_ptr<member>> present;
  {
    const std::lock_guard guard(mutex_);
    present = members_;
  }
  for (const auto& m : present) {
    if (m.get() == &speaker || m->outbox.try_send(said)) continue;
    const auto sent = co_await rubato::with_deadline(m->outbox.send(said), patience_);
    if (!sent) m->client.stream().close();
  }
}

} // namespace chat
