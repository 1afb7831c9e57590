"""An agent's own settings: what is switched on in them, how it is shown, and how it is taken out again."""
