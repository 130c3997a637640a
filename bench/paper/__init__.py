"""The figures and tables of the papers' evaluations: what each shows, how it is made here, what is found."""
