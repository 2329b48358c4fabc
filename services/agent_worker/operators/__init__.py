"""What operators ask of sessions by their ids, and who serves it."""
