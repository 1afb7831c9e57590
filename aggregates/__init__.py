"""Events, decisions and rules, all pure: clock, randomness and input enter as arguments."""
