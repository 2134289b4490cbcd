"""`aur mcp`: serve the memory to agents, and tell their clients how to start it."""

from __future__ import annotations

from aurora.cli.main import LazyGroup

mcp = LazyGroup(
    name="mcp",
    help="Serve the memory to agents, over stdio or HTTP.",
    context_settings={"help_option_names": ["-h", "--help"]},
    lazy={
        "config": ("aurora.cli.mcp_config:config", "Tell a client how to start the server."),
    },
)
