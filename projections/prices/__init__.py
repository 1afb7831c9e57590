"""Read costs: team cost and model usage."""
