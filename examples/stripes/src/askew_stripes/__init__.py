"""A model, a statistic and a method for askew."""
