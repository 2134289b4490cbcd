#!/bin/bash
# Test ID: test_02_exact_authenticate_user.sh
# Expected: auth_manager.py:authenticate_user() ranks #1

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "authenticate_user")

# Validate: First result contains "auth_manager.py.*authenticate_user"
if grep -Eq '(^|/)auth_manager\.py .*\| authenticate_user ' <<<"$(first_result)"; then
    pass
else
    fail 'auth_manager.py and authenticate_user in the first row'
fi
