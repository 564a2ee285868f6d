"""The example of a worker of Dask. Needs the package distributed."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from limited import SECONDS, LimitedTestCase

EXAMPLE = pathlib.Path(__file__).parents[1] / "examples" / "dask_worker.py"


class Dask(LimitedTestCase):
    @unittest.skipUnless(importlib.util.find_spec("distributed"), "the package distributed is missing")
    def test_a_worker_of_dask_runs_its_tasks_on_a_pool(self):
        with tempfile.TemporaryDirectory() as scratch:
            environment = dict(os.environ, DASK_TEMPORARY_DIRECTORY=scratch)
            command = [sys.executable, "-B", "-W", "error", str(EXAMPLE)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^packed 24600000 bytes into \d+\n$")


if __name__ == "__main__":
    unittest.main()
