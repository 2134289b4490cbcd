#!/bin/bash
# Test ID: test_16_edge_no_results.sh
# Expected: Graceful "No results" message

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "xyzabc123")

# Validate: Output contains "No results" or "No relevant results"
if grep -Eq '^No (relevant )?results' <<<"$OUTPUT"; then
    pass
else
    fail 'No relevant results'
fi
