"""What the command line and Python share: one module per command."""
