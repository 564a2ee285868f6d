#!/usr/bin/env python3
"""Carries the benchmarks to a machine without compilers. README.md

    bench/bundle.py              # builds what can be built; OUT/bundle, a folder of at most 60 MB
    cp -r build/bench/bundle ... # there, with nothing but Python 3:
    ./run [scaling | bench]      # both, if none is named; results/. ONLY, WORKERS, ROUNDS and QUICK as for `make bench`
    bench/bundle.py merge FOLDER # here: the results of that copy go to bench/results/ and docs/images/

Read from the environment: OUT (build/bench), ONLY (contenders or scenarios to take along; all).
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import report
from build import ROOT, Builder
from plan import CONTENDERS, entries, scenarios
from run import refuse

MOST = 60 * 2**20
# Every system that can run the programs has these, and those of another one would not fit its kernel or loader.
OF_THE_SYSTEM = re.compile(r"(ld-linux|linux-vdso|libc\.so|libm\.so|libpthread|librt|libdl)")

RUNNER = '''#!/usr/bin/env python3
"""Measures with the programs of this folder: run [scaling | bench]; see bench/bundle.py. Results: results/."""
import os
import subprocess
import sys
from pathlib import Path

here = Path(__file__).resolve().parent
parts = sys.argv[1:] or ["scaling", "bench"]
if set(parts) - {"scaling", "bench"}:
    sys.exit("run: the arguments are scaling and bench")
environment = {**os.environ, "OUT": str(here / "results"), "LD_LIBRARY_PATH": str(here / "programs" / "lib")}
for part in parts:
    script = {"scaling": "scaling.py", "bench": "run.py"}[part]
    if status := subprocess.call([sys.executable, "-B", str(here / "bench" / script)], env=environment):
        sys.exit(status)
'''


def take_along(program, folder):
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / program.name
    shutil.copy2(program, copy)
    subprocess.run(["strip", copy], check=False)
    libraries = folder.parent / "lib"
    libraries.mkdir(exist_ok=True)
    for name, path in re.findall(r"(\S+) => (/\S+)", report.command_output("ldd", program)):
        if not OF_THE_SYSTEM.match(name) and not (libraries / name).exists():
            shutil.copy2(path, libraries / name)


def make(out):
    only = os.environ.get("ONLY", "")
    bundle = out / "bundle"
    shutil.rmtree(bundle, ignore_errors=True)
    programs = bundle / "programs"
    programs.mkdir(parents=True)
    builder = Builder(out)
    wanted = {CONTENDERS["serial"]: None}
    for scenario in scenarios(False):
        wanted.update({e.contender: None for e in entries(scenario, only, ())[0]})
    for contender in wanted:
        builder.build(contender)
        if path := builder.program(contender):
            take_along(Path(path), programs / contender.toolchain)
        else:
            print(f"without {contender.program}: {builder.why(contender)}", file=sys.stderr)
    (bundle / "bench").mkdir()
    for script in (ROOT / "bench").glob("*.py"):
        shutil.copy2(script, bundle / "bench")
    (bundle / "commit").write_text(report.commit() + "\n", encoding="ascii")
    runner = bundle / "run"
    runner.write_text(RUNNER, encoding="utf-8")
    runner.chmod(0o755)
    size = sum(p.stat().st_size for p in bundle.rglob("*") if p.is_file())
    print(f"{bundle}: {size / 2**20:.1f} MB")
    if size > MOST:
        print(f"that is more than {MOST / 2**20:.0f} MB: name with ONLY what is to be taken along", file=sys.stderr)
        return 1
    return 0


def merge(folder):
    results = folder / "results" if (folder / "results").is_dir() else folder
    found = False
    if (results / "scaling.json").exists():
        found = True
        # It knows how to write what it has measured.
        subprocess.run([sys.executable, "-B", ROOT / "bench" / "scaling.py", "--draw", "--publish"], check=True,
                       env={**os.environ, "OUT": str(results)})
    if (results / "results.md").exists():
        found = True
        text = (results / "results.md").read_text(encoding="utf-8")
        cpus = re.search(r"(\d+) of \d+ CPUs usable", text)
        target = ROOT / "bench" / "results" / f"bench-{cpus[1]}-cpus.md"
        target.write_text(text, encoding="utf-8")
        print(target)
    if not found:
        refuse(f"{folder} has no results: run ./run in it first")
    return 0


def main(arguments):
    if arguments[:1] == ["merge"] and len(arguments) == 2:
        return merge(Path(arguments[1]))
    if arguments:
        refuse("the arguments are none, or merge and a folder")
    out = Path(os.environ.get("OUT") or ROOT / "build" / "bench").absolute()
    out.mkdir(parents=True, exist_ok=True)
    return make(out)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
