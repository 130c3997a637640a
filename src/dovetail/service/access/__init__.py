"""Access control: users, groups, roles and tokens, and what their queries may reach."""
