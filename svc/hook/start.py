"""Where the hooks begin that `svc connect` writes: `python -I -S start.py hook AGENT`, and `coach AGENT`.

So Python leaves out what it looks for at its start, which takes it as long as the hook itself does.
"""

import sys

if __name__ == "__main__":
    sys.path.append(__file__.removesuffix("/svc/hook/start.py"))
    if sys.argv[1] == "coach":
        from svc.hook.coach import coach

        coach(sys.argv[2:])
    else:
        from svc.hook.main import call

        call(sys.argv[2:], apart=True)
