#!/usr/bin/env bash
# Install, with apt, the programs the tests run against: a browser, PostgreSQL, Java 17, Node and a C compiler.
# Where apt cannot be used it says what is missing; the tests that need it then skip, or fail under CI=true.
set -u
sudo=$([ "$(id -u)" = 0 ] || echo sudo)

has_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
has_postgres() { command -v postgres || ls /usr/lib/postgresql/*/bin/postgres; }
has_compiler() { command -v cc || command -v gcc || command -v clang; }
has_java17() { java -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])'; }

missing=()
has_chromium >/dev/null 2>&1 || missing+=(chromium)
has_postgres >/dev/null 2>&1 || missing+=(postgresql)
has_java17 >/dev/null 2>&1 || missing+=(openjdk-17-jre-headless)
command -v node >/dev/null 2>&1 || missing+=(nodejs)
has_compiler >/dev/null 2>&1 || missing+=(gcc libc6-dev)
[ ${#missing[@]} -eq 0 ] && exit 0

echo "tests need ${missing[*]}: installing with apt" >&2
if ! command -v apt-get >/dev/null || ! { $sudo apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; }; then
  echo "could not install ${missing[*]} with apt. Install them by hand; until then the tests that need them" \
       "are skipped (and fail when CI=true)." >&2
fi
exit 0
