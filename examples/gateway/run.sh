#!/usr/bin/env bash
# Asks the members through the gateway. The users are new in each run, so that it always shows the same.
set -euo pipefail
url=${1:-http://127.0.0.1:8000}
user=gateway-$$-$RANDOM

# ask <user> <path>: prints the answer. status <user> <path>: prints its status only
ask() { curl --silent --show-error --header "x-user: $user-$1" "$url$2"; }
status() { curl --silent --show-error --path-as-is --output /dev/null --write-out '%{http_code}\n' --header "x-user: $user-$1" "$url$2"; }

echo '# two members take turns'
for who in a b c d; do ask $who /v1/hello; done | sort -u

echo '# three an hour for each user, then no more'
for _ in 1 2 3 4; do status e /v1/hello; done

echo '# one member fails here, and nobody sees it'
for who in f g h i; do status $who /v1/flaky; done

echo '# another path to the same place is the same place; what no route matches is not there'
status j /v1/../v1/hello
status j /elsewhere
