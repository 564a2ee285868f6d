// Runs a program and keeps what it says.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rubato_test {

struct outcome {
  int status = -1; ///< what it returned, or 128 and the signal that ended it
  std::string out;
  std::string err;
};

class child {
  using stream = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

  stream out_{std::tmpfile(), &std::fclose}; // files, not pipes: the parent need not read while it writes
  stream err_{std::tmpfile(), &std::fclose};
  pid_t process_ = -1;

  static std::string contents(std::FILE* file) {
    std::string all;
    char buffer[64 * 1024];
    std::fseek(file, 0, SEEK_SET);
    while (const auto size = std::fread(buffer, 1, sizeof buffer, file)) all.append(buffer, size);
    return all;
  }

public:
  struct setting {
    int out = -1; ///< where standard output goes; -1: kept
    int err = -1;
    bool without_privileges = false; ///< as nobody, if this is root
  };

  explicit child(std::vector<std::string> command, setting how) {
    std::vector<char*> arguments;
    for (auto& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    if (!out_ || !err_) throw std::runtime_error("cannot make a temporary file");
    // By descriptor: a user without rights may be unable to look up the path.
    const int program = ::open(command.front().c_str(), O_RDONLY | O_CLOEXEC);
    if (program < 0) throw std::runtime_error("cannot open " + command.front());

    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("cannot fork");
    if (process_ == 0) {
      ::dup2(::open("/dev/null", O_RDONLY), 0);
      ::dup2(how.out >= 0 ? how.out : ::fileno(out_.get()), 1);
      ::dup2(how.err >= 0 ? how.err : ::fileno(err_.get()), 2);
      constexpr unsigned nobody = 65534;
      if (how.without_privileges && ::geteuid() == 0 &&
          (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0))
        ::_exit(126);
      ::fexecve(program, arguments.data(), environ);
      ::_exit(127);
    }
    ::close(program);
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    if (process_ > 0) wait();
  }

  pid_t process() const { return process_; }

  void send(int signal) const {
    if (process_ > 0) ::kill(process_, signal); // -1 would be every process
  }

  outcome wait() {
    int status = 0;
    ::waitpid(std::exchange(process_, -1), &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(out_.get()),
            contents(err_.get())};
  }
};

inline outcome run(std::vector<std::string> command, child::setting how = {}) {
  return child(std::move(command), how).wait();
}

} // namespace rubato_test
