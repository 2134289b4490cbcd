#!/bin/bash
# Test ID: test_17_edge_acronym.sh
# Expected: HTTPSConnection found via acronym splitting

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "HTTPSConnection")

# Validate: Results contain "HTTPS" or "Connection"
if grep -Eq 'HTTPS|Connection' <<<"$(column 3)"; then
    pass
else
    fail 'HTTPS or Connection in a name'
fi
