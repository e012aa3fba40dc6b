#!/usr/bin/env bash
# Asks a service over the Redis protocol. The keys are new in each run, so that it always shows the same.
set -euo pipefail
port=${1:-6380}
user=redis-cli-$$-$RANDOM

# ask <command...>: the first three numbers of the answer; the others are times
ask() { redis-cli -p "$port" "$@" | head -3 | tr '\n' ' '; echo; }

echo '# CL.THROTTLE: limited, limit, remaining'
for _ in 1 2 3; do ask CL.THROTTLE "$user" 1 30 3600; done

echo '# SLUICE.CHECK per-user: allowed, limit, remaining'
ask SLUICE.CHECK per-user "$user" COST 2
ask SLUICE.CHECK per-user "$user" COST 2
ask SLUICE.CHECK per-user "$user"

echo '# SLUICE.POLICY: allowed, limit, remaining'
for _ in 1 2 3; do ask SLUICE.POLICY "$user" fixed-window 2 3600000; done
