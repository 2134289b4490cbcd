"""Mail to customers."""

import smtplib
from email.message import EmailMessage


def send_invoice(server, address, text):
    message = EmailMessage()
    message["To"] = address
    message["Subject"] = "Your invoice"
    message.set_content(text)
    with smtplib.SMTP(server) as connection:
        connection.send_message(message)


def remind(customers, days_late):
    """Addresses of those whose payment is late."""
    return [one.email for one in customers if one.days_late >= days_late]
