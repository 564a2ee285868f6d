#include "digest.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace pipeline {

digest::digest() {
  constexpr int largest_window = 15;
  constexpr int gzip_only = 16;
  if (inflateInit2(&stream_, largest_window + gzip_only) != Z_OK) throw std::bad_alloc();
}

digest::~digest() { inflateEnd(&stream_); }

void digest::begin() {
  state_ = state::unknown;
  size_ = inflated_ = 0;
  crc_ = ::crc32(0, nullptr, 0);
}

void digest::fail(std::string why) {
  state_ = state::failed;
  failure_ = std::move(why);
}

void digest::sum_up(std::span<const unsigned char> bytes) {
  inflated_ += bytes.size();
  crc_ = ::crc32_z(crc_, bytes.data(), bytes.size());
}

/// A file may hold several members, one behind the other, and zeros behind the last: tapes are padded so.
void digest::inflate_all(std::span<const unsigned char> bytes) {
  while (!bytes.empty()) {
    if (state_ == state::between_members) {
      const auto zeros = std::ranges::find_if(bytes, [](unsigned char c) { return c != 0; }) - bytes.begin();
      bytes = bytes.subspan(static_cast<std::size_t>(zeros));
      if (bytes.empty()) return;
      inflateReset(&stream_);
      state_ = state::in_member;
    }
    stream_.next_in = const_cast<unsigned char*>(bytes.data()); // zlib knows no const, and keeps it
    stream_.avail_in = static_cast<unsigned>(bytes.size());
    int result = Z_OK;
    do {
      stream_.next_out = out_.data();
      stream_.avail_out = static_cast<unsigned>(out_.size());
      result = inflate(&stream_, Z_NO_FLUSH);
      sum_up({out_.data(), stream_.next_out});
    } while (result == Z_OK && (stream_.avail_in != 0 || stream_.avail_out == 0));
    bytes = bytes.last(stream_.avail_in);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_STREAM_END)
      state_ = state::between_members;
    else if (result != Z_OK && result != Z_BUF_ERROR) // the latter: it wants more than this part
      return fail(std::string("corrupt gzip data: ") +
                  (stream_.msg != nullptr ? stream_.msg : "needs a dictionary"));
  }
}

bool digest::feed(const part& next) {
  if (next.error) fail(next.error.message());
  if (state_ == state::failed) return false;
  const std::span bytes(reinterpret_cast<const unsigned char*>(next.bytes.get()), next.size);
  size_ += bytes.size();
  if (state_ == state::unknown) {
    const bool compressed = bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
    state_ = compressed ? state::between_members : state::plain;
  }
  state_ == state::plain ? sum_up(bytes) : inflate_all(bytes);
  return state_ != state::failed;
}

outcome digest::end(std::string path) {
  if (state_ == state::in_member) fail("corrupt gzip data: it ends too early");
  if (state_ == state::failed) return problem{std::move(path), failure_};
  return record{std::move(path), size_, inflated_, static_cast<std::uint32_t>(crc_)};
}

} // namespace pipeline
