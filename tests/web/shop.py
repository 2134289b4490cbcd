"""A project with a past: commits, two sessions with an agent, lessons and a decision.

Names and texts hold markup, which a page must show and never run.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.recorded_sessions import Story

HOSTILE = "<img src=x onerror=alert(1)>"

FILES: dict[str, str | bytes] = {
    "src/auth.py": '''"""Who may come in."""


def authenticate_user(name: str, password: str) -> bool:
    """Check a password against the stored hash."""
    return hash_password(password) == stored_hash(name)


def revoke_session(token: str) -> None:
    """End a login before its time."""
    SESSIONS.pop(token, None)


class TokenStore:
    """Keeps session tokens until they expire."""

    def rotate(self, token: str) -> str:
        """Give out a new token for an old one."""
        return self.add(self.owner(token))
''',
    "src/billing.py": '''"""Money: what a customer pays."""

VAT = 0.2


def charge_customer(customer: str, amount: int) -> None:
    """Take money from a customer's card, with retries."""
    for attempt in range(3):
        if gateway.charge(customer, amount):
            return


def retry_payment(invoice: str) -> None:
    """Try a failed payment again, an hour later."""
    queue.later(invoice, hours=1)
''',
    "web/cart.ts": """// What a customer wants to buy.
export function addToCart(cart: Cart, item: Item): Cart {
  return { ...cart, items: [...cart.items, item] };
}
""",
    f"docs/{HOSTILE.replace(' ', '_')}.md": f"# {HOSTILE}\n\nA heading with markup: {HOSTILE}\n",
    "docs/decisions.md": """# Decisions

## Sessions

Session tokens live in memory, because a restart must log everybody out.

## Payments

A failed payment is tried again after an hour, at most three times.
""",
    "data/long.txt": "needle " + "x" * 1_000_000 + "\n",
}


def _calculator(name: str) -> str:
    return f'''

def {name}_total(prices: list[int]) -> int:
    """The {name} total of an order."""
    return sum(prices)
'''


def make_shop(root: Path) -> Shell:
    """The project with its memory; everything in it happened in the last days."""
    project, home = root / "shop", root / "home"
    story = Story(home, datetime.now(UTC).replace(microsecond=0) - timedelta(days=20))
    write_tree(project, FILES)
    names = ("gross", "net", "weekly", "monthly", "yearly", "open", "paid", "late")
    write_tree(project, {f"src/totals/{name}.py": _calculator(name).lstrip() for name in names})
    story.git(project, "init", "--quiet", "--initial-branch", "main")
    story.git(project, "add", ".")
    story.git(project, "commit", "--quiet", "--message", "A shop")

    story.wait(days=5)
    session = story.session(project, title="Payments fail on Mondays")
    session.ask("Payments fail on Mondays. Why?")
    session.read("src/billing.py")
    session.edit("src/billing.py", "range(3)", "range(5)")
    session.answer("The gateway is slow on Mondays: charge_customer now tries five times.")
    session.bash("git commit --quiet --all --message 'Charge five times'")

    story.wait(days=6)
    session = story.session(project, title=f"Titles with {HOSTILE}")
    session.ask(f"What does {HOSTILE} do in a title?")
    session.answer(f"Nothing: {HOSTILE} is text.")

    shell = Shell(project, home / ".aurora")
    shell.ok("index")
    shell.ok("sessions", "import", "--agent", "claude-code")
    lesson = "retry a payment with a growing pause"
    shell.ok("mem", "learn", lesson, "--score", "0.9")
    shell.ok("mem", "get", "src/billing.py:charge_customer")
    return shell
