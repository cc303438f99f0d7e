"""The lives of the processes, and the one place that joins objects."""
