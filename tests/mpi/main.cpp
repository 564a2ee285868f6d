// Runs the tests on each rank. tests/mpi/run starts it.
#include "own_request.hpp"

#include <rubato/mpi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

extern "C" int MPI_Testsome(int n, MPI_Request* requests, int* ended, int* indices, MPI_Status* statuses) {
  ++rubato_test::looks;
  if (auto* const m = rubato_test::moves.load()) m->move();
  int const code = PMPI_Testsome(n, requests, ended, indices, statuses);
  if (code == MPI_ERR_IN_STATUS) {
    if (auto* const r = rubato_test::fails_unreported.exchange(nullptr)) {
      r->end();
      int has_ended = 0;
      PMPI_Test(std::find(requests, requests + n, r->handle), &has_ended, MPI_STATUS_IGNORE);
    }
  }
  static_cast<void>(rubato_test::order_of_mpi.load(std::memory_order_acquire));
  return code;
}
extern "C" int MPI_Test(MPI_Request* r, int* has_ended, MPI_Status* s) {
  int const code = PMPI_Test(r, has_ended, s);
  static_cast<void>(rubato_test::order_of_mpi.load(std::memory_order_acquire));
  return code;
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  rubato::mpi::session const mpi(&argc, &argv);
  for (MPI_Comm const c : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
  int failed = RUN_ALL_TESTS(), anywhere = failed;
  MPI_Allreduce(&failed, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return anywhere;
}
