"""From a query to results."""
