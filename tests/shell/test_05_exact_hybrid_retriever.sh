#!/bin/bash
# Test ID: test_05_exact_hybrid_retriever.sh
# Expected: hybrid_retriever.py:HybridRetriever ranks #1

set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Setup
in_project

# Execute
OUTPUT=$(aur mem search "HybridRetriever")

# Validate: First result contains "hybrid_retriever.py.*HybridRetriever"
if grep -Eq '(^|/)hybrid_retriever\.py .*\| HybridRetriever ' <<<"$(first_result)"; then
    pass
else
    fail 'hybrid_retriever.py and HybridRetriever in the first row'
fi
