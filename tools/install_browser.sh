#!/bin/sh
# Makes sure that there are browsers for the tests: a Chromium, and a Firefox where Debian's can be
# installed. PYTHON: an interpreter that has Playwright. Ends with status 0 only if there is a
# Chromium; without a Firefox its tests are skipped.
set -eu

as_root=
if [ "$(id -u)" != 0 ]; then
    as_root="sudo -n"
fi
updated=

has() {
    for name in "$@"; do
        if command -v "$name" >/dev/null 2>&1; then
            return 0
        fi
    done
    return 1
}

install_from_debian() {
    has apt-get && $as_root true 2>/dev/null || return 1
    echo "Installing Debian's $1" >&2
    if [ -z "$updated" ]; then
        $as_root apt-get update -qq || return 1
        updated=yes
    fi
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" >&2
}

if ! has firefox-esr firefox && ! install_from_debian firefox-esr; then
    echo "No Firefox could be installed: the tests in it are skipped" >&2
fi
if ! has chromium chromium-browser google-chrome && ! install_from_debian chromium fonts-dejavu-core; then
    echo "Debian's Chromium could not be installed; trying Playwright's own" >&2
    exec "$PYTHON" -m playwright install chromium
fi
