#!/bin/sh
# Makes sure that there is a Chromium for the browser tests. PYTHON: an interpreter that has
# Playwright. Ends with status 0 only if a browser can be started.
set -eu

for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done

as_root=
if [ "$(id -u)" != 0 ]; then
    as_root="sudo -n"
fi
if command -v apt-get >/dev/null 2>&1 && $as_root true 2>/dev/null; then
    echo "Installing Debian's Chromium" >&2
    export DEBIAN_FRONTEND=noninteractive
    if $as_root apt-get update -qq &&
        $as_root apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; then
        exit 0
    fi
    echo "Debian's Chromium could not be installed; trying Playwright's own" >&2
fi
exec "$PYTHON" -m playwright install chromium
