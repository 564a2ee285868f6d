// A wait in a program that has not initialised MPI as the adapter needs it.
#include <rubato/mpi.hpp>
#include <rubato/rubato.hpp>

#include <cstdio>
#include <string>

namespace rubato_test {
namespace {

rubato::task<std::string> wait_in_vain() {
  MPI_Request r = MPI_REQUEST_NULL;
  try {
    static_cast<void>(co_await rubato::mpi::done(r));
  } catch (rubato::mpi::error const& e) {
    co_return e.what();
  }
  co_return "no error";
}

bool says(std::string const& words) {
  std::string const said = rubato::block_on(wait_in_vain());
  if (said.find(words) != std::string::npos) return true;
  std::fprintf(stderr, "expected an error with \"%s\", got: %s\n", words.c_str(), said.c_str());
  return false;
}

} // namespace
} // namespace rubato_test

int main(int argc, char** argv) {
  bool right = rubato_test::says("is not initialised");
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  if (provided != MPI_THREAD_MULTIPLE) right &= rubato_test::says("MPI_THREAD_MULTIPLE");
  MPI_Finalize();
  return right ? 0 : 1;
}
