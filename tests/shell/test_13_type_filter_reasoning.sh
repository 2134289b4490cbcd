#!/bin/bash
# Test ID: test_13_type_filter_reasoning.sh
# Expected: Only reasoning pattern chunks

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "decomposition pattern" --type reasoning)

# Validate: All results have Type: reas
if only_types 'reas'; then
    pass
else
    fail 'results, and each of type reas'
fi
