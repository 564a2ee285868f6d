// Messages between the ranks; a single one sends to itself.
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/mpi.hpp>
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace rubato_test {
namespace {

using rubato::mpi::done;

struct mpi_messages : on_workers {
  int rank = 0, size = 1;
  mpi_messages() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  ~mpi_messages() override { MPI_Barrier(MPI_COMM_WORLD); }
};

/// Sends to the next rank and receives from the one before, `n` times; the number of bytes that are wrong.
rubato::task<std::size_t> around(int rank, int size, int tag, std::size_t bytes, int n) {
  std::vector<unsigned char> out(bytes), in(bytes);
  std::size_t wrong = 0;
  int const next = (rank + 1) % size, last = (rank + size - 1) % size;
  auto const value = [=](int of, int round) { return static_cast<unsigned char>(31 * of + 7 * round + tag); };
  for (int i = 0; i != n; ++i) {
    out.assign(bytes, value(rank, i));
    std::array<MPI_Request, 2> r{};
    MPI_Irecv(in.data(), static_cast<int>(bytes), MPI_UNSIGNED_CHAR, last, tag, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out.data(), static_cast<int>(bytes), MPI_UNSIGNED_CHAR, next, tag, MPI_COMM_WORLD, &r[1]);
    std::vector<MPI_Status> const s = co_await done(r);
    int got = 0;
    MPI_Get_count(&s[0], MPI_UNSIGNED_CHAR, &got);
    if (s[0].MPI_SOURCE != last || s[0].MPI_TAG != tag || got != static_cast<int>(bytes)) ++wrong;
    for (unsigned char const c : in) wrong += c != value(last, i);
  }
  co_return wrong;
}

TEST_P(mpi_messages, of_all_sizes_cross_each_other) {
  std::vector<rubato::future<std::size_t>> all;
  int tag = 100;
  for (std::size_t const bytes :
       {std::size_t{1}, std::size_t{4000}, std::size_t{70'000}, std::size_t{1'500'000}}) {
    auto const n = static_cast<int>(scaled(bytes < 100'000 ? 100 : 5));
    for (int k = 0; k != 2; ++k) all.push_back(pool.spawn(around(rank, size, tag++, bytes, n)));
  }
  for (auto& f : all) EXPECT_EQ(f.get(), 0U);
}

TEST_P(mpi_messages, collective_operations_are_awaited) {
  auto const sum = [](int mine) -> rubato::task<int> {
    int all = 0;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
    static_cast<void>(co_await done(r));
    co_return all;
  };
  EXPECT_EQ(pool.block_on(sum(rank + 1)), size * (size + 1) / 2);
}

TEST_P(mpi_messages, message_that_is_too_long_fails) {
  if (size == 1) GTEST_SKIP() << "OpenMPI does not report it for messages to oneself";
  std::array<char, 16> from{};
  std::array<char, 8> into{};
  MPI_Request out = MPI_REQUEST_NULL;
  MPI_Isend(from.data(), 16, MPI_CHAR, (rank + 1) % size, 7, MPI_COMM_WORLD, &out);
  auto const code = [](int last, std::array<char, 8>& to) -> rubato::task<int> {
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Irecv(to.data(), 8, MPI_CHAR, last, 7, MPI_COMM_WORLD, &r);
    try {
      static_cast<void>(co_await done(r));
    } catch (rubato::mpi::error const& e) {
      EXPECT_EQ(r, MPI_REQUEST_NULL);
      EXPECT_NE(std::string(e.what()).find("truncated"), std::string::npos) << e.what();
      co_return e.code();
    }
    co_return MPI_SUCCESS;
  };
  int kind = MPI_SUCCESS;
  MPI_Error_class(pool.block_on(code((rank + size - 1) % size, into)), &kind);
  EXPECT_EQ(kind, MPI_ERR_TRUNCATE);
  MPI_Wait(&out, MPI_STATUS_IGNORE);
}

RUBATO_TEST_WITH_WORKERS(mpi_messages, all_counts);

} // namespace
} // namespace rubato_test
