// The suite's channel program for TooManyCooks with other numbers of producers and consumers than one each
// per two threads: it is included unchanged, and its coroutines are called with its own settings.
//
//   channel THREADS PRODUCERS CONSUMERS
#define main main_of_the_suite
#include "TooManyCooks/channel.cpp" // from the suite's folder cpp
#undef main

#include "program.hpp" // of our entry for the suite

int main(int argc, char** argv) {
  entry::arguments const arguments(argc, argv);
  thread_count = arguments.threads(1);
  producer_count = arguments.number(2, 1);
  consumer_count = arguments.number(3, 1);
  expected_sum = element_count * (element_count - 1) / 2;
  tmc::cpu_executor().set_thread_count(thread_count).init();
  auto const pass = [] { return tmc::post_waitable(tmc::cpu_executor(), do_bench()).get(); };
  std::printf("output: %zu\n", pass()); // warms up
  auto const time = entry::microseconds(pass);
  entry::report_begin();
  entry::report_time(time);
  entry::report_memory();
}
