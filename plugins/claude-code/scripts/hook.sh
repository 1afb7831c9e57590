#!/bin/sh
# Runs `svc hook`, wherever svc lies: where `svc connect` noted it, else on the PATH. Without it nothing happens.
program=$(cat "${XDG_CONFIG_HOME:-$HOME/.config}/svc/program" 2>/dev/null) || program=$(command -v svc) || exit 0
[ -x "$program" ] || exit 0
exec "$program" hook claude-code
