#include "picture.hpp"

namespace life {

std::string plain_picture(const board& b) {
  std::string text;
  for (std::size_t r = 0; r != b.rows(); ++r) {
    for (std::size_t c = 0; c != b.columns(); ++c) text += b.alive(r, c) ? '#' : '.';
    text += '\n';
  }
  return text;
}

std::string terminal_picture(const board& b) {
  std::string text = "\x1b[H";
  for (std::size_t r = 0; r < b.rows(); r += 2) {
    for (std::size_t c = 0; c != b.columns(); ++c) {
      const bool upper = b.alive(r, c), lower = r + 1 != b.rows() && b.alive(r + 1, c);
      text += upper ? (lower ? "\u2588" : "\u2580") : (lower ? "\u2584" : " ");
    }
    text += "\x1b[K\n";
  }
  return text;
}

} // namespace life
