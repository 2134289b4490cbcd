"""Documents into chunks: one file a way of cutting, one line in `registry` to add one."""
