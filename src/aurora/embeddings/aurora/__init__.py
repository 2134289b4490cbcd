"""Aurora's own small model: made by `training/`, and part of the package."""
