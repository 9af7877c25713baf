#!/usr/bin/env bash
# Installs what building, testing and running Cubby needs on Debian 12. Idempotent: a machine that
# has everything is left alone, in a few milliseconds.
set -euo pipefail

packages=(
  # to build
  build-essential cmake ninja-build ccache pkg-config clang clang-format clang-tidy libclang-rt-14-dev
  libabsl-dev libprotobuf-dev protobuf-compiler libarchive-dev libcurl4-openssl-dev libssl-dev
  libzstd-dev zlib1g-dev libsqlite3-dev libseccomp-dev nlohmann-json3-dev libcli11-dev libre2-dev libyaml-cpp-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  # to run containers
  crun runc
  # what search is measured against
  fd-find ripgrep
  # to make the base image and to test
  mmdebstrap skopeo docker-registry apache2-utils attr busybox-static jq python3 git ca-certificates
  groff-base zsh
)

missing=()
for package in "${packages[@]}"; do
  [ -e "/var/lib/dpkg/info/$package.list" ] || [ -e "/var/lib/dpkg/info/$package:$(dpkg --print-architecture).list" ] || missing+=("$package")
done
# Clients that the servers are tested with come from npm, whoever packaged it here.
command -v npm >/dev/null || missing+=(nodejs npm)
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "setup: these Debian packages are missing; install them as root:" >&2
  echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
# The registry package starts a server of its own, which nobody asked for.
if command -v systemctl >/dev/null 2>&1 && [ -d /run/systemd/system ]; then
  systemctl disable --now docker-registry >/dev/null 2>&1 || true
fi
