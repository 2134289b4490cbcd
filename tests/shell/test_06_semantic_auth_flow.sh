#!/bin/bash
# Test ID: test_06_semantic_auth_flow.sh
# Expected: Mix of auth code + knowledge + reasoning

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "authentication flow")

# Validate: Results contain "auth" AND (Type: function OR Type: know OR Type: reas)
if grep -Eiq 'auth.*\| (function|know|reas) ' <<<"$(results)"; then
    pass
else
    fail 'a row of auth whose type is function, know or reas'
fi
