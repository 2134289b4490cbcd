"""Invoices of hosted accounts."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Line:
    text: str
    amount: Decimal


def total(lines, vat=Decimal("0.19")):
    """The sum with tax, in cents that are rounded once."""
    net = sum((line.amount for line in lines), Decimal(0))
    return (net * (1 + vat)).quantize(Decimal("0.01"))


def render_invoice(number, lines):
    rows = [f"{line.text:<40}{line.amount:>10}" for line in lines]
    return "\n".join([f"Invoice {number}", *rows, f"{'Total':<40}{total(lines):>10}"])
