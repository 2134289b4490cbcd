#!/bin/bash
# Test ID: test_19_edge_camelcase.sh
# Expected: camelCase splitting works

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "getUserData")

# Validate: Results contain "get" or "user" or "data"
if found 'get|user|data'; then
    pass
else
    fail 'get, user or data in a file or name'
fi
