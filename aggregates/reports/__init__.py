"""Reports: their life, their period and their prose."""
