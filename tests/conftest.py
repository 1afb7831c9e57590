"""What holds for every test."""

from hypothesis import HealthCheck, settings

# A machine that others use as well may take any time for an example: how long one takes proves nothing.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")
