"""What an agent's model is told and what is kept of it."""
