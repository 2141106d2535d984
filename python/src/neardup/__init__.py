"""Find near-duplicate documents."""
