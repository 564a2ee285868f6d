// images FROM TO: blurs all pictures of a folder, scales them, and writes them into another one. A pipeline
// of five stages; what is in flight, and so the memory, is bounded.
//
//   images --generate 500 pictures && images pictures small --width 200
#include "files.hpp"
#include "filters.hpp"
#include "generate.hpp"
#include "picture.hpp"
#include "shared/workers.hpp"

#include <CLI/CLI.hpp>
#include <rubato/rubato.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using images::picture;
using std::filesystem::path;

struct options {
  std::string from, to;
  std::size_t generate = 0;
  std::size_t width = 200, radius = 3;
  std::size_t size = 640; ///< width of a generated picture
  unsigned workers = rubato::usable_cpus();
  std::size_t in_flight = 0;
};

/// A picture on its way. After a failure it goes on to the last stage with its error, as the others do: one
/// bad file stops nothing.
struct item {
  path name;
  images::file_bytes file;
  picture content;
  std::string error;
};

/// A stage: f(item) unless an earlier one has failed.
template<class F>
auto unless_failed(F f) {
  return [f](item one) {
    try {
      if (one.error.empty()) f(one);
    } catch (const std::exception& e) {
      one.error = e.what();
    }
    return one;
  };
}

/// Returns how many pictures it could not make.
std::size_t convert(rubato::pool& pool, const options& asked) {
  const std::vector<path> all = images::pictures_in(asked.from);
  const path target = asked.to;
  std::filesystem::create_directories(target);
  std::size_t begun = 0, failed = 0;

  const auto next = [&]() -> std::optional<item> {
    if (begun == all.size()) return std::nullopt;
    return item{all[begun++], {}, {}, {}};
  };
  const auto read = unless_failed([](item& one) {
    one.file = rubato::blocking([&] { return images::read_file(one.name); });
    one.content = images::decode_png(std::exchange(one.file, {}));
  });
  const auto filter = unless_failed([&asked](item& one) {
    one.content = images::scaled(images::blurred(one.content, asked.radius), asked.width);
  });
  const auto encode =
      unless_failed([](item& one) { one.file = images::encode_png(std::exchange(one.content, {})); });
  const auto write = unless_failed([&target](item& one) {
    rubato::blocking([&] { images::write_file(target / one.name.filename(), one.file); });
  });
  const auto report = [&](item one) { // one at a time, in the order of the names
    if (!one.error.empty()) ++failed;
    const char* const how = one.error.empty() ? "" : ": ";
    std::printf("%s%s%s\n", one.name.filename().c_str(), how, one.error.c_str());
  };

  const std::size_t in_flight = asked.in_flight != 0 ? asked.in_flight : 4 * (asked.workers + std::size_t{1});
  rubato::pipeline(pool, in_flight, rubato::stage(rubato::serial_in_order, next),
                   rubato::stage(rubato::parallel, read), rubato::stage(rubato::parallel, filter),
                   rubato::stage(rubato::parallel, encode), rubato::stage(rubato::parallel, write),
                   rubato::stage(rubato::serial_in_order, report));
  return failed;
}

void generate(rubato::pool& pool, const options& asked) {
  const path folder = asked.from;
  std::filesystem::create_directories(folder);
  rubato::for_index(pool, std::size_t{0}, asked.generate, [&](std::size_t i) {
    char name[32];
    std::snprintf(name, sizeof name, "%05zu.png", i);
    const auto file = images::encode_png(images::generated(i, asked.size, asked.size * 3 / 4));
    rubato::blocking([&] { images::write_file(folder / name, file); });
  });
}

int run(const options& asked) {
  rubato::pool pool(example::with_workers(asked.workers).name("images"));
  if (asked.generate != 0) {
    generate(pool, asked);
    return 0;
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t failed = convert(pool, asked);
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::fprintf(stderr, "%.2f s, %zu could not be made\n", seconds, failed);
  return failed == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  options asked;
  CLI::App app(
      "Blurs all pictures *.png of a folder, scales them to one width and writes them into another folder.\n"
      "Exit status: 0 all were made, 1 some could not be.",
      "images");
  app.add_option("FROM", asked.from, "the folder of the pictures")->required();
  app.add_option("TO", asked.to, "where the new ones go, by the same names; it is made if it is missing");
  app.add_option("--width", asked.width, "of the new pictures, in points")
      ->check(CLI::Range(1, 20'000))
      ->capture_default_str();
  app.add_option("--blur", asked.radius, "points on each side that are mixed into a point")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("-w,--workers", asked.workers,
                 "threads that compute; 0: only the caller's own; unset: the usable cores")
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
  app.add_option("--in-flight", asked.in_flight, "pictures in memory at a time; unset: four per thread")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N");
  app.add_option("--generate", asked.generate, "make so many pictures in FROM, and do nothing else")
      ->check(CLI::Range(0, 100'000))
      ->type_name("N");
  app.add_option("--size", asked.size, "the width of generated pictures")
      ->check(CLI::Range(2, 20'000))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
    if (asked.to.empty() && asked.generate == 0) throw CLI::RequiredError("TO");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return run(asked);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "images: %s\n", error.what());
    return 1;
  }
}
