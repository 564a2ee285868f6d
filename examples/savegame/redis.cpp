#include "redis.hpp"

#include <charconv>
#include <new>

namespace savegame {

std::string command_bytes(const char* const* words, const std::size_t* sizes, int count) {
  char* bytes = nullptr;
  const int size = ::redisFormatCommandArgv(&bytes, count, const_cast<const char**>(words), sizes); // NOLINT
  if (size < 0) throw std::bad_alloc();
  const std::unique_ptr<char, void (*)(char*)> owner(bytes, &::redisFreeCommand);
  return {bytes, static_cast<std::size_t>(size)};
}

redisContext* begin_connecting(const std::string& where) {
  redisContext* c = nullptr;
  if (where.starts_with('/')) {
    c = ::redisConnectUnixNonBlock(where.c_str());
  } else {
    const auto colon = where.rfind(':');
    int port = 6379;
    if (colon != where.npos) std::from_chars(where.data() + colon + 1, where.data() + where.size(), port);
    c = ::redisConnectNonBlock(where.substr(0, colon).c_str(), port);
  }
  if (c == nullptr) throw std::bad_alloc();
  if (c->err == 0) return c;
  const std::string text = c->errstr;
  ::redisFree(c);
  throw failure(503, "the database cannot be reached: " + text);
}

} // namespace savegame
