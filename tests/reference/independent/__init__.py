"""Textbook forms of BKB, BBKB and their dictionaries, each form beside its test.

The forms follow the papers' text alone, not the implementations. They play no episode of their own. An agent plays, and
its form, given what the agent had seen at each pick, says which arms the papers would have picked and whether the batch
ends. So one pick that differs does not hide those after it, and ties need no rule: every maximiser up to rounding is
right.
"""
