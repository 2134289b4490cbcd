"""The door for agents' hooks: what an agent tells at its events, and what it is told then."""
