#!/bin/bash
# Test ID: test_20_edge_empty_query.sh
# Expected: Error message or help text

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
STATUS=0
OUTPUT=$(aur mem search "" 2>&1) || STATUS=$?

# Validate: Output contains "Error" or "Usage" or returns all results; here an error, and its status
if grep -Eq '^(Error|Usage): ' <<<"$OUTPUT" && ((STATUS == 2)); then
    pass
else
    fail 'an error or the usage, with exit status 2'
fi
