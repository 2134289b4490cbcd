#!/bin/bash
# Test ID: test_15_type_filter_function.sh
# Expected: Only function chunks, no methods/classes

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "performance optimization" --type function)

# Validate: All results have Type: function
if only_types 'function'; then
    pass
else
    fail 'results, and each of type function'
fi
