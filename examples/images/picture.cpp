#include "picture.hpp"

#include <png.h>

#include <stdexcept>

namespace images {
namespace {

/// What libpng holds while it works, freed in any case.
struct png_work : png_image {
  png_work()
      : png_image() {
    version = PNG_IMAGE_VERSION;
  }
  png_work(const png_work&) = delete;
  png_work& operator=(const png_work&) = delete;
  ~png_work() { ::png_image_free(this); }
  void expect(int done) const {
    if (done == 0) throw std::runtime_error(message);
  }
};

constexpr std::size_t longest_side = 20'000; // more is an attack or a mistake

} // namespace

picture decode_png(const file_bytes& file) {
  png_work work;
  work.expect(::png_image_begin_read_from_memory(&work, file.data(), file.size()));
  if (work.width > longest_side || work.height > longest_side)
    throw std::runtime_error("more than 20,000 points wide or high");
  work.format = PNG_FORMAT_RGB;
  picture made(work.width, work.height);
  const png_color white{255, 255, 255};
  work.expect(::png_image_finish_read(&work, &white, made.bytes.data(), 0, nullptr));
  return made;
}

file_bytes encode_png(const picture& from) {
  png_work work;
  work.width = static_cast<png_uint_32>(from.width);
  work.height = static_cast<png_uint_32>(from.height);
  work.format = PNG_FORMAT_RGB;
  file_bytes file(PNG_IMAGE_PNG_SIZE_MAX(work));
  png_alloc_size_t size = file.size();
  work.expect(::png_image_write_to_memory(&work, file.data(), &size, 0, from.bytes.data(), 0, nullptr));
  file.resize(size);
  return file;
}

} // namespace images
