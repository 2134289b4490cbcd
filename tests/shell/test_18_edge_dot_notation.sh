#!/bin/bash
# Test ID: test_18_edge_dot_notation.sh
# Expected: Dot notation splitting works

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "get.user.data")

# Validate: Results contain "get" AND "user" AND "data"; here all three in one name
if grep -Eiq 'get.?user.?data' <<<"$(column 3)"; then
    pass
else
    fail 'a name of get, user and data'
fi
