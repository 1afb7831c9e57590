"""Read scores: score, skill, insights, activity, integrity, throttle, peers."""
