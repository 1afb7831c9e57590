#!/bin/sh
# Runs `svc hook`, wherever svc lies: where `svc connect` noted it, else on the PATH. Without it a session's start says so.
program=$(cat "${XDG_CONFIG_HOME:-$HOME/.config}/svc/program" 2>/dev/null)
[ -x "$program" ] || program=$(command -v svc)
[ -x "$program" ] && exec "$program" hook claude-code
case $(cat) in
*'"SessionStart"'*) echo '{"systemMessage":"svc is not installed here, so nothing is captured: install it, or put it on the PATH"}' ;;
esac
exit 0
