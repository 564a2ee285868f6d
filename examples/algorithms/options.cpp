#include "options.hpp"

#include <CLI/CLI.hpp>
#include <rubato/pool.hpp>

namespace algorithms {

std::optional<options> parse_options(int argc, const char* const* argv, int& status) {
  options asked;
  asked.workers = rubato::usable_cpus();

  CLI::App app(
      "Runs a well-known parallel algorithm on made-up input, checks the result, and says how long it took.",
      "algorithms");
  app.require_subcommand(1);
  app.fallthrough(); // the options below may follow the subcommand
  app.add_option("-w,--workers", asked.workers, "threads; unset: the usable cores")
      ->check(CLI::Range(0, 1024));
  app.add_option("--seed", asked.seed, "of the random input")->capture_default_str();

  struct one {
    const char *name, *about, *counted;
    std::uint64_t size, limit;
  };
  for (const one& a :
       {one{"mergesort", "merge sort with a parallel merge", "NUMBERS", 25'000'000, 1ULL << 32U},
        one{"quicksort", "quicksort", "NUMBERS", 25'000'000, 1ULL << 32U},
        one{"sieve", "how many primes there are up to N", "N", 100'000'000, 1ULL << 46U},
        one{"matmul", "the product of two square matrices", "ROWS", 1024, 1ULL << 14U},
        one{"pi", "a Monte Carlo estimate, the same for any number of workers", "SAMPLES", 100'000'000,
            1ULL << 46U},
        one{"pagerank", "the ranks of the pages of a made-up web", "PAGES", 500'000, 1ULL << 26U}}) {
    CLI::App* const command = app.add_subcommand(a.name, a.about);
    command
        ->add_option_function<std::uint64_t>(
            "size", [&asked](const std::uint64_t& n) { asked.size = n; }, "unset: " + std::to_string(a.size))
        ->type_name(a.counted)
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{a.limit}));
    command->callback([&asked, a] {
      asked.algorithm = a.name;
      if (asked.size == 0) asked.size = a.size;
    });
  }
  CLI::App* const words = app.add_subcommand("words", "the most frequent words of texts");
  words->add_option("files", asked.files, "read one after the other; unset: standard input")
      ->type_name("FILE");
  words->add_option("--top", asked.most, "so many")->capture_default_str();
  words->callback([&asked] { asked.algorithm = "words"; });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? done : usage_error;
    return std::nullopt;
  }
  return asked;
}

} // namespace algorithms
