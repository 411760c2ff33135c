"""How are many runs played, and what if a worker dies?"""
