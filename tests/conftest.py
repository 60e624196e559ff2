"""For all tests: signals mean what they usually mean, though whoever started us (nohup, a script) may ignore some."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # children inherit what is ignored, and nothing else
