"""Settings for all tests."""

import hypothesis

# Random settings are drawn anew on each run; a failure prints what reproduces it. Timing is not tested.
hypothesis.settings.register_profile("kafnets", deadline=None, print_blob=True)
hypothesis.settings.load_profile("kafnets")
