#include "connection.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace chat {

namespace {

using namespace std::chrono_literals;

/// Ends when the outbox is closed and empty, or the client has gone.
rubato::task<void> write_lines(member& to) {
  for (;;) {
    const auto text = co_await to.outbox.receive();
    if (!text) break;
    std::error_code error;
    co_await to.client.stream().write_all(**text, error);
    if (error) break;
  }
  to.outbox.close(); // no speaker waits for this member any more
  std::error_code error;
  co_await to.client.stream().close_gracefully(1s, error); // and its reader ends
}

/// Reads what the member says until it leaves, or sends too long a line.
rubato::task<void> read_lines(room& r, member& from, limits l) {
  co_await r.say(from, "* " + from.name + " enters\n");
  co_await from.outbox.send(std::make_shared<const std::string>("welcome\n"));
  std::error_code error;
  for (;;) {
    const auto text = co_await from.client.read_line(l.line_bytes, error);
    if (!text) break;
    co_await r.say(from, from.name + ": " + *text + "\n");
  }
  r.leave(from);
  from.outbox.close(); // the writer sends what is left, and ends
  co_await r.say(from, "* " + from.name + " leaves\n");
}

} // namespace

rubato::task<void> converse(room& r, rubato::tcp_socket socket, limits l) {
  rubato::buffered client(std::move(socket));
  std::error_code error;
  co_await client.stream().write_all("your name?\n", error);
  const auto name = co_await client.read_line(l.line_bytes, error);
  if (!name || name->empty()) co_return;
  const auto self = std::make_shared<member>(*name, std::move(client), l.outbox_lines);
  if (!r.enter(self)) {
    co_await self->client.stream().write_all("this name is taken\n", error);
    co_await self->client.stream().close_gracefully(1s, error); // the client may have said more
    co_return;
  }
  co_await rubato::with_async_scope([&](rubato::scope& both) -> rubato::task<void> {
    both.spawn(write_lines(*self));
    co_await read_lines(r, *self, l);
  });
}

} // namespace chat
