"""Read a prompt or an answer: text in, numbers out."""
