"""The project of the guide: a small shop with a past."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.builders import write_tree

FILES: dict[str, str | bytes] = {
    "README.md": "# Shop\n\nSells books.\n\n## Payments\n\nCards are charged by `payment.py`; "
    "what fails is tried again.\n",
    "cart.py": '''"""What somebody is about to buy."""


class Cart:
    """Items and how many of each."""

    def __init__(self):
        self.items = {}

    def add(self, item, count=1):
        self.items[item] = self.items.get(item, 0) + count

    def total(self, prices):
        """The sum, without shipping."""
        return sum(prices[item] * count for item, count in self.items.items())
''',
    "payment.py": '''"""Money in, money out."""

import time

ATTEMPTS = 3


class PaymentError(Exception):
    """The bank said no, or nothing."""


def charge_card(card, amount, bank):
    """Charge a card; a payment that times out is tried again, with a longer pause each time."""
    for attempt in range(ATTEMPTS):
        try:
            return bank.charge(card, amount)
        except TimeoutError:
            time.sleep(2**attempt)
    raise PaymentError(f"no answer from {bank} after {ATTEMPTS} attempts")


def refund(payment, bank):
    """Give back what was charged."""
    return bank.refund(payment.id)
''',
    "tests/test_payment.py": """from payment import charge_card


def test_a_payment_is_retried(bank):
    bank.fail(times=2)
    assert charge_card("4242", 10, bank)
""",
}
_IDENTITY = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull} | {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ana"), ("EMAIL", "ana@example.org"))
}


def make_shop(root: Path) -> Path:
    """A repository with three commits: of the cart, of payments, and of trying again."""
    _git(root, "init", "-q")
    once = str(FILES["payment.py"]).replace("ATTEMPTS = 3", "ATTEMPTS = 1")
    for day, files in (
        ("2023-02-06", {name: FILES[name] for name in ("README.md", "cart.py")}),
        ("2023-03-01", {"payment.py": once}),
        ("2024-06-10", FILES),
    ):
        write_tree(root, files)
        _git(root, "add", ".")
        _git(root, "commit", "-qm", f"work of {day}", date=f"{day}T12:00:00Z")
    return root


def _git(root: Path, *words: str, date: str = "2023-01-01T12:00:00Z") -> None:
    root.mkdir(exist_ok=True)
    when = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    environment = {"PATH": os.environ["PATH"], **_IDENTITY, **when}
    subprocess.run(["git", *words], cwd=root, env=environment, check=True)
