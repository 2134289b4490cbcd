#!/bin/bash
# Test ID: test_08_semantic_error_handling.sh
# Expected: Exception handling code, error patterns

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "error handling")

# Validate: Results contain "error" or "exception"
if found 'error|exception'; then
    pass
else
    fail 'error or exception in a file or name'
fi
