"""Read what reports and days tell."""
