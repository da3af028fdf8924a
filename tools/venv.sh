#!/usr/bin/env bash
# Create the virtual environment; on a bare Debian or Ubuntu the venv module is a package of its own.
set -eu
python=$1 venv=$2
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  echo "hubbub needs Python 3.11 or newer as '$python' (set PYTHON=... to name another one)." >&2; exit 1; }
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  sudo=$([ "$(id -u)" = 0 ] || echo sudo)
  echo "installing python$version-venv with apt" >&2
  $sudo apt-get update -qq && $sudo apt-get install -y -qq "python$version-venv" >/dev/null || {
    echo "could not install python$version-venv: please install Python's venv module and run make again." >&2; exit 1; }
fi
"$python" -m venv "$venv"
