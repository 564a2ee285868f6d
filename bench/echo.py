#!/usr/bin/env python3
"""Echo over loopback: messages per second and CPU time per message of Rubato and others. bench/README.md

    bench/echo.py [OPTION ...]   # of CMake, for opponents that are not installed: see bench/CMakeLists.txt

Read from the environment: ROUNDS (7), SECONDS of each measurement (1), CONTENDERS (all)."""
import os
import pathlib
import resource
import statistics
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
build = root / "build/bench/bench"
rounds = int(os.environ.get("ROUNDS") or 7)
seconds = os.environ.get("SECONDS") or "1"
contenders = (os.environ.get("CONTENDERS") or "rubato asio libuv serverbox toomanycooks").split()
shapes = [(threads, connections, size) for threads in (1, 2) for connections in (1, 16, 100, 1000) for size in (128, 16384)]


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(contender, threads, connections, size):
    """Messages per second, median and 99th percentile of the round trip in us, CPU time per message in us."""
    server = subprocess.Popen([build / f"bench-echo-{contender}", str(threads)], stdout=subprocess.PIPE, text=True)
    try:
        port = server.stdout.readline().strip()
        before = cpu_seconds(server.pid)
        client = [build / "bench-echo-client", port, str(connections), str(size), seconds]
        rate, median, late = map(float, subprocess.run(client, check=True, capture_output=True, text=True).stdout.split())
        used = cpu_seconds(server.pid) - before
        return rate, median, late, used / (rate * float(seconds)) * 1e6
    finally:
        server.kill()
        server.wait()


def main():
    """All take part that are there."""
    wanted, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(wanted, min(most, 4096)), most))
    subprocess.run(["cmake", "--preset", "bench", *sys.argv[1:]], cwd=root, check=True, stdout=subprocess.DEVNULL)
    def is_built(name):
        return subprocess.run(["cmake", "--build", "--preset", "bench", "--target", f"bench-echo-{name}"], cwd=root,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    if not is_built("client"):
        sys.exit("bench-echo-client cannot be built: see cmake --build --preset bench --target bench-echo-client")
    there = [c for c in contenders if is_built(c)]
    for c in sorted(set(contenders) - set(there)):
        print(f"{c} is left out: it is not there. See scripts/setup bench, bench/CMakeLists.txt", file=sys.stderr)
    print("| threads | connections | bytes | server | messages/s | median us | p99 us | CPU us |")
    print("|---|---|---|---|---|---|---|---|")
    for shape in shapes:
        results = {c: [] for c in there}
        for _ in range(rounds):
            for c in there:
                results[c].append(measure(c, *shape))
        for c in there:
            rates, *rest = zip(*results[c])
            cells = [f"{statistics.median(rates):,.0f} ({min(rates):,.0f}-{max(rates):,.0f})"]
            cells += [f"{statistics.median(x):.1f}" for x in rest]
            print("|", " | ".join([*map(str, shape), c, *cells]), "|", flush=True)


if __name__ == "__main__":
    sys.exit(main())
