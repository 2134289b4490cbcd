#!/bin/bash
# Test ID: test_01_exact_soarorchestrator.sh
# Expected: orchestrator.py:SOAROrchestrator ranks #1

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "SOAROrchestrator")

# Validate: First result contains "orchestrator.py.*SOAROrchestrator"
if grep -Eq '(^|/)orchestrator\.py .*\| SOAROrchestrator ' <<<"$(first_result)"; then
    pass
else
    fail 'orchestrator.py and SOAROrchestrator in the first row'
fi
