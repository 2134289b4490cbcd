#!/bin/bash
# Test ID: test_09_semantic_config.sh
# Expected: Config code + config knowledge

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "configuration management")

# Validate: Results contain "config"
if found 'config'; then
    pass
else
    fail 'config in a file or name'
fi
