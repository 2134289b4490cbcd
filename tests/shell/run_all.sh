#!/bin/bash
# Runs every shell test on one project, and counts. `aur` must be on PATH.

set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ -z ${AURORA_SHELL_PROJECT:-} ]]; then
    AURORA_SHELL_PROJECT=$(mktemp -d)
    trap 'rm -rf "$AURORA_SHELL_PROJECT"' EXIT
    bash "$HERE/build_project.sh" "$AURORA_SHELL_PROJECT"
fi
export AURORA_SHELL_PROJECT

passed=0 failed=0
for script in "$HERE"/test_*.sh; do
    if bash "$script"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
((failed == 0))
