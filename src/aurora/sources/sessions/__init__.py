"""The sessions of a person with their agents, as the agents themselves keep them."""
