"""The doors: the only place that knows HTTP."""
