#include "scan.hpp"

#include "tokeniser.hpp"

#include <rubato/algorithm.hpp>

#include <algorithm>
#include <limits>

namespace identifiers {
namespace {

constexpr std::uint64_t piece_size =
    1024 * 1024; // a few milliseconds of work: enough to share, and many per large file
constexpr std::uint64_t to_the_end = std::numeric_limits<std::uint64_t>::max();

auto counting(tally& mine) {
  return tokeniser([&mine](std::string_view identifier) { mine.count(identifier); });
}

/// Counts the identifiers of the runs that begin at `first` or later and before `last`.
void scan_piece(const example::descriptor& file, std::uint64_t first, std::uint64_t last, tally& mine,
                progress& meter) {
  auto tokens = counting(mine);
  const auto read = [&](std::uint64_t offset, std::uint64_t limit) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(mine.buffer.size(), limit));
    return std::string_view(mine.buffer.data(), read_at(file, {mine.buffer.data(), size}, offset));
  };

  // The byte before tells whether a run goes on into this piece: it belongs to the piece in which it begins.
  if (first > 0) {
    const auto before = read(first - 1, 1);
    if (before.empty()) return; // the file has shrunk
    if (!is_gap(before.front())) tokens.begin_in_foreign_run();
  }
  std::uint64_t at = first;
  while (at < last) {
    const auto bytes = read(at, last - at);
    if (bytes.empty()) break;
    tokens.feed(bytes);
    at += bytes.size();
  }
  const std::uint64_t counted = at - first;
  // A run that goes on beyond the piece is read to its end.
  while (tokens.in_own_run()) {
    const auto bytes = read(at, 4096);
    const auto run =
        bytes.substr(0, std::min(bytes.size(), static_cast<std::size_t>(std::ranges::find_if(bytes, is_gap) -
                                                                        bytes.begin())));
    tokens.feed(run);
    at += run.size();
    if (run.size() == bytes.size() && !bytes.empty()) continue;
    tokens.finish();
  }
  mine.seen.bytes += counted;
  meter.add(0, counted);
}

} // namespace

void scan_stream(const example::descriptor& file, per_thread<tally>& tallies, progress& meter) {
  tally& mine = tallies.local();
  auto tokens = counting(mine);
  while (const std::size_t size = read_next(file, mine.buffer)) {
    tokens.feed({mine.buffer.data(), size});
    mine.seen.bytes += size;
    meter.add(0, size);
  }
  tokens.finish();
}

void scan_file(const example::descriptor& file, std::uint64_t size, per_thread<tally>& tallies,
               progress& meter) {
  if (size <= piece_size) return scan_stream(file, tallies, meter);
  const std::uint64_t pieces = (size - 1) / piece_size + 1;
  rubato::for_index(std::uint64_t{0}, pieces, [&](std::uint64_t i) {
    const std::uint64_t last = i + 1 == pieces ? to_the_end : (i + 1) * piece_size;
    scan_piece(file, i * piece_size, last, tallies.local(), meter);
  });
}

} // namespace identifiers
