"""Read costs: sums of requests, team cost."""
