"""`svc hook` as a program of its own, which the one-file binary carries: unpacking all of that takes seconds."""

import sys

from svc.hook.main import call

call(sys.argv[2:] if sys.argv[1:2] == ["hook"] else sys.argv[1:])
