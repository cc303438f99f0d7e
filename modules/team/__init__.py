"""Many agents on one repository: board, mail, merge queue, workers; it knows no model."""
