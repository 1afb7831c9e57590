"""Pages on how one works: habits, time lost, reports, and oneself beside others."""
