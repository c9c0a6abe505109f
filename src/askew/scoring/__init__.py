"""From observed picture sets to scores as they stand in results.json."""
