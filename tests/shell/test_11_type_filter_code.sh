#!/bin/bash
# Test ID: test_11_type_filter_code.sh
# Expected: Only functions and classes, no reasoning/knowledge

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "user management" --type function,class)

# Validate: All results have Type: function OR Type: class (no "reas" or "know")
if only_types 'function|class'; then
    pass
else
    fail 'results, and each of type function or class'
fi
