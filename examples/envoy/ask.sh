#!/usr/bin/env bash
# Asks what Envoy would ask with envoy.yaml about six uploads of one user. Five pass.
set -euo pipefail
url=${1:-http://127.0.0.1:8080}
user=envoy-$$-$RANDOM

body="{\"domain\":\"edge\",\"descriptors\":[
  {\"entries\":[{\"key\":\"remote_address\",\"value\":\"203.0.113.$((RANDOM % 256))\"}]},
  {\"entries\":[{\"key\":\"path\",\"value\":\"/upload\"},{\"key\":\"user\",\"value\":\"$user\"}]}]}"

# A minute that ends in between would begin a new count.
while [ "$(date +%-S)" -ge 50 ]; do sleep 1; done
for _ in 1 2 3 4 5 6; do
  curl --silent --show-error --output /dev/null --write-out '%{http_code}\n' "$url/json" --json "$body"
done
