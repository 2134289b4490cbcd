#!/bin/bash
# Test ID: test_12_type_filter_knowledge.sh
# Expected: Only conversation log chunks

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "oauth setup" --type knowledge)

# Validate: All results have Type: know
if only_types 'know'; then
    pass
else
    fail 'results, and each of type know'
fi
