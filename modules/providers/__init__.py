"""Models: how they are asked, what they answer and what it costs."""
