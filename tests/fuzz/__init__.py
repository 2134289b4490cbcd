"""Any bytes at all, for everything that reads what others wrote: see `targets`."""
