"""What the commands do, from a plan to results and report."""
