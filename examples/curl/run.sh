#!/usr/bin/env bash
# Asks a service over HTTP. The keys are new in each run, so that it always shows the same.
set -euo pipefail
url=${1:-http://127.0.0.1:8080}
user=curl-$$-$RANDOM

# status <path> <curl arguments...>: prints the status only
status() { curl --silent --show-error --output /dev/null --write-out '%{http_code}\n' "$url$1" "${@:2}"; }

echo '# the rules, about a request'
check() { status /v1/check --json "{\"subject\":{\"user\":\"$user\",\"path\":\"$1\"}}"; }
echo "upload:       $(check /upload)"
echo "upload again: $(check /upload)"
echo "read:         $(check /read)"
echo "read:         $(check /read)"
echo "read again:   $(check /read)"

echo '# what a refusal says'
curl --silent --show-error --dump-header - --output /dev/null "$url/v1/check" \
  --json "{\"subject\":{\"user\":\"$user\",\"path\":\"/read\"}}" | tr -d '\r' | grep -iE '^(http|retry-after|x-ratelimit-(limit|remaining))' |
  sed -E 's/^(retry-after: ).*/\1(seconds)/I' | tr '[:upper:]' '[:lower:]' | sort

echo '# a policy of your own'
policy='{"algorithm":"fixed-window","limit":2,"window":"1h"}'
for _ in 1 2 3; do status /v1/check --json "{\"policy\":$policy,\"key\":\"$user\"}"; done

echo '# an exception for one user, and back'
status "/v1/overrides/per-user/$user" --request PUT --json '{"limit":100,"window":"1h"}' | sed 's/20[04]/done/'
echo "read:         $(check /read)"
status "/v1/keys/per-user/$user" --request DELETE | sed 's/20[04]/done/'
