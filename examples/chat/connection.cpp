#include "connection.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace chat {

namespace {

/// Splits what a socket sends into lines.
class line_reader {
  const std::size_t most_;
  std::string rest_;

public:
  explicit line_reader(std::size_t most)
      : most_(most) {}

  /// The next line without its end; nothing: the client has gone, sends too long a line, or the server ends.
  rubato::task<std::optional<std::string>> next(const rubato::tcp_socket& from) {
    for (;;) {
      if (const std::size_t end = rest_.find('\n'); end <= most_) {
        std::string text = rest_.substr(0, end);
        rest_.erase(0, end + 1);
        if (text.ends_with('\r')) text.pop_back();
        co_return text;
      }
      if (rest_.size() > most_) co_return std::nullopt;
      std::array<char, 4096> bytes;
      std::error_code error;
      const std::size_t n = co_await from.read_some(bytes, error);
      if (error || n == 0) co_return std::nullopt;
      rest_.append(bytes.data(), n);
    }
  }
};

/// Ends when the outbox is closed and empty, or the client has gone.
rubato::task<void> write_lines(member& to) {
  for (;;) {
    const auto text = co_await to.outbox.receive();
    if (!text) break;
    std::error_code error;
    co_await to.socket.write_all(**text, error);
    if (error) break;
  }
  to.outbox.close(); // no speaker waits for this member any more
  to.socket.close(); // and its reader ends
}

/// Reads what the member says until it leaves.
rubato::task<void> read_lines(room& r, member& from, line_reader& lines) {
  co_await r.say(from, "* " + from.name + " enters\n");
  co_await from.outbox.send(std::make_shared<const std::string>("welcome\n"));
  for (;;) {
    const auto text = co_await lines.next(from.socket);
    if (!text) break;
    co_await r.say(from, from.name + ": " + *text + "\n");
  }
  r.leave(from);
  from.outbox.close(); // the writer sends what is left, and ends
  co_await r.say(from, "* " + from.name + " leaves\n");
}

} // namespace

rubato::task<void> converse(room& r, rubato::tcp_socket client, limits l) {
  line_reader lines(l.line_bytes);
  std::error_code error;
  co_await client.write_all(std::string_view("your name?\n"), error);
  const auto name = co_await lines.next(client);
  if (!name || name->empty()) co_return;
  const auto self = std::make_shared<member>(*name, std::move(client), l.outbox_lines);
  if (!r.enter(self)) {
    co_await self->socket.write_all(std::string_view("this name is taken\n"), error);
    co_return;
  }
  co_await rubato::with_async_scope([&](rubato::scope& both) -> rubato::task<void> {
    both.spawn(write_lines(*self));
    co_await read_lines(r, *self, lines);
  });
}

} // namespace chat
