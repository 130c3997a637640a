"""Changes of a running application: what differs between two versions of it, and what happens to its
state."""
