"""What the stored runs show, beside what the paper says: computed, never typed."""
