#!/bin/bash
# Test ID: test_14_multi_type_mix.sh
# Expected: Code + reasoning + knowledge in results

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "search algorithm")

# Validate: Results contain at least 2 different Type values
if (($(column 2 | sort -u | wc -l) >= 2)); then
    pass
else
    fail 'at least two different types'
fi
