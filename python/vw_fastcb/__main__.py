"""`python -m vw_fastcb`: VW's command line with FastCB, as the program `vw-fastcb`."""

import signal
import sys

from vw_fastcb import _engine

if __name__ == "__main__":
    # The engine runs without the interpreter: Ctrl-C and a closed pipe must end it as they end the native program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(_engine.run_command_line(sys.argv[1:]))
