"""BKB, BBKB and their dictionaries a second time, each form beside its test.

The forms follow the papers' text alone, neither the implementations nor the forms in `tests.reference.policies`: a
reading that those two share shows here. They play no episode of their own. An agent plays, and its form, given what
the agent had seen at each pick, says which arms the papers would have picked and whether the batch ends. So one pick
that differs does not hide those after it, and ties need no rule: every maximiser up to rounding is right.
"""
