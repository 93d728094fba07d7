"""The soak: a simulated fleet is polled for a long time while agents, workers, broker and database are killed."""
