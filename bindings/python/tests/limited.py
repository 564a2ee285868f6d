"""What the tests share: a time limit for each, and scripts in a new interpreter."""

import faulthandler
import subprocess
import sys
import unittest

SECONDS = 60


class LimitedTestCase(unittest.TestCase):
    """Ends the process with the stacks of all threads if a test takes too long."""

    def setUp(self):
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)

    def run_script(self, text):
        """What a new interpreter prints that runs `text`; it must end well and print no error."""
        done = subprocess.run([sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", text], capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout.split()
