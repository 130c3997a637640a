"""Who may do what: people, groups, roles and tokens, and what their queries may reach."""
