#!/usr/bin/env bash
# Asks every node about the same users. The users are new in each run, so that it always shows the same.
# run.sh <port of the Redis protocol of one node> <HTTP of each node>...
set -euo pipefail
port=${1:-6380}
urls=("${@:2}")
if [ ${#urls[@]} -eq 0 ]; then urls=(http://127.0.0.1:8080 http://127.0.0.1:8180 http://127.0.0.1:8280); fi
user=cluster-$$-$RANDOM

# status <url> <subject>: asks over HTTP, and prints the status of the answer
status() { curl --silent --show-error --output /dev/null --write-out '%{http_code}\n' "$1/v1/check" --data "$2"; }
# check <key>: asks over the Redis protocol, and prints whether it may go on and what remains. -c follows MOVED
check() { redis-cli -c -p "$port" SLUICE.CHECK per-user "$1" | sed -n '1p;3p' | paste -sd ' '; }

echo '# three in ten seconds, whichever node is asked'
for url in "${urls[@]}"; do status "$url" "{\"subject\":{\"user\":\"$user\"}}"; done
status "${urls[0]}" "{\"subject\":{\"user\":\"$user\"}}"

echo '# the same count, over the Redis protocol'
check "$user"

echo '# ten users, each counted by the node that owns its key'
for i in 1 2 3 4 5 6 7 8 9 10; do check "$user-$i"; done | sort | uniq -c | sed 's/^ *//'

echo '# who there is'
redis-cli -p "$port" CLUSTER INFO | tr -d '\r' | grep -E '^cluster_(state|slots_ok|known_nodes):'
