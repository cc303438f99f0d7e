"""What a model can call; each file declares its tools as values."""
